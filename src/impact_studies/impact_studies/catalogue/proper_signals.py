"""Proper 2021, 3.2, 3.4 and 4.2: residual and its rate around two impacts, references, and the signal envelope."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from impact_studies.frame.study import (
    Cell,
    Finding,
    Progress,
    Study,
    StudyFigure,
    StudyResult,
    Table,
    columns,
    part,
    tally,
)

if TYPE_CHECKING:
    import numpy as np

    from impact_studies.signals.statements import Signals

TILTS = (0.0, 10.0)
"""[deg] of Figs 4.6 and 4.8."""


def _run(seed: int, quick: bool, progress: Progress) -> StudyResult:
    """Compute the study, which is quick as it is."""
    del quick
    from impact_studies.frame.trials import from_arrays, run_trials, trials_directory
    from impact_studies.signals.envelope import EnvelopeCase, Enveloped, impact
    from impact_studies.signals.observer import Observed, ObserverCase, observe
    from impact_studies.signals.statements import (
        ASSUMPTIONS,
        FAST,
        NOISY,
        SIMULTANEOUS,
        SINGLE,
        SLOW,
        Signals,
        comparisons,
    )
    from impact_studies.three_plants.references import reference

    directory = trials_directory("proper_signals")
    cases = {
        FAST: ObserverCase(0.2, 0.0, seed),
        NOISY: ObserverCase(0.2, 1.0, seed),
        SLOW: ObserverCase(0.01, 1.0, seed),
    }
    observed = run_trials(observe, list(cases.values()), directory, part(progress, 0.0, 0.6))
    impacts = [EnvelopeCase(tilt, seed) for tilt in TILTS]
    enveloped = run_trials(impact, impacts, directory, part(progress, 0.6, 0.3))
    progress(0.9, "references")
    signals = Signals(
        {name: from_arrays(Observed, arrays) for name, arrays in zip(cases, observed, strict=True)},
        {SINGLE: reference("planar_sphere"), SIMULTANEOUS: reference("planar_edge")},
        {tilt: from_arrays(Enveloped, arrays) for tilt, arrays in zip(TILTS, enveloped, strict=True)},
    )
    compared = comparisons(signals)
    return StudyResult(
        tables=(_touches_table(signals),),
        figures=_figures(signals),
        findings=tuple(
            Finding(f"{one.where}, {one.what}: {one.published}; ours: {one.own}.", one.holds) for one in compared
        ),
        verdict=tally(compared),
        assumptions=ASSUMPTIONS,
        comparisons=compared,
    )


def _touches_table(signals: Signals) -> Table:
    """Return touches, their detection, and the largest signals of each case."""
    import numpy as np

    from impact_studies.signals.statements import detected

    def rows() -> Iterable[Iterable[Cell | np.generic]]:
        for name, one in signals.observed.items():
            delays = detected(one)
            for i, touch in enumerate(np.sort(one.touches)):
                if not np.isfinite(touch):
                    yield (name, i + 1, None, None, *(np.nan,) * 3)
                    continue
                around = (one.time >= touch) & (one.time < touch + 5e-3)
                rates = np.abs(one.residual_rate[around]).max(axis=0)
                yield (name, i + 1, 1e3 * touch, 1e3 * delays[i], *rates)

    return Table.of(
        "touches",
        "First touches of both ends of the edge, and the largest rates of the residual in the 5 ms after them",
        (
            *columns(("case", "touch")),
            *columns(("at", "detected\nafter"), "ms", 2),
            *columns((f"joint {j + 1}" for j in range(3)), "Nm/s", 0),
        ),
        rows(),
        "'-': the second end does not touch, or the rate stays below the bound of the source.",
    )


def _figures(signals: Signals) -> tuple[StudyFigure, ...]:
    # Late, so that listing the studies does not load the drawing library.
    from impact_studies.signals import drawing
    from impact_studies.signals.statements import FAST

    return (
        StudyFigure(
            "observer",
            "Residual, true external torque, and rate of the residual (Figs 3.5, 3.8, 3.9)",
            "Edge on a surface tilted by 5 deg, plant A; a column for each of these figures.",
            lambda: drawing.draw_observer(signals.observed),
        ),
        StudyFigure(
            "gaps",
            "Gaps of both ends of the edge (Fig. 3.6)",
            "The impact of Fig. 3.5.",
            lambda: drawing.draw_gaps(signals.observed[FAST]),
        ),
        StudyFigure(
            "references",
            "References in task space and of the joints (Figs 3.12, 3.13, 3.15, 3.16)",
            "Left the sphere, right the edge; x, z and turn of the end-effector, the desired force at each "
            "contact point, then the joints. Both references go past the impact. After it the sphere turns about its "
            "contact, the edge does not.",
            lambda: drawing.draw_references(signals.references),
        ),
        StudyFigure(
            "paths",
            "Paths of the references in the plane (Fig. 3.14)",
            "Of the origin of the end-effector; grey: below the expected surface. Left the sphere, right the edge. The "
            "source starts at q_0 and does not say along which curve.",
            lambda: drawing.draw_paths(signals.references),
        ),
        StudyFigure(
            "sine",
            "Envelope of a sine that decays (Fig. 4.4)",
            "Grey: the envelope; red: what the signal swings about.",
            drawing.draw_sine,
        ),
        StudyFigure(
            "envelopes",
            "Envelopes of the joint velocities and of their errors (Figs 4.6 and 4.8)",
            "Upper rows: the reference should stay in the envelope, (4.23). Lower rows: zero should, (4.27).",
            lambda: drawing.draw_envelopes(signals.enveloped),
        ),
    )


STUDY = Study(
    name="proper_signals",
    title="Residual, references and signal envelope around an impact",
    source="Proper 2021, sections 3.2, 3.4 and 4.2, Figs 3.5, 3.6, 3.8, 3.9, 3.12 to 3.16, 4.4, 4.6 and 4.8",
    shows=(
        "The planar arm meets a tilted surface with an edge: residual of the momentum observer and its rate, and the "
        "true external torque, without noise, with it, and slowly. References before and after the impact, and the "
        "signal envelope on a sine, on joint velocities, and on their errors."
    ),
    run=_run,
    minutes=0.1,
)
