"""The simulated arm behind a real controller manager and the guard: faults, attacks, tasks; each so often as --times.

Needs an environment of `colcon build` with ros2_control. Each trial prints one line of what was measured.
"""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from impact_msgs.action import ExecuteImpactTask
from impact_msgs.msg import (
    ControllerReference,
    ControllerStatus,
    GroundTruth,
    ImpactClassification,
    ImpactEvent,
    SupervisorStatus,
)
from impact_msgs.srv import PredictPostImpact
from lifecycle_msgs.msg import Transition
from rclpy.action import ActionClient
from rclpy.qos import qos_profile_services_default
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

from bursts import answers_of, answers_of_some_attempt, client_of
from harness import Peer, joint_state
from impact_control.robots import load_robot
from impact_control_ros.bridge import qos, topics
from impact_control_ros.bridge.loop_output import effort_command
from impact_control_ros.bridge.messages import nanoseconds

PREFIXES = [Path(prefix) for prefix in os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)]
NEEDED = ("controller_manager", "impact_guard", "impact_sim_hardware", "impact_control_ros")


def installed(package):
    """Return whether a package is in the environment of `colcon build`."""
    return any((prefix / "share/ament_index/resource_index/packages" / package).exists() for prefix in PREFIXES)


pytestmark = [
    pytest.mark.wall_clock,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(not all(map(installed, NEEDED)), reason=f"not all installed here: {', '.join(NEEDED)}"),
]

LIMITS = load_robot().limits
AT_REST = 0.05
"""[rad/s]"""
PERIOD = 1e-3
"""[s] of a cycle"""
HOLD = 5
"""Cycles for which the guard may hold the last command."""
MOTION = 0.02
"""[rad] a joint may move after the last command."""
LONGEST_GAP = 0.064
"""[s] between two statuses of a loop that goes on."""
PARTNER_STOP = LONGEST_GAP + 0.1
"""[s] until a partner stops: it looks every 50 ms, and a status comes with every tenth sample."""


