"""Feedback and results of the actions `execute_impact_task` and `move_to` as values without ROS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from action_msgs.msg import GoalStatus
from impact_msgs.action import MoveTo

from impact_control.control import Mode
from impact_control.pipeline import MoveOutcome, Outcome
from impact_control.util.errors import ImpactControlError
from impact_control_ros.bridge import topics
from impact_control_ros.bridge.calls import Caller
from impact_control_ros.bridge.messages import taken

NOT_READY = "it is not active, runs a task, or is in a fault; its log says which"
"""Why a controller accepts no goal."""

MOTION_ATTEMPTS = 3
"""Attempts to bring the arm to the start of a trial: a gap between joint states ends a motion."""


@dataclass(frozen=True)
class Progress:
    """Progress of a task; task_time and duration in s, position_error in m."""

    mode: Mode
    task_time: float
    duration: float
    position_error: float
    impacts: int


@dataclass(frozen=True)
class TaskResult:
    """Result of a task. classification: the last ImpactClassification message."""

    outcome: Outcome
    summary: str
    classification: Any
    impacts: int
    duration: float
    final_position_error: float
    peak_torque_rate: float


@dataclass(frozen=True)
class MoveResult:
    """Result of a motion. duration in s; final_error [rad] of the joint that is farthest from the goal."""

    outcome: MoveOutcome
    summary: str
    duration: float
    final_error: float


def progress_of(feedback: Any) -> Progress:
    """Return the progress in a feedback of ExecuteImpactTask."""
    return taken(Progress, feedback, mode=Mode(feedback.mode))


def task_result(answer: Any) -> TaskResult:
    """Return the result in an answer of ExecuteImpactTask."""
    return taken(TaskResult, answer.result, outcome=_outcome(Outcome, answer))


def _outcome(kind: Any, answer: Any) -> Any:
    """Return the outcome in an answer: a fault where the server does not know the goal."""
    return kind.FAULT if answer.status == GoalStatus.STATUS_UNKNOWN else kind(answer.result.outcome)


def move(caller: Caller, goal: Any, find: float, timeout: float, arm: str = "") -> MoveResult:
    """Have the controller of an arm run a goal of MoveTo, see `Caller.run`; "": in the namespace of the caller.

    Raises ImpactControlError when it is not accepted.
    """
    name, end = topics.of_arm(arm, topics.MOVE_TO), "the end of the motion"
    answer = caller.run(MoveTo, name, goal, end=end, find=find, timeout=timeout)
    if answer is None:
        raise ImpactControlError(f"the controller does not move now: {NOT_READY}")
    return taken(MoveResult, answer.result, outcome=_outcome(MoveOutcome, answer))
