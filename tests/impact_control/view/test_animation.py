"""Slow motion of impacts as a GIF: its frames are of the run, its file is small, and what cannot be drawn is named."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from impact_control.cli.main import app
from impact_control.util.errors import ImpactControlError, InvalidInputError, RecordingError
from impact_control.view import animation
from impact_control.view.animation import AFTER, BEFORE, FRAME_TIME, STEP, animate

FRAMES = 13
"""Enough for every panel to change, and a fifth of what a user gets."""

LARGEST = 3_000_000 / (round((BEFORE + AFTER) / STEP) + 1)
"""Bytes a frame."""


@pytest.fixture(autouse=True)
def _few_frames(monkeypatch):
    monkeypatch.setattr(animation, "STEP", (BEFORE + AFTER) / (FRAMES - 1))


def frames_of(path):
    with Image.open(path) as picture:
        assert picture.info["loop"] == 0
        durations = []
        for number in range(picture.n_frames):
            picture.seek(number)
            durations.append(picture.info["duration"])
            yield np.asarray(picture.convert("RGB")).astype(int)
    # Equal frames are one that lasts longer.
    assert sum(durations) == FRAME_TIME * FRAMES


def test_the_arm_moves_and_the_curves_grow_until_the_end(bag, tmp_path):
    output = tmp_path / "impact.gif"
    result = CliRunner().invoke(app, ["animate", str(bag), str(bag), "-o", str(output)])
    assert result.exit_code == 0, result.output
    assert "impact.gif, 0." in result.output and output.stat().st_size < LARGEST * FRAMES
    first, *between, last = frames_of(output)
    width = first.shape[1] // 2
    panels = {"arm": slice(60, 280), "curves": slice(300, None)}
    for rows in panels.values():
        for side in (slice(None, width), slice(width, None)):
            assert np.any(first[rows, side] != last[rows, side])
    dark = [int(np.count_nonzero(frame[panels["curves"]].sum(axis=2) < 250)) for frame in (first, *between, last)]
    assert dark[-1] > 1.5 * dark[0] and np.all(np.diff(dark) >= -40)


def test_what_cannot_be_drawn_is_named(evaluation, tmp_path):
    untouched = replace(
        evaluation, analysis=replace(evaluation.analysis, true_impact_time=None, detections=np.empty(0))
    )
    with pytest.raises(RecordingError, match="no impact in it"):
        animate({"free": untouched}, tmp_path / "impact.gif")
    with pytest.raises(InvalidInputError, match=r"output = .*impact\.png.* ends in \.gif"):
        animate({"one": evaluation}, tmp_path / "impact.png")
    with pytest.raises(InvalidInputError, match="runs = 4; allowed: 1 to 3"):
        animate(dict.fromkeys("abcd", evaluation), tmp_path / "impact.gif")
    with pytest.raises(InvalidInputError, match="a file that can be written"):
        animate({"one": evaluation}, tmp_path / "nowhere" / "impact.gif")
    result = CliRunner().invoke(app, ["animate", str(tmp_path / "none")])
    assert isinstance(result.exception, ImpactControlError) and "no such directory" in str(result.exception)