class LaunchedArm:
    """`mock.launch.py` with the arm at its start, and a peer of the test that listens to every cycle."""

    def __init__(self, peer, launch, log):
        self.peer, self._launch, self.log = peer, launch, log
        self.truths = peer.listen(GroundTruth, topics.TRUTH, qos.RECORD)
        self.statuses = peer.listen(ControllerStatus, topics.STATUS, qos.RECORD)
        self.commands = peer.listen(Float64MultiArray, topics.COMMANDS, qos.RECORD)
        self.watch = peer.listen(SupervisorStatus, topics.SUPERVISOR, qos.RECORD)
        self._action = ActionClient(peer.node, ExecuteImpactTask, topics.EXECUTE)
        self.result = None
        peer.until(self._up, patience=90.0, what="the launch")
        peer.spin(0.5)

    def _up(self):
        assert self._launch.poll() is None, self.log.read_text(errors="replace")[-3000:]
        watching = bool(self.watch) and self.watch[-1].state == SupervisorStatus.WATCHING
        return watching and self._action.server_is_ready() and bool(self.statuses)

    def begin(self, scenario=""):
        """Send the task, from wherever the arm is; it runs on while the peer is served."""
        sent = self._action.send_goal_async(ExecuteImpactTask.Goal(scenario=scenario, approach_start=True))
        self.peer.until(sent.done, what="the answer to the goal")
        assert sent.result().accepted, self.log.read_text(errors="replace")[-3000:]
        self.result = sent.result().get_result_async()

    def summary(self):
        """Return the summary of the task, once it has ended."""
        self.peer.until(self.result.done, patience=60.0, what="the end of the task")
        return self.result.result().result.summary

    def restore(self):
        """Clear a fault of the loop and a stop of the supervisor, as soon as nobody else publishes any more."""
        for _ in range(20):
            since = len(self.statuses)
            self.peer.spin(0.5)
            newest = self.statuses[-1] if len(self.statuses) > since else None
            if newest is not None and newest.fault == ControllerStatus.FAULT_NONE and self._up():
                return
            if newest is None or newest.fault != ControllerStatus.FAULT_NONE:
                for transition in (Transition.TRANSITION_DEACTIVATE, Transition.TRANSITION_ACTIVATE):
                    self.peer.change("impact_loop", transition)
            if self.watch[-1].state == SupervisorStatus.STOPPED:
                self.peer.call(Trigger, topics.RESUME, Trigger.Request())
        raise AssertionError(f"not to be had again: {self.statuses[-1].fault_reason} {self.watch[-1].reason}")

    def until_phase(self, phase):
        """Wait for a random moment of the approach or of the slide in contact."""

        def begun():
            assert not self.result.done(), f"ended before {phase}: {self.summary()}"
            in_contact = bool(self.truths[-1].in_contact)
            return in_contact if phase == "contact" else self.statuses[-1].mode == ControllerReference.ANTE

        self.peer.until(begun, patience=30.0, what=phase)
        self.peer.spin(random.SystemRandom().uniform(0.05, 1.0))
        return len(self.truths)

    def pid(self, node, namespace=""):
        """Return the process of a node of this launch, of an arm in its namespace."""
        named = {f"__node:={node}".encode(), *([f"__ns:=/{namespace}".encode()] if namespace else [])}
        for directory in Path("/proc").glob("[0-9]*"):
            try:
                words = (directory / "cmdline").read_bytes().split(b"\0")
                ours = os.getpgid(int(directory.name)) == self._launch.pid
            except OSError:
                continue
            if ours and named.issubset(words):
                return int(directory.name)
        raise AssertionError(f"no process of {node}")

    def tell(self, what, since, **more):
        """Check limits from a sample on, and that the arm comes to rest; print what was measured."""
        self.peer.spin(1.0)
        late = [status for status in self.statuses if later(status, self.truths[since])]
        assert all(status.fault_reason for status in late if status.fault != ControllerStatus.FAULT_NONE)
        truths = self.truths[since:]
        torque = np.array([truth.applied_torque for truth in truths])
        cycles = np.array([truth.cycles for truth in truths], dtype=float)
        change = (np.abs(np.diff(torque, axis=0)) / (LIMITS.torque_rate * PERIOD)).max(axis=1)
        speed = np.abs([truth.joint_velocity for truth in truths])
        found = {
            "speed at the end": speed[-1].max(),
            "share of the speed limit": (speed / LIMITS.velocity).max(),
            "share of the torque limit": (np.abs(torque) / LIMITS.torque).max(),
            "share of the torque rate limit": (change / np.maximum(np.diff(cycles), 1.0)).max(initial=0.0),
            **more,
        }
        print(f"\n{what}: " + ", ".join(f"{name} {value:.3g}" for name, value in found.items()))
        assert found["share of the speed limit"] < 1.0 and found["share of the torque limit"] < 1.0
        assert found["share of the torque rate limit"] < 1.0 + 1e-9
        assert found["speed at the end"] < AT_REST
        return found


def later(message, other):
    """Return whether a message was stamped after another one."""
    return nanoseconds(message.header.stamp) > nanoseconds(other.header.stamp)


@contextmanager
def launched(log, *arguments):
    """Launch the arm behind ros2_control, yield it, and end the launch."""
    with launch_of(log, *arguments) as launch, Peer(log) as peer:
        yield LaunchedArm(peer, launch, log / "launch.log")


@contextmanager
def launch_of(log, *arguments):
    """Start a launch, yield its process, and end it."""
    log.mkdir(parents=True, exist_ok=True)
    command = ["ros2", "launch", "impact_control_ros", "mock.launch.py", *arguments]
    with (log / "launch.log").open("w") as output:
        launch = subprocess.Popen(command, cwd=log, stdout=output, stderr=output, start_new_session=True)
        try:
            yield launch
        finally:
            end(launch)


def end(launch):
    """Interrupt a launch; whatever of it is left after that is killed."""
    launch.send_signal(signal.SIGINT)
    with suppress(subprocess.TimeoutExpired):
        launch.wait(timeout=20.0)
    with suppress(ProcessLookupError):
        os.killpg(launch.pid, signal.SIGKILL)
    launch.wait()


