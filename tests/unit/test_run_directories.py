"""Where runs are written: a new directory each, or a refusal that names the place."""

from __future__ import annotations

import pytest

from impact_control.errors import InvalidInputError
from impact_control.nodes.runs import new_run_directory


def test_runs_of_one_second_have_directories_of_their_own(tmp_path):
    made = [new_run_directory(tmp_path / "runs", "tabletop") for _ in range(5)]
    assert len(set(made)) == 5
    assert all(directory.is_dir() and "-tabletop" in directory.name for directory in made)


def test_a_place_that_cannot_be_written_to_is_named(tmp_path):
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(InvalidInputError, match=r"'.*file' is not allowed: a directory to write to; Not a dir"):
        new_run_directory(file, "tabletop")
