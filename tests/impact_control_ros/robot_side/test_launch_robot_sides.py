"""The launch files of the robot sides: what each starts, in which order, and that all it names is installed."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from ruamel.yaml import YAML
from scipy.spatial.transform import Rotation

from impact_control.control import fault_damping
from impact_control.robots import load_robot
from impact_control.robots.urdf import urdf_text
from impact_control.scenario import load_scenario, robot_of
from impact_control.util import settings as library_settings
from impact_control.util.errors import ImpactControlError, InvalidInputError, ScenarioError
from impact_control_ros.bridge import settings, topics
from impact_control_ros.bridge.settings import Shape
from impact_control_ros.bridge.supervision import LIMITS, SupervisionLimits
from impact_control_ros.nodes import collision_behavior, robot_check
from impact_control_ros.robot_side.files import (
    ARGUMENTS,
    GUARD,
    UNGUARDED,
    check_controllers,
    controllers_file,
    scenario_file,
    scenario_of,
)
from impact_control_ros.robot_side.shared_exchange import segment_of
from launch_files import (
    DIRECTORY,
    PACKAGE,
    ROOT,
    Text,
    course,
    declared,
    exited,
    failure,
    handlers,
    includes,
    load,
    named,
    started,
)

CONTROLLERS = ROOT / "config" / "controllers"
SIDES = ("sim", "mock", "gazebo", "franka")
WITH_MANAGER = ("mock", "gazebo", "franka")
COMMON = {"scenario", "robot_type", "arm_prefix", "namespace", "use_rviz"}
FOREIGN = {
    "controller_manager": {"ros2_control_node", "spawner"},
    "robot_state_publisher": {"robot_state_publisher"},
    "ros_gz_bridge": {"parameter_bridge"},
    "ros_gz_sim": {"create"},
    "rviz2": {"rviz2"},
    "tf2_ros": {"static_transform_publisher"},
}
"""Executables of packages that are not installed here, as their own documentation names them."""

STEPS = {"collision_behavior": collision_behavior, "robot_check": robot_check}
"""Our processes that do one thing and end."""

side = pytest.mark.parametrize("name", SIDES)
manager = pytest.mark.parametrize("name", WITH_MANAGER)


def yaml(file):
    return YAML(typ="safe").load(Path(file))


def setup_nodes():
    (names,) = (
        ast.literal_eval(node.value)
        for node in ast.parse((PACKAGE / "setup.py").read_text()).body
        if isinstance(node, ast.Assign) and node.targets[0].id == "NODES"
    )
    return names


def depends():
    """The packages that ours asks for."""
    return {depend.text for depend in ElementTree.parse(PACKAGE / "package.xml").iter("exec_depend")}


def declared_parameters(executable):
    """The names of the parameters that a node of ours declares, read from its code."""
    if executable in STEPS:
        return set(STEPS[executable].PARAMETERS)
    nodes = PACKAGE / PACKAGE.name / "nodes"
    text = (nodes / f"{executable}.py").read_text()
    if "from impact_control_ros.nodes.loop import" in text:
        text = (nodes / "loop.py").read_text()
    if "from impact_control_ros.bridge.sample_loop import" in text:
        text += (PACKAGE / PACKAGE.name / "bridge" / "sample_loop.py").read_text()
    calls = [
        node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    ]
    names = (call.args[1] for call in calls if call.func.id == "declare")
    shared = (call.args[1].id for call in calls if call.func.id == "declare_setting")
    known = vars(library_settings) | vars(settings)
    declared = [one for name in shared for one in (LIMITS if name == "limit" else [known[name]])]
    return {name.value for name in names if isinstance(name, ast.Constant)} | {setting.name for setting in declared}


def all_started(monkeypatch, name, **values):
    """Return the actions of a launch file, with its steps in sequence, and those of the graph that it includes."""
    actions = started(load(monkeypatch, name), **values)
    if handlers(actions, "OnProcessExit"):
        actions += course(actions)[1:]
    ((path, arguments),) = [found for found in includes(actions) if found[0].parent == DIRECTORY]
    assert path.name == "graph.launch.py" and path.is_file()
    graph = load(monkeypatch, "graph")
    assert arguments.keys() <= declared(graph).keys()
    return actions, started(graph, **arguments), arguments


@manager
def test_no_spawner_waits_for_ever(monkeypatch, name):
    actions, graph, _ = all_started(monkeypatch, name)
    taking_over = [handler.target_action for handler in handlers(graph, "OnProcessExit")]
    steps = named([*actions, *taking_over, load(monkeypatch, "graph").spawner("effort_controller", "")], "Node")
    spawners = [step for step in steps if step.executable == "spawner"]
    assert len(spawners) >= 3
    for spawner in spawners:
        option, limit = spawner.keywords["arguments"][-2:]
        assert option == "--controller-manager-timeout"
        assert 0.0 < float(limit) <= (60.0 if name == "gazebo" else 6.0)


@side
def test_only_our_nodes_may_take_long_to_end(monkeypatch, name):
    """Of 15 s in which hardware that cannot be reached ends a launch, 3 s are discovery and 6 s patience."""
    own, graph, _ = all_started(monkeypatch, name, use_rviz="true", record="bag")
    for process in (*named(own, "Node"), *course_of_graph(graph)):
        assert (process.sigterm_timeout, process.sigkill_timeout) == ("1", "1"), process.executable
    # The recorder completes its bag.
    assert not any("sigkill_timeout" in node.keywords for node in named(graph, "LifecycleNode"))


@pytest.mark.parametrize("name", [*SIDES, "graph"])
def test_arguments_are_those_of_the_table(monkeypatch, name):
    arguments = declared(load(monkeypatch, name))
    assert arguments.keys() >= (COMMON if name in SIDES else {"scenario", "shape", "seed", "namespace", "simulate"})
    assert ("robot_ip" in arguments) == (name == "franka")
    for argument, action in arguments.items():
        assert action.default_value == ARGUMENTS[argument].default
        assert len(action.description) > 10 and "{" not in action.description
        assert not ARGUMENTS[argument].choices or action.default_value in action.choices
    assert "shape" not in arguments or arguments["shape"].choices == list(Shape)


def test_the_table_of_arguments_is_that_of_the_launch_files(monkeypatch):
    text = (ROOT / "docs" / "launch.md").read_text().split("\n## Arguments\n")[1].split("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    header, _, *table = rows
    assert header == ["argument", "default", *SIDES, "meaning"]
    documented = {name.strip("`"): (default.strip("`"), marks) for name, default, *marks, _ in table}
    found = {}
    for number, name in enumerate(SIDES):
        for argument, action in declared(load(monkeypatch, name)).items():
            _, marks = found.setdefault(argument, (action.default_value, [""] * len(SIDES)))
            marks[number] = "x"
    assert documented == found
    assert all(meaning for *_, meaning in table)


@side
@pytest.mark.parametrize(("rviz", "shape"), [("true", Shape.COMPOSED), ("false", Shape.SEPARATE)])
def test_packages_and_executables_are_there(monkeypatch, name, rviz, shape):
    own, graph, _ = all_started(monkeypatch, name, use_rviz=rviz, shape=shape.value, record="bag")
    processes = [*named(own, "Node"), *course_of_graph(graph), *named(graph, "LifecycleNode")]
    assert len(processes) > 3
    assert any(process.package == "rviz2" for process in processes) == (rviz == "true")
    for process in processes:
        if process.package == PACKAGE.name:
            assert process.executable in setup_nodes()
            assert (PACKAGE / PACKAGE.name / "nodes" / f"{process.executable}.py").is_file()
        else:
            assert process.package in depends()
            assert process.executable in FOREIGN[process.package]
    assert "install_scripts = $base/lib/impact_control_ros" in (PACKAGE / "setup.cfg").read_text()


@side
def test_parameters_are_declared_by_our_nodes(monkeypatch, name):
    own, graph, _ = all_started(monkeypatch, name, record="bag")
    processes = (*named(own, "Node"), *course_of_graph(graph), *named(graph, "LifecycleNode"))
    ours = [process for process in processes if process.package == PACKAGE.name]
    assert ours
    for process in ours:
        for given in process.parameters:
            values = given if isinstance(given, dict) else yaml(given)["/**"]["ros__parameters"]
            assert values.keys() <= declared_parameters(process.executable), process.executable


@manager
@pytest.mark.parametrize("robot", ["panda", "fr3"])
def test_controllers_that_are_activated_are_configured_for_the_joints_of_the_robot(monkeypatch, name, robot):
    own, graph, arguments = all_started(monkeypatch, name, robot_type=robot, namespace="left")
    assert load_scenario(arguments["scenario"]).robot.model == robot
    managers = [process for process in named(own, "Node") if process.executable == "ros2_control_node"]
    files = [given for process in managers for given in process.parameters if isinstance(given, str)]
    if name == "gazebo":
        ((_, mappings),) = list(own_descriptions(monkeypatch, name, robot))
        files = [mappings["controllers"]]
    assert Path(files[0]).name == f"{robot}.yaml"
    manager_parameters = {}
    for file in files:
        manager_parameters |= yaml(file)["/**/controller_manager"]["ros__parameters"]
    assert manager_parameters["update_rate"] == 1000
    processes = (*named(own, "Node"), *course_of_graph(graph))
    spawners = [process for process in processes if process.executable == "spawner"]
    activated = [process.keywords["arguments"][0] for process in spawners]
    assert activated[0] == "joint_state_broadcaster" and activated[-1] == "effort_controller"
    assert ("franka_robot_state_broadcaster" in activated) == (name == "franka")
    for controller in activated:
        package, _, kind = manager_parameters[controller]["type"].partition("/")
        # franka_ros2 is built from source, by docker/franka.repos.
        assert kind and (package in depends() or package.startswith("franka_"))
    assert all(process.namespace == "left" for process in spawners)
    content = yaml(files[0])
    for controller in ("joint_state_broadcaster", "effort_controller"):
        assert tuple(content[f"/**/{controller}"]["ros__parameters"]["joints"]) == load_robot(robot).joint_names
    assert topics.COMMANDS == "effort_controller/commands"


def own_descriptions(monkeypatch, name, robot):
    launch_file = load(monkeypatch, name)
    started(launch_file, robot_type=robot)
    return launch_file.xacro_asked


def course_of_graph(graph):
    """The processes between configuring and activating, one after another."""
    transitions = handlers(graph, "OnStateTransition")
    firsts = [action for handler in transitions for action in handler.entities if type(action).__name__ == "Node"]
    following = {id(handler.target_action): handler.on_exit for handler in handlers(graph, "OnProcessExit")}
    processes = []
    for process in firsts:
        while type(process).__name__ == "Node":
            processes.append(process)
            process = exited(following[id(process)])
    return processes


@pytest.mark.parametrize(
    ("name", "steps"),
    [
        ("mock", [("controller_manager", "spawner")]),
        ("gazebo", [("ros_gz_sim", "create"), ("controller_manager", "spawner")]),
        (
            "franka",
            [
                ("controller_manager", "spawner"),
                ("controller_manager", "spawner"),
                ("impact_control_ros", "collision_behavior"),
            ],
        ),
    ],
)
def test_each_step_waits_for_the_good_end_of_the_one_before(monkeypatch, name, steps):
    actions = started(load(monkeypatch, name))
    *processes, graph = course(actions)
    assert [(process.package, process.executable) for process in processes] == steps
    assert Path(graph.arguments[0].arguments[0]).name == "graph.launch.py"
    # A bad end ends everything, and says which.
    exits = handlers(actions, "OnProcessExit")
    assert [handler.target_action for handler in exits] == processes
    for handler in exits:
        reason = failure(exited, handler.on_exit, returncode=1)
        assert reason.startswith("that process ended with 1")
        if name == "franka":
            assert "at robot_ip '172.16.0.2'" in reason
        # Everything ends already: nothing further starts.
        assert exited(handler.on_exit, shutting_down=True) is None
    # Handlers are there before the process is.
    kinds = [type(action).__name__ for action in actions]
    assert actions.index(processes[0]) > max(i for i, kind in enumerate(kinds) if kind == "RegisterEventHandler")


@side
def test_texts_among_the_parameters_are_marked_as_texts(monkeypatch, name):
    own, graph, _ = all_started(monkeypatch, name, record="bag", use_rviz="true")
    texts = 0
    for process in (*named(own, "Node"), *course_of_graph(graph), *named(graph, "LifecycleNode")):
        mappings = (given for given in process.keywords.get("parameters", ()) if isinstance(given, dict))
        for value in (value for mapping in mappings for value in mapping.values() if isinstance(value, str)):
            assert isinstance(value, Text), value
            texts += 1
    assert texts > 3


def test_nothing_waits_for_a_time():
    for file in (*DIRECTORY.glob("*.py"), PACKAGE / PACKAGE.name / "session" / "launching.py"):
        text = file.read_text()
        # One timer, until the next look at nodes that are not active: see test_launch.py.
        assert text.count("TimerAction(") == (file.name == "graph.launch.py"), file.name
        assert not re.search(r"\bsleep\b", text), file.name


@pytest.mark.parametrize(
    ("name", "values", "simulate", "behind"),
    [
        ("sim", {}, True, False),
        ("mock", {}, True, True),
        ("mock", {"hardware": "topics"}, True, True),
        ("mock", {"hardware": "generic"}, False, True),
        ("gazebo", {}, False, True),
        ("franka", {}, False, True),
    ],
)
def test_only_the_robot_side_differs(monkeypatch, name, values, simulate, behind):
    _, graph, _ = all_started(monkeypatch, name, **values)
    nodes = {node.name: node for node in named(graph, "LifecycleNode")}
    assert ("simulator" in nodes) == simulate
    assert nodes.keys() - {"simulator"} == {"predictor", "impact_loop", "supervisor"}
    assert bool(course_of_graph(graph)) == behind
    for process in course_of_graph(graph):
        if process.executable == "robot_check":
            # Mock hardware weighs nothing.
            assert process.parameters[0]["check_gravity"] == (values.get("hardware") != "generic")
    (supervision,) = nodes["supervisor"].parameters
    managed = "simulator_on_topics" if values.get("hardware") == "topics" else "ros2_control"
    assert supervision["robot_side"] == (managed if behind else "simulator")
    if not simulate:
        assert supervision["command_limit"] == SupervisionLimits().command_limit
    if simulate:
        (parameters,) = nodes["simulator"].parameters
        assert parameters["ros2_control"] is behind
        assert not behind or parameters["real_time_factor"] == 1.0


@pytest.mark.parametrize("hardware", ["topics", "shared", "generic"])
def test_simulator_and_hardware_share_memory_where_asked_to(monkeypatch, hardware):
    monkeypatch.setenv("ROS_DOMAIN_ID", "7")
    _, graph, _ = all_started(monkeypatch, "mock", namespace="left", hardware=hardware)
    name = {"shared": "/impact_sim_7_left"}.get(hardware, "")
    launch_file = load(monkeypatch, "mock")
    started(launch_file, namespace="left", hardware=hardware)
    ((_, mappings),) = launch_file.xacro_asked
    assert mappings["shared_memory"] == name
    for simulator in (node for node in named(graph, "LifecycleNode") if node.name == "simulator"):
        assert simulator.parameters[0]["shared_memory"] == name
        assert bool(simulator.remappings) == (not name)


@pytest.mark.parametrize(
    ("values", "cores", "factor"),
    [
        ({}, 2, 1.0),
        ({"real_time_factor": "0.25"}, 2, 0.25),
        ({"real_time_factor": "10"}, 2, 10.0),
        ({"scenario": "grab_juice_1"}, 2, 0.5),
        ({"scenario": "grab_juice_1"}, 8, 1.0),
    ],
)
def test_in_step_the_simulator_sets_a_pace_that_the_cores_carry(monkeypatch, values, cores, factor):
    monkeypatch.setattr("os.sched_getaffinity", lambda process: set(range(cores)))
    own, graph, _ = all_started(monkeypatch, "mock", hardware="shared", **values)
    managers = [process for process in named(own, "Node") if process.executable == "ros2_control_node"]
    broadcasters = [process for process in course_of_graph(graph) if "joint_state_broadcaster" in arguments_of(process)]
    (simulator,) = (node for node in named(graph, "LifecycleNode") if node.name == "simulator")
    assert simulator.parameters[0]["real_time_factor"] == pytest.approx(factor)
    assert len(broadcasters) == len(managers), "before there is a clock none becomes active"
    for process in managers:
        file, clock = process.parameters
        assert clock == {"use_sim_time": True}
        timeout = yaml(file)["/**/effort_controller"]["ros__parameters"]["command_timeout"]
        # By the wall clock, of as many cycles, and no less than the guard takes.
        assert timeout == pytest.approx(max(0.005 / factor, 0.001), rel=1e-3)


def arguments_of(process):
    return process.keywords.get("arguments", [])


@pytest.mark.parametrize("hardware", ["topics", "generic"])
def test_only_in_step_there_is_another_pace_than_that_of_the_wall_clock(monkeypatch, hardware):
    with pytest.raises(InvalidInputError, match=rf"real_time_factor.*allowed: empty, as hardware:={hardware} goes by"):
        started(load(monkeypatch, "mock"), hardware=hardware, real_time_factor="0.5")


@pytest.mark.parametrize("given", ["0", "11", "fast", "nan"])
def test_a_pace_that_no_simulator_has_is_refused(monkeypatch, given):
    with pytest.raises(InvalidInputError, match=r"a number from 0\.01 to 10"):
        started(load(monkeypatch, "mock"), hardware="shared", real_time_factor=given)


def test_the_simulator_meets_topic_based_ros2_control_on_its_topics(monkeypatch):
    _, graph, _ = all_started(monkeypatch, "mock", hardware="topics")
    (simulator,) = (node for node in named(graph, "LifecycleNode") if node.name == "simulator")
    text = (PACKAGE / "urdf" / "ros2_control.xacro").read_text()
    named_there = dict(re.findall(r'<param name="joint_(states|commands)_topic">([^<]+)<', text))
    assert dict(simulator.remappings) == {
        topics.JOINT_STATES: named_there["states"],
        topics.COMMANDS: named_there["commands"],
    }


@manager
def test_the_description_is_that_of_the_side(monkeypatch, name):
    launch_file = load(monkeypatch, name)
    actions = started(launch_file, arm_prefix="left", robot_type="fr3")
    ((path, mappings),) = launch_file.xacro_asked
    assert path.is_file() and Path(mappings["robot"]).name == "fr3.yaml"
    assert all(Path(mappings[file]).is_file() for file in ("robot", "end_effector"))
    arguments = {e.get("name") for e in ElementTree.parse(path).iter("{http://www.ros.org/wiki/xacro}arg")}
    assert mappings.keys() <= arguments
    assert mappings["side"] == {"mock": "shared"}.get(name, name)
    (publisher,) = (node for node in named(actions, "Node") if node.package == "robot_state_publisher")
    assert publisher.namespace == "left" and dict(*publisher.parameters)["frame_prefix"] == "left_"
    assert mappings["namespace"] == mappings["arm_prefix"] == "left"


def test_the_arm_is_asked_at_its_address(monkeypatch):
    launch_file = load(monkeypatch, "franka")
    actions = started(launch_file, robot_ip="10.0.0.7", robot_type="fr3", arm_prefix="left")
    assert launch_file.xacro_asked[0][1]["robot_ip"] == "10.0.0.7"
    (process,) = (node for node in named(actions, "Node") if node.executable == "ros2_control_node")
    assert process.parameters[-1] == {"robot_type": "fr3", "arm_prefix": "left"}
    assert failure(exited, process.on_exit) == "the controller manager ended"
    assert exited(process.on_exit, shutting_down=True) is None


def test_other_thresholds_may_be_given(monkeypatch):
    for given in ("", "low.yaml"):
        steps = course(started(load(monkeypatch, "franka"), collision_behavior=given))
        (thresholds,) = (step for step in named(steps, "Node") if step.executable == "collision_behavior")
        assert thresholds.parameters == [given or str(CONTROLLERS / "collision_behavior.yaml")]


def base_of(arguments):
    """Parent, child, position [m] and angles [rad] that a static_transform_publisher gets."""
    given = dict(zip(arguments[::2], arguments[1::2], strict=True))
    x, y, z, *quaternion = (float(given[f"--{name}"]) for name in ("x", "y", "z", "qx", "qy", "qz", "qw"))
    angles = Rotation.from_quat(quaternion).as_euler("xyz")
    return given["--frame-id"], given["--child-frame-id"], pytest.approx([x, y, z, *angles], abs=1e-6)


def base_in(description):
    """The same in a URDF."""
    root = ElementTree.fromstring(description)
    joint = next(joint for joint in root.iter("joint") if joint.find("parent").get("link") == "world")
    origin = joint.find("origin")
    place = [float(value) for value in f"{origin.get('xyz')} {origin.get('rpy')}".split()]
    return "world", joint.find("child").get("link"), place


@pytest.mark.parametrize("name", ["mock", "franka"])
def test_each_arm_of_a_scene_has_its_controller_manager_and_is_taken_over(monkeypatch, name):
    values = {"robot_ip": "10.0.0.1, 10.0.0.2"} if name == "franka" else {}
    given = {"scenario": "grab_juice_1", "namespace": "lab", "robot_type": "fr3", **values}
    own, graph, arguments = all_started(monkeypatch, name, **given)
    assert load_scenario(arguments["scenario"]).arm_names == ("left", "right") and arguments["namespace"] == "lab"
    for executable in ("ros2_control_node", "robot_state_publisher"):
        processes = [process for process in named(own, "Node") if process.executable == executable]
        assert [process.namespace for process in processes] == ["lab/left", "lab/right"]
    # Frames as in bags: from the world to the base of each arm.
    published = [process.arguments for process in named(own, "Node") if process.package == "tf2_ros"]
    described = [urdf_text(robot, arm) for arm, robot in load_scenario(arguments["scenario"]).robots().items()]
    assert [base_of(given) for given in published] == [base_in(text) for text in described]
    # The state broadcasters of all arms, then, with our nodes configured, the checks of all, and only then a commander.
    before = [step.namespace for step in course(started(load(monkeypatch, name), **given))[:-1]]
    more = ["lab/left", "lab/left", "lab/right", "lab/right"] if name == "franka" else []
    assert before == ["lab/left", "lab/right", *more]
    steps = [(step.executable, step.namespace.removeprefix("lab/")) for step in course_of_graph(graph)]
    # Behind the simulator, with whose clock the broadcasters become active, these once more.
    assert steps[:2] == [("spawner", "left"), ("spawner", "right")] or name == "franka"
    assert steps[-6:] == [
        ("spawner", "left"),
        ("robot_check", "left"),
        ("spawner", "right"),
        ("robot_check", "right"),
        ("spawner", "left"),
        ("spawner", "right"),
    ]
    checked = [step.parameters[0]["arm"] for step in course_of_graph(graph) if step.executable == "robot_check"]
    assert checked == ["left", "right"]
    loops = [node for node in named(graph, "LifecycleNode") if node.name == "impact_loop"]
    assert [loop.namespace for loop in loops] == ["lab/left", "lab/right"]
    (supervisor,) = (node for node in named(graph, "LifecycleNode") if node.name == "supervisor")
    assert supervisor.parameters[0]["arms"] == ["left", "right"]
    assert supervisor.parameters[0]["robot_side"] == "ros2_control"


def test_the_arms_of_a_scene_have_their_own_description_and_address(monkeypatch):
    launch_file = load(monkeypatch, "franka")
    started(launch_file, scenario="grab_juice_1", robot_ip="10.0.0.1,10.0.0.2")
    (_, left), (_, right) = launch_file.xacro_asked
    assert [(each["arm_prefix"], each["robot_ip"]) for each in (left, right)] == [
        ("left", "10.0.0.1"),
        ("right", "10.0.0.2"),
    ]
    assert left["start"] != right["start"]


SCENE, OF_EACH = {"scenario": "grab_juice_1"}, "2 addresses with commas: of left, right"
PREFIXED, NONE = {**SCENE, "arm_prefix": "left"}, "none for the arms of a scene: left, right"


@pytest.mark.parametrize(
    ("name", "values", "allowed"),
    [
        *(("franka", {**SCENE, "robot_ip": ip}, OF_EACH) for ip in ("172.16.0.2", "10.0.0.1,", "a,a", "a,b,c", "")),
        ("franka", {"robot_ip": "10.0.0.1,10.0.0.2"}, "one address"),
        ("franka", {**PREFIXED, "robot_ip": "a,b"}, NONE),
        ("mock", PREFIXED, NONE),
        ("gazebo", {"scenario": "push_catfood_1"}, "a scenario with one arm that hits a surface"),
    ],
)
def test_arguments_that_do_not_fit_the_arms_are_refused(monkeypatch, name, values, allowed):
    with pytest.raises((InvalidInputError, ScenarioError), match=allowed):
        started(load(monkeypatch, name), **values)


@pytest.mark.parametrize("hardware", ["topics", "shared"])
def test_the_simulator_of_a_scene_meets_the_hardware_of_each_arm(monkeypatch, hardware):
    monkeypatch.setenv("ROS_DOMAIN_ID", "7")
    given = {"scenario": "grab_juice_1", "namespace": "lab", "hardware": hardware}
    _, graph, _ = all_started(monkeypatch, "mock", **given)
    (simulator,) = (node for node in named(graph, "LifecycleNode") if node.name == "simulator")
    launch_file = load(monkeypatch, "mock")
    started(launch_file, **given)
    segments = [mappings["shared_memory"] for _, mappings in launch_file.xacro_asked]
    base = simulator.parameters[0]["shared_memory"]
    assert segments == [segment_of(base, arm) for arm in ("left", "right")]
    if hardware == "shared":
        assert base == "/impact_sim_7_lab" and len(set(segments)) == 2 and not simulator.remappings
        return
    assert base == "" and dict(simulator.remappings) == {
        f"{arm}/{ours}": f"{arm}/robot/{theirs}"
        for arm in ("left", "right")
        for ours, theirs in ((topics.JOINT_STATES, "joint_states"), (topics.COMMANDS, "joint_commands"))
    }


@pytest.mark.parametrize("name", ["sim", "mock"])
def test_no_arm_of_a_scene_may_have_a_graph_yet(monkeypatch, name):
    launch_file = load(monkeypatch, name)
    started(launch_file, scenario="grab_juice_1", namespace="lab")
    started(launch_file, arm_prefix="left")
    assert launch_file.checked == [("lab", ("left", "right")), ("left", ("",))]


def test_every_arm_of_a_scene_is_shown(monkeypatch):
    own, _, _ = all_started(monkeypatch, "sim", scenario="grab_juice_1", use_rviz="true")
    shown = [process for process in named(own, "Node") if process.package == "rviz2"]
    assert [process.keywords["arguments"][-1] for process in shown] == ["left_panda_link0", "right_panda_link0"]


def test_a_scene_runs_on_the_embedded_simulator(monkeypatch):
    _, graph, _ = all_started(monkeypatch, "sim", scenario="grab_juice_1")
    assert [node.name for node in named(graph, "LifecycleNode")].count("impact_loop") == 2


def test_a_robot_without_controllers_is_refused():
    with pytest.raises(ImpactControlError):
        scenario_of("tabletop", "ur5")
    fits = load_scenario("tabletop")
    assert controllers_file(fits, robot_of(fits.robot)) == CONTROLLERS / "panda.yaml"


@manager
@pytest.mark.parametrize(("guard", "kind"), [("true", GUARD), ("false", UNGUARDED)])
def test_the_effort_controller_is_the_guard_unless_that_is_refused(monkeypatch, name, guard, kind):
    launch_file = load(monkeypatch, name)
    actions = started(launch_file, guard=guard)
    managers = [process for process in named(actions, "Node") if process.executable == "ros2_control_node"]
    files = [given for process in managers for given in process.parameters if isinstance(given, str)]
    file = files[0] if files else launch_file.xacro_asked[0][1]["controllers"]
    assert yaml(file)["/**/controller_manager"]["ros__parameters"]["effort_controller"]["type"] == kind


@manager
def test_a_scenario_that_requires_the_guard_is_not_launched_without_it(monkeypatch, tmp_path, name):
    insisting = load_scenario("tabletop").with_overrides({"robot.require_guard": True})
    file = scenario_file(insisting, tmp_path)
    assert started(load(monkeypatch, name), scenario=file)
    with pytest.raises(InvalidInputError, match="requires it"):
        started(load(monkeypatch, name), scenario=file, guard="false")


@pytest.mark.parametrize("robot", ["panda", "fr3"])
def test_the_guard_damps_twice_as_strongly_as_a_fault_of_the_loop(robot):
    scenario = scenario_of("tabletop", robot).arm()
    arm = robot_of(scenario.robot)
    damping = 2.0 * fault_damping(scenario.control, arm, scenario.task.home_configuration)
    file = yaml(controllers_file(scenario, arm))["/**/effort_controller"]["ros__parameters"]
    assert file["damping"] == [float(f"{value:.3g}") for value in damping]


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("update_rate: 1000", "update_rate: 100", "update_rate"),
        ("impact_guard/ImpactGuard", "position_controllers/JointGroupPositionController", "effort_controller.type"),
        ("torque_limits: [87.0,", "torque_limits: [88.0,", "torque_limits"),
        ("torque_rates: [1000.0,", "torque_rates: [2000.0,", "torque_rates"),
        ("[position, velocity, effort]", "[position, velocity]", "interfaces"),
        ("panda_joint1", "fr3_joint1", "joints"),
        ("/**/effort_controller:", "/**/torque_controller:", "effort_controller"),
    ],
)
def test_controllers_that_do_not_fit_are_refused_with_what_is_needed(tmp_path, old, new, what):
    file = tmp_path / "panda.yaml"
    text = (CONTROLLERS / "panda.yaml").read_text()
    panda = load_robot("panda")
    file.write_text(text)
    check_controllers(file, panda, 0.001)
    assert old in text
    file.write_text(text.replace(old, new))
    with pytest.raises(InvalidInputError, match=what):
        check_controllers(file, panda, 0.001)
    backwards = replace(panda, joint_names=panda.joint_names[::-1])
    with pytest.raises(InvalidInputError, match="joints"):
        check_controllers(CONTROLLERS / "panda.yaml", backwards, 0.001)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("a: [1", "one that can be read as YAML"),
        ("\xff", "one that can be read as YAML"),
        ("", "controller_manager"),
        ("- 1", "controller_manager"),
        ("/**/controller_manager: 3", "controller_manager"),
    ],
)
def test_files_of_controllers_that_are_none_are_refused(tmp_path, text, what):
    file = tmp_path / "panda.yaml"
    file.write_text(text, encoding="latin-1")
    with pytest.raises(InvalidInputError, match=what) as refused:
        check_controllers(file, load_robot("panda"), 0.001)
    assert str(file) in str(refused.value)


def test_descriptions_are_well_formed_and_find_what_they_include():
    files = sorted((PACKAGE / "urdf").glob("*.xacro"))
    included = set()
    for file in files:
        for include in ElementTree.parse(file).iter("{http://www.ros.org/wiki/xacro}include"):
            name = include.get("filename")
            # The URDF of the robot follows from the arguments.
            assert "$" in name or (file.parent / name).is_file(), f"{file.name}: {name}"
            included.add(name)
    assert {file.name for file in files} - included == {"arm.urdf.xacro"}


def test_parameter_files_have_no_aliases():
    # The parser of ROS parameter files does not know them.
    for file in CONTROLLERS.glob("*.yaml"):
        assert not re.search(r"[:\-] [&*]\w", file.read_text()), file.name


@side
def test_nodes_are_seen_from_this_machine_only_unless_the_user_says_otherwise(monkeypatch, name):
    (described,) = load(monkeypatch, name).generate_launch_description().arguments
    setting, dds = named(described, "SetEnvironmentVariable")
    assert described[:2] == [setting, dds]
    variable, value = setting.arguments
    assert (value.arguments, value.default_value) == ((variable,), "LOCALHOST")
    assert variable == "ROS_AUTOMATIC_DISCOVERY_RANGE"
    variable, file = dds.arguments
    assert variable == "FASTRTPS_DEFAULT_PROFILES_FILE"
    assert Path(file).name == "localhost.xml" and Path(file).is_file()


def test_files_of_a_launch_are_there_while_its_process_is():
    code = "from impact_control_ros.robot_side.files import temporary_directory as t; d = t(); print(d, d.is_dir())"
    path, there = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert there == "True" and not Path(path).exists()
