"""What is to be complained about a task that has ended: it must end as its file says, or say why not."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from impact_control.control.modes import Fault as ControlFault
from impact_control.endurance import Fault
from impact_control.errors import ImpactControlError
from impact_control.evaluation import Evaluation, evaluate
from impact_control.nodes import topics
from impact_control.nodes.task_messages import TaskResult
from impact_control.pipeline import Outcome
from impact_control.recording.commands import commanded_peaks
from impact_control.recording.series import read_bag
from impact_control.recording.topics import Topics
from impact_control.robots import JointLimits
from impact_control.scenario import Scenario

STALE = ControlFault.STATE_STALE.name


@dataclass(frozen=True)
class TaskEnd:
    """How a task ended.

    result: None where the session ended with it. error: what the session complained about. injected: whether the fault
    happened. robot_stopped: why the supervisor kept commands from the robot, "" where it did not. recovery: the step
    that was taken after it, and refusal: why it was not possible.
    """

    result: TaskResult | None
    error: str = ""
    injected: bool = False
    robot_stopped: str = ""
    recovery: str = ""
    refusal: str = ""

    @property
    def outcome(self) -> str:
        """Its outcome in words."""
        return "session ended" if self.result is None else self.result.outcome.name.lower().replace("_", " ")

    @property
    def said(self) -> str:
        """Everything that was said of it."""
        summary = "" if self.result is None else self.result.summary
        return "; ".join(filter(None, [summary, self.robot_stopped, self.error]))


def outcomes_of(scenario: Scenario) -> tuple[Outcome, ...]:
    """Return how a task may end by its file: as expected where the expected environment is there."""
    expected, actual = scenario.expected_environment.surface, scenario.actual_environment.surface
    if actual is None:
        return (Outcome.NO_IMPACT,)
    if expected is not None and all(
        np.array_equal(getattr(actual, name), getattr(expected, name)) for name in ("point", "normal", "friction")
    ):
        return (Outcome.SUCCEEDED,)
    return (Outcome.IMPACT_UNEXPECTED, Outcome.POST_IMPACT_UNEXPECTED)


def complaints_of_fault(end: TaskEnd, plan: Scenario, fault: Fault) -> list[str]:
    """Return what is wrong with how a task with a fault ended: it must not go wrong without saying why."""
    if end.refusal:
        return [end.refusal]
    if not end.injected:
        return [f"ended before its fault: {end.said}"]
    result = end.result
    summary = "" if result is None or result.outcome in outcomes_of(plan) else result.summary
    # Each by itself: what explains one does not excuse another.
    odd = [words for words in (summary, end.robot_stopped, end.error) if words and not fault.explains(words)]
    if not odd and fault.kind.certain and not fault.explains(end.said):
        odd = [end.said]
    return [f"nothing says that it was the fault: {end.outcome}: {words}" for words in odd]


def stopped_by_machine(end: TaskEnd, plan: Scenario, standstill: float) -> bool:
    """Return whether a task ended as it has to when the machine stands still for longer than it may without a sample.

    standstill [s]: the longest of a core during the task. Half of the time is enough: what runs on a core that stood
    still has to catch up.
    """
    result = end.result
    stale = result is not None and result.outcome is Outcome.FAULT and result.summary.startswith(STALE)
    return stale and not end.error and not end.refusal and standstill > 0.5 * plan.control.state_timeout


def complaints_of_bag(bag: Path, limits: JointLimits) -> list[str]:
    """Return what is wrong with the bag of a task that was not done: readable, with samples, commands in their limits.

    limits: of torque and torque rate.
    """
    try:
        recording = read_bag(bag)
        samples = len(recording.series(topics.JOINT_STATES)["stamp"])
        torque, rate = commanded_peaks(recording, Topics())
    except ImpactControlError as error:
        return [f"the bag cannot be read: {error}"]
    complaints = [] if samples > 0 else ["the bag has no joint states"]
    for name, peak, limit in (("torque", torque, limits.torque), ("torque rate", rate, limits.torque_rate)):
        if peak is not None and not np.all(peak <= limit * (1.0 + 1e-6)):
            complaints.append(f"{name} of the commands at {100.0 * np.max(peak / limit):.1f} % of its limit")
    return complaints


def evaluated(end: TaskEnd, plan: Scenario, bag: Path) -> tuple[Evaluation | None, list[str]]:
    """Return what the bag of a task without a fault says, and what is wrong with task and bag."""
    allowed = outcomes_of(plan)
    if end.result is None or end.result.outcome not in allowed:
        wanted = " or ".join(outcome.name.lower() for outcome in allowed)
        return None, [f"{end.outcome}, not {wanted}: {end.said}"]
    complaints = [words for words in (end.error, end.robot_stopped, end.refusal) if words]
    try:
        evaluation = evaluate(bag)
    except ImpactControlError as error:
        return None, [*complaints, f"the bag cannot be read: {error}"]
    if evaluation.analysis.within_limits is not True:
        complaints.append("torque or torque rate of the commands above its limit")
    return evaluation, complaints
