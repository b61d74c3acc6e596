"""A few inputs for each surface that `make fuzz` gives a hundred thousand: refused or accepted, and nothing else."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[1] / "fuzz"))

from drawn import drawn
from surfaces import SURFACES, make_target

INPUTS = {"messages": 100, "actions": 20}
"""Where they are slower than elsewhere."""


@pytest.mark.parametrize("surface", SURFACES)
def test_every_input_is_accepted_or_refused(surface):
    target = make_target(surface)
    try:
        drawn(target, INPUTS.get(surface, 150))()
    finally:
        target.close()