@pytest.mark.parametrize("phase", ["approach", "contact"])
@pytest.mark.parametrize(
    ("sent", "victims"),
    [
        (signal.SIGKILL, ("impact_loop",)),
        (signal.SIGSTOP, ("impact_loop",)),
        (signal.SIGKILL, ("impact_loop", "supervisor")),
    ],
    ids=["killed", "stopped", "killed with supervisor"],
)
def test_the_guard_damps_an_arm_whose_loop_is_gone(sent, victims, phase, tmp_path):
    with launched(tmp_path) as arm:
        pids = [arm.pid(victim) for victim in victims]
        diagnostics = arm.peer.listen(DiagnosticArray, topics.DIAGNOSTICS, qos.DIAGNOSTICS)
        arm.begin()
        since = arm.until_phase(phase) - 20
        for pid in pids:
            os.kill(pid, sent)
        arm.peer.spin(1.0)
        truths = arm.truths[since:]
        held, last = last_hold(truths, arm.commands[-1].data)
        position = np.array([truth.joint_position for truth in truths[last:]])
        found = arm.tell(
            f"{'SIGKILL' if sent == signal.SIGKILL else 'SIGSTOP'} of {' and '.join(victims)} in {phase}",
            since,
            **{
                "cycles held": held,
                "speed [rad/s]": np.abs(truths[last].joint_velocity).max(),
                "motion [rad]": np.abs(position - position[0]).max(),
            },
        )
        assert held <= HOLD and found["motion [rad]"] <= MOTION
        statuses = [status for array in diagnostics for status in array.status]
        guard = [status for status in statuses if status.name.endswith("effort_controller: guard")]
        damping = [status for status in guard if status.message.startswith("damping")]
        assert damping and all(status.level == DiagnosticStatus.ERROR for status in damping), guard


def last_hold(truths, command):
    """Return for how many cycles after its own the last command was held, and the index of its first sample."""
    held = [i for i, truth in enumerate(truths) if list(truth.applied_torque) == list(command)]
    assert held, "the last command did not come through"
    return int(truths[held[-1]].cycles - truths[held[0]].cycles), held[0]


ATTACKS = {
    "another place": lambda true: (np.array(true.joint_position) - 0.05, np.full(7, 1e-3), np.zeros(7)),
    "1e100 Nm": lambda true: (true.joint_position, true.joint_velocity, np.full(7, 1e100)),
    "not a number": lambda true: np.full((3, 7), np.nan),
}
EFFORTS = {"80 Nm": [80.0] * 7, "not a number": [np.nan] * 7, "three values": [1.0] * 3}


def fifo(path):
    os.mkfifo(path)


def large(path):
    with path.open("wb") as file:
        file.truncate(400_000_000)


def many_entries(path):
    """As many as a file that is read at all can have."""
    path.write_text("name: many\n" + "".join(f"key{i}: {i}\n" for i in range(17_000)))


def foreign(path):
    path.write_text("extends: ../../../etc/passwd\n")


