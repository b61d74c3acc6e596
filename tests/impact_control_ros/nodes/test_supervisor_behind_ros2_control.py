"""The supervisor before a controller manager and a Franka: their messages are built here, they themselves stood in for.

controller_manager_msgs and franka_msgs come with ros2_control and franka_ros2, which are not installed.
"""

from __future__ import annotations

import sys
import time
from importlib import import_module

import numpy as np
import pytest
from impact_msgs.msg import GroundTruth, SupervisorStatus
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from harness import JOINTS, Peer, SignsOfLife
from impact_control_ros.bridge import qos
from impact_control_ros.bridge.supervision import RobotMode
from impact_control_ros.nodes.supervisor import ASK_AGAIN
from impact_control_ros.session.graph import Duty, NodeSpec
from message_packages import messages_of
from spun_node import SpunNode

pytestmark = [pytest.mark.wall_clock, pytest.mark.long]

PATIENT = dict.fromkeys(("command_limit", "state_limit", "lag_limit"), 1.0)
"""Limits of a supervisor that is not to stop by itself."""


@pytest.fixture(scope="module")
def messages():
    with messages_of("controller_manager_msgs", "franka_msgs"):
        yield


class ControllerManager:
    """Switches the effort controller as that of ros2_control 4.46 does, in a thread of its own: it may take its time.

    active: whether the effort controller is. time: [s] a switch takes. switched: what was switched.
    """

    def __init__(self, context, namespace=None):
        self.active = True
        self.time = 0.0
        self.switched = []
        services = import_module("controller_manager_msgs.srv")
        self._strict = services.SwitchController.Request.STRICT
        self._state = import_module("controller_manager_msgs.msg").ControllerState
        self._spun = SpunNode("controller_manager", context, namespace)
        self._spun.node.create_service(services.SwitchController, "~/switch_controller", self._switch)
        self._spun.node.create_service(services.ListControllers, "~/list_controllers", self._list)
        self._spun.start()

    def close(self):
        self._spun.close()

    def _switch(self, request, response):
        (active,) = {True for _ in request.activate_controllers} | {False for _ in request.deactivate_controllers}
        if self.active is active:
            response.ok = request.strictness != self._strict
            return response
        time.sleep(self.time)
        self.active = active
        self.switched.append((list(request.activate_controllers), list(request.deactivate_controllers)))
        response.ok = True
        return response

    def _list(self, request, response):
        state = "active" if self.active else "inactive"
        response.controller = [self._state(name="effort_controller", state=state)]
        return response


class TopicHardware:
    """Sends 1.5 Nm for joint 7 while the effort controller is active, else zeros, as topic_based_ros2_control does."""

    def __init__(self, peer, manager):
        self._manager = manager
        self._commands = peer.node.create_publisher(JointState, "robot/joint_commands", qos.COMMAND)
        self._timer = peer.node.create_timer(0.002, self._send)

    def _send(self):
        self._commands.publish(JointState(name=JOINTS, effort=[0.0] * 6 + [1.5 * self._manager.active]))


REMAPPED_SIMULATOR = """#!{python}
import sys
from impact_control_ros.nodes.simulator import main
sys.argv += ["-r", "joint_states:=robot/joint_states", "-r", "effort_controller/commands:=robot/joint_commands"]
sys.exit(main())
"""


class RobotSide(SignsOfLife):
    """A controller manager, an arm and our controller, as far as the supervisor sees them."""

    def __init__(self, peer, manager):
        super().__init__(peer.node)
        self.peer = peer
        self.manager = manager
        self.mode = RobotMode.MOVE
        self._kind = import_module("franka_msgs.msg").FrankaRobotState
        self._franka = peer.node.create_publisher(self._kind, "franka_robot_state_broadcaster/robot_state", 10)
        self._timer = peer.node.create_timer(0.002, self._publish)

    def _publish(self):
        self.send()
        self._franka.publish(self._kind(robot_mode=int(self.mode), control_command_success_rate=0.98))


@pytest.fixture(scope="module")
def robot(messages, tmp_path_factory):
    with Peer(tmp_path_factory.mktemp("log")) as peer:
        manager = ControllerManager(peer.context)
        robot = RobotSide(peer, manager)
        robot.heard = peer.listen(SupervisorStatus, "supervisor/status", qos.LATCHED)
        peer.bring_up(NodeSpec("supervisor", "supervisor", Duty.SUPERVISOR, {"robot_side": "ros2_control"}))
        yield robot
        manager.close()


@pytest.fixture
def watched(robot):
    """A robot side at which the supervisor has found nothing wrong yet."""
    robot.peer.until(lambda: state_of(robot) == SupervisorStatus.WATCHING, what="a watching supervisor")
    robot.manager.switched.clear()
    yield robot
    robot.manager.time = 0.0


def state_of(robot):
    return robot.heard[-1].state if robot.heard else None


