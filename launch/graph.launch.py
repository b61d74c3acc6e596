"""Start our nodes for a robot side: included by the other launch files, not meant to be launched by itself.

The nodes, their parameters and their order are those of `impact_control_ros.session.graph.graph_of`, which the command
line uses too. All are configured in that order, each when the one before is, and then activated in that
order, each when the one before is active. In between, behind ros2_control, the effort controller of every arm is
loaded, the robot side is checked, and the controllers are activated: late, so that an arm is without a commander as
shortly as can be, and before the loops, so that no task can begin without it. A simulator behind ros2_control becomes
active before the check: until then the interfaces hold the initial values of the description. With shared memory the
controller managers go by its clock: joint states are broadcast from then on. When one process ends
that should not, a step fails, or a node is not active in time, everything is shut down, and the launch ends with a
code other than 0.
"""

from collections.abc import Mapping, Sequence

from launch.actions import EmitEvent, OpaqueFunction, RegisterEventHandler, TimerAction
from launch.event_handlers import OnProcessExit, OnProcessStart
from launch.events import matches_action
from launch_ros.actions import LifecycleNode
from launch_ros.event_handlers import OnStateTransition
from launch_ros.events.lifecycle import ChangeState, StateTransition
from launch_ros.ros_adapters import get_ros_node
from lifecycle_msgs.msg import State, Transition, TransitionEvent
from lifecycle_msgs.srv import GetState

from impact_control_ros.bridge import topics
from impact_control_ros.bridge.settings import REAL_TIME_FACTOR, SEED, Shape
from impact_control_ros.robot_side.files import EFFORT_CONTROLLER
from impact_control_ros.robot_side.robot_switch import SwitchKind
from impact_control_ros.session.graph import NODE_ENVIRONMENT, Duty, NodeSpec, below, graph_of
from impact_control_ros.session.launching import (
    broadcaster,
    declare,
    end_with,
    fail,
    parameters,
    process,
    spawner,
    when_done,
)
from launch import LaunchContext, LaunchDescription

ARGUMENTS = (
    "scenario",
    "shape",
    "seed",
    "real_time_factor",
    "record",
    "namespace",
    "simulate",
    "ros2_control",
    "shared_memory",
    "check_gravity",
)

FAILURES = (
    ("configuring", "unconfigured", "could not be configured"),
    ("activating", "inactive", "could not be activated"),
    (None, "errorprocessing", "failed in a transition"),
)
"""Start and goal of the transitions that end a launch, and what they mean."""

PATIENCE = 300.0
"""[s] until all nodes are active. Where nothing is compiled yet that takes a minute or two."""

LOOK_PERIOD = 5.0
"""[s] between two looks at nodes that are not active."""

COMING_FROM = {"inactive": "configuring", "active": "activating"}
"""States in the course of a launch, and from where a node comes to them."""


def generate_launch_description() -> LaunchDescription:
    """Declare the arguments; the graph follows from their values."""
    return LaunchDescription([*declare(*ARGUMENTS), OpaqueFunction(function=graph_actions)])


def graph_actions(context: LaunchContext) -> list:
    """Return the nodes and the event handlers that bring them up and end them."""
    value = context.launch_configurations
    behind, simulate = value["ros2_control"] == "true", value["simulate"] == "true"
    scenario, specs = graph_of(
        value["scenario"],
        shape=Shape(value["shape"]),
        simulate=simulate,
        real_time_factor=REAL_TIME_FACTOR.number(value["real_time_factor"]),
        seed=SEED.number(value["seed"]),
        record=bool(value["record"]),
    )
    on_topics = behind and simulate and not value["shared_memory"]
    switch = (
        SwitchKind.SIMULATOR_ON_TOPICS if on_topics else SwitchKind.ROS2_CONTROL if behind else SwitchKind.SIMULATOR
    )
    more = {
        Duty.RECORDER: {"directory": value["record"], "scenario_yaml": scenario.to_yaml()},
        Duty.ROBOT: {"ros2_control": behind, "shared_memory": value["shared_memory"]},
        Duty.SUPERVISOR: {"robot_side": switch.value},
    }
    arms = scenario.arm_names
    remapped = [pair for arm in arms for pair in behind_ros2_control(arm)] if on_topics else []
    nodes = [lifecycle_node(spec, value["namespace"], more.get(spec.duty, {}), remapped) for spec in specs]
    robots = [node for spec, node in zip(specs, nodes, strict=True) if spec.duty is Duty.ROBOT]
    ours = [node for node in nodes if node not in robots]
    sequence = [*robots, *taking_over(value, arms), *ours] if behind else nodes
    # Handlers first: they must be there before the first process is.
    return [*bring_up(nodes, sequence), *shut_down(specs, nodes), *watch_over(specs, nodes), *nodes]


def taking_over(value: Mapping[str, str], arms: Sequence[str]) -> list:
    """Return the steps with which arms behind ros2_control are taken over, given the arguments of the launch.

    All are checked before one is activated.
    """
    check_gravity = value["check_gravity"] == "true"
    waited = arms if value["shared_memory"] else ()  # their managers had no clock before
    checks, activations = [broadcaster(below(value["namespace"], arm)) for arm in waited], []
    for arm in arms:
        namespace = below(value["namespace"], arm)
        given = [parameters({"scenario": value["scenario"], "arm": arm, "check_gravity": check_gravity})]
        check = process("impact_control_ros", "robot_check", name="robot_check", namespace=namespace, parameters=given)
        checks += [spawner(EFFORT_CONTROLLER, namespace, "--inactive"), check]
        activations.append(spawner(EFFORT_CONTROLLER, namespace))
    return [*checks, *activations]