class TestAttacks:
    """One launch for all of them: after each, the graph goes on. A task begins with a motion to its start."""

    @pytest.fixture(scope="class")
    def launch(self, tmp_path_factory):
        with launched(tmp_path_factory.mktemp("launch")) as arm:
            yield arm

    @pytest.fixture
    def arm(self, launch):
        yield launch
        launch.restore()

    @pytest.fixture
    def attacker(self, arm, tmp_path):
        with Peer(tmp_path / "attacker", name="attacker") as attacker:
            arm.restore()  # A process that joins may have stopped it.
            yield attacker

    @pytest.mark.parametrize("kind", ATTACKS)
    def test_a_second_source_of_joint_states_does_not_drive_the_arm(self, arm, attacker, kind):
        arm.begin()
        since = arm.until_phase("approach")
        forged = attacker.node.create_publisher(JointState, topics.JOINT_STATES, qos.STREAM)
        true = arm.truths[-1]

        def forge():
            stamp = nanoseconds(arm.truths[-1].header.stamp)
            forged.publish(joint_state(stamp + 500_000, *ATTACKS[kind](true)))
            return arm.result.done()

        arm.peer.until(forge, patience=30.0, what="the end of the task")
        arm.tell(f"joint states of {kind}: {arm.summary()}", since)
        assert forged.get_subscription_count(), "the attack reached nobody"
        assert arm.summary().startswith(("STATE_", "SUPERVISOR_STOP")) and "2 publishers of joint" in arm.summary()

    @pytest.mark.parametrize("kind", EFFORTS)
    def test_a_second_commander_does_not_drive_the_arm(self, arm, attacker, kind):
        arm.begin()
        since, first = arm.until_phase("approach") - 20, len(arm.commands)
        second = attacker.node.create_publisher(Float64MultiArray, topics.COMMANDS, qos.COMMAND)

        def command():
            second.publish(Float64MultiArray(data=EFFORTS[kind]))
            return arm.result.done()

        arm.peer.until(command, patience=30.0, what="the end of the task")
        of_loop = {tuple(one.data) for one in arm.commands[max(0, first - 1000) :] if list(one.data) != EFFORTS[kind]}
        truths = arm.truths[since:]
        last = max(i for i, truth in enumerate(truths) if tuple(truth.applied_torque) in of_loop)
        position = np.array([truth.joint_position for truth in truths[last:]])
        motion = np.abs(position - position[0]).max()
        arm.tell(f"commands of {kind}: {arm.summary()}", since, **{"motion [rad]": motion})
        assert second.get_subscription_count(), "the attack reached nobody"
        assert motion <= MOTION
        assert "2 publishers of commands" in arm.summary()

    @pytest.mark.parametrize("kind", ["for other joints", "not a number", "three values"])
    def test_a_command_that_is_none_is_not_followed(self, arm, attacker, kind):
        """From the only publisher of commands, in the place of the loop, which is deactivated."""
        arm.peer.change("impact_loop", Transition.TRANSITION_DEACTIVATE)
        names = list(load_robot().joint_names)
        other = attacker.node.create_publisher(Float64MultiArray, topics.COMMANDS, qos.COMMAND)
        swapped = effort_command([names[1], names[0], *names[2:]], [0.0] * 6 + [0.2])
        message = swapped if kind == "for other joints" else Float64MultiArray(data=EFFORTS[kind])
        since = len(arm.truths)

        def command():
            other.publish(message)
            return len(arm.truths) > since + 2000

        arm.peer.until(command, patience=30.0, what="two seconds of commands")
        applied = np.abs([truth.applied_torque[6] for truth in arm.truths[since:]])
        arm.tell(f"commands {kind}, of nobody else", since)
        assert other.get_subscription_count() and applied.max() < 0.1
        attacker.node.destroy_publisher(other)

    @pytest.mark.parametrize("make", [fifo, large, many_entries, foreign], ids=lambda make: make.__name__)
    def test_a_goal_with_such_a_file_is_refused_and_the_loop_goes_on(self, arm, make, tmp_path):
        make(tmp_path / "scenario.yaml")
        since, first = len(arm.truths), len(arm.statuses)
        arm.begin(str(tmp_path / "scenario.yaml"))
        summary = arm.summary()
        arm.tell(f"goal with the file {make.__name__}: {summary}", since)
        stamps = np.array([1e-9 * nanoseconds(status.header.stamp) for status in arm.statuses[first:]])
        assert arm.result.result().result.outcome == ExecuteImpactTask.Result.REFUSED and "root:" not in summary
        assert np.diff(stamps).max() < LONGEST_GAP and arm.watch[-1].state == SupervisorStatus.WATCHING

    @pytest.mark.parametrize("profile", [qos.CALLS, qos_profile_services_default], ids=["deep", "default"])
    def test_a_thousand_calls_of_the_predictor_are_answered_and_the_loop_goes_on(self, arm, profile):
        def call():
            return [client.call_async(PredictPostImpact.Request()) for _ in range(1000)]

        since = len(arm.truths)
        with client_of(arm.peer, profile) as client:
            if profile is qos.CALLS:
                answers_of(arm.peer, call())
            else:
                answers_of_some_attempt(arm.peer, call)
        arm.tell("a thousand calls", since)
        assert arm.watch[-1].state == SupervisorStatus.WATCHING


