"""Start the graph on the embedded simulator: ros2 launch impact_control sim.launch.py

The nodes, their parameters and their order are those of `impact_control.graph.describe_graph`, which the command
line uses too. All are configured in that order, each when the one before is, and then activated in that order,
each when the one before is active. When one process ends, or a transition fails, everything is shut down.
"""

from itertools import pairwise

from launch.actions import DeclareLaunchArgument, EmitEvent, OpaqueFunction, RegisterEventHandler, Shutdown
from launch.event_handlers import OnProcessExit, OnProcessStart
from launch.events import matches_action
from launch_ros.actions import LifecycleNode
from launch_ros.event_handlers import OnStateTransition
from launch_ros.events.lifecycle import ChangeState
from lifecycle_msgs.msg import Transition

from impact_control.graph import NODE_ENVIRONMENT, Duty, NodeSpec, Shape, describe_graph
from impact_control.scenario import available_scenarios, available_scenes, load_any, parts_of
from launch import LaunchContext, LaunchDescription

FAILURES = (
    ("configuring", "unconfigured", "could not be configured"),
    ("activating", "inactive", "could not be activated"),
    (None, "errorprocessing", "failed in a transition"),
)
"""Start and goal of the transitions that end a launch, and what they mean."""


def generate_launch_description() -> LaunchDescription:
    """Declare the arguments; the graph follows from their values."""
    shapes = [shape.value for shape in Shape]
    return LaunchDescription(
        [
            DeclareLaunchArgument(
                "scenario",
                default_value="tabletop",
                description=f"name ({', '.join((*available_scenarios(), *available_scenes()))}) or path of a file",
            ),
            DeclareLaunchArgument(
                "shape",
                default_value=Shape.COMPOSED.value,
                choices=shapes,
                description="observer, detector, classifier and controller in one process, or in three",
            ),
            DeclareLaunchArgument(
                "seed", default_value="", description="seed of the sensor noise; empty: the scenario's"
            ),
            DeclareLaunchArgument(
                "real_time_factor",
                default_value="",
                description="simulated seconds to a second of the wall clock; empty: what the cores here carry",
            ),
            DeclareLaunchArgument(
                "record",
                default_value="",
                description="new or empty directory for a bag; empty: nothing is recorded",
            ),
            DeclareLaunchArgument("namespace", default_value="", description="namespace of the arm's nodes"),
            OpaqueFunction(function=graph_actions),
        ]
    )


def graph_actions(context: LaunchContext) -> list:
    """Return the nodes and the event handlers that bring them up and end them."""
    value = context.launch_configurations
    directory = value["record"]
    seed = int(value["seed"]) if value["seed"] else None
    scenario = load_any(value["scenario"]).with_overrides({} if seed is None else {"simulation.seed": seed})
    factor = float(value["real_time_factor"]) if value["real_time_factor"] else None
    specs = describe_graph(
        value["scenario"],
        **parts_of(scenario),
        shape=Shape(value["shape"]),
        real_time_factor=factor,
        seed=seed,
        record=bool(directory),
    )
    recording = {"directory": directory, "scenario_yaml": scenario.to_yaml()}
    nodes = [
        lifecycle_node(spec, value["namespace"], recording if spec.duty is Duty.RECORDER else {}) for spec in specs
    ]
    # Handlers first: they must be there before the first process is.
    return [*bring_up(nodes), *shut_down(specs, nodes), *nodes]


def lifecycle_node(spec: NodeSpec, namespace: str, more_parameters: dict) -> LifecycleNode:
    """Return the process of a node of the graph."""
    return LifecycleNode(
        package="impact_control",
        executable=spec.executable,
        name=spec.name,
        namespace="/".join(part for part in (namespace, spec.namespace) if part),
        parameters=[{**spec.parameters, **more_parameters}],
        additional_env=NODE_ENVIRONMENT,
        output="both",
    )


def bring_up(nodes: list) -> list:
    """Return handlers that make one chain: configure all nodes in order, then activate all in order."""
    first, last = nodes[0], nodes[-1]
    chain = [RegisterEventHandler(OnProcessStart(target_action=first, on_start=[configure(first)]))]
    for node, following in pairwise(nodes):
        chain += [
            when(node, "configuring", "inactive", configure(following)),
            when(node, "activating", "active", activate(following)),
        ]
    return [*chain, when(last, "configuring", "inactive", activate(first))]


def shut_down(specs: tuple, nodes: list) -> list:
    """Return handlers that end everything when a process ends or a transition fails; the reason names the node."""
    handlers = []
    for spec, node in zip(specs, nodes, strict=True):
        ended = Shutdown(reason=f"node {spec.name} ended")
        handlers.append(RegisterEventHandler(OnProcessExit(target_action=node, on_exit=[ended])))
        for start, goal, words in FAILURES:
            handlers.append(when(node, start, goal, Shutdown(reason=f"node {spec.name} {words}")))
    return handlers


def when(node: LifecycleNode, start: str | None, goal: str, action: object) -> RegisterEventHandler:
    """Do something when a node goes from one state to another."""
    return RegisterEventHandler(
        OnStateTransition(target_lifecycle_node=node, start_state=start, goal_state=goal, entities=[action])
    )


def configure(node: LifecycleNode) -> EmitEvent:
    """Ask a node to configure itself."""
    return change(node, Transition.TRANSITION_CONFIGURE)


def activate(node: LifecycleNode) -> EmitEvent:
    """Ask a node to become active."""
    return change(node, Transition.TRANSITION_ACTIVATE)


def change(node: LifecycleNode, transition: int) -> EmitEvent:
    """Ask a node for a transition."""
    return EmitEvent(event=ChangeState(lifecycle_node_matcher=matches_action(node), transition_id=transition))
