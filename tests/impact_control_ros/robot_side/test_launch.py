"""The launch file of our own nodes: it starts what `describe_graph` describes, in its order, and ends it as a whole."""

from __future__ import annotations

from itertools import count
from types import SimpleNamespace
from typing import ClassVar

import pytest

from impact_control.scenario import load_scenario, scenario_from_text
from impact_control_ros.bridge.settings import Shape
from impact_control_ros.session.graph import describe_graph
from launch_files import ACTIVATE, CONFIGURE, exited, failure, handlers, load, named, started


@pytest.fixture
def launch_file(monkeypatch):
    return load(monkeypatch, "graph")


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
        if spec.name == "simulator":
            assert parameters.pop("ros2_control") is False
            assert parameters.pop("shared_memory") == ""
        if spec.name == "supervisor":
            assert parameters.pop("robot_side") == "simulator"
        assert parameters == dict(spec.parameters)


def walk(actions, failing=None):
    """Return the sequence of events when every node and process succeeds, from the start of the first node.

    failing: number of the process that ends with 1, counted from 0.
    """
    (start,) = handlers(actions, "OnProcessStart")
    goals = {CONFIGURE: ("configuring", "inactive"), ACTIVATE: ("activating", "active")}
    exits = handlers(actions, "OnProcessExit")
    course, emitted, ended = [], list(start.on_start), count()
    while emitted and len(course) < 20:
        (emission,) = emitted
        if type(emission).__name__ == "EmitEvent":
            node, transition = emission.event.lifecycle_node_matcher, emission.event.transition_id
            course.append((node.name, transition))
            emitted = [
                action
                for handler in handlers(actions, "OnStateTransition")
                if handler.target_lifecycle_node is node
                and (handler.start_state, handler.goal_state) == goals[transition]
                for action in handler.entities
                if type(action).__name__ != "OpaqueFunction"
            ]
        elif type(emission).__name__ == "Node":
            arguments = emission.keywords.get("arguments", [])
            course.append((emission.executable, *arguments[: -2 if emission.executable == "spawner" else None]))
            (handler,) = (handler for handler in exits if handler.target_action is emission)
            if next(ended) == failing:
                return [*course, failure(exited, handler.on_exit, 1)]
            emitted = [exited(handler.on_exit)]
    return course


@pytest.mark.parametrize("shape", Shape)
def test_nodes_are_configured_and_then_activated_in_order(launch_file, shape):
    actions = started(launch_file, shape=shape.value, record="bag")
    nodes = named(actions, "LifecycleNode")
    names = [node.name for node in nodes]
    assert handlers(actions, "OnProcessStart")[0].target_action is nodes[0]
    assert walk(actions) == [(name, CONFIGURE) for name in names] + [(name, ACTIVATE) for name in names]


TAKING_OVER = [("spawner", "effort_controller", "--inactive"), ("robot_check",), ("spawner", "effort_controller")]


@pytest.mark.parametrize("simulate", ["true", "false"])
def test_the_robot_side_is_checked_and_taken_over_between_configuring_and_activating(launch_file, simulate):
    actions = started(launch_file, ros2_control="true", simulate=simulate)
    names = [node.name for node in named(actions, "LifecycleNode")]
    assert ("simulator" in names) == (simulate == "true")
    # Until the simulator is active the interfaces hold the initial values of the description.
    first = [("simulator", ACTIVATE)] if simulate == "true" else []
    before = [(name, CONFIGURE) for name in names] + first
    assert walk(actions) == before + TAKING_OVER + [(name, ACTIVATE) for name in names if name != "simulator"]
    for number in range(len(TAKING_OVER)):
        *course, reason = walk(actions, failing=number)
        assert course == before + TAKING_OVER[: number + 1]
        assert reason == "that process ended with 1"


def test_only_a_simulator_behind_ros2_control_is_remapped(launch_file):
    for behind in ("true", "false"):
        for node in named(started(launch_file, ros2_control=behind, record="bag"), "LifecycleNode"):
            assert bool(node.remappings) == (behind == "true" and node.name == "simulator")


def functions(actions, node):
    """The handlers that call a function when a node goes from one state to another."""
    found = [h for h in handlers(actions, "OnStateTransition") if h.target_lifecycle_node is node]
    return [handler for handler in found if type(handler.entities[0]).__name__ == "OpaqueFunction"]


