"""Faults at random, and what is made of long runs."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from hypothesis import given
from hypothesis import strategies as st
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from endurance.faults import COMMANDS, FAULTS, STATES, Fault, draw_fault
from endurance.faulty_simulator import Disturbance, FaultyLine, LineFault, Order
from endurance.judged_task import (
    TaskEnd,
    complaints_of_bag,
    complaints_of_detection,
    complaints_of_fault,
    complaints_of_logs,
    evaluated,
    outcome_by_file,
    stopped_by_machine,
)
from endurance.records import EnduranceReport, TaskRecord, report_text
from endurance.watch import ArmWatch
from impact_control.pipeline import Outcome
from impact_control.recording.bag import BagWriter
from impact_control.robots import load_robot
from impact_control.scenario import load_scenario
from impact_control.util.errors import InvalidInputError
from impact_control_ros.bridge.task_messages import TaskResult
from recording_samples import TYPES, SampleRun, encoder, install_messages, messages

ORDERS = st.builds(
    Order,
    st.sampled_from([kind for kind in Disturbance if kind is not Disturbance.ALTER]),
    st.integers(1, 60),
    st.integers(1, 40),
)


def carried(order, messages, before=5):
    """Messages that come out of a line when `messages` are sent and the order is given after some of them."""
    out = []
    line = FaultyLine(out.append, lambda message: message)
    for number in range(messages):
        if number == before:
            line.disturb(order)
        line.carry(number)
    return out


@given(ORDERS)
def test_a_line_is_in_order_again_after_its_disturbance(order):
    messages = 5 + order.count + 10
    out = carried(order, messages)
    disturbed = range(5, 5 + order.count)
    assert out[:5] == list(range(5))
    assert out[-10:] == list(range(messages - 10, messages))
    if order.disturbance is Disturbance.DROP:
        assert not set(out) & set(disturbed)
    else:
        assert set(out) == set(range(messages)), "nothing is lost"
    repeats = order.depth if order.disturbance is Disturbance.DUPLICATE else 0
    dropped = order.count if order.disturbance is Disturbance.DROP else 0
    assert len(out) == messages - dropped + repeats * order.count


@given(st.integers(2, 30), st.integers(1, 10))
def test_delayed_messages_come_in_order_and_late_by_the_depth(count, depth):
    sent, late = [], []
    line = FaultyLine(lambda message: late.append(sent[-1] - message), lambda message: message)
    line.disturb(Order(Disturbance.DELAY, count, depth))
    for number in range(count + 3):
        sent.append(number)
        line.carry(number)
    while_delayed = max(0, count - depth)
    assert late[:while_delayed] == [depth] * while_delayed
    assert late[-3:] == [0, 0, 0]


def test_reordered_messages_come_the_latest_first():
    assert carried(Order(Disturbance.REORDER, 4, 1), 10) == [0, 1, 2, 3, 4, 6, 5, 8, 7, 9]


def test_altered_messages_are_copies():
    out = []
    line = FaultyLine(out.append, list)
    line.disturb(Order(Disturbance.ALTER, 1), lambda message: message.append("altered"))
    sent = ["sent"]
    line.carry(sent)
    line.carry(sent)
    assert out == [["sent", "altered"], ["sent"]]
    assert sent == ["sent"]


@pytest.mark.parametrize("make", [lambda: Order(Disturbance.DROP, 0), lambda: Order(Disturbance.DROP, 1, 0)])
def test_an_order_of_nothing_is_refused(make):
    with pytest.raises(InvalidInputError, match="at least 1"):
        make()


def test_what_alters_has_to_be_given():
    line = FaultyLine(print, list)
    with pytest.raises(InvalidInputError, match="alter"):
        line.disturb(Order(Disturbance.ALTER, 1))


def test_every_fault_is_drawn_with_every_target_and_sizes_in_between():
    random = np.random.default_rng(0)
    drawn = [draw_fault(random) for _ in range(10_000)]
    for kind in FAULTS:
        own = [fault for fault in drawn if fault.kind is kind]
        assert {fault.target for fault in own} == set(kind.targets)
        low, high = kind.size
        sizes = np.array([fault.size for fault in own])
        assert np.all((low <= sizes) & (sizes <= high))
        if high > 0.0:
            assert np.median(sizes) == pytest.approx(np.sqrt(low * high), rel=0.6)
    assert str(drawn[0]) == str(draw_fault(np.random.default_rng(0)))


@pytest.mark.parametrize("order", [Order(Disturbance.DELAY, 9, 4), Order(Disturbance.DROP, 9)])
def test_a_line_that_is_mended_forgets_its_order_and_what_waits(order):
    out = []
    line = FaultyLine(out.append, lambda message: message)
    line.disturb(order)
    line.carry(1)
    line.mend()
    line.carry(2)
    assert out == [2]


def test_the_robot_side_understands_every_fault_of_its_lines():
    random = np.random.default_rng(0)
    drawn = [fault for fault in (draw_fault(random) for _ in range(500)) if fault.target in (STATES, COMMANDS)]
    for fault in drawn:
        told = LineFault.from_text(fault.disturbance)
        assert told.line == fault.target
        ways = {"clock forward": (1, 100), "clock back": (-1, 100)}
        ways |= {"clock set forward": (1, 1_000_000), "clock set back": (-1, 1_000_000)}
        way, count = ways.get(fault.kind.name, (0, max(1, round(fault.size))))
        assert told.order.count == count
        if told.alter is not None:
            message = JointState(velocity=[0.0] * 7) if told.line == STATES else Float64MultiArray(data=[0.0] * 7)
            if told.line == STATES:
                message.header.stamp.sec = 100
            told.alter(message if told.line == STATES else (message, 0))
            values = message.velocity if told.line == STATES else message.data
            stamp = message.header.stamp if told.line == STATES else Time(sec=100)
            shift = stamp.sec - 100 + 1e-9 * stamp.nanosec
            assert np.isnan(values).sum() == (fault.kind.name == "not a number")
            assert shift == pytest.approx(way * fault.size, abs=1e-9)
    of_lines = {kind.name for kind in FAULTS if kind.targets[0] in (STATES, COMMANDS)}
    assert {fault.kind.name for fault in drawn} == of_lines


@pytest.mark.parametrize(
    ("name", "target", "size", "said", "explained"),
    [
        ("drop", STATES, 30.0, "STATE_STALE: 31.0 ms between the stamps", True),
        ("drop", STATES, 30.0, "STATE_STALE: 60.0 ms between the stamps", False),
        ("drop", COMMANDS, 30.0, "STATE_STALE: 31.0 ms between the stamps", False),
        ("delay", COMMANDS, 300.0, "no command for 92 ms (limit 90 ms)", False),
        ("stop", "impact_loop", 0.09, "no command for 92 ms (limit 90 ms)", True),
        ("stop", "impact_loop", 0.02, "no command for 92 ms (limit 90 ms)", False),
        ("stop", "simulator", 0.3, "SUPERVISOR_STOP: no joint state for 92 ms (limit 90 ms)", True),
        ("clock back", STATES, 0.4, "STATE_STALE: -398.4 ms between the stamps", True),
        ("clock back", STATES, 0.4, "STATE_STALE: -700.0 ms between the stamps", False),
        ("clock set forward", STATES, 0.002, "STATE_STALE: 24.0 ms between the stamps", False),
        ("stop", "supervisor", 0.6, "SUPERVISOR_LOST: no sign of life for 0.53 s (limit 0.5 s)", True),
    ],
)
def test_a_fault_explains_no_longer_gap_than_it_makes(name, target, size, said, explained):
    assert fault_of(name, target, size).explains(said) is explained


@pytest.mark.parametrize(
    ("name", "target", "size", "trace"),
    [
        ("stop", "supervisor", 0.8, "SUPERVISOR_LOST: no sign of life for 0.53 s"),
        ("stop", "simulator", 0.2, "SUPERVISOR_STOP: no joint state for 92 ms"),
        ("stop", "impact_loop", 0.2, "no command for 92 ms"),
        ("drop", STATES, 60.0, "STATE_STALE: 61.0 ms between the stamps"),
        ("drop", COMMANDS, 60.0, "no command for 20 ms: joints damped"),
        ("delay", COMMANDS, 160.0, "no command for 20 ms: joints damped"),
        ("clock forward", STATES, 0.05, "STATE_STALE: 51.0 ms between the stamps"),
        ("clock set back", STATES, 5.0, "STATE_STALE: -4999.0 ms between the stamps"),
    ],
)
def test_what_is_large_enough_has_to_be_noticed_if_there_is_time(name, target, size, trace):
    fault = fault_of(name, target, size)
    assert fault.shows_in(["it", trace], 2.5)
    assert not fault.shows_in(["succeeded"], 2.5)
    assert fault.shows_in(["succeeded"], 0.74), "the task was over"
    small = replace(fault, size=0.9 * fault.kind.certain[0])
    assert small.shows_in(["succeeded"], 2.5)


def test_a_fault_explains_only_what_names_it():
    kill = next(fault for fault in map(draw_fault, [np.random.default_rng(1)] * 200) if fault.kind.name == "kill")
    assert kill.explains(f"node '{kill.target}' was killed by SIGKILL; all others were stopped")
    assert not kill.explains("node 'another' was killed by SIGKILL")
    assert not kill.explains("")


class TestArmWatch:
    limits = load_robot("panda").limits

    def see(self, watch, cycles=(1, 2, 3), **changed):
        middle = 0.5 * (self.limits.position_lower + self.limits.position_upper)
        values = {"position": middle, "velocity": np.zeros(7), "torque": np.zeros(7)} | changed
        watch.see(
            np.array(cycles),
            **{
                name: np.stack([middle if name == "position" else np.zeros(7), row, row])
                for name, row in values.items()
            },
        )

    def test_inside_all_limits_there_is_no_violation(self):
        watch = ArmWatch(self.limits)
        self.see(watch, velocity=0.99 * self.limits.velocity, torque=-self.limits.torque)
        assert watch.violations() == []
        assert watch.samples == 3
        assert not watch.at_rest

    @pytest.mark.parametrize("joint", range(7))
    @pytest.mark.parametrize("name", ["torque", "velocity"])
    def test_one_joint_above_its_limit_once_is_found(self, name, joint):
        watch = ArmWatch(self.limits)
        row = np.zeros(7)
        row[joint] = -1.02 * getattr(self.limits, name)[joint]
        self.see(watch, **{name: row})
        self.see(watch)
        (violation,) = watch.violations()
        assert violation == f"{name} at 102.0 % of its limit"
        watch.clear()
        assert watch.violations() == []

    @pytest.mark.parametrize("side", ["position_lower", "position_upper"])
    def test_a_position_beyond_its_limit_is_found(self, side):
        watch = ArmWatch(self.limits)
        beyond = 0.01 if side == "position_upper" else -0.01
        row = 0.5 * (self.limits.position_lower + self.limits.position_upper)
        row[3] = getattr(self.limits, side)[3] + beyond
        self.see(watch, position=row)
        assert watch.violations() == ["position 0.0100 rad beyond its limit"]

    def test_samples_that_were_not_seen_are_counted(self):
        watch = ArmWatch(self.limits)
        self.see(watch, cycles=(498, 499, 500))
        self.see(watch, cycles=(501, 503, 504))
        assert watch.unseen == 1
        self.see(watch, cycles=(1, 2, 3))  # put back to its start
        self.see(watch, cycles=(4, 5, 6))
        assert watch.unseen == 1 and watch.samples == 12
        assert watch.violations() == ["1 samples were not seen, beside 12 that were"]
        for cycle in range(7, 307, 3):
            self.see(watch, cycles=(cycle, cycle + 1, cycle + 2))
        assert watch.violations() == []
        watch.clear()
        self.see(watch, cycles=(900, 901, 902))
        assert watch.unseen == 0
        self.see(watch, cycles=(3, 4, 5))
        self.see(watch, cycles=(0, 1, 2))
        assert watch.unseen == 2

    def test_an_arm_without_numbers_is_an_error(self):
        with pytest.raises(InvalidInputError, match="true velocity"):
            self.see(ArmWatch(self.limits), velocity=np.full(7, np.nan))


def record(number, *complaints):
    time = 8.0 * number
    return TaskRecord(number, time, "tabletop", number, "", "succeeded", "", complaints, "", 5.0, 1e-4, 0.0, 0)


def stopped(number):
    return replace(record(number), outcome="fault", standstill=0.048, stopped_by_machine=True)


def report(tasks, growth=0.0):
    memory = {"loop": [(float(time), 100.0 + growth * time / 99) for time in range(100)]}
    return EnduranceReport("soak", 0, 800.0, {"kind": "here"}, tasks, memory)


def test_a_report_passes_without_complaints_and_with_flat_memory(tmp_path):
    good = report([record(1), record(2)])
    assert good.passed
    assert not report([]).passed
    assert not report([record(1), record(2, "still moving")]).passed
    assert report([stopped(1), *map(record, range(2, 21))]).passed
    assert not report([stopped(1), *map(record, range(2, 20))]).passed
    assert not replace(good, broke_off="no graph").passed
    assert "BROKE OFF: no graph" in report_text(replace(good, broke_off="no graph"))
    grown = report([record(1)], growth=5.0)
    assert grown.growth()["loop"] == pytest.approx(5.0 * 0.8, rel=0.02)
    assert not grown.passed
    written = json.loads(good.write(tmp_path).read_text())
    assert written == json.loads(json.dumps(asdict(good))) | {"growth": good.growth(), "passed": True}


def test_the_report_is_told_in_a_few_lines():
    fault = TaskRecord(
        2,
        12.0,
        "tabletop",
        2,
        "kill recorder, at 0.69 s",
        "session ended",
        "node 'recorder' was killed by SIGKILL",
        (),
        "started again",
        3.0,
        None,
        None,
        None,
    )
    text = report_text(report([record(1), fault, record(3, "the bag has no joint states")]))
    assert text.startswith("FAILED: 3 tasks in 13.3 min, 1 with a fault, 1 with complaints\n")
    assert "outcomes: succeeded 2, session ended 1" in text
    assert "faults: kill recorder 1" in text
    assert "steps after them: started again 1" in text
    assert "detection after contact: median 0.10 ms" in text
    assert "whether cores stood still could not be watched" in text
    assert "not seen" not in text and "not judged" not in text
    assert "memory of loop: 100.0 MB at the end, grown by 0.00 MB" in text
    assert "MORE THAN 2" in report_text(report([record(1)], growth=5.0))
    text = report_text(replace(report([replace(record(1), unseen=3)]), memory={"loop": [(1.0, 100.0)] * 9}))
    assert "were not seen: 3\n" in text and "memory: not judged, fewer than ten tasks" in text
    text = report_text(report([stopped(1), record(2)]))
    assert "FAILED" in text and "still for up to 48 ms, which ended 1 of the tasks, MORE THAN 5 %" in text


def fault_of(name, target, size=10.0):
    """The fault of that name at that target."""
    return Fault(next(kind for kind in FAULTS if kind.name == name and target in kind.targets), target, 0.7, size)


NO_SPANS = np.empty((0, 3), dtype=np.int64)

UNSAID = "nothing says that it was the fault: "
KILLED, CRASH = "node 'recorder' was killed by SIGKILL", "node 'recorder' was killed by SIGSEGV"
OTHER, ENDED = "node 'simulator' was killed by SIGKILL", "node 'impact_loop' ended by itself with exit code 1"
SILENT, CUT_OFF = "no joint state for 95 ms", "the recording was cut off"
STALE = "[ERROR] fault STATE_STALE: 25.0 ms"
REFUSED = "[ERROR] [1.0] [simulator]: command refused: nan for panda_joint4, need 7"


class TestJudgement:
    plan = load_scenario("tabletop")
    limits = load_robot().limits
    kill = fault_of("kill", "recorder")
    stop_recorder = fault_of("stop", "recorder", 0.3)
    stop_loop = fault_of("stop", "impact_loop", 0.1)
    stop_supervisor = fault_of("stop", "supervisor", 1.0)
    drop = fault_of("drop", STATES, 200.0)
    not_a_number = fault_of("not a number", COMMANDS)
    full_disk = fault_of("disk full", "recorder", 1e4)

    def result(self, outcome, summary=""):
        return TaskResult(outcome, summary, None, 1, 2.5, 0.001, 100.0)

    @pytest.mark.parametrize(
        ("scenario", "outcome"),
        [
            ("tabletop", Outcome.SUCCEEDED),
            ("tabletop_absent", Outcome.NO_IMPACT),
            ("tabletop_raised", Outcome.IMPACT_UNEXPECTED),
            ("tabletop_tilted", Outcome.POST_IMPACT_UNEXPECTED),
        ],
    )
    def test_the_file_says_how_a_task_ends(self, scenario, outcome):
        assert outcome_by_file(load_scenario(scenario)) is outcome

    def stale(self, gap=25.0, **changed):
        end = TaskEnd(self.result(Outcome.FAULT, f"STATE_STALE: {gap:.1f} ms between the stamps of two samples"))
        return replace(end, time=10_000_000_000, looked=10_400_000_000, loop_cores={1}, **changed)

    def stood_still(self, milliseconds, before=0.1, core=1):
        """One standstill of a core that began `before` [s] the end of `stale`."""
        begin = 10_000_000_000 - round(1e9 * before)
        return np.array([[begin, begin + round(1e6 * milliseconds), core]])

    def test_a_core_on_which_the_loop_does_not_run_excuses_no_gap_of_the_loop(self):
        assert stopped_by_machine(self.stale(), self.stood_still(40.0))
        assert not stopped_by_machine(self.stale(), self.stood_still(40.0, core=0))
        silent = self.stale(robot_stopped="no joint state for 95 ms")
        both = np.concatenate([self.stood_still(13.0), self.stood_still(50.0, core=0)])
        assert stopped_by_machine(silent, both)
        assert not stopped_by_machine(silent, both[1:])

    @pytest.mark.parametrize(
        ("gap", "standstill", "before", "excused"),
        [
            (25.0, 25.0, 0.1, True),
            (25.0, 13.0, 0.1, True),
            (25.0, 12.0, 0.1, False),
            (25.0, 25.0, 0.3, False),  # that was long before
            (3000.0, 25.0, 0.1, False),  # no machine stood still for that long
            (-25.0, 25.0, 0.1, False),
        ],
    )
    def test_a_machine_that_stood_still_excuses_only_a_gap_of_its_length(self, gap, standstill, before, excused):
        assert stopped_by_machine(self.stale(gap), self.stood_still(standstill, before)) is excused

    @pytest.mark.parametrize(
        ("robot_stopped", "standstill", "excused"),
        [
            ("no command for 95 ms (limit 90 ms)", 48.0, True),
            ("no joint state for 95 ms (limit 90 ms)", 48.0, True),
            ("no command for 95 ms (limit 90 ms)", 25.0, False),
            ("2 publishers of commands", 48.0, False),
        ],
    )
    def test_a_robot_that_was_stopped_needs_a_standstill_of_that_length(self, robot_stopped, standstill, excused):
        end = self.stale(robot_stopped=robot_stopped)
        assert stopped_by_machine(end, self.stood_still(standstill)) is excused
        assert stopped_by_machine(end, self.stood_still(standstill, before=-0.2)) is False, "the gap came before"

    @pytest.mark.parametrize(
        "changed",
        [
            {"result": None},
            {"result": TaskResult(Outcome.FAULT, "STATE_NOT_FINITE: a velocity is no number", None, 1, 2.5, 0.0, 0.0)},
            {"result": TaskResult(Outcome.IMPACT_UNEXPECTED, "impact unexpected", None, 1, 2.5, 0.0, 0.0)},
            {"error": "the bag was not closed"},
            {"death": "node 'recorder' was killed by SIGSEGV"},
            {"cut_off": "the recording was cut off"},
            {"refusal": "still wrong"},
        ],
    )
    def test_a_machine_that_stood_still_excuses_nothing_else(self, changed):
        assert not stopped_by_machine(replace(self.stale(), **changed), self.stood_still(40.0))

    def test_a_machine_that_stood_still_does_not_excuse_a_fault_that_must_be_felt(self):
        end = self.stale(robot_stopped="no command for 95 ms")
        assert complaints_of_fault(end, self.plan, self.kill, excused=True) == []
        assert complaints_of_fault(replace(end, injected=True), self.plan, self.stop_recorder, excused=True) == []
        for fault in (self.kill, fault_of("not a number", STATES), fault_of("not a number", COMMANDS)):
            (complaint,) = complaints_of_fault(replace(end, injected=True), self.plan, fault, excused=True)
            assert complaint.startswith("nothing says that it was the fault: fault: STATE_STALE")
        cut = replace(end, injected=True, cut_off="the recording was cut off")
        (complaint,) = complaints_of_fault(cut, self.plan, self.stop_recorder, excused=True)
        assert complaint.endswith("the recording was cut off")

    @pytest.mark.parametrize(
        ("outcome", "summary", "changed", "fault", "complaint"),
        [
            # What the fault explains, or does not reach.
            (Outcome.SUCCEEDED, "", {}, stop_recorder, ""),
            (None, "", {"death": KILLED}, kill, ""),
            (Outcome.FAULT, "STATE_STALE", {}, drop, ""),
            (Outcome.SUCCEEDED, "", {"robot_stopped": SILENT}, drop, ""),
            (Outcome.SUCCEEDED, "", {"cut_off": CUT_OFF}, full_disk, ""),
            (Outcome.SUCCEEDED, "all well", {"logged": (REFUSED,)}, not_a_number, ""),
            # What has to be felt or told of and is not.
            (Outcome.SUCCEEDED, "all well", {}, kill, f"{UNSAID}succeeded: all well"),
            (Outcome.SUCCEEDED, "all well", {}, not_a_number, f"{UNSAID}succeeded: all well"),
            (Outcome.SUCCEEDED, "", {}, full_disk, f"{UNSAID}succeeded: "),
            # What it does not explain, though it may explain the rest.
            (Outcome.FAULT, "STATE_STALE", {}, stop_recorder, f"{UNSAID}fault: STATE_STALE"),
            (Outcome.SUCCEEDED, "", {"robot_stopped": SILENT}, stop_recorder, f"{UNSAID}succeeded: {SILENT}"),
            (Outcome.FAULT, "STATE_STALE: too old", {"cut_off": CUT_OFF}, drop, f"{UNSAID}fault: {CUT_OFF}"),
            (
                Outcome.FAULT,
                "STATE_STALE: too old",
                {"error": "not closed: STATE_STALE"},
                drop,
                "not closed: STATE_STALE",
            ),
            # A node that dies otherwise than it was made to, a session that need not have ended.
            (None, "", {"death": OTHER, "logged": (STALE,)}, kill, f"{UNSAID}session ended: {OTHER}"),
            (None, "", {"death": CRASH, "logged": (STALE,)}, kill, f"{UNSAID}session ended: {CRASH}"),
            (None, "", {"death": ENDED, "logged": (STALE,)}, stop_loop, f"{UNSAID}session ended: {ENDED}"),
            (None, "", {"robot_stopped": SILENT}, drop, f"all had to be started again: {SILENT}"),
            (None, "", {"robot_stopped": SILENT}, stop_supervisor, f"all had to be started again: {SILENT}"),
            # Before all else: a refused reset, and a fault that never happened.
            (Outcome.FAULT, "STATE_STALE", {"refusal": "still"}, kill, "still"),
            (Outcome.FAULT, "STATE_STALE", {"injected": False}, kill, "ended before its fault: STATE_STALE"),
            (Outcome.SUCCEEDED, "all well", {"injected": False}, stop_recorder, "ended before its fault: all well"),
        ],
    )
    def test_a_task_with_a_fault_may_not_go_wrong_without_saying_why(self, outcome, summary, changed, fault, complaint):
        result = None if outcome is None else self.result(outcome, summary)
        end = TaskEnd(result, **({"injected": True} | changed))
        assert complaints_of_fault(end, self.plan, fault) == ([complaint] if complaint else [])

    @pytest.mark.parametrize("outcome", [Outcome.NO_IMPACT, Outcome.IMPACT_UNEXPECTED])
    def test_only_what_disturbs_may_change_the_verdict(self, outcome):
        end = TaskEnd(self.result(outcome, "unexpected"), injected=True, logged=("[ERROR] command refused: nan",))
        for name, target in (("drop", STATES), ("not a number", COMMANDS), ("clock back", STATES)):
            assert complaints_of_fault(end, self.plan, fault_of(name, target, 0.02)) == []
        for name, target in (("duplicate", STATES), ("duplicate", COMMANDS), ("stop", "predictor")):
            assert complaints_of_fault(end, self.plan, fault_of(name, target))

    def test_a_robot_that_was_stopped_after_a_good_task_is_told(self, tmp_path):
        stopped = {"robot_stopped": "no command for 95 ms", "refusal": "the robot side did not obey the reset"}
        _, complaints = evaluated(
            TaskEnd(self.result(Outcome.SUCCEEDED), **stopped), self.plan, tmp_path / "nothing", NO_SPANS
        )
        assert complaints[:2] == list(stopped.values())

    def test_a_node_that_logs_an_error_in_a_good_task_is_told(self, tmp_path):
        logged = ("[WARN] [1.0] [simulator]: late", "[ERROR] [1.0] [recorder]: cannot write")
        end = TaskEnd(self.result(Outcome.SUCCEEDED), logged=logged)
        _, complaints = evaluated(end, self.plan, tmp_path / "nothing", NO_SPANS)
        assert complaints[0] == f"a node says {logged[1]}" and len(complaints) == 2

    def test_an_error_that_nobody_caught_is_told_whatever_the_fault(self):
        end = TaskEnd(self.result(Outcome.FAULT, "STATE_STALE: 25.0 ms"), robot_stopped="no command for 95 ms")
        expected = (
            "[ERROR] [1.0] [impact_loop]: fault STATE_STALE: 25.0 ms: joints are damped",
            "[ERROR] [1.0] [supervisor]: no command for 95 ms: commands are kept from the robot",
            "[WARN] [1.0] [simulator]: late",
        )
        others = ("[ERROR] [1.1] [recorder]: cannot write", "Traceback (most recent call last):")
        end.logged = expected + others
        assert complaints_of_logs(end) == [f"a node says {others[1]}"]
        assert complaints_of_logs(end, excused=True) == [f"a node says {line}" for line in others]

    @pytest.mark.parametrize(
        ("contact", "detections", "delay", "complaint"),
        [
            (1.0, [1.001], 0.001, ""),
            (None, [], None, ""),
            (None, [0.7], None, "an impact was detected and there was no contact"),
            (1.0, [], None, "there was contact and no impact was detected"),
            (1.0, [0.7], -0.3, "the impact was detected -300.0 ms after the contact"),
            (1.0, [1.006], 0.006, "the impact was detected 6.0 ms after the contact"),
        ],
    )
    def test_an_impact_is_detected_where_there_is_contact_and_soon(self, contact, detections, delay, complaint):
        analysis = SimpleNamespace(true_impact_time=contact, detections=np.array(detections), detection_delay=delay)
        assert complaints_of_detection(analysis) == ([complaint] if complaint else [])

    @pytest.mark.parametrize(
        ("milliseconds", "before", "core", "late"),
        [
            (4.4, 1.4, 1, False),  # the contact was at 1.1 s of 2.5 s
            (4.4, 1.55, 1, False),
            (4.4, 1.4, 0, True),
            (4.4, 1.1, 1, True),
            (4.4, 1.7, 1, True),
            (0.9, 1.4, 1, True),
        ],
    )
    def test_a_detection_may_be_later_by_as_long_as_the_loop_could_not_run(
        self, milliseconds, before, core, late, monkeypatch
    ):
        analysis = SimpleNamespace(
            true_impact_time=1.1, detections=np.array([1.106]), detection_delay=0.006, within_limits=True
        )
        monkeypatch.setattr("endurance.judged_task.evaluate", lambda bag: SimpleNamespace(analysis=analysis))
        end = TaskEnd(self.result(Outcome.SUCCEEDED), time=10_000_000_000, loop_cores={1})
        _, complaints = evaluated(end, self.plan, Path("bag"), self.stood_still(milliseconds, before, core))
        assert complaints == (["the impact was detected 6.0 ms after the contact"] if late else [])

    @pytest.mark.parametrize(("within", "complaints"), [(True, 0), (False, 1), (None, 1)])
    def test_commands_have_to_be_known_to_keep_their_limits(self, within, complaints, monkeypatch):
        analysis = SimpleNamespace(
            true_impact_time=1.1, detections=np.array([1.101]), detection_delay=0.001, within_limits=within
        )
        monkeypatch.setattr("endurance.judged_task.evaluate", lambda bag: SimpleNamespace(analysis=analysis))
        _, found = evaluated(TaskEnd(self.result(Outcome.SUCCEEDED)), self.plan, Path("bag"), NO_SPANS)
        assert found == ["torque or torque rate of the commands above its limit"] * complaints

    def test_another_outcome_than_the_file_says_is_told(self, tmp_path):
        end = TaskEnd(self.result(Outcome.NO_IMPACT, "no impact was detected"))
        assert evaluated(end, self.plan, tmp_path, NO_SPANS) == (
            None,
            ["no impact, not succeeded: no impact was detected"],
        )

    @pytest.mark.parametrize(
        ("limits", "without", "complaint"),
        [
            ({}, (), ""),
            ({"torque": 4.0}, (), "torque of the commands at "),
            ({"torque_rate": 40.0}, (), "torque rate of the commands at "),
            ({}, ("effort_controller/commands", "controller/status"), "the bag has joint states and no commands"),
        ],
    )
    def test_the_commands_of_the_bag_have_to_be_there_and_inside_their_limits(
        self, limits, without, complaint, tmp_path
    ):
        prefix = install_messages(tmp_path / "prefix")
        with BagWriter(tmp_path / "bag", search_paths=[prefix]) as bag:
            for topic, content, log_time in messages(SampleRun()):
                if not topic.endswith(without):
                    bag.write(topic, TYPES[topic], encoder(TYPES[topic], prefix)(content), log_time)
        values = {"torque": 87.0, "torque_rate": 1000.0} | limits
        allowed = SimpleNamespace(**{name: np.full(7, value) for name, value in values.items()})
        complaints = complaints_of_bag(tmp_path / "bag", allowed)
        assert [words[: len(complaint)] for words in complaints] == ([complaint] if complaint else [])

    def test_a_bag_that_is_none_is_told(self, tmp_path):
        (complaint,) = complaints_of_bag(tmp_path / "nothing", self.limits)
        assert complaint.startswith("the bag cannot be read: ")
        _, complaints = evaluated(TaskEnd(self.result(Outcome.SUCCEEDED)), self.plan, tmp_path / "nothing", NO_SPANS)
        assert complaints[0].startswith("the bag cannot be read: ")
