"""Rey Arias 2024, Tables III and IV: how well the impact map predicts ten types of impacts of a simulated Panda."""

from __future__ import annotations

import numpy as np

from impact_control.simulation import PlantOptions
from impact_studies.frame.study import Progress, Study, StudyFigure, StudyResult, tally
from impact_studies.frame.trials import from_arrays, run_trials, trials_directory
from impact_studies.rey_arias import published
from impact_studies.rey_arias.comparisons import comparisons
from impact_studies.rey_arias.evaluation import Outcome, evaluate_type
from impact_studies.rey_arias.experiments import (
    COAST,
    PUSH,
    SCATTER,
    STEEL,
    TYPES,
    Repetition,
    Trial,
    experiment_robot,
    run_repetition,
)
from impact_studies.rey_arias.statements import findings, verdict
from impact_studies.rey_arias.tables import tables

REPETITIONS = 5
"""Trials of each type of experiment, section IV."""

QUICK_REPETITIONS = 2

ASSUMPTIONS = (
    "The configurations are not published: the sphere meets the plate 0.40 m (backward, lateral) or 0.45 m (forward) "
    "in front of the base with its centre 0.05 m above it, the tool tilted as in Table II when it does, joint 1 at 0.",
    f"The virtual force is not published, nor for how long it acts: here {PUSH:g} s, ending {COAST:g} s before the "
    "impact. It is a wrench (force and moment), found so that the joint velocities before the impact are those of "
    "Table III: with a force alone joint 6, which hardly moved in the experiments, turns at 2 to 13 deg/s.",
    "The tilts of Table II are taken from the tool pointing down, about the axes of the base; with these signs the "
    "tip leads in all motions, and the published velocities before the impact lead into the plate in all ten types.",
    "Repetitions differ by the sensor noise of Proper 2021 (3.5) and by a normally distributed start configuration of "
    f"{SCATTER:g} rad; how much the experiments scattered is not published.",
    "B_theta is a quarter of B_rho in all joints, as in Table I for joints 2, 4 and 6; transmission data of the other "
    "joints by equal size of the drive. The end-effector is an aluminium sphere on a rod, lighter and longer than the "
    "one of the source, whose mass is not published.",
    f"The contact has the stiffness ({STEEL.stiffness:g} N/m^1.5) and damping of Table I, which are given for the "
    "planar simulation, and friction 0.3; joint friction is the sigmoid of Gaz et al. 2019.",
    "The impact is looked for in central differences of the velocity of joints 1 to 6: the text says q, but second "
    "differences of positions with the noise of Proper 2021 (3.5) are as large as the impact.",
    "The contact point is the lowest point of the sphere, at the measured configuration of the last sample before the "
    "impact.",
)


def _run(seed: int, quick: bool, progress: Progress) -> StudyResult:
    seeds = np.random.default_rng(seed).integers(0, 2**32, (len(TYPES), REPETITIONS))
    repetitions = QUICK_REPETITIONS if quick else REPETITIONS
    cases = [Repetition(one.number, int(number)) for one in TYPES for number in seeds[one.number - 1, :repetitions]]
    found = run_trials(run_repetition, cases, trials_directory("rey_arias_tables"), progress)
    trials = [from_arrays(Trial, arrays) for arrays in found]
    robot = experiment_robot()
    evaluations = [evaluate_type(robot, trials[i : i + repetitions]) for i in range(0, len(trials), repetitions)]
    outcome = Outcome(tuple(evaluations), trials[0], robot.noise.position, PlantOptions.of().sample_period)
    holds, sentence = verdict(outcome)
    compared = comparisons(outcome)
    return StudyResult(
        tables=tables(outcome),
        figures=_figures(outcome),
        findings=findings(outcome),
        verdict=f"{sentence} {tally(compared)}",
        holds=holds,
        assumptions=ASSUMPTIONS,
        comparisons=compared,
    )


def _figures(outcome: Outcome) -> tuple[StudyFigure, ...]:
    # Late, so that listing the studies does not load the drawing library.
    from impact_studies.rey_arias import figures

    return (
        StudyFigure(
            "trial",
            "An impact, type 1",
            "Velocities of one repetition as in Fig. 4 and 5 of the source. Dashed: the impact found offline. "
            "Diamond: virtual rigid-body velocity after the impact, the slope of the cubic there.",
            lambda: figures.draw_trial(outcome.shown, outcome.evaluations[0].impacts[0]),
        ),
        StudyFigure(
            "predictions",
            "Velocities before and after the impact, and what was predicted",
            "Means of the repetitions as in Fig. 6 (type 1) and Fig. 7 (type 4) of the source, whose velocities are "
            "dotted.",
            lambda: figures.draw_predictions(outcome.evaluations),
        ),
        StudyFigure(
            "motor_inertia",
            "What B_theta gains over B_rho",
            "Error with B_rho less that with B_theta, Table III. Green: B_theta is better. Bold: by 1 deg/s or more.",
            lambda: figures.draw_gains(
                outcome.errors.motors - outcome.errors.reduced_motors,
                published.ERROR_MOTORS - published.ERROR_REDUCED_MOTORS,
                r"gain by $B_\theta$",
            ),
        ),
        StudyFigure(
            "friction",
            "What friction gains",
            "Error without friction less that with 0.3, Table IV. Green: friction is better. Bold: by 1 deg/s or more.",
            lambda: figures.draw_gains(
                outcome.errors.without_friction - outcome.errors.reduced_motors,
                published.ERROR_WITHOUT_FRICTION - published.ERROR_WITH_FRICTION,
                "gain by friction",
            ),
        ),
        StudyFigure(
            "friction_coefficient",
            "The friction coefficient found again",
            "Mean absolute error over the coefficient in the map with B_theta, by type; solid forward, broken "
            "backward, dotted lateral; a curve ends where the error is large. Dots: minima. Dashed line: the friction "
            "of the simulated plate.",
            lambda: figures.draw_friction(outcome.evaluations),
        ),
    )


STUDY = Study(
    name="rey_arias_tables",
    title="Predicted and observed velocities after the impacts of a Panda",
    source="Rey Arias 2024, section IV, Tables II, III and IV, Fig. 4 to 7",
    shows=(
        "Ten types of impacts of a simulated Panda with a steel plate, five repetitions each: errors of the rigid "
        "impact map with B_theta and B_rho, with and without friction, beside the published ones; and the friction "
        "coefficient found again from the velocities."
    ),
    run=_run,
    minutes=0.1,
)
