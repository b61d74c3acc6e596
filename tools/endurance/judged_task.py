"""Complaints about a task that has ended: it must end as its file says, or say why not."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmark.standstill import Spans, longest, on_cores
from endurance.faults import Fault, gaps_in
from endurance.log_tail import CRASHED, is_error
from impact_control.control.modes import Fault as ControlFault
from impact_control.pipeline import Outcome
from impact_control.recording.analysis import RunAnalysis
from impact_control.recording.measures import commanded_peaks
from impact_control.recording.series import read_bag
from impact_control.replay.evaluation import Evaluation, evaluate
from impact_control.robots import JointLimits
from impact_control.scenario import Scenario
from impact_control.util.errors import ImpactControlError
from impact_control.util.words import in_words
from impact_control_ros.bridge import topics
from impact_control_ros.bridge.task_messages import TaskResult

DISTURBED = (Outcome.IMPACT_UNEXPECTED, Outcome.POST_IMPACT_UNEXPECTED, Outcome.NO_IMPACT)
"""Allowed outcomes of a task that went on under a disturbance."""

LATEST_DETECTION = 0.005
"""[s] after the true contact in which an impact of the tabletop scenarios is detected, where no core stands still."""

NEAR = 0.2
"""[s] within which it is known when on the monotonic clock the contact was: the time of the task may lose some."""

STOPPED_BY_GAP = "without a joint state (allowed:"
"""In the reason of a task that was stopped in order because samples were missing."""

LAST = 0.2
"""[s] before the end of a task in which its cause has occurred: the loop reports a fault within 0.05 s."""


@dataclass
class TaskEnd:
    """End of a task.

    result: None where the session ended with it. time [ns]: when, on the monotonic clock. injected: whether the fault
    happened. death: which node died. robot_stopped: why the supervisor kept commands from the robot, and looked [ns]
    when that was asked. step: what was done to let it go on, and refusal: why that was not possible. cut_off: what was
    said of a recording that ended too early. error: anything else that went wrong. logged: what the nodes have written
    as warnings and errors. All "" or empty where there was nothing. loop_cores: on which cores the loop could run.
    """

    result: TaskResult | None = None
    time: int = 0
    injected: bool = False
    death: str = ""
    robot_stopped: str = ""
    looked: int = 0
    step: str = ""
    refusal: str = ""
    cut_off: str = ""
    error: str = ""
    logged: tuple[str, ...] = ()
    loop_cores: Collection[int] = ()

    @property
    def outcome(self) -> str:
        """Its outcome in words."""
        return "session ended" if self.result is None else in_words(self.result.outcome)

    @property
    def summary(self) -> str:
        """Text of the loop on it."""
        return "" if self.result is None else self.result.summary

    @property
    def said(self) -> str:
        """Everything that was said of it."""
        return "; ".join(filter(None, [self.summary, self.robot_stopped, self.death, self.cut_off, self.error]))

    @property
    def session_over(self) -> bool:
        """True where the graph cannot be used for another task."""
        return self.result is None or bool(self.death or self.refusal or self.error)

    @property
    def recovery(self) -> str:
        """The step after it."""
        return "started again" if self.session_over else self.step


def outcome_by_file(scenario: Scenario) -> Outcome:
    """Return how a task ends by its file: as expected where the expected surface is, otherwise by what differs."""
    expected, actual = scenario.expected_environment.surface, scenario.actual_environment.surface
    if actual is None:
        return Outcome.NO_IMPACT
    if expected is None or not np.array_equal(actual.point, expected.point):
        return Outcome.IMPACT_UNEXPECTED
    if np.array_equal(actual.normal, expected.normal) and actual.friction == expected.friction:
        return Outcome.SUCCEEDED
    return Outcome.POST_IMPACT_UNEXPECTED


def complaints_of_fault(end: TaskEnd, plan: Scenario, fault: Fault, *, excused: bool = False) -> list[str]:
    """Return what is wrong with how a task with a fault ended: it must not go wrong without saying why.

    excused: see `stopped_by_machine`.
    """
    wrong = [words for words in (end.refusal, end.error) if words]
    if wrong:
        return wrong
    if not end.injected:
        return [] if excused else [f"ended before its fault: {end.said}"]
    if end.session_over and not fault.kind.ends_session:
        return [f"all had to be started again: {end.said}"]
    # Each by itself: what explains one does not excuse another.
    said = [end.death, end.cut_off] if excused else [end.death, end.cut_off, end.robot_stopped]
    odd = [words for words in said if words and not fault.explains(words)]
    if not excused and not _allowed(end, plan, fault):
        odd.append(end.summary)
    duration = math.inf if end.result is None else end.result.duration
    if not odd and not fault.shows_in((end.said, *end.logged), duration):
        odd = [end.said]
    return [f"nothing says that it was the fault: {end.outcome}: {words}" for words in odd]


def _allowed(end: TaskEnd, plan: Scenario, fault: Fault) -> bool:
    """Check that a task with a fault may have this outcome, by its message."""
    if end.result is None:
        return True  # what ended the session is judged by itself
    outcome = end.result.outcome
    if outcome is Outcome.FAULT:
        return fault.explains(end.summary)
    return outcome is outcome_by_file(plan) or (fault.kind.disturbs and outcome in DISTURBED)


def stopped_by_machine(end: TaskEnd, spans: Spans) -> bool:
    """Return whether a task ended as it has to when the machine stands still for longer than it may without a sample.

    spans: when a core stood still. Where the loop says how long no sample came, one of its cores has to have stood
    still in the last `LAST` of the task, for at least half of that: what runs on a core that stood still has to catch
    up. Of a robot side that stands still the stamps do not tell: its time stands still, too. Where the supervisor has
    stopped the robot, any core has to have stood still for half of the silence that it names. Stamps that go back are
    no standstill.
    """
    if end.result is None or end.session_over or end.cut_off:
        return False
    stopped = end.result.outcome is Outcome.UNDECIDED and STOPPED_BY_GAP in end.summary
    if not stopped and end.result.outcome is not Outcome.FAULT:
        return False
    stale = stopped or end.summary.startswith(f"{ControlFault.STATE_STALE.name}: ")
    waits = [(gaps_in(end.summary) if stale else [], on_cores(spans, end.loop_cores), end.time)]
    if end.robot_stopped:
        waits.append((gaps_in(end.robot_stopped), spans, end.looked))
    begin = end.time - round(1e9 * LAST)
    return all(
        len(gaps) == 1 and gaps[0] > 0.0 and longest(stood_still, begin, until) >= 0.5 * gaps[0]
        for gaps, stood_still, until in waits
    )


def complaints_of_logs(end: TaskEnd, *, excused: bool = False) -> list[str]:
    """Return the errors in the logs that no fault leads to: uncaught exceptions.

    excused: also errors besides the reports of a core stall by loop and supervisor; see `stopped_by_machine`.
    """
    expected = [words for words in (end.summary, end.robot_stopped) if words]
    return [
        f"a node says {line}"
        for line in end.logged
        if CRASHED in line or (excused and is_error(line) and not any(words in line for words in expected))
    ]


def complaints_of_bag(bag: Path, limits: JointLimits) -> list[str]:
    """Return what is wrong with the bag of a task that was not done: readable, with samples, commands in their limits.

    limits: of torque and torque rate.
    """
    try:
        recording = read_bag(bag)
        samples = len(recording.series(topics.JOINT_STATES)["stamp"])
        torque, rate = commanded_peaks(recording)
    except ImpactControlError as error:
        return [f"the bag cannot be read: {error}"]
    complaints = [] if samples > 0 else ["the bag has no joint states"]
    if torque is None and samples > 0:
        complaints.append("the bag has joint states and no commands")
    for name, peak, limit in (("torque", torque, limits.torque), ("torque rate", rate, limits.torque_rate)):
        if peak is not None and not np.all(peak <= limit * (1.0 + 1e-6)):
            complaints.append(f"{name} of the commands at {100.0 * np.max(peak / limit):.1f} % of its limit")
    return complaints


def evaluated(end: TaskEnd, plan: Scenario, bag: Path, spans: Spans) -> tuple[Evaluation | None, list[str]]:
    """Return what the bag of a task without a fault says, and what is wrong with task and bag.

    spans: when a core stood still.
    """
    wanted = outcome_by_file(plan)
    if end.result is None or end.result.outcome is not wanted:
        return None, [f"{end.outcome}, not {wanted.name.lower()}: {end.said}"]
    complaints = [words for words in (end.death, end.robot_stopped, end.cut_off, end.error, end.refusal) if words]
    complaints += [f"a node says {line}" for line in end.logged if is_error(line)]
    try:
        evaluation = evaluate(bag)
    except ImpactControlError as error:
        return None, [*complaints, f"the bag cannot be read: {error}"]
    if evaluation.analysis.within_limits is not True:
        complaints.append("torque or torque rate of the commands above its limit")
    stood_still = _standstill_at_contact(end, end.result.duration, evaluation.analysis.true_impact_time, spans)
    return evaluation, complaints + complaints_of_detection(evaluation.analysis, stood_still)


def _standstill_at_contact(end: TaskEnd, duration: float, contact: float | None, spans: Spans) -> float:
    """Return for how long [s] a core of the loop stood still near the contact; duration, contact: times of the task."""
    if contact is None:
        return 0.0
    when, near = end.time - round(1e9 * (duration - contact)), round(1e9 * NEAR)
    return longest(on_cores(spans, end.loop_cores), when - near, when + near)


def complaints_of_detection(analysis: RunAnalysis, stood_still: float = 0.0) -> list[str]:
    """Return what is wrong with the detection where there was no fault: soon after a contact, and without one never.

    stood_still: for how long [s] the loop could not run near the contact; by as much it may be later.
    """
    if analysis.true_impact_time is None:
        return ["an impact was detected and there was no contact"] if analysis.detections.size else []
    delay = analysis.detection_delay
    if delay is None:
        return ["there was contact and no impact was detected"]
    if not 0.0 <= delay <= LATEST_DETECTION + stood_still:
        return [f"the impact was detected {1e3 * delay:.1f} ms after the contact"]
    return []
