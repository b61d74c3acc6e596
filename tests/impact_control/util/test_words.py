"""Numbers in tables carry no sign where they are rounded to zero."""

from __future__ import annotations

import numpy as np
import pytest

from impact_control.recording.summary import plain_number
from impact_control.util.words import counted, fixed
from impact_control.view.frame import ArmFrame
from impact_control.view.panel import rate_bars


@pytest.mark.parametrize(
    ("value", "text"), [(-0.04, "0.0"), (-0.0, "0.0"), (0.04, "0.0"), (-0.06, "-0.1"), (12.34, "12.3"), (np.nan, "nan")]
)
def test_what_rounds_to_zero_has_no_sign(value, text):
    assert fixed(value, 1) == text


def test_one_of_something_is_no_plural():
    assert [counted(number, "sample") for number in (0, 1, 2)] == ["0 samples", "1 sample", "2 samples"]


def test_tables_and_panel_have_no_negative_zero():
    assert plain_number(-0.0) == "0" and plain_number(-1e-5) == "-1e-05"
    panel = rate_bars(ArmFrame(peak_rate=np.zeros(2), residual=np.array([-0.004, 0.3])))
    assert "-0.00" not in panel and "+0.00" in panel and "+0.30" in panel
