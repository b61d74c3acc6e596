"""Flacco 2016, Figs 2, 5 to 9, 11, 13: external torques on joints with backlash, without torque sensors.

Seven simulated joints with the gaps of Romeo's arm: gaps measured by hand, coefficients identified from a motion, the
classical residual against the one with backlash in motions without contact, contacts at rest and in motion, and a
person who leads the arm. Before that, one joint with a large gap.
"""

from __future__ import annotations

from impact_studies.flacco import tables
from impact_studies.flacco.arm import JOINTS
from impact_studies.flacco.experiments import Drive
from impact_studies.flacco.outcome import QUICK, Durations, Outcome, compute
from impact_studies.flacco.statements import ASSUMPTIONS, comparisons, statements, targets
from impact_studies.frame.study import Finding, Mark, Progress, Study, StudyFigure, StudyResult, held, targets_table


def _run(seed: int, quick: bool, progress: Progress) -> StudyResult:
    """Compute the study."""
    outcome = compute(seed, QUICK if quick else Durations(), progress)
    ours, said = targets(outcome), statements(outcome)
    missed = [one.what for one in (*ours, *said) if one.mark is Mark.BAD]
    return StudyResult(
        tables=(
            targets_table(ours),
            tables.gaps_table(outcome),
            tables.coefficients_table(outcome),
            tables.crossings_table(outcome),
            tables.contacts_table(outcome),
            tables.variants_table(outcome),
            tables.unexplained_table(outcome),
            tables.guidance_table(outcome),
        ),
        figures=_figures(outcome),
        findings=_findings(outcome),
        verdict=(
            f"{held(ours)} targets are met: coefficients within "
            f"{100.0 * tables.largest_error(outcome):.1f} %, {outcome.free_alarms} false alarms of the new residual "
            "where the classical one has "
            f"{outcome.classical_free_alarms}, "
            f"{sum(delay is not None for delay in outcome.delays)} of {len(outcome.delays)} contacts found. "
            f"{held(said)} statements and targets on Figs 2, 7 and 13 hold."
            + (f" Missed: {'; '.join(missed)}." if missed else "")
        ),
        assumptions=ASSUMPTIONS,
        comparisons=comparisons(outcome),
    )


def _findings(outcome: Outcome) -> tuple[Finding, ...]:
    present = JOINTS.gap > 0.0
    strain = 1e3 * (outcome.gap.gap - JOINTS.gap)
    rest = 1e3 * (outcome.fit.model.gap - JOINTS.gap)[present]
    spring, both, motor = (outcome.variants[drive] for drive in (Drive.SPRING, Drive.BOTH, Drive.MOTOR))
    delays = [delay for delay in outcome.delays if delay is not None]
    slowest = 1e3 * max(delays, default=float("nan"))
    swing = outcome.single_joint
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
        Finding(
            f"The classical residual of the single joint is wrong by up to {swing.inside.max():.2f} Nm inside the gap, "
            f"and by up to {swing.arrival.max():.2f} Nm after it, when the link meets the other side and stops against "
            "the motor, whose inertia it takes to move with the link all the time."
        ),
        Finding(
            f"With the classical residual the arm of Fig. 13 would have yielded {outcome.classical_sine_alarms} times "
            f"before the person came, in {outcome.durations.swing:g} s."
        ),
    )


def _figures(outcome: Outcome) -> tuple[StudyFigure, ...]:
    # Late, so that listing the studies does not load the drawing library.
    from impact_studies.flacco import drawing

    return (
        StudyFigure(
            "single_joint",
            "One joint with a gap of 0.1 rad",
            "Fig. 2 of the source: joint and motor, and the classical residual without an external torque. The "
            "residual with backlash is not in the picture of the source.",
            lambda: drawing.draw_single_joint(outcome),
        ),
        StudyFigure(
            "gap",
            "The gap of joint 2, by hand",
            "Fig. 5 of the source: link less motor position, as measured, while the motors stand still and the links "
            "are moved from edge to edge of their gaps. What the hand strains the contact by is in the measured gap.",
            lambda: drawing.draw_gap(outcome),
        ),
        StudyFigure(
            "trajectories",
            "The motions",
            "Figs 6 and 9 of the source: the beginning of the motion for the identification, as measured, and the "
            "desired motion of the second experiment.",
            lambda: drawing.draw_trajectories(outcome),
        ),
        StudyFigure(
            "identification",
            "What the model explains",
            "Fig. 7 of the source: the residual of a motion without contact, and the identified backlash and friction.",
            lambda: drawing.draw_identification(outcome),
        ),
        StudyFigure(
            "crossings",
            "Joint 1 crosses its gap",
            "Fig. 8 of the source. The classical residual knows the motor's inertia and the friction beyond the gap; "
            "what it does not know is the gap.",
            lambda: drawing.draw_crossings(outcome),
        ),
        StudyFigure(
            "contacts",
            "Contacts at rest and in motion",
            "Fig. 11 of the source: the residual of each joint with its threshold.",
            lambda: drawing.draw_contacts(outcome),
        ),
        StudyFigure(
            "guidance",
            "A person leads the arm",
            "Fig. 13 of the source: measured joint positions, and the residual, which is 0 below its threshold. The "
            "sine of joint 1 goes on where the arm was led, 2 s after the last touch.",
            lambda: drawing.draw_guidance(outcome),
        ),
    )


STUDY = Study(
    name="flacco_backlash",
    title="Contacts on an arm with backlash",
    source="Flacco 2016, sections II to V, Figs 2, 5 to 9, 11 and 13",
    shows=(
        "Joints with the gaps of Romeo: gap and coefficients identified from simulated recordings, and the classical "
        "momentum residual against the one with backlash and friction, without contact, in contacts, and led by hand."
    ),
    run=_run,
    minutes=0.4,
)
