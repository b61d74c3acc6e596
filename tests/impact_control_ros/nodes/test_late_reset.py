"""A robot side that obeys a reset late, and what happens before it does."""

from __future__ import annotations

import pytest
from impact_msgs.msg import SupervisorStatus
from lifecycle_msgs.msg import Transition
from std_srvs.srv import SetBool, Trigger

from harness import Peer, SignsOfLife
from impact_control_ros.bridge import qos, topics
from impact_control_ros.session.graph import Duty, NodeSpec

pytestmark = pytest.mark.wall_clock


class RobotSide:
    """Joint states, commands and answers of a controller, and a switch that is obeyed when it is said so."""

    def __init__(self, peer):
        self.peer = peer
        self.alive = self.obeys = self.allowed = True
        self.heard = peer.listen(SupervisorStatus, topics.SUPERVISOR, qos.LATCHED)
        self._signs = SignsOfLife(peer.node)
        self._timer = peer.node.create_timer(0.002, self._publish)
        self._service = peer.node.create_service(SetBool, topics.ACCEPT, self._switch)

    def _switch(self, request, response):
        response.success = self.obeys
        if self.obeys:
            self.allowed = request.data
        return response

    def await_state(self, state):
        """Wait until the supervisor says that it is in a state."""
        self.peer.until(lambda: bool(self.heard) and self.heard[-1].state == state, what=f"state {state}")

    def _publish(self):
        if self.alive:
            self._signs.send()


@pytest.fixture
def robot(tmp_path):
    """A robot side that was stopped and does not obey the reset that it was asked for."""
    with Peer(tmp_path) as peer:
        robot = RobotSide(peer)
        # Generous limits: the test's own timer plays the robot.
        limits = {"robot_side": "simulator", "command_limit": 0.5, "state_limit": 0.5, "lag_limit": 1.0}
        peer.bring_up(NodeSpec("supervisor", "supervisor", Duty.SUPERVISOR, limits))
        robot.await_state(SupervisorStatus.WATCHING)
        peer.call(Trigger, topics.STOP, Trigger.Request())
        robot.await_state(SupervisorStatus.STOPPED)
        robot.obeys = False
        assert peer.call(Trigger, topics.RESUME, Trigger.Request()).success
        peer.spin(0.3)
        assert robot.heard[-1].state == SupervisorStatus.STOPPED
        yield robot


def test_a_reset_that_is_obeyed_after_deactivation_does_not_wake_the_supervisor(robot):
    assert robot.peer.change("supervisor", Transition.TRANSITION_DEACTIVATE)
    robot.obeys = True
    robot.await_state(SupervisorStatus.INACTIVE)
    robot.alive = False
    robot.peer.spin(1.0)
    assert robot.heard[-1].state == SupervisorStatus.INACTIVE and not robot.heard[-1].reason


def test_a_stop_takes_back_a_reset_that_is_not_obeyed_yet(robot):
    answer = robot.peer.call(Trigger, topics.STOP, Trigger.Request())
    assert answer.success and "before" not in answer.message
    robot.obeys = True
    robot.await_state(SupervisorStatus.STOPPED)
    robot.peer.spin(0.5)
    assert robot.heard[-1].state == SupervisorStatus.STOPPED and robot.allowed is False


def test_what_goes_wrong_takes_back_a_reset_that_is_not_obeyed_yet(robot):
    robot.alive = False
    robot.peer.spin(1.0)
    robot.obeys = True
    robot.await_state(SupervisorStatus.STOPPED)
    robot.peer.spin(0.5)
    assert robot.heard[-1].cause == SupervisorStatus.CAUSE_ROBOT_SILENT and robot.allowed is False
