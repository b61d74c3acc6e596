"""What the error of the nominal prediction depends on: one thing changed at a time, nothing random."""

from __future__ import annotations

from impact_control.studies.net_feedback.outcome import CaseResult, Experiment
from impact_control.studies.net_feedback.plan import GRAB, PUSH, Override, SceneCase, TrialCase
from impact_control.studies.net_feedback.running import evaluate
from impact_control.studies.study import Progress

CASES = (SceneCase(PUSH, "catfood", 1), SceneCase(GRAB, "catfood", 1))

_BOX = "actual_environment.objects.box"
DAMPED = "cover with nine times the damping"
SLIPPING = "plate that slips on the object: friction 0.1 instead of 1.0"
SMOOTH = "table of friction 0.1 instead of 0.3, known"
_ROUGHER = "table friction 10 % above the known one"

CHANGES: dict[str, tuple[Override, ...]] = {
    "as in the study": (),
    "no joint friction": (("simulation.joint_friction", False), ("control.friction_compensation", 0.0)),
    "torque loop without filter": (("simulation.torque_filter", False),),
    DAMPED: (
        (f"{_BOX}.contact.exponent", 1.0),
        (f"{_BOX}.contact.stiffness", "2.45e5 N/m"),
        (f"{_BOX}.contact.damping", "3e7 N*s/m^2"),
    ),
    SLIPPING: ((f"{_BOX}.friction", 0.1),),
    SMOOTH: (("expected_environment.table.friction", 0.1), ("actual_environment.table.friction", 0.1)),
    _ROUGHER: (("actual_environment.table.friction", 0.33),),
    "5 % of the joint friction not fed forward": (("control.friction_compensation", 0.95),),
    "object 2 % heavier than known": ((f"{_BOX}.mass", "1.326 kg"),),
    "orientation gain 10 1/s^2": (("control.gains.orientation", "10 1/s^2"),),
    "position gain 100 1/s^2": (("control.gains.position", "100 1/s^2"),),
    "both of these gains": (("control.gains.orientation", "10 1/s^2"), ("control.gains.position", "100 1/s^2")),
    "interim mode of 10 ms": (("control.interim_duration", "10 ms"),),
    "interim mode of 200 ms": (("control.interim_duration", "200 ms"),),
}
"""By name; the first changes nothing."""

PUSH_ONLY = (SLIPPING, SMOOTH, _ROUGHER)
"""What slips cannot be held, and what is lifted does not rub."""


def run_experiments(study: str, scales: tuple[float, ...], progress: Progress) -> list[Experiment]:
    """Run all changes, each on a push and a grab or on the push alone."""
    pairs = [(name, case) for name in CHANGES for case in CASES if case.scene == PUSH or name not in PUSH_ONLY]
    trials = [TrialCase(case, scale, 0, None, CHANGES[name]) for name, case in pairs for scale in scales]
    results = evaluate(trials, study, progress)
    found: dict[str, dict[SceneCase, CaseResult]] = {name: {} for name in CHANGES}
    for (name, case), result in zip(pairs, results, strict=True):
        found[name][case] = result
    return [Experiment(name, by_case) for name, by_case in found.items()]
