"""Studies by the command line, two real ones that are quick, and the files that they leave."""

from __future__ import annotations

import h5py
import pytest
from typer.testing import CliRunner

from impact_control.cli.main import app
from impact_studies.frame.runner import find_study

TWO_STUDIES = ("rey_arias_fig3", "proper_signals")


def study_command(directory, *arguments):
    """Run `impact-control study` with `all` cut to two studies and nothing kept before; it has to end with 0.

    Files go to `directory`. Returns what it printed.
    """
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_CACHE_HOME", str(directory / "caches"))
        found = {"all": TWO_STUDIES}
        patched.setattr(
            "impact_studies.frame.runner.find_studies",
            lambda name: [find_study(one) for one in found.get(name, (name,))],
        )
        ran = CliRunner().invoke(app, ["study", *arguments, "-o", str(directory)], catch_exceptions=False)
    assert ran.exit_code == 0, ran.output
    return ran.output


def require_same_files(first, second, study):
    """Require that a study left the same files in two directories, but for when and how fast they were made."""
    names = {file.name for file in (first / study).iterdir()}
    assert {file.name for file in (second / study).iterdir()} == names >= {"report.html", "results.h5"}
    for name in names:
        one, other = first / study / name, second / study / name
        if one.suffix == ".h5":
            assert _contents(one) == _contents(other)
            assert len(_contents(one)) > 5
        else:
            assert one.read_bytes() == other.read_bytes(), name


def _contents(path):
    """All that a file of results holds, but for when and how fast it was made."""
    found = {}

    def visit(name, item):
        if not name.startswith("run"):
            found[name] = ({key: str(value) for key, value in item.attrs.items()}, str(getattr(item, "dtype", "")))
            if isinstance(item, h5py.Dataset):
                found[name] += (str(item[()].tolist()),)

    with h5py.File(path) as file:
        visit("", file)
        file.visititems(visit)
    return found
