"""The same impacts in MuJoCo and in Drake: where they differ from our map, and why.

Neither engine has rigid impacts: both press compliant contacts together over a time. Brought close to the rigid limit,
they differ where they mean something else: a spring that gives energy back, or friction in its convex form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from impact_control.impacts import predict_multi_contact_impact
from impact_control.impacts.contact_system import assemble
from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Vector
from impact_studies.engines import drake_engine, mujoco_engine
from impact_studies.engines.cases import EngineCase, all_cases, convex_friction_velocity
from impact_studies.frame.provenance import installed_version
from impact_studies.frame.study import (
    OWN_TARGET,
    Cell,
    Column,
    Comparison,
    Finding,
    Judged,
    Progress,
    Study,
    StudyFigure,
    StudyResult,
    Table,
    all_hold,
    columns,
)
from impact_studies.frame.trials import run_trials, trials_directory

if TYPE_CHECKING:
    from matplotlib.figure import Figure

AGREES = 0.005
"""Up to this part of the jump of the velocities a difference is that of a contact that is not quite rigid."""


@dataclass(frozen=True)
class Engine:
    """An engine with its settings.

    Attributes:
        name: for the table.
        distribution: that it comes with.
        impact: (case) -> velocities after it by body.
        reason: why it may differ from our map, besides compliance.
        convex: whether its friction is convex.
        restitution: e that its contacts amount to.
        rigid: whether it is as close to rigid contact as the engine goes.
    """

    name: str
    distribution: str
    impact: Callable[[EngineCase], Mapping[str, Vector]]
    reason: str
    convex: bool = True
    restitution: float = 0.0
    rigid: bool = True


ENGINES = (
    Engine(
        "MuJoCo, damping only",
        "mujoco",
        partial(mujoco_engine.impact, solref=mujoco_engine.DAMPING_ONLY),
        "convex friction lifts a contact that slips: v_N = mu |v_T|",
    ),
    Engine(
        "MuJoCo, damping ratio 1 (default)",
        "mujoco",
        partial(mujoco_engine.impact, solref=mujoco_engine.CRITICALLY_DAMPED),
        "a critically damped contact that cannot pull gives back exp(-2) = 0.135 of the approach speed",
        restitution=mujoco_engine.CRITICAL_RESTITUTION,
        rigid=False,
    ),
    Engine(
        "Drake, SAP, near-rigid threshold 0.02",
        "drake",
        partial(drake_engine.impact, contact=drake_engine.RIGID_SAP),
        "convex friction lifts a contact that slips: v_N = mu |v_T|",
    ),
    Engine(
        "Drake, SAP, near-rigid threshold 1 (default)",
        "drake",
        partial(drake_engine.impact, contact=drake_engine.DEFAULT_SAP),
        "convex friction, its lift weakened by the regularisation",
        rigid=False,
    ),
    Engine(
        "Drake, lagged",
        "drake",
        partial(drake_engine.impact, contact=drake_engine.STIFF_LAGGED),
        "Coulomb's law; Hunt and Crossley's force lets go at 1/d = 1e-4 m/s",
        convex=False,
    ),
)


@dataclass(frozen=True)
class EngineTrial:
    """An impact in an engine, by their names, and the version of the engine, on which the result depends."""

    impact: str
    engine: str
    version: str


def run_engine(trial: EngineTrial) -> Mapping[str, NDArray[Any]]:
    """Return the velocities after the impact by body.

    Raises MissingExtraError, and InvalidInputError where another version of the engine is installed.
    """
    case = next(case for case in all_cases() if case.name == trial.impact)
    engine = next(engine for engine in ENGINES if engine.name == trial.engine)
    here = installed_version(engine.distribution)
    if here != trial.version:
        raise InvalidInputError(f"version of {engine.distribution}", here, f"{trial.version!r}, that of who asks")
    return engine.impact(case)


@dataclass(frozen=True)
class EngineRow:
    """One impact in one engine. Differences of the velocities of all bodies in the metric of the kinetic energy.

    Attributes:
        impact, engine: names.
        difference: from our map, as part of the jump that it predicts.
        unexplained: from what the friction and restitution of the engine would do in a rigid contact, likewise.
        reason: of the difference; "" where it is small.
        rigid: see `Engine`.
    """

    impact: str
    engine: str
    difference: float
    unexplained: float
    reason: str
    rigid: bool


def compare(case: EngineCase, engine: Engine, after: Mapping[str, Vector]) -> EngineRow:
    """Return what the velocities by body after an impact in an engine are beside those of our map."""
    system = assemble(case.bodies, case.contacts)
    ours = _stacked(case, predict_multi_contact_impact(case.bodies, case.contacts).velocities)
    theirs = _stacked(case, after)
    meant = convex_friction_velocity(system, engine.restitution) if engine.convex else ours
    jump = ours - system.velocity
    scale = np.sqrt(jump @ system.inertia @ jump)
    difference, unexplained = (
        float(np.sqrt(error @ system.inertia @ error) / scale) for error in (theirs - ours, theirs - meant)
    )
    reason = engine.reason if difference > AGREES else ""
    return EngineRow(case.name, engine.name, difference, unexplained, reason, engine.rigid)


def _stacked(case: EngineCase, velocities: Mapping[str, Vector]) -> Vector:
    return np.concatenate([velocities[name] for name in case.bodies])


def _run(_seed: int, quick: bool, progress: Progress) -> StudyResult:
    pairs = [(case, engine) for case in (all_cases()[:4] if quick else all_cases()) for engine in ENGINES]
    trials = [EngineTrial(case.name, engine.name, installed_version(engine.distribution)) for case, engine in pairs]
    found = run_trials(run_engine, trials, trials_directory("engine_comparison"), progress)
    rows = [compare(case, engine, after) for (case, engine), after in zip(pairs, found, strict=True)]
    rigid = [row for row in rows if row.rigid]
    agreeing = [row for row in rigid if row.difference <= AGREES]
    unexplained = max(row.unexplained for row in rigid)
    lagged = max(row.difference for row in rows if row.engine == ENGINES[-1].name)
    findings = (
        Finding(
            f"Drake's lagged solver, which has Coulomb's law, differs by at most {100 * lagged:.2g} % of the jump.",
            lagged <= AGREES,
        ),
        Finding(
            f"Close to rigid, {len(agreeing)} of {len(rigid)} agree to {100 * AGREES:g} %; the others have convex "
            f"friction, and what that does in a rigid contact is met by all to {100 * unexplained:.2g} %.",
            unexplained <= AGREES,
        ),
        Finding(
            "With MuJoCo's default damping ratio and Drake's default near-rigid threshold the differences go up to "
            f"{100 * max(row.difference for row in rows if not row.rigid):.3g} %; the reasons given leave up to "
            f"{100 * max(row.unexplained for row in rows if not row.rigid):.2g} % open, most where contacts slip."
        ),
    )
    compared = tuple(
        Comparison(OWN_TARGET, what, 100.0 * AGREES, 100.0 * found, "% of the jump", found <= AGREES)
        for what, found in (
            ("largest difference from our map, Drake's lagged solver, at most", lagged),
            ("largest difference from what an engine close to rigid means, at most", unexplained),
        )
    )
    sentence = (
        "In the rigid limit the engines do what our map does, but for friction where it is convex."
        if all_hold(compared)
        else "There are differences that are not explained."
    )
    return StudyResult(
        (_table(rows),), (_figure(rows),), findings, sentence, assumptions=ASSUMPTIONS, comparisons=compared
    )


ASSUMPTIONS = (
    "Contacts are stiffened until the impact is short: time steps of 1e-7 s (MuJoCo) and 1e-6 s (Drake), both without "
    "gravity and joint friction. With the time constant of MuJoCo's default, 0.02 s, the arm moves during the impact.",
    "The reflected inertia of motors is the armature of the joint.",
    "The settings close to rigid contact were looked for, on a sliding ball; the verdict is about these only. Of the "
    "other two only the damping ratio and the near-rigid threshold are the defaults, not stiffness and time step.",
)


def _table(rows: Sequence[EngineRow]) -> Table:
    def cells(row: EngineRow) -> Iterable[Cell | Judged]:
        yield from (row.impact, row.engine)
        # The difference from our map is no fault of an engine that means something else.
        yield Judged(100 * row.difference, True if row.rigid and row.difference <= AGREES else None)
        yield Judged(100 * row.unexplained, row.unexplained <= AGREES if row.rigid else None)
        yield row.reason

    return Table.of(
        "engines",
        "Impacts in physics engines",
        (
            *columns(("impact", "engine")),
            *columns(("from our map", "from what the\nengine means"), "%", 3),
            Column("reason"),
        ),
        map(cells, rows),
        "Differences of the velocities after the impact, in the metric of the kinetic energy, as part of the jump. "
        "What an engine means: its friction, convex or not, and its restitution, in a rigid contact.",
    )


def _figure(rows: Sequence[EngineRow]) -> StudyFigure:
    caption = (
        "Difference from our map as part of the jump; left edge: rounding. Hollow: from what the engine means by "
        f"friction and contact, below the other where they are the same. Dashed: {100.0 * AGREES:g} %, the agreement "
        "asked of settings close to rigid."
    )
    return StudyFigure("engines", "Impacts in physics engines", caption, lambda: _draw(rows))


def _draw(rows: Sequence[EngineRow]) -> Figure:
    from matplotlib.figure import Figure

    from impact_control.recording.style import SERIES, WIDTH

    impacts = list(dict.fromkeys(row.impact for row in rows))
    figure = Figure(figsize=(WIDTH, 0.45 * len(impacts) + 1.6), layout="constrained")
    axes = figure.subplots()
    for i, engine in enumerate(dict.fromkeys(row.engine for row in rows)):
        own = [row for row in rows if row.engine == engine]
        height = [impacts.index(row.impact) + 0.12 * (i - 2) for row in own]
        # Below this it is rounding.
        axes.plot([max(100 * row.difference, 1e-4) for row in own], height, "o", color=SERIES[i], label=engine)
        axes.plot([max(100 * row.unexplained, 1e-4) for row in own], height, "o", color=SERIES[i], fillstyle="none")
    axes.axvline(100 * AGREES, linestyle="--", linewidth=0.9, color="black")
    axes.set(xscale="log", xlabel="difference [% of the jump]", yticks=range(len(impacts)), yticklabels=impacts)
    axes.invert_yaxis()
    figure.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return figure


STUDY = Study(
    name="engine_comparison",
    title="The same impacts in MuJoCo and Drake",
    source="Proper 2021, section 2.2.3; van Steen 2024, section III, which takes the impact map from an engine",
    shows=(
        "Ten impacts of a ball, a plate with more corners than can be independent, a box between two pushers and the "
        "Panda with its motors, by our map and by two engines with several settings, and why they differ."
    ),
    run=_run,
    minutes=0.1,
)