@pytest.mark.parametrize("topic", [topics.EVENTS, topics.CLASSIFICATION])
def test_a_forged_result_is_not_believed(tmp_path, topic):
    """At half of real time: two cores do not carry three processes, a forger and who looks on by the wall clock."""
    with launched(tmp_path, "shape:=separate", "real_time_factor:=0.5") as arm:
        arm.begin()
        since = arm.until_phase("approach")
        kind = ImpactEvent if topic == topics.EVENTS else ImpactClassification
        forged = arm.peer.another("forger").create_publisher(kind, topic, qos.EVENT)
        message = kind()

        def forge():
            message.header.stamp = arm.truths[-1].header.stamp
            forged.publish(message)
            return arm.result.done()

        arm.peer.until(forge, patience=30.0, what="the end of the task")
        arm.tell(f"forged {topic}: {arm.summary()}", since)
        assert "RESULT_SOURCES" in arm.summary()


MEANT = {
    "tabletop": "succeeded",
    "tabletop_tilted": "post impact unexpected",
    "tabletop_raised": "impact unexpected",
    "tabletop_absent": "no impact",
}


@pytest.mark.parametrize("hardware", ["shared", "topics"])
@pytest.mark.parametrize("scenario", MEANT)
def test_tasks_end_as_in_the_demo(scenario, hardware, tmp_path, pytestconfig):
    times = pytestconfig.getoption("--runs")
    told = run_launched(scenario, tmp_path, f"hardware:={hardware}", options=("--times", str(times)))
    assert re.search(rf"Outcome +{times} {MEANT[scenario]} *$", told, re.MULTILINE)


@pytest.mark.parametrize("scenario", MEANT)
def test_tasks_of_an_fr3_end_as_in_the_demo(scenario, tmp_path, pytestconfig):
    times = pytestconfig.getoption("--runs")
    file = tmp_path / "fr3.yaml"
    file.write_text(f"extends: {scenario}\nrobot: {{model: fr3}}\n")
    told = run_launched(str(file), tmp_path, options=("--times", str(times)))
    assert re.search(rf"Outcome +{times} {MEANT[scenario]} *$", told, re.MULTILINE)


def test_two_arms_end_as_in_the_demo(tmp_path):
    told = run_launched("grab_juice_1", tmp_path, namespace="left")
    assert re.search(r"Outcome +2 succeeded *$", told, re.MULTILINE)


def test_an_arm_stops_with_a_partner_whose_loop_and_supervisor_stand_still(tmp_path):
    """Nobody but the guard of that partner says so: stopped processes neither end nor send."""
    with launch_of(tmp_path, "scenario:=grab_juice_1") as launch, Peer(tmp_path, "left") as peer:
        arm = LaunchedArm(peer, launch, tmp_path / "launch.log")
        partner = peer.listen(ControllerStatus, "/right/controller/status", qos.RECORD)
        command = ["impact-control", "run", "grab_juice_1", "--launched", "--output", str(tmp_path / "runs")]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as runner:
            try:
                peer.until(lambda: arm.statuses[-1].mode == ControllerReference.ANTE, patience=60.0, what="the task")
                peer.spin(random.SystemRandom().uniform(0.0, 1.0))
                for pid in (arm.pid("impact_loop", "left"), arm.pid("supervisor")):
                    os.kill(pid, signal.SIGSTOP)
                peer.until(lambda: partner[-1].mode == ControllerReference.STOPPED, patience=10.0, what="the stop")
            finally:
                runner.kill()
        since = 1e-9 * (nanoseconds(partner[-1].header.stamp) - nanoseconds(arm.statuses[-1].header.stamp))
        print(f"\nthe partner stopped {1e3 * since:.0f} ms after the last status")
        assert since < PARTNER_STOP
        assert "stopped: the guard of left follows no commands" in arm.log.read_text(errors="replace")


def run_launched(scenario, directory, *arguments, namespace="", options=()):
    """Run trials on a launch to which nobody else listens, and return what is printed; all have to be begun."""
    with launch_of(directory / "log", f"scenario:={scenario}", *arguments) as launch:
        with Peer(directory / "log", namespace) as peer:
            LaunchedArm(peer, launch, directory / "log" / "launch.log")
        command = ["impact-control", "run", scenario, "--launched", "--output", str(directory / "runs"), *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    print(f"\n{scenario} {' '.join(arguments)}: {done.stdout[-2500:]}{done.stderr[-500:]}")
    assert done.returncode == 0
    return done.stdout
