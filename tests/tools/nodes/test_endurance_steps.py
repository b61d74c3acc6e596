"""What a long run does after a task, with stand-ins for the graph: nothing that goes wrong ends it or gets lost."""

from __future__ import annotations

import signal
from types import SimpleNamespace

import numpy as np
import pytest

from endurance.faults import COMMANDS, FAULTS, Fault
from endurance.run import Endurance, Workload
from impact_control.control import Mode
from impact_control.pipeline import Outcome
from impact_control.robots import load_robot
from impact_control.util.errors import InterruptedByUserError
from impact_control_ros.bridge.calls import NoAnswerError
from impact_control_ros.bridge.supervision import Cause
from impact_control_ros.bridge.task_messages import Progress, TaskResult
from impact_control_ros.session.processes import (
    Death,
    GraphError,
    NodeDiedError,
    RecordingCutOffError,
    RobotStoppedError,
)

DROP = Fault(next(kind for kind in FAULTS if kind.name == "drop"), COMMANDS, 0.7, 200.0)
DEATH = NodeDiedError(Death("recorder", -signal.SIGSEGV), ": last words")


class StandInSession:
    """A session whose steps succeed, but for those that are given an error; notes what was asked of it."""

    def __init__(self, log_directory, outcome=Outcome.SUCCEEDED, **errors):
        self.processes = SimpleNamespace(log_directory=log_directory, pid=lambda name: 0)
        self.asked = []
        self._outcome, self._errors = outcome, errors
        self.robot_stopped, self.stop_reason = False, ""

    def _step(self, name, *arguments):
        self.asked.append((name, *arguments))
        if name in self._errors:
            raise self._errors[name]

    def restart_arm(self, name, seed):
        self._step("restart_arm")

    def record(self, bag, scenario_yaml=""):
        self._step("begin_bag" if bag else "end_bag")

    def run_task(self, name, *, on_progress):
        on_progress(Progress(Mode.ANTE, 1.0, 2.5, 0.0, 0))
        self._step("run_task")
        return TaskResult(self._outcome, "so", None, 1, 2.5, 0.0, 0.0)

    def set_parameters(self, node, *, disturb):
        self._step("mend" if not disturb else "disturb")

    def watch(self, seconds):
        self._step("watch")

    def pause(self, paused):
        self._step("pause")


@pytest.fixture
def endurance(tmp_path, monkeypatch):
    """A long run with nothing behind it."""
    monkeypatch.setattr("endurance.run.REST_TIME", 0.0)
    motion = SimpleNamespace(show=lambda watch: None, forget=lambda: None)
    machine = SimpleNamespace(take=lambda: np.empty((0, 3)), above_all=True)
    return Endurance(Workload(faults=True, scenarios=("tabletop",)), tmp_path, motion, machine, lambda: False)


@pytest.fixture
def run(endurance, tmp_path):
    """Runs one task with a fault on a stand-in; how it ended."""
    return lambda session, fault=DROP: endurance._run(session, "tabletop", 1, tmp_path / "bag", fault)


def test_the_report_names_the_commit_with_which_the_run_began(endurance, monkeypatch):
    begun = endurance.report("soak", "").machine["commit"]
    monkeypatch.setattr("endurance.run.describe_machine", lambda: {"commit": "another"})
    assert endurance.report("soak", "").machine["commit"] == begun != "another"


@pytest.mark.parametrize("step", ["restart_arm", "begin_bag", "run_task", "mend", "pause", "end_bag"])
@pytest.mark.parametrize(
    "error",
    [NoAnswerError("service x did not answer within 10 s"), GraphError("simulator refused disturb"), DEATH],
    ids=lambda error: type(error).__name__,
)
def test_whatever_goes_wrong_is_kept_and_needs_a_new_session(step, error, run, tmp_path):
    session = StandInSession(tmp_path, **{step: error})
    end = run(session)
    assert (end.death, end.error) == (str(error.death), "") if error is DEATH else ("", str(error))
    assert session.asked[-1][0] == step, "nothing more is asked of it"
    assert end.session_over and end.recovery == "started again"


def test_a_session_that_gave_up_a_stopped_robot_says_why(run, tmp_path):
    gave_up = RobotStoppedError(Cause.CONTROLLER_SILENT, "no command for 95 ms")
    end = run(StandInSession(tmp_path, run_task=gave_up))
    assert end.robot_stopped == "no command for 95 ms" and not end.error
    assert end.session_over and end.recovery == "started again"


def test_a_task_that_went_on_needs_nothing(run, tmp_path):
    session = StandInSession(tmp_path)
    end = run(session)
    assert [name for name, *_ in session.asked] == [
        "restart_arm",
        "begin_bag",
        "disturb",
        "run_task",
        "mend",
        "pause",
        "end_bag",
    ]
    assert end.injected and end.result.outcome is Outcome.SUCCEEDED
    assert not end.session_over and end.recovery == "" and end.said == "so"


def test_a_loop_in_fault_is_activated_again(run, tmp_path):
    end = run(StandInSession(tmp_path, Outcome.FAULT))
    assert not end.session_over and end.recovery == "loop activated again"


def test_a_recording_that_was_cut_off_needs_no_new_session(run, tmp_path):
    end = run(StandInSession(tmp_path, end_bag=RecordingCutOffError("the recording in bag was cut off")))
    assert end.cut_off == "the recording in bag was cut off"
    assert not end.session_over and end.recovery == ""