def behind_ros2_control(arm: str) -> list:
    """Return the remappings of a simulator to the topics of the hardware of an arm, as `urdf/ros2_control.xacro`."""
    pairs = (topics.JOINT_STATES, "robot/joint_states"), (topics.COMMANDS, "robot/joint_commands")
    return [tuple(topics.of_arm(arm, topic) for topic in pair) for pair in pairs]


def lifecycle_node(spec: NodeSpec, namespace: str, more_parameters: dict, remapped: list) -> LifecycleNode:
    """Return the process of a node of the graph; remapped: topics of a simulator behind ros2_control."""
    return LifecycleNode(
        package="impact_control_ros",
        executable=spec.executable,
        name=spec.name,
        namespace=below(namespace, spec.namespace),
        parameters=[parameters({**spec.parameters, **more_parameters})],
        remappings=remapped if spec.duty is Duty.ROBOT else [],
        ros_arguments=["--enclave", spec.enclave(namespace)],
        additional_env=NODE_ENVIRONMENT,
        output="both",
    )


def bring_up(nodes: list, sequence: list) -> list:
    """Return handlers that make one chain: configure all nodes in order, then go through a sequence.

    sequence: nodes, each to be activated, and processes, each of which has to end well.
    """
    first = nodes[0]
    configure = [change(node, Transition.TRANSITION_CONFIGURE) for node in nodes]
    begin = [change(step, Transition.TRANSITION_ACTIVATE) if step in nodes else step for step in sequence]
    chain = [RegisterEventHandler(OnProcessStart(target_action=first, on_start=[configure[0]]))]
    for node, then in zip(nodes, [*configure[1:], begin[0]], strict=True):
        chain.append(when(node, "configuring", "inactive", then))
    for step, then in zip(sequence, begin[1:], strict=False):
        chain.append(when(step, "activating", "active", then) if step in nodes else when_done(step, then))
    return chain


def shut_down(specs: tuple, nodes: list) -> list:
    """Return handlers that end everything when a process ends or a transition fails; the reason names the node."""
    handlers = []
    for spec, node in zip(specs, nodes, strict=True):
        ended = end_with(f"node {spec.name}")
        handlers.append(RegisterEventHandler(OnProcessExit(target_action=node, on_exit=ended)))
        for start, goal, words in FAILURES:
            failure = OpaqueFunction(function=lambda context, reason=f"node {spec.name} {words}": fail(reason))
            handlers.append(when(node, start, goal, failure))
    return handlers


def watch_over(specs: tuple, nodes: list) -> list:
    """Return what looks for lost events of transitions, and ends a launch whose nodes are not all active in time."""
    course = Course({spec.path: node for spec, node in zip(specs, nodes, strict=True)})
    arrivals = [
        when(node, start, goal, course.arrival(path, goal))
        for path, node in course.nodes.items()
        for goal, start in COMING_FROM.items()
    ]
    return [*arrivals, OpaqueFunction(function=course.look)]


class Course:
    """States of the nodes as launch has heard of them, by the one message of each transition.

    That message is lost where a node has not found its listener yet, in two of 120 launches on busy cores, and launch
    would wait for it for ever. The nodes are asked for their states, therefore: where one was ahead twice in a row, the
    event is emitted in place of the message.
    """

    def __init__(self, nodes: Mapping[str, LifecycleNode]) -> None:
        """nodes: by their paths."""
        self.nodes = nodes
        self._heard = dict.fromkeys(nodes, "")
        self._seen = dict.fromkeys(nodes, "")
        self._clients: dict = {}
        self._looks = 0

    def arrival(self, path: str, state: str) -> OpaqueFunction:
        """Return the action that keeps the state a node has come to."""
        return OpaqueFunction(function=lambda context: self._heard.update({path: state}))

    def look(self, context: LaunchContext) -> list:
        """Ask the nodes that are not active for their states, and look again later, until all are or time is over."""
        waiting = [path for path, state in self._heard.items() if state != "active"]
        if waiting and self._looks * LOOK_PERIOD >= PATIENCE:
            fail(f"not active after {PATIENCE:g} s: node {', '.join(waiting)}")
        for path in waiting if self._looks else ():
            self._ask(context, path)
        self._looks += 1
        return [TimerAction(period=LOOK_PERIOD, actions=[OpaqueFunction(function=self.look)])] if waiting else []

    def _ask(self, context: LaunchContext, path: str) -> None:
        if path not in self._clients:
            name = f"{self.nodes[path].node_name}/get_state"
            self._clients[path] = get_ros_node(context).create_client(GetState, name)
        if self._clients[path].service_is_ready():
            answer = self._clients[path].call_async(GetState.Request())
            answer.add_done_callback(
                lambda done: context.asyncio_loop.call_soon_threadsafe(
                    self.compare, context, path, done.result().current_state.label
                )
            )

    def compare(self, context: LaunchContext, path: str, state: str) -> None:
        """Emit the event of a transition that a node made before the last look, and of which nothing was heard."""
        before, self._seen[path] = self._seen[path], state
        start = COMING_FROM.get(state)
        if start is None or state in (self._heard[path], "") or state != before or context.is_shutdown:
            return
        message = TransitionEvent(start_state=State(label=start), goal_state=State(label=state))
        context.emit_event_sync(StateTransition(action=self.nodes[path], msg=message))


def when(node: LifecycleNode, start: str | None, goal: str, action: object) -> RegisterEventHandler:
    """Do something when a node goes from one state to another."""
    return RegisterEventHandler(
        OnStateTransition(target_lifecycle_node=node, start_state=start, goal_state=goal, entities=[action])
    )


def change(node: LifecycleNode, transition: int) -> EmitEvent:
    """Ask a node for a transition."""
    return EmitEvent(event=ChangeState(lifecycle_node_matcher=matches_action(node), transition_id=transition))
