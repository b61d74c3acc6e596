"""Wang 2022, Figs 3 to 9 and Table I: which inertia predicts the impulse of an arm, and which contact model its force?

Three configurations, five speeds, ten noisy impacts each, of the simulated Panda under torque control and under stiff
velocity control, against the four options of the source and against M + B_theta and M + B_rho. Then what decides it:
all control modes down to motors that nothing slows down, walls of other stiffness, materials of other restitution.
The forces under stiff velocity control against the three contact models of the source, and those on a wall that is a
spring.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, islice

from impact_control.robots import RobotDescription, load_robot
from impact_studies.frame.study import Progress, Study, StudyFigure, StudyResult, part, tally
from impact_studies.frame.trials import from_arrays, run_trials, trials_directory
from impact_studies.wang import published, tables
from impact_studies.wang.comparisons import (
    comparisons,
    fit_comparisons,
    model_comparisons,
    profile_comparisons,
    rate_comparisons,
)
from impact_studies.wang.evaluation import (
    FittedImpact,
    Limit,
    Outcome,
    evaluate_case,
    evaluate_limit,
    fitted_impacts,
    ratio_table,
)
from impact_studies.wang.impacts import (
    LOSSLESS,
    GivenMass,
    Impact,
    MassOf,
    fit_given_mass,
    fit_models,
    model_case,
    observation,
    run_impact,
)
from impact_studies.wang.measurement import FittedStop
from impact_studies.wang.options import CONFIGURATIONS, Approach, InertiaOption, prepare_approach
from impact_studies.wang.statements import ASSUMPTIONS, findings, verdict
from impact_studies.wang.trials import COMPARED, RESTITUTION, TYPICAL_SPEED, WALL_STIFFNESS, ControlMode

WALLS = (5e4, 1e5, 2e5, 5e5, 1e6, 2e6, 5e6, 1e7)
"""[N/m]"""

MATERIALS = (0.15, 0.3, RESTITUTION, 0.9)
"""[-] Restitutions; below 0.15 lie those that the source fits to its forces."""

GIVEN = (
    InertiaOption.GENERALIZED_MOMENTUM,
    InertiaOption.REDUCED_MOTORS,
    InertiaOption.ALGEBRAIC,
    InertiaOption.COMPOSITE,
)
"""Options whose mass is given to the fitted law."""

_SWEPT = (ControlMode.TORQUE_HELD, ControlMode.VELOCITY_DRIVE, ControlMode.MOTORS_LOCKED)
_QUICK_REPETITIONS = 2


def _run(seed: int, quick: bool, progress: Progress) -> StudyResult:
    robot = load_robot()
    speeds = published.SPEEDS[::2] if quick else published.SPEEDS
    outcome = _simulate(robot, speeds, seed, quick, progress)
    names = [configuration.name for configuration in CONFIGURATIONS]
    holds, sentence = verdict(outcome)
    driven = outcome.of(ControlMode.VELOCITY_DRIVE)
    fitted = fitted_impacts([case for case in driven if case.approach.configuration is CONFIGURATIONS[0]])
    velocities = ratio_table(robot, driven)
    compared = (
        *model_comparisons(outcome.models, velocities),
        *profile_comparisons(outcome.models, velocities, speeds),
        *fit_comparisons(fitted),
        *rate_comparisons(fitted, outcome.models),
        *comparisons(outcome, velocities, speeds, names),
    )
    return StudyResult(
        tables=(
            tables.summary_table(outcome.cases),
            tables.impulse_table(outcome.cases),
            tables.velocity_table(velocities, speeds, names),
            tables.mode_table(outcome.modes),
            tables.wall_table(outcome.sweeps, (InertiaOption.COMPOSITE, InertiaOption.REDUCED_MOTORS)),
            tables.restitution_table(outcome.materials),
            tables.given_mass_table(outcome.given),
            tables.area_table(outcome.models),
            *(tables.model_table(outcome.models, mass) for mass in MassOf),
        ),
        figures=_figures(outcome, fitted),
        findings=findings(outcome),
        verdict=f"{sentence} {tally(compared)}",
        holds=holds,
        assumptions=ASSUMPTIONS,
        comparisons=compared,
    )


def _simulate(robot: RobotDescription, speeds: Sequence[float], seed: int, quick: bool, progress: Progress) -> Outcome:
    approaches = [prepare_approach(robot, configuration) for configuration in CONFIGURATIONS]
    repetitions = range(_QUICK_REPETITIONS if quick else published.REPETITIONS)
    cases = {
        (mode, approach, speed): [
            Impact(approach.configuration, mode, speed, seed=(seed, COMPARED.index(mode), i, round(1e3 * speed), trial))
            for trial in repetitions
        ]
        for mode in COMPARED
        for i, approach in enumerate(approaches)
        for speed in speeds
    }
    modes = [(approach, _limit(approach, mode)) for approach in approaches for mode in ControlMode]
    stiffnesses = WALLS[1::3] if quick else WALLS
    sweeps = [
        [(approach, _limit(approach, mode, stiffness=stiffness)) for stiffness in stiffnesses]
        for approach in approaches
        for mode in _SWEPT
    ]
    materials = [
        (approach, _limit(approach, mode, restitution=restitution))
        for approach in approaches
        for mode in COMPARED
        for restitution in (MATERIALS[::3] if quick else MATERIALS)
    ]
    limits = [impact for _, impact in chain(modes, *sweeps, materials)]
    # What belongs to two tables is simulated once.
    impacts = list(dict.fromkeys(chain(*cases.values(), limits)))
    directory = trials_directory("wang_impulse")
    arrays = run_trials(run_impact, impacts, directory, part(progress, 0.0, 0.6))
    found = {impact: observation(one) for impact, one in zip(impacts, arrays, strict=True)}
    given = [(one, option) for one in modes if one[1].mode in COMPARED for option in (GIVEN[-1:] if quick else GIVEN)]
    masses = [GivenMass(impact, option) for (_, impact), option in given]
    stops = run_trials(fit_given_mass, masses, directory, part(progress, 0.6, 0.1))
    repeated = [impacts for (mode, *_), impacts in cases.items() if mode is ControlMode.VELOCITY_DRIVE]
    springs = [
        [Impact(approach.configuration, ControlMode.VELOCITY_DRIVE, speed, restitution=LOSSLESS)]
        for approach in approaches
        for speed in speeds
    ]
    fitted = run_trials(fit_models, list(chain(*repeated, *springs)), directory, part(progress, 0.7, 0.3))
    every = iter(fitted)

    def limit(approach: Approach, impact: Impact) -> Limit:
        return evaluate_limit(approach, impact, found[impact])

    return Outcome(
        cases=tuple(
            evaluate_case(robot, approach, mode, speed, [found[impact] for impact in group])
            for (mode, approach, speed), group in cases.items()
        ),
        modes=tuple(limit(*one) for one in modes),
        forces=tuple(
            (impact.configuration.name, impact.mode, found[impact].trial, found[impact].impulses) for _, impact in modes
        ),
        sweeps=tuple(tuple(limit(*one) for one in sweep) for sweep in sweeps),
        materials=tuple(limit(*one) for one in materials),
        given=tuple(
            (limit(*one), option, from_arrays(FittedStop, stop) if stop else None)
            for (one, option), stop in zip(given, stops, strict=True)
        ),
        models=tuple(model_case(group[0], list(islice(every, len(group)))) for group in (*repeated, *springs)),
    )


def _limit(
    approach: Approach, mode: ControlMode, *, stiffness: float = WALL_STIFFNESS, restitution: float = RESTITUTION
) -> Impact:
    """Return an impact at the typical speed without noise."""
    return Impact(approach.configuration, mode, TYPICAL_SPEED, stiffness, restitution)


def _figures(outcome: Outcome, fitted: Sequence[FittedImpact]) -> tuple[StudyFigure, ...]:
    # Late, so that listing the studies does not load the drawing library.
    from impact_studies.wang import figures

    return (
        StudyFigure(
            "impulses",
            "Measured and predicted impulses",
            "Fig. 9 of the source, with both readings of the end of compression and both control modes; a column for "
            "each of the three configurations. (6) and (20) lie on each other or nearly so.",
            lambda: figures.draw_impulses(outcome.cases),
        ),
        StudyFigure(
            "forces",
            "Forces under all control modes",
            f"{TYPICAL_SPEED} m/s, no noise. Until the force has passed its peak the modes are alike.",
            lambda: figures.draw_forces(outcome.forces),
        ),
        StudyFigure(
            "profiles",
            "All forces at the speeds of Fig. 6",
            "Stiff velocity control, first configuration: every repetition, and the mean of their speeds before the "
            "impact. The source gives these speeds and has its forces in the picture only.",
            lambda: figures.draw_profiles(outcome.models),
        ),
        StudyFigure(
            "fits",
            "Forces with the fitted law, and its energies (Figs 7 and 8)",
            "Stiff velocity control, first configuration, the first of the noisy impacts at each speed, of which the "
            "first push is fitted. Below: where the kinetic energy of the fitted mass goes, (28).",
            lambda: figures.draw_fits(fitted),
        ),
        StudyFigure(
            "areas",
            "Forces against the area of a virtual spring (Fig. 3(b))",
            "Stiff velocity control, the first noisy impact at the middle speed, a column for each configuration. The "
            "force up to its peak is taken for the compression of a virtual spring; restitutions up to 1 give it back "
            f"inside the blue area. Top: a wall of restitution {RESTITUTION}. Middle: one that is a spring, without "
            "noise. Below: force over the way into them; a virtual spring is a straight line there.",
            lambda: figures.draw_areas(outcome.models),
        ),
        StudyFigure(
            "restitutions",
            "Restitution by the fitted models over the speed (Figs 4(b) and 5(b))",
            "Stiff velocity control, mean and standard deviation of the repetitions; configurations in the colours of "
            "the source. The mass of the model is fitted, or that of the composite rigid body. Dashed: the same arm at "
            "a wall that is a spring. (25) is what the source calls the restitution; a free mass keeps less of its "
            "speed.",
            lambda: figures.draw_restitutions(outcome.models),
        ),
        StudyFigure(
            "walls",
            "The wall decides",
            "Impulse over speed for walls of other stiffness, which is the time that an impact takes. An inertia would "
            "be a horizontal line. A column for each configuration.",
            lambda: figures.draw_walls(outcome.sweeps),
        ),
    )


STUDY = Study(
    name="wang_impulse",
    title="Which inertia predicts the impulse of an arm, under which control",
    source="Wang 2022, sections VI and VII, Figs 3 to 9 and Table I",
    shows=(
        "The simulated Panda hits a wall in three configurations at five speeds, under torque control and under stiff "
        "velocity control. The impulse at the end of compression is compared with the predictions of the options of "
        "the source and of the inertias that the other sources use for torque control, the force with its three "
        "contact models."
    ),
    run=_run,
    minutes=0.3,
)
