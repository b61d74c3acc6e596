"""The check of what stands behind ros2_control, on stand-ins of its controllers and of an arm that rests."""

from __future__ import annotations

import math
import re
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from harness import JOINTS, Peer, joint_state
from impact_control.robots import Dynamics, load_robot
from impact_control.scenario import load_scenario
from impact_control_ros.bridge import qos
from impact_control_ros.robot_side.files import GUARD, UNGUARDED, scenario_file
from impact_control_ros.session.graph import Duty, NodeSpec

pytestmark = pytest.mark.wall_clock

FITS = {
    "controller_manager": {
        "update_rate": 1000,
        "effort_controller.type": GUARD,
    },
    "joint_state_broadcaster": {"joints": JOINTS, "interfaces": ["position", "velocity", "effort"]},
    "effort_controller": {
        "joints": JOINTS,
        "torque_limits": [87.0] * 4 + [12.0] * 3,
        "torque_rates": [1000.0] * 7,
    },
}


def check(peer, scenario="tabletop", **parameters):
    """Run the check as a process while the stand-ins are served; return its exit code and what it said."""
    given = {"scenario": scenario, **parameters}
    entry = "from impact_control_ros.nodes.robot_check import main; raise SystemExit(main())"
    command = [sys.executable, "-c", entry, "--ros-args"]
    command += [word for name, value in given.items() for word in ("-p", f"{name}:={value}")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    peer.until(lambda: process.poll() is not None, patience=60.0, what="the end of the check")
    return process.returncode, process.communicate()[0]


class Rest:
    """A stand-in of an arm at rest that carries its own weight. What is changed is published from then on."""

    def __init__(self, peer):
        home = np.array(load_scenario("tabletop").task.home_configuration)
        dynamics = Dynamics(load_robot("panda"))
        dynamics.compute(home, np.zeros(7))
        self.position, self.velocity, self.effort = home, np.zeros(7), dynamics.gravity.copy()
        self.names = JOINTS
        self.period = 1e-3
        # [s] after the check looks in which the interfaces still hold the initial values of the description.
        self.silent = 0.0
        self.lost = 0.02  # as measured on ros2_control 4.46
        self._publisher = peer.node.create_publisher(JointState, "joint_states", qos.STREAM)
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._publish)
        self._thread.start()

    def end(self):
        self._ends.set()
        self._thread.join()

    def _publish(self):
        following, seen = time.time(), math.inf
        draw = np.random.default_rng(3)
        while not self._ends.is_set():
            # As many as are due: stamps as regular as those of a controller manager.
            while following < time.time():
                stamp = round(following * 1e9)
                if seen == math.inf and self._publisher.get_subscription_count() > 0:
                    seen = following
                effort = np.zeros(7) if self.silent > 0.0 and following < seen + self.silent else self.effort
                message = joint_state(stamp, self.position, self.velocity, effort, self.names)
                if draw.random() >= self.lost:
                    self._publisher.publish(message)
                following += self.period
            time.sleep(1e-4)


def start_controllers(peer, changes=()):
    """Start stand-ins of controller manager and controllers. changes: parameters, each {(node, name): value}."""
    for name, values in FITS.items():
        node = peer.another(name)
        for parameter, value in values.items():
            node.declare_parameter(parameter, dict(changes).get((name, parameter), value))
    node.create_subscription(Float64MultiArray, "effort_controller/commands", lambda message: None, qos.COMMAND)


@pytest.fixture
def peer(tmp_path):
    with Peer(tmp_path) as peer:
        yield peer


@pytest.fixture
def rest(peer):
    rest = Rest(peer)
    yield rest
    rest.end()


def test_the_simulated_arm_fits(peer):
    peer.bring_up(NodeSpec("simulator", "simulator", Duty.ROBOT, {"scenario": "tabletop", "seed": 1}))
    start_controllers(peer)
    code, said = check(peer)
    assert code == 0, said
    assert "fits panda" in said and "weight held" in said


@pytest.mark.parametrize(
    ("node", "name", "value"),
    [
        pytest.param("controller_manager", "update_rate", 100, marks=pytest.mark.long),
        ("effort_controller", "joints", JOINTS[::-1]),
        ("effort_controller", "torque_limits", [100.0] * 7),
    ],
)
def test_controllers_that_do_not_fit_are_refused(peer, rest, node, name, value):
    start_controllers(peer, {(node, name): value}.items())
    code, said = check(peer)
    assert code == 1
    assert f"{node}.{name} = {value!r}; allowed: {FITS[node][name]}" in said


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        pytest.param(
            {"period": 1 / 30}, "time between joint states = '33.33 ms'; allowed: 1 ms", marks=pytest.mark.long
        ),
        ({"effort": np.zeros(7)}, "none, as without its weight"),
        ({"velocity": np.full(7, 0.2)}, "velocity of panda_joint1 = '0.200 rad/s'; allowed: at most"),
        ({"velocity": np.full(7, np.nan)}, "velocity of panda_joint1, .*; allowed: a number in every"),
        ({"names": [f"fr3_joint{i}" for i in range(1, 8)]}, "joints panda_joint1, .* are missing among fr3_joint1"),
    ],
    ids=["rate", "without weight", "in motion", "without velocities", "other arm"],
)
def test_joint_states_that_do_not_fit_are_refused(peer, rest, change, reason):
    vars(rest).update(change)
    start_controllers(peer)
    code, said = check(peer)
    assert code == 1
    assert re.search(reason, said), said


def test_what_comes_before_the_first_state_of_the_hardware_is_no_state_of_the_arm(peer, rest):
    rest.silent = 1.0  # the check looks for 0.5 s
    start_controllers(peer)
    code, said = check(peer)
    assert code == 0, said
    assert "weight held" in said


def test_hardware_without_weight_fits_when_it_is_said(peer, rest):
    rest.effort = np.zeros(7)
    start_controllers(peer)
    code, said = check(peer, check_gravity="false")
    assert code == 0, said
    assert "weight not checked" in said


def test_a_scenario_may_insist_on_the_guard(peer, rest, tmp_path):
    start_controllers(peer, {("controller_manager", "effort_controller.type"): UNGUARDED}.items())
    code, said = check(peer)
    assert code == 0, said
    insisting = load_scenario("tabletop").with_overrides({"robot.require_guard": True})
    code, said = check(peer, scenario_file(insisting, tmp_path))
    assert code == 1
    assert f"effort_controller.type = '{UNGUARDED}'; allowed: {GUARD}" in said


def test_a_second_publisher_is_named(peer, rest):
    second = peer.another("joint_state_publisher")
    second.create_publisher(JointState, "joint_states", qos.STREAM)
    start_controllers(peer)
    code, said = check(peer)
    assert code == 1 and "publishers of joint_states" in said and "joint_state_publisher" in said
