"""Flacco 2016, Figs 5, 7, 8 and 11: can external torques be told on joints with backlash, without torque sensors?

Seven simulated joints with the gaps of Romeo's arm: gaps measured by hand, coefficients identified from a motion, the
classical residual against the one with backlash in motions without contact, and contacts at rest and in motion.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from impact_control.studies.flacco.arm import JOINTS, POSITION_NOISE
from impact_control.studies.flacco.experiments import DETECTION_GAIN, IDENTIFICATION_GAIN, Drive
from impact_control.studies.flacco.outcome import QUICK, Durations, Outcome, compute
from impact_control.studies.flacco.tables import (
    coefficients_table,
    comparisons,
    contacts_table,
    crossings_table,
    gaps_table,
    largest_error,
    targets_table,
    variants_table,
)
from impact_control.studies.study import Finding, Mark, Progress, Study, StudyFigure, StudyResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def _run(seed: int, quick: bool, progress: Progress) -> StudyResult:
    """Compute the study."""
    outcome = compute(seed, QUICK if quick else Durations(), progress)
    targets = targets_table(outcome)
    held = [mark is Mark.GOOD for mark in targets.marks.values()]
    missed = [str(targets.rows[i][0]) for i, good in enumerate(held) if not good]
    return StudyResult(
        tables=(
            targets,
            gaps_table(outcome),
            coefficients_table(outcome),
            crossings_table(outcome),
            contacts_table(outcome),
            variants_table(outcome),
        ),
        figures=_figures(outcome),
        findings=_findings(outcome),
        verdict=(
            f"{sum(held)} of {len(held)} targets are met: coefficients within {100.0 * largest_error(outcome):.1f} %, "
            f"{outcome.free_alarms} false alarms of the new residual where the classical one has "
            f"{outcome.classical_free_alarms}, "
            f"{sum(delay is not None for delay in outcome.delays)} of {len(outcome.delays)} contacts found."
            + (f" Missed: {'; '.join(missed)}." if missed else "")
        ),
        holds=not missed,
        assumptions=_ASSUMPTIONS,
        comparisons=comparisons(outcome),
    )


def _findings(outcome: Outcome) -> tuple[Finding, ...]:
    present = JOINTS.gap > 0.0
    strain = 1e3 * (outcome.gap.gap - JOINTS.gap)
    rest = 1e3 * (outcome.fit.model.gap - JOINTS.gap)[present]
    spring, both, motor = (outcome.variants[drive] for drive in (Drive.SPRING, Drive.BOTH, Drive.MOTOR))
    delays = [delay for delay in outcome.delays if delay is not None]
    slowest = 1e3 * max(delays, default=float("nan"))
    return (
        Finding(
            f"By hand the gaps come out {strain.min():.2f} to {strain.max():.2f} mrad too wide, which is the strain of "
            f"the contact; the identification leaves at most {abs(rest).max():.3f} mrad of it."
        ),
        Finding(
            f"The identified model explains {100.0 * spring.explained.min():.2f} to "
            f"{100.0 * spring.explained.max():.2f} % of the residual (8)."
        ),
        Finding(f"Contacts are found {slowest:.0f} ms after their start or sooner; they rise from zero as a sine."),
        Finding(
            "(5) as printed, with the motor's torque, spring and damper together, explains "
            f"{100.0 * both.explained.min():.1f} % of the worst joint, and the motor's torque alone "
            f"{100.0 * motor.explained.min():.1f} %; their thresholds at joint 1 have to be "
            f"{both.threshold[0] / spring.threshold[0]:.1f} and {motor.threshold[0] / spring.threshold[0]:.1f} times "
            "as high. At rest the motor is in balance with the spring, so that (5) counts the load twice, and in "
            "motion the motor's inertia is missing in it."
        ),
    )


def _figures(outcome: Outcome) -> tuple[StudyFigure, ...]:
    def identification() -> Figure:
        from impact_control.studies.flacco.drawing import draw_identification

        return draw_identification(outcome)

    def crossings() -> Figure:
        from impact_control.studies.flacco.drawing import draw_crossings

        return draw_crossings(outcome)

    def contacts() -> Figure:
        from impact_control.studies.flacco.drawing import draw_contacts

        return draw_contacts(outcome)

    return (
        StudyFigure(
            "identification",
            "What the model explains",
            "Fig. 7 of the source: the residual of a motion without contact, and the identified backlash and friction.",
            identification,
        ),
        StudyFigure(
            "crossings",
            "Joint 1 crosses its gap",
            "Fig. 8 of the source. The classical residual knows the motor's inertia and the friction beyond the gap; "
            "what it does not know is the gap.",
            crossings,
        ),
        StudyFigure(
            "contacts",
            "Contacts at rest and in motion",
            "Fig. 11 of the source: the residual of each joint with its threshold.",
            contacts,
        ),
    )


_ASSUMPTIONS = (
    "Romeo's model is not in this repository: the arm is a hanging Panda with a quarter of its mass; only the gaps are "
    "Romeo's. Stiffness, damping, friction and motor inertias are our choice, of the size of the links.",
    "The plants of the simulator have the friction of a Panda. The joints here have that of Flacco 2016 (6), on the "
    "links as in (7), with the sign of a speed smoothed over 10 mrad/s.",
    "The spring carries all of the torque beyond the gap, and tau_M of (5) is left out where the deflection is used.",
    f"Encoders of 17 bit on both sides ({1e6 * POSITION_NOISE:.0f} urad of noise), velocities with the noise of Proper "
    "2021 (3.5), 1 kHz where the source has 100 Hz.",
    f"K_r = {IDENTIFICATION_GAIN:g} 1/s as in the source; K_bs is not published: {DETECTION_GAIN:g} 1/s.",
    "The source chose thresholds by hand; here they are twice the largest residual of the identification and of a "
    "recording at rest, and above that what the noise of the motors' velocity takes from their dry friction while they "
    "creep to rest. The same ones serve the classical residual, which is given the motor's inertia and the friction "
    "beyond the gap, so that the gap is the only thing that it does not know.",
    "A contact on link i is a random torque on joints 1 to i, three to six times the thresholds that the source "
    "gives (a quarter of it at joint 7), a half sine of 0.3 to 0.5 s.",
)

STUDY = Study(
    name="flacco_backlash",
    title="Contacts on an arm with backlash",
    source="Flacco 2016, sections III to V, Figs 5, 7, 8 and 11",
    shows=(
        "Joints with the gaps of Romeo: gap and coefficients identified from simulated recordings, and the classical "
        "momentum residual against the one with backlash and friction, without contact and with contacts."
    ),
    run=_run,
    minutes=1.0,
)
