"""The launch file: it starts the graph that `describe_graph` describes, in its order, and ends it as a whole.

`launch` comes with a ROS installation only. Where it is missing, empty modules let the file be imported. Either
way the names the file uses are replaced by classes that keep their arguments.
"""

from __future__ import annotations

import ast
import importlib.util
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from impact_control.graph import Shape, describe_graph
from impact_control.scenario import load_scenario, scenario_from_text

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "launch" / "sim.launch.py"
PACKAGE = ROOT / "src" / "impact_control"
DEFAULTS = {
    "scenario": "tabletop",
    "shape": "composed",
    "real_time_factor": "",
    "seed": "",
    "record": "",
    "namespace": "",
}
ROS = {"launch", "launch_ros", "lifecycle_msgs"}
CONFIGURE, ACTIVATE = 1, 3


class Kept:
    """Keeps what it was made with."""

    def __init__(self, *arguments, **keywords):
        self.arguments = arguments
        for name, value in keywords.items():
            setattr(self, name, value)


class OpenModule(ModuleType):
    """A module, or package, that has every name."""

    __path__ = ()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (Kept,), {})


def imports():
    """The modules and names the launch file takes from packages of ROS."""
    for node in ast.parse(FILE.read_text()).body:
        if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] in ROS:
            yield node.module, [alias.name for alias in node.names]


def missing(package):
    """Whether a package is not installed; a directory of its name, as `launch` of this repository, is none."""
    spec = importlib.util.find_spec(package)
    return spec is None or spec.origin is None


@pytest.fixture
def launch_file(monkeypatch):
    absent = {package for module, _ in imports() if missing(package := module.split(".")[0])}
    for module, _ in imports():
        parts = module.split(".")
        if parts[0] in absent:
            for depth in range(1, len(parts) + 1):
                name = ".".join(parts[:depth])
                monkeypatch.setitem(sys.modules, name, OpenModule(name))
    spec = importlib.util.spec_from_file_location("sim_launch", FILE)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    for _, names in imports():
        for name in names:
            setattr(loaded, name, type(name, (Kept,), {}))
    loaded.Transition = SimpleNamespace(TRANSITION_CONFIGURE=CONFIGURE, TRANSITION_ACTIVATE=ACTIVATE)
    loaded.matches_action = lambda node: node
    return loaded


def named(actions, kind):
    return [action for action in actions if type(action).__name__ == kind]


def started(launch_file, **values):
    """Everything the launch file starts for these arguments."""
    (described,) = launch_file.generate_launch_description().arguments
    (opaque,) = named(described, "OpaqueFunction")
    return opaque.function(SimpleNamespace(launch_configurations=DEFAULTS | values))


def handlers(actions, kind):
    found = [action.arguments[0] for action in named(actions, "RegisterEventHandler")]
    return named(found, kind)


def test_arguments_are_declared_with_defaults_and_descriptions(launch_file):
    (described,) = launch_file.generate_launch_description().arguments
    declared = named(described, "DeclareLaunchArgument")
    assert {action.arguments[0]: action.default_value for action in declared} == DEFAULTS
    assert all(len(action.description) > 10 for action in declared)
    (shape,) = (action for action in declared if action.arguments[0] == "shape")
    assert shape.choices == [shape.value for shape in Shape]


@pytest.mark.parametrize("shape", Shape)
@pytest.mark.parametrize("seed", [None, 7])
@pytest.mark.parametrize("record", [False, True])
def test_it_is_the_graph_of_the_command_line(launch_file, shape, seed, record, tmp_path):
    directory = str(tmp_path) if record else ""
    actions = started(launch_file, shape=shape.value, seed="" if seed is None else str(seed), record=directory)
    nodes = named(actions, "LifecycleNode")
    specs = describe_graph("tabletop", shape=shape, seed=seed, record=record)
    assert [node.name for node in nodes] == [spec.name for spec in specs]
    assert [node.executable for node in nodes] == [spec.executable for spec in specs]
    for node, spec in zip(nodes, specs, strict=True):
        parameters = dict(*node.parameters)
        if spec.name == "recorder":
            assert parameters.pop("directory") == directory
            recorded = scenario_from_text(parameters.pop("scenario_yaml"), "bag").simulation.seed
            assert recorded == (load_scenario("tabletop").simulation.seed if seed is None else seed)
        assert parameters == dict(spec.parameters)


@pytest.mark.parametrize("shape", Shape)
def test_executables_are_modules_and_entry_points(launch_file, shape):
    setup = ast.parse((PACKAGE / "setup.py").read_text())
    (entry_points,) = (
        ast.literal_eval(node.value)
        for node in setup.body
        if isinstance(node, ast.Assign) and node.targets[0].id == "NODES"
    )
    for node in named(started(launch_file, shape=shape.value, record="bag"), "LifecycleNode"):
        assert node.package == PACKAGE.name
        assert (PACKAGE / "impact_control" / "nodes" / f"{node.executable}.py").is_file()
        assert node.executable in entry_points
    assert "install_scripts = $base/lib/impact_control" in (PACKAGE / "setup.cfg").read_text()


@pytest.mark.parametrize("shape", Shape)
def test_nodes_are_configured_and_then_activated_in_order(launch_file, shape):
    actions = started(launch_file, shape=shape.value, record="bag")
    nodes = named(actions, "LifecycleNode")
    (start,) = handlers(actions, "OnProcessStart")
    goals = {CONFIGURE: ("configuring", "inactive"), ACTIVATE: ("activating", "active")}
    transitions = handlers(actions, "OnStateTransition")
    course = []
    emitted = list(start.on_start)
    while emitted and len(course) <= 2 * len(nodes):
        (emission,) = emitted
        node, transition = emission.event.lifecycle_node_matcher, emission.event.transition_id
        course.append((node.name, transition))
        emitted = [
            action
            for handler in transitions
            if handler.target_lifecycle_node is node and (handler.start_state, handler.goal_state) == goals[transition]
            for action in handler.entities
        ]
    names = [node.name for node in nodes]
    assert start.target_action is nodes[0]
    assert course == [(name, CONFIGURE) for name in names] + [(name, ACTIVATE) for name in names]


def test_the_end_of_one_node_ends_all_and_says_which(launch_file):
    actions = started(launch_file, record="bag")
    nodes = named(actions, "LifecycleNode")
    exits = handlers(actions, "OnProcessExit")
    assert [handler.target_action for handler in exits] == nodes
    for node, handler in zip(nodes, exits, strict=True):
        (shutdown,) = handler.on_exit
        assert type(shutdown).__name__ == "Shutdown"
        assert node.name in shutdown.reason
    failures = [h for h in handlers(actions, "OnStateTransition") if type(h.entities[0]).__name__ == "Shutdown"]
    for node in nodes:
        ends = {(h.start_state, h.goal_state) for h in failures if h.target_lifecycle_node is node}
        assert ends == {("configuring", "unconfigured"), ("activating", "inactive"), (None, "errorprocessing")}


def test_handlers_are_there_before_the_processes(launch_file):
    kinds = [type(action).__name__ for action in started(launch_file)]
    assert kinds.index("LifecycleNode") > max(i for i, kind in enumerate(kinds) if kind == "RegisterEventHandler")


def test_nodes_live_in_the_namespace(launch_file):
    nodes = named(started(launch_file, namespace="left"), "LifecycleNode")
    assert {node.namespace for node in nodes} == {"left"}