class Launched:
    """A launch whose nodes answer with these states, by name; `emitted` has the events that are made up for."""

    COMING_FROM: ClassVar = {"inactive": "configuring", "active": "activating"}

    def __init__(self, launch_file, actions):
        self.nodes = {node.name: node for node in named(actions, "LifecycleNode")}
        for name, node in self.nodes.items():
            node.node_name = f"/{name}"
        self.states = dict.fromkeys(self.nodes, "unconfigured")
        self._handlers = handlers(actions, "OnStateTransition")
        self.emitted, self.is_shutdown = [], False
        self.asyncio_loop = SimpleNamespace(call_soon_threadsafe=lambda call, *arguments: call(*arguments))
        launch_file.get_ros_node = lambda context: self
        launch_file.GetState = SimpleNamespace(Request=SimpleNamespace)
        (self._look,) = (action.function for action in actions if type(action).__name__ == "OpaqueFunction")

    def create_client(self, kind, name):
        node = name.removeprefix("/").removesuffix("/get_state")
        answer = lambda: SimpleNamespace(current_state=SimpleNamespace(label=self.states[node]))  # noqa: E731
        future = SimpleNamespace(add_done_callback=lambda told: told(SimpleNamespace(result=answer)))
        return SimpleNamespace(service_is_ready=lambda: True, call_async=lambda request: future)

    def emit_event_sync(self, event):
        self.emitted.append((event.action.name, event.msg.start_state.label, event.msg.goal_state.label))
        self.hear(event.action.name, event.msg.goal_state.label)

    def hear(self, name, state):
        """The message of a transition arrives."""
        for handler in self._handlers:
            came = (handler.start_state, handler.goal_state) == (self.COMING_FROM[state], state)
            for action in handler.entities if came and handler.target_lifecycle_node is self.nodes[name] else ():
                if type(action).__name__ == "OpaqueFunction":
                    action.function(self)

    def look(self):
        """Look once; return the period until the next look, None where there is none."""
        timers = self._look(self)
        for timer in timers:
            (again,) = timer.actions
            self._look = again.function
        return timers[0].period if timers else None


def test_nodes_that_do_not_become_active_end_the_launch_and_are_named(launch_file):
    launched = Launched(launch_file, started(launch_file, record="bag"))
    *others, last = launched.nodes
    for name in others * 2:  # a node that becomes active again, as after a fault, is not waited for again
        launched.hear(name, "active")
    passed = 0.0
    while passed < launch_file.PATIENCE:
        passed += launched.look()
    assert passed == launch_file.PATIENCE and not launched.emitted
    assert failure(launched.look) == f"not active after {passed:g} s: node {last}"


def test_a_launch_whose_nodes_are_active_is_not_looked_at_any_more(launch_file):
    launched = Launched(launch_file, started(launch_file))
    assert launched.look() == launch_file.LOOK_PERIOD
    for name in launched.nodes:
        launched.hear(name, "active")
    assert launched.look() is None


@pytest.mark.parametrize("state", ["inactive", "active"])
def test_a_transition_whose_message_was_lost_is_made_up_for(launch_file, state):
    """Once, and only where the node has been there for a period: the message may be on its way."""
    launched = Launched(launch_file, started(launch_file))
    first = next(iter(launched.nodes))
    launched.look()
    if state == "active":
        launched.hear(first, "inactive")
    launched.states[first] = state
    launched.look()
    assert not launched.emitted
    launched.look()
    assert launched.emitted == [(first, launched.COMING_FROM[state], state)]
    launched.look()
    assert len(launched.emitted) == 1


def test_a_transition_that_was_heard_of_is_not_made_up_for(launch_file):
    launched = Launched(launch_file, started(launch_file))
    first = next(iter(launched.nodes))
    launched.look()
    launched.states[first] = "inactive"
    launched.look()
    launched.hear(first, "inactive")
    launched.look()
    launched.look()
    assert not launched.emitted


def test_the_end_of_one_node_ends_all_and_says_which(launch_file):
    actions = started(launch_file, record="bag")
    nodes = named(actions, "LifecycleNode")
    exits = handlers(actions, "OnProcessExit")
    assert [handler.target_action for handler in exits] == nodes
    for node, handler in zip(nodes, exits, strict=True):
        assert failure(exited, handler.on_exit) == f"node {node.name} ended"
        assert exited(handler.on_exit, shutting_down=True) is None
    for node in nodes:
        arrivals = {("configuring", "inactive"), ("activating", "active")}
        own = [h for h in functions(actions, node) if (h.start_state, h.goal_state) not in arrivals]
        ends = {(h.start_state, h.goal_state) for h in own}
        assert ends == {("configuring", "unconfigured"), ("activating", "inactive"), (None, "errorprocessing")}
        for handler in own:
            assert failure(handler.entities[0].function, None).startswith(f"node {node.name} ")


def test_handlers_are_there_before_the_processes(launch_file):
    kinds = [type(action).__name__ for action in started(launch_file)]
    assert kinds.index("LifecycleNode") > max(i for i, kind in enumerate(kinds) if kind == "RegisterEventHandler")


def test_nodes_live_in_the_namespace_and_every_one_keeps_its_own_enclave(launch_file):
    for node in named(started(launch_file, namespace="left", record="bag"), "LifecycleNode"):
        assert node.namespace == "left"
        assert node.ros_arguments == ["--enclave", f"/left/{node.name}"]
        assert node.additional_env["ROS_SECURITY_ENCLAVE_OVERRIDE"] == ""
