"""The launch files under the real `launch`, where that is installed, with stand-ins for every process they start."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from harness import Peer
from impact_control_ros.session.graph import Duty, NodeSpec

pytestmark = [
    pytest.mark.wall_clock,
    # A directory of that name, as `launch` of this repository, is no package.
    pytest.mark.skipif(importlib.util.find_spec("launch_ros") is None, reason="`launch` comes with a ROS installation"),
]

ROOT = Path(__file__).resolve().parents[3]
EXECUTABLES = {
    "impact_control_ros": (
        "simulator",
        "recorder",
        "predictor",
        "loop",
        "supervisor",
        "collision_behavior",
        "robot_check",
    ),
    "controller_manager": ("ros2_control_node", "spawner"),
    "robot_state_publisher": ("robot_state_publisher",),
    "ros_gz_sim": ("create",),
    "ros_gz_bridge": ("parameter_bridge",),
    "rviz2": ("rviz2",),
    "tf2_ros": ("static_transform_publisher",),
}
GAZEBO = """
from launch import LaunchDescription
def generate_launch_description():
    return LaunchDescription([])
"""
LAUNCH = """
import sys
from launch import LaunchService
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch import LaunchDescription
file, *arguments = sys.argv[1:]
given = [argument.split(":=") for argument in arguments]
service = LaunchService()
source = PythonLaunchDescriptionSource(file)
service.include_launch_description(LaunchDescription([IncludeLaunchDescription(source, launch_arguments=given)]))
sys.exit(service.run())
"""


@pytest.fixture
def prefix(tmp_path):
    """An ament prefix in which every package has stand-ins for its executables."""
    prefix = tmp_path / "prefix"
    index = prefix / "share" / "ament_index" / "resource_index" / "packages"
    index.mkdir(parents=True)
    code = (ROOT / "tests" / "support" / "stand_in.py").read_text()
    for package, executables in EXECUTABLES.items():
        (index / package).touch()
        (prefix / "lib" / package).mkdir(parents=True)
        for executable in executables:
            path = prefix / "lib" / package / executable
            path.write_text(f"#!{sys.executable}\n{code}")
            path.chmod(0o755)
    gazebo = prefix / "share" / "ros_gz_sim" / "launch"
    gazebo.mkdir(parents=True)
    (gazebo / "gz_sim.launch.py").write_text(textwrap.dedent(GAZEBO))
    return prefix


def run(prefix, name, *arguments, last="activate /left/supervisor", fails=""):
    """Launch a file until a line is in the log, then interrupt it; return the log's lines, the output, and the code."""
    log = prefix.parent / "log"
    log.touch()
    places = [str(prefix), *filter(None, [os.environ.get("AMENT_PREFIX_PATH")])]
    environment = {
        **os.environ,
        "AMENT_PREFIX_PATH": os.pathsep.join(places),
        "STAND_IN_LOG": str(log),
        "STAND_IN_FAILS": fails,
    }
    command = [sys.executable, "-c", LAUNCH, str(ROOT / "launch" / f"{name}.launch.py"), "namespace:=left", *arguments]
    # Not from the repository, whose directory `launch` would be taken for the package.
    launch = subprocess.Popen(command, env=environment, cwd=prefix, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    end = time.monotonic() + 60.0
    while last not in log.read_text() and launch.poll() is None and time.monotonic() < end:
        time.sleep(0.05)
    if launch.poll() is None:
        launch.send_signal(2)
    output, _ = launch.communicate(timeout=30.0)
    lines = log.read_text().splitlines()
    assert last in "\n".join(lines) or fails, output.decode(errors="replace")
    return lines, output.decode(errors="replace"), launch.returncode


def order(lines, *wanted):
    """The lines that begin with one of the wanted words, without what comes after the second word."""
    return [" ".join(line.split()[:3]) for line in lines if line.startswith(wanted)]


def test_a_node_whose_messages_of_transitions_are_lost_keeps_no_launch_waiting(prefix):
    """It is asked for its state instead: `launch` alone would wait for ever."""
    lines, output, _ = run(prefix, "sim", fails="messages")
    nodes = [line.split()[1] for line in lines if line.startswith("configure")]
    assert "/left/predictor" in nodes
    assert order(lines, "configure", "activate") == [
        *(f"configure {node}" for node in nodes),
        *(f"activate {node}" for node in nodes),
    ], output


@pytest.mark.parametrize(
    ("name", "arguments", "before"),
    [
        ("sim", [], []),
        ("mock", ["hardware:=topics"], ["joint_state_broadcaster"]),
        ("mock", ["hardware:=shared"], ["joint_state_broadcaster"]),
        ("mock", ["hardware:=generic"], ["joint_state_broadcaster"]),
        ("gazebo", [], ["joint_state_broadcaster"]),
        ("franka", [], ["joint_state_broadcaster", "franka_robot_state_broadcaster"]),
    ],
)
def test_controllers_and_nodes_come_up_in_order(prefix, name, arguments, before):
    lines, output, code = run(prefix, name, *arguments)
    in_step = "hardware:=shared" in arguments
    nodes = [line.split()[1] for line in lines if line.startswith("configure")]
    spawned = [f"start spawner {controller}" for controller in before]
    effort = ["start spawner effort_controller"] if before else []
    if before:
        effort += ["start robot_check --ros-args", *effort]
    # Behind ros2_control: the states are the arm's only once it is there. In step, time begins with it.
    first = ["/left/simulator"] if name == "mock" and "hardware:=generic" not in arguments else []
    assert order(lines, "start spawner", "start robot_check", "configure", "activate") == [
        *spawned,
        *(f"configure {node}" for node in nodes),
        *(f"activate {node}" for node in first),
        *(spawned if in_step else []),
        *effort,
        *(f"activate {node}" for node in nodes if node not in first),
    ]
    assert any("joint_state_broadcaster --inactive" in line for line in lines) == in_step
    assert set(nodes) >= {"/left/predictor", "/left/impact_loop"}
    assert ("/left/simulator" in nodes) == (name == "sim" or bool(first))
    assert code == 0 and "Traceback" not in output and "Caught exception" not in output


def parameters_of(lines):
    """The parameters that reached the nodes: representations of their values by node and name."""
    found = (line.split(maxsplit=3)[1:] for line in lines if line.startswith("parameter"))
    return {(node, name): value for node, name, value in found}


@pytest.mark.parametrize("hardware", ["topics", "shared"])
def test_texts_reach_the_nodes_as_they_are(prefix, tmp_path, hardware):
    lines, _, _ = run(prefix, "mock", "robot_type:=fr3", f"record:={tmp_path / 'bag'}", f"hardware:={hardware}")
    found = parameters_of(lines)
    assert "actual_environment:" in found["/left/recorder", "scenario_yaml"]
    assert "tabletop.yaml" in found["/left/impact_loop", "scenario"]
    assert found["/left/simulator", "ros2_control"] == "True"
    assert ("_left" in found["/left/simulator", "shared_memory"]) == (hardware == "shared")
    (simulator,) = (line for line in lines if line.startswith("start simulator"))
    remapped = ("joint_states:=robot/joint_states", "effort_controller/commands:=robot/joint_commands")
    assert [pair in simulator for pair in remapped] == [hardware == "topics"] * 2
    managers = [line for line in lines if line.startswith("start ros2_control_node")]
    assert len(managers) == 1


@pytest.mark.parametrize("scene", [False, True])
def test_names_reach_the_nodes_as_lists(prefix, tmp_path, scene):
    chosen = ["scenario:=grab_juice_1"] if scene else []
    lines, _, _ = run(prefix, "sim", *chosen, f"record:={tmp_path / 'bag'}")
    found = parameters_of(lines)
    arms, objects, partners = (["left", "right"], ["box"], ["right"]) if scene else ([""], [""], [""])
    loop = "/left/left/impact_loop" if scene else "/left/impact_loop"
    assert found["/left/supervisor", "arms"] == found["/left/recorder", "arms"] == repr(arms)
    assert found["/left/recorder", "objects"] == repr(objects)
    assert found[loop, "partners"] == repr(partners)


def test_nodes_are_seen_from_here_only_and_each_has_its_enclave(prefix, monkeypatch):
    monkeypatch.delenv("ROS_AUTOMATIC_DISCOVERY_RANGE")
    monkeypatch.setenv("ROS_SECURITY_ENCLAVE_OVERRIDE", "/left/operator")
    lines, _, _ = run(prefix, "sim")
    for name, node in (("simulator", "simulator"), ("loop", "impact_loop"), ("predictor", "predictor")):
        assert f"environment {name} ROS_AUTOMATIC_DISCOVERY_RANGE 'LOCALHOST'" in lines
        assert f"environment {name} ROS_SECURITY_ENCLAVE_OVERRIDE ''" in lines
        (start,) = (line for line in lines if line.startswith(f"start {name} "))
        assert f"--enclave /left/{node} " in start


@pytest.mark.parametrize(
    ("step", "name"), [("collision_behavior", "franka"), ("spawner", "mock"), ("create", "gazebo")]
)
def test_a_step_that_fails_ends_everything_before_our_nodes_start(prefix, step, name):
    lines, output, code = run(prefix, name, fails=step)
    assert not order(lines, "start loop", "configure", "activate")
    assert f"{step}-" in output and "ended with 1" in output
    assert code != 0


@pytest.mark.parametrize(("name", "fails"), [("mock", "hardware"), ("franka", "hardware"), ("franka", "arm")])
def test_hardware_that_cannot_be_loaded_ends_the_launch_within_15_s(prefix, name, fails):
    begin = time.monotonic()
    lines, output, code = run(prefix, name, fails=fails)
    assert code != 0 and time.monotonic() - begin < 15.0
    assert not order(lines, "start loop")
    # One that waits for its arm ends when it is killed.
    assert order(lines, "ignored") == (["ignored SIGINT", "ignored SIGTERM"] if fails == "arm" else [])
    assert ("an arm with active FCI at robot_ip '172.16.0.2'" in output) == (name == "franka")


def test_a_scene_over_a_running_arm_starts_nothing(prefix, tmp_path):
    with Peer(tmp_path / "arm", namespace="left/right") as arm:
        arm.processes.start(NodeSpec("predictor", "predictor", Duty.SERVICE, {"scenario": "tabletop"}))
        arm.caller.await_node("predictor")
        lines, output, code = run(prefix, "mock", "scenario:=grab_juice_1", fails="all")
    assert code != 0 and not lines
    assert "a graph runs here already: /left/right/predictor" in output


def test_a_robot_side_that_does_not_fit_is_not_taken_over(prefix):
    lines, output, code = run(prefix, "mock", fails="robot_check")
    assert order(lines, "configure") and order(lines, "activate") == ["activate /left/simulator"]
    # Loaded, but not activated.
    assert [line for line in lines if "spawner effort_controller" in line] == [
        line for line in lines if "spawner effort_controller --inactive" in line
    ]
    assert "robot_check-" in output and "ended with 1" in output
    assert code != 0


@pytest.mark.parametrize(("name", "arguments"), [("mock", ()), ("franka", ("robot_ip:=10.0.0.1,10.0.0.2",))])
def test_the_arms_of_a_scene_are_all_checked_before_one_has_a_commander(prefix, name, arguments):
    lines, output, code = run(prefix, name, "scenario:=grab_juice_1", *arguments)
    steps = order(lines, "start spawner effort_controller", "start robot_check", "activate")
    checks, first = steps.index("start robot_check --ros-args"), steps.index("activate /left/left/impact_loop")
    taken = [step for step in steps[checks:first] if step.startswith("start")]
    check, spawn = "start robot_check --ros-args", "start spawner effort_controller"
    assert taken == [check, spawn, check, spawn, spawn]
    assert code == 0 and "Traceback" not in output
