"""External torque of a replay beside the recorded one, and how near its rate came to the bounds of the detector."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from impact_control.recording.style import ANTE, IMPACT, INK, LIMIT, line
from impact_control.types import Matrix, Vector

_WIDTH, _ROW = 10.0, 1.3
_SMALLEST = 1e-3


def replayed_residual(
    joints: Sequence[str],
    time: Vector,
    residual: Matrix,
    rate: Matrix,
    threshold: Vector,
    impacts: Sequence[float],
    recorded: tuple[Vector, Matrix] | None,
) -> Figure:
    """Return the figure.

    joints: (n,) names. time (k,) [s], residual (k, n) [Nm] and rate (k, n) [Nm/s] of the replay; threshold (n,) [Nm/s],
    NaN where there is none; impacts: when they were detected [s]; recorded: stamps and external torques [Nm], or None.
    """
    bounded = bool(np.isfinite(threshold).any())
    figure = Figure(figsize=(_WIDTH, _ROW * (len(joints) + bounded) + 0.9), layout="constrained")
    panels = list(figure.subplots(len(joints) + bounded, 1, sharex=True, squeeze=False)[:, 0])
    if bounded:
        overview = panels.pop(0)
        ratio = np.nanmax(np.abs(rate[:, np.isfinite(threshold)]) / threshold[np.isfinite(threshold)], axis=1)
        overview.semilogy(time, np.maximum(ratio, _SMALLEST), color=INK, linewidth=0.8)
        overview.axhline(1.0, color=LIMIT, linestyle="--", linewidth=1.2)
        overview.set_ylabel("rate /\nthreshold [-]")
        for impact in impacts:
            overview.axvline(impact, color=IMPACT, linestyle="--", linewidth=0.9)
    for joint, axes in enumerate(panels):
        if recorded is not None:
            axes.plot(recorded[0], recorded[1][:, joint], color=ANTE, linewidth=2.2)
        axes.plot(time, residual[:, joint], color=INK, linewidth=0.9)
        axes.set_ylabel(f"{joints[joint]}\n[Nm]")
        for impact in impacts:
            axes.axvline(impact, color=IMPACT, linestyle="--", linewidth=0.9)
    panels[-1].set_xlabel("time [s]")
    entries = [line("replayed", INK), line("impact detected", IMPACT, "--")]
    entries += [line("recorded", ANTE)] if recorded is not None else []
    figure.legend(handles=entries, loc="outside upper center", ncols=len(entries))
    return figure
