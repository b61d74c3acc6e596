"""Wang 2022, Fig. 9 and Table I: which inertia predicts the impulse of an arm, under which control mode?

Three configurations, five speeds, ten noisy impacts each, of the simulated Panda under torque control and under stiff
velocity control, against the four options of the source and against M + B_theta and M + B_rho. Then what decides it:
all control modes down to motors that nothing slows down, walls of other stiffness, materials of other restitution.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from impact_control.robots import RobotDescription, load_robot
from impact_control.studies.study import Mark, Progress, Study, StudyFigure, StudyResult
from impact_control.studies.wang import published
from impact_control.studies.wang.evaluation import Limit, ratio_table, run_case
from impact_control.studies.wang.measurement import measure
from impact_control.studies.wang.options import (
    CONFIGURATIONS,
    Approach,
    InertiaOption,
    predicted_impulses,
    prepare_approach,
)
from impact_control.studies.wang.outcome import Outcome
from impact_control.studies.wang.statements import ASSUMPTIONS, findings, verdict
from impact_control.studies.wang.tables import (
    impulse_table,
    mode_table,
    restitution_table,
    summary_table,
    velocity_table,
    wall_table,
)
from impact_control.studies.wang.trials import (
    COMPARED,
    RESTITUTION,
    TYPICAL_SPEED,
    WALL_STIFFNESS,
    ControlMode,
    Trial,
    run_trial,
    wall,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WALLS = (5e4, 1e5, 2e5, 5e5, 1e6, 2e6, 5e6, 1e7)
"""[N/m]"""

MATERIALS = (0.15, 0.3, RESTITUTION, 0.9)
"""[-] Restitutions; below 0.15 lie those that the source fits to its forces."""

_SWEPT = (ControlMode.TORQUE_HELD, ControlMode.VELOCITY_DRIVE, ControlMode.MOTORS_LOCKED)
_QUICK_REPETITIONS = 2
_SHARE_OF_CASES = 0.65
"""Part of the time that the noisy trials take."""


def _run(seed: int, quick: bool, progress: Progress) -> StudyResult:
    robot = load_robot()
    approaches = [prepare_approach(robot, configuration) for configuration in CONFIGURATIONS]
    speeds = published.SPEEDS[::2] if quick else published.SPEEDS
    outcome = _simulate(robot, approaches, speeds, seed, quick, progress)
    progress(1.0, "done")
    names = [configuration.name for configuration in CONFIGURATIONS]
    said = findings(outcome)
    return StudyResult(
        tables=(
            summary_table(outcome.cases),
            impulse_table(outcome.cases),
            velocity_table(ratio_table(robot, outcome.of(ControlMode.VELOCITY_DRIVE)), speeds, names),
            mode_table(outcome.modes),
            wall_table(outcome.sweeps, (InertiaOption.COMPOSITE, InertiaOption.REDUCED_MOTORS)),
            restitution_table(outcome.materials),
        ),
        figures=_figures(outcome),
        findings=said,
        verdict=verdict(outcome),
        holds=all(finding.mark is not Mark.BAD for finding in said),
        assumptions=ASSUMPTIONS,
    )


def _simulate(
    robot: RobotDescription,
    approaches: Sequence[Approach],
    speeds: Sequence[float],
    seed: int,
    quick: bool,
    progress: Progress,
) -> Outcome:
    repetitions = range(_QUICK_REPETITIONS if quick else published.REPETITIONS)
    kinds = [(mode, i, speed) for mode in COMPARED for i in range(len(approaches)) for speed in speeds]
    cases = []
    for count, (mode, i, speed) in enumerate(kinds):
        progress(_SHARE_OF_CASES * count / len(kinds), f"{mode.value}, {approaches[i].configuration.name}, {speed} m/s")
        place = (seed, COMPARED.index(mode), i, round(1e3 * speed))
        cases.append(run_case(robot, approaches[i], mode, speed, [(*place, trial) for trial in repetitions]))
    modes, forces = [], []
    for approach in approaches:
        for mode in ControlMode:
            limit, trial = _limit(robot, approach, mode)
            modes.append(limit)
            forces.append((approach.configuration.name, mode, trial, limit.impulses))
    stiffnesses = WALLS[1::3] if quick else WALLS
    settings = [(approach, mode) for approach in approaches for mode in _SWEPT]
    sweeps = []
    for count, (approach, mode) in enumerate(settings):
        done = _SHARE_OF_CASES + (0.95 - _SHARE_OF_CASES) * count / len(settings)
        progress(done, f"other walls, {approach.configuration.name}, {mode.value}")
        sweeps.append(tuple(_limit(robot, approach, mode, stiffness)[0] for stiffness in stiffnesses))
    progress(0.95, "other materials")
    materials = [
        _limit(robot, approach, mode, restitution=restitution)[0]
        for approach in approaches
        for mode in COMPARED
        for restitution in (MATERIALS[::3] if quick else MATERIALS)
    ]
    return Outcome(tuple(cases), tuple(modes), tuple(forces), tuple(sweeps), tuple(materials))


def _limit(
    robot: RobotDescription,
    approach: Approach,
    mode: ControlMode,
    stiffness: float = WALL_STIFFNESS,
    restitution: float = RESTITUTION,
) -> tuple[Limit, Trial]:
    trial = run_trial(robot, approach, mode, TYPICAL_SPEED, surface=wall(approach, stiffness, restitution))
    predictions = predicted_impulses(robot, trial.position, trial.velocity, approach.normal)
    masses = {option: impulse / trial.speed for option, impulse in predictions.items()}
    return Limit(approach, mode, stiffness, restitution, measure(trial), trial.detection, masses), trial


def _figures(outcome: Outcome) -> tuple[StudyFigure, ...]:
    def impulses() -> Figure:
        from impact_control.studies.wang.figures import draw_impulses

        return draw_impulses(outcome.cases)

    def forces() -> Figure:
        from impact_control.studies.wang.figures import draw_forces

        return draw_forces(outcome.forces)

    def walls() -> Figure:
        from impact_control.studies.wang.figures import draw_walls

        return draw_walls(outcome.sweeps)

    return (
        StudyFigure(
            "impulses",
            "Measured and predicted impulses",
            "Fig. 9 of the source, with both readings of the end of compression and both control modes. (6) and (20) "
            "lie on each other.",
            impulses,
        ),
        StudyFigure(
            "forces",
            "Forces under all control modes",
            f"{TYPICAL_SPEED} m/s, no noise. Until the force has passed its peak the modes are alike.",
            forces,
        ),
        StudyFigure(
            "walls",
            "The wall decides",
            "Impulse over speed for walls of other stiffness, which is the time that an impact takes. An inertia would "
            "be a horizontal line. Values above the frame are in the table.",
            walls,
        ),
    )


STUDY = Study(
    name="wang_impulse",
    title="Which inertia predicts the impulse of an arm, under which control",
    source="Wang 2022, sections VI and VII, Fig. 9 and Table I",
    shows=(
        "The simulated Panda hits a wall in three configurations at five speeds, under torque control and under stiff "
        "velocity control. The impulse at the end of compression is compared with the predictions of the options of "
        "the source and of the inertias that the other sources use for torque control."
    ),
    run=_run,
)