def await_stop(robot, cause):
    """Wait until the effort controller is not active; return what is said."""
    robot.peer.until(lambda: state_of(robot) == SupervisorStatus.STOPPED, what="the stop")
    status = robot.heard[-1]
    assert status.cause == cause, status.reason
    assert not robot.manager.active
    return status


def reset(robot):
    return robot.peer.call(Trigger, "supervisor/reset", Trigger.Request())


def test_a_collision_reflex(watched):
    watched.mode = RobotMode.REFLEX
    changed = time.monotonic()
    status = await_stop(watched, SupervisorStatus.CAUSE_ROBOT_STOPPED)
    assert watched.manager.switched == [([], ["effort_controller"])]
    assert "REFLEX" in status.reason
    assert time.monotonic() - changed < 1.0
    answer = reset(watched)
    assert not answer.success and "still wrong" in answer.message
    # An arm that has recovered waits for commands.
    watched.mode = RobotMode.IDLE
    watched.peer.spin(0.2)
    assert reset(watched).success
    watched.peer.until(lambda: state_of(watched) == SupervisorStatus.WATCHING, what="a watching supervisor")
    assert watched.manager.switched[1:] == [(["effort_controller"], [])]
    watched.mode = RobotMode.MOVE


def test_commands_that_cease(watched, reactions):
    watched.commands = False
    reactions.append(await_stop(watched, SupervisorStatus.CAUSE_CONTROLLER_SILENT).reaction_time)
    watched.commands = True
    watched.peer.spin(0.1)
    assert reset(watched).success
    watched.peer.until(lambda: state_of(watched) == SupervisorStatus.WATCHING, what="a watching supervisor")


def stop_and_reset(robot):
    assert robot.peer.call(Trigger, "supervisor/stop", Trigger.Request()).success
    await_stop(robot, SupervisorStatus.CAUSE_OPERATOR)
    assert reset(robot).success
    robot.peer.until(lambda: state_of(robot) == SupervisorStatus.WATCHING, what="a watching supervisor")
    assert robot.manager.active


def test_a_manager_that_takes_its_time(watched):
    watched.manager.time = 3.0 * ASK_AGAIN
    stop_and_reset(watched)
    assert watched.manager.switched == [([], ["effort_controller"]), (["effort_controller"], [])]


def test_a_controller_that_the_manager_has_deactivated_itself(watched):
    watched.manager.active = False
    stop_and_reset(watched)
    assert watched.manager.switched == [(["effort_controller"], [])]


def test_an_arm_on_topics_is_damped_while_its_hardware_sends_zeros(messages, tmp_path):
    program = tmp_path / "simulator"
    program.write_text(REMAPPED_SIMULATOR.format(python=sys.executable))
    program.chmod(0o755)
    behind = {"scenario": "tabletop", "ros2_control": True}
    with Peer(tmp_path / "log", namespace="behind") as peer:
        manager = ControllerManager(peer.context, "behind")
        truths = peer.listen(GroundTruth, "simulation/truth", qos.STREAM)
        heard = peer.listen(SupervisorStatus, "supervisor/status", qos.LATCHED)
        peer.signs = SignsOfLife(peer.node)
        peer.signs.timer = peer.node.create_timer(0.002, peer.signs.send)
        peer.hardware = TopicHardware(peer, manager)
        peer.bring_up(
            NodeSpec("simulator", str(program), Duty.ROBOT, behind),
            NodeSpec("supervisor", "supervisor", Duty.SUPERVISOR, {"robot_side": "simulator_on_topics", **PATIENT}),
        )
        peer.until(lambda: truths and truths[-1].joint_velocity[6] > 0.5, what="motion")
        assert peer.call(Trigger, "supervisor/stop", Trigger.Request()).success
        peer.until(lambda: heard[-1].state == SupervisorStatus.STOPPED, what="the stop")
        truths.clear()
        peer.until(lambda: truths and abs(truths[-1].joint_velocity[6]) < 0.01, what="rest")
        assert not manager.active
        assert all(truth.command_state == GroundTruth.COMMAND_REFUSED for truth in truths)
        moving = [truth for truth in truths if truth.joint_velocity[6] > 0.1]
        assert moving and all(truth.applied_torque[6] < -0.1 for truth in moving)
        assert peer.call(Trigger, "supervisor/reset", Trigger.Request()).success
        peer.until(lambda: heard[-1].state == SupervisorStatus.WATCHING, what="a watching supervisor")
        peer.until(lambda: truths[-1].joint_velocity[6] > 0.5, what="motion")
        manager.close()


@pytest.fixture(scope="module")
def reactions():
    """Times from the last command to the answer of the controller manager [s]."""
    times = []
    yield times
    median = float(np.median(times))
    print(f"\nbefore a controller manager: commands cease, median of {len(times)}: {median * 1e3:.0f} ms (50)")
    assert median < 0.05
