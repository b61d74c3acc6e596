"""What the error of the nominal prediction depends on: one thing changed at a time, nothing random."""

from __future__ import annotations

from impact_control.studies.net_feedback.outcome import Experiment
from impact_control.studies.net_feedback.plan import GRAB, PUSH, Override, SceneCase, TrialCase
from impact_control.studies.net_feedback.running import evaluate
from impact_control.studies.net_feedback.trial import scene_content
from impact_control.studies.study import Progress

CASES = (SceneCase(PUSH, "catfood", 1), SceneCase(GRAB, "catfood", 1))

_CONTACT = "actual_environment.objects.box.contact"

CHANGES: dict[str, tuple[Override, ...]] = {
    "as in the study": (),
    "no joint friction": (("simulation.joint_friction", False), ("control.friction_compensation", 0.0)),
    "torque loop without filter": (("simulation.torque_filter", False),),
    "cover that gives nothing back": (
        (f"{_CONTACT}.exponent", 1.0),
        (f"{_CONTACT}.stiffness", "2.45e5 N/m"),
        (f"{_CONTACT}.damping", "3e7 N*s/m^2"),
    ),
    "orientation gain 10 1/s^2": (("control.gains.orientation", "10 1/s^2"),),
    "position gain 100 1/s^2": (("control.gains.position", "100 1/s^2"),),
    "both of these gains": (("control.gains.orientation", "10 1/s^2"), ("control.gains.position", "100 1/s^2")),
    "interim mode of 10 ms": (("control.interim_duration", "10 ms"),),
    "interim mode of 200 ms": (("control.interim_duration", "200 ms"),),
}
"""By name; the first changes nothing."""


def run_experiments(study: str, scales: tuple[float, ...], progress: Progress) -> list[Experiment]:
    """Run all changes on a push and a grab."""
    trials = [
        TrialCase(case, scale, 0, None, scene_content(case), changes)
        for changes in CHANGES.values()
        for case in CASES
        for scale in scales
    ]
    results = iter(evaluate(trials, study, None, progress))
    return [Experiment(name, {case: next(results) for case in CASES}) for name in CHANGES]