def test_what_comes_into_the_logs_is_noted_once_also_between_two_tasks(run, tmp_path):
    log = tmp_path / "impact_loop.log"
    session = StandInSession(tmp_path)

    def write(*_):
        with log.open("a") as file:
            file.write("[INFO] [2.0] [impact_loop]: mode ante\n[ERROR] [2.1] [impact_loop]: now\n")
        (tmp_path / "recorder.log").write_text("[WARN] [2.2] [recorder]: new\n")

    session.pause = write
    assert run(session).logged == ("[ERROR] [2.1] [impact_loop]: now", "[WARN] [2.2] [recorder]: new")
    with log.open("a") as file:
        file.write("[ERROR] [3.0] [impact_loop]: between two tasks\n")
    assert run(StandInSession(tmp_path)).logged == ("[ERROR] [3.0] [impact_loop]: between two tasks",)
    assert run(StandInSession(tmp_path)).logged == ()


def test_a_user_who_stops_is_no_fault(run, tmp_path):
    with pytest.raises(InterruptedByUserError):
        run(StandInSession(tmp_path, run_task=InterruptedByUserError("stopped by the user")))


def test_a_task_with_a_fault_is_judged_by_how_it_ended_its_logs_and_its_bag(endurance, tmp_path, monkeypatch):
    log = tmp_path / "impact_loop.log"

    class Crashing(StandInSession):
        """A loop that has an error which nobody catches while the session ends."""

        def close(self):
            log.write_text("Traceback (most recent call last):\n")

    session = Crashing(tmp_path, Outcome.SUCCEEDED, pause=GraphError("gone"))
    monkeypatch.setattr(endurance, "_session", session)
    monkeypatch.setattr(endurance, "_end_session", session.close)
    monkeypatch.setattr(endurance, "_complaints_of_motion", lambda fault: ["what the arm did"])
    monkeypatch.setattr(endurance, "_note_memory", lambda: None)
    record = endurance._task(2, "tabletop", DROP)
    motion, ended, bag, crashed = record.complaints
    assert motion == "what the arm did"
    assert ended == "gone"
    assert bag.startswith("the bag cannot be read")
    assert crashed == "a node says Traceback (most recent call last):"


def test_a_fault_that_nothing_tells_of_is_a_complaint(endurance, tmp_path, monkeypatch):
    monkeypatch.setattr(endurance, "_session", StandInSession(tmp_path, Outcome.FAULT))
    monkeypatch.setattr(endurance, "_complaints_of_motion", lambda fault: [])
    monkeypatch.setattr(endurance, "_note_memory", lambda: None)
    ended, bag = endurance._task(2, "tabletop", DROP).complaints
    assert ended == "nothing says that it was the fault: fault: so"
    assert bag.startswith("the bag cannot be read")


class Supervisor:
    """Answers resets in turn: refusals as errors, None where it obeys."""

    def __init__(self, session, answers):
        self._session, self._answers = session, answers

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def reset(self):
        answer = self._answers.pop(0)
        if answer is not None:
            raise answer
        self._session.robot_stopped = False


@pytest.mark.parametrize("first", [NoAnswerError("no answer"), GraphError("the supervisor refused: still silent")])
def test_a_reset_is_asked_for_until_it_is_obeyed(first, run, tmp_path, monkeypatch):
    session = StandInSession(tmp_path, Outcome.FAULT)
    session.robot_stopped, session.stop_reason = True, "no command for 95 ms"
    session.watch_until = lambda condition, patience: condition()
    monkeypatch.setattr("endurance.run.ImpactClient", lambda: Supervisor(session, [first, None]))
    end = run(session)
    assert end.robot_stopped == "no command for 95 ms" and end.recovery == "reset" and not end.refusal


def test_a_reset_that_is_never_obeyed_is_a_refusal(run, tmp_path, monkeypatch):
    session = StandInSession(tmp_path, Outcome.FAULT)
    session.robot_stopped, session.stop_reason = True, "no command for 95 ms"
    monkeypatch.setattr("endurance.run.RESET_PATIENCE", 0.0)
    refused = GraphError("the supervisor refused: still silent")
    monkeypatch.setattr("endurance.run.ImpactClient", lambda: Supervisor(session, [refused]))
    end = run(session)
    assert end.refusal == "the supervisor refused: still silent"
    assert end.session_over and end.recovery == "started again"


def test_a_node_that_dies_while_the_robot_is_reset_is_told(run, tmp_path, monkeypatch):
    session = StandInSession(tmp_path, Outcome.FAULT)
    session.robot_stopped, session.stop_reason = True, "no command for 95 ms"

    def die(*_):
        raise DEATH

    session.watch_until = die
    monkeypatch.setattr("endurance.run.ImpactClient", lambda: Supervisor(session, [None]))
    end = run(session)
    assert end.death == "node 'recorder' was killed by SIGSEGV" and end.session_over


def test_an_arm_that_was_not_seen_or_moves_at_the_end_is_told(endurance):
    limits = load_robot().limits
    position = np.array([(limits.position_lower + limits.position_upper) / 2])
    moving = np.full((1, 7), 0.06)
    assert endurance._complaints_of_motion(DROP) == ["the arm was not seen"]
    endurance._watch.see(np.array([1]), position, moving, 0.0 * moving)
    assert endurance._complaints_of_motion(DROP) == ["moving at the end, at 0.060 rad/s"]
    assert endurance._complaints_of_motion(Fault(FAULTS[0], "simulator", 0.7, 0.0)) == [], "it is not there any more"
    assert endurance._complaints_of_motion(Fault(FAULTS[0], "recorder", 0.7, 0.0)) != []
    endurance._watch.see(np.array([2]), position, 0.0 * moving, 2.0 * limits.torque[None])
    assert endurance._complaints_of_motion(None) == ["torque at 200.0 % of its limit"]
