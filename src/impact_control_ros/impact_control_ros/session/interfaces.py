"""Topics, services and actions of each process of the graph: all that a security policy has to allow.

A new node gets its row in `OWN`.

Names as in the code of the node: relative to its namespace, `/` from the root on, `~/` below the node itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import reduce
from operator import or_

from impact_control.scenario import load_scenario
from impact_control_ros.bridge import end_effector, qos, topics
from impact_control_ros.robot_side import franka_state
from impact_control_ros.robot_side.robot_switch import SwitchKind, switches_of
from impact_control_ros.session.graph import OPERATOR, Duty, NodeSpec, full_name


@dataclass(frozen=True)
class Interfaces:
    """Topics a node publishes and subscribes to, services it serves and requests, actions it executes and calls."""

    publishes: tuple[str, ...] = ()
    subscribes: tuple[str, ...] = ()
    serves: tuple[str, ...] = ()
    requests: tuple[str, ...] = ()
    executes: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()

    def __or__(self, other: Interfaces) -> Interfaces:
        """Return the union, sorted, each name once."""
        return Interfaces(
            *(tuple(sorted({*getattr(self, kind.name), *getattr(other, kind.name)})) for kind in fields(Interfaces))
        )


@dataclass(frozen=True)
class Profile:
    """A node with its interfaces. name: `*` stands for any characters in it."""

    namespace: str
    name: str
    interfaces: Interfaces

    def resolved(self) -> Interfaces:
        """Return the interfaces with absolute names, sorted."""
        return Interfaces(
            *(
                tuple(sorted(resolve(name, self.namespace, self.name) for name in getattr(self.interfaces, kind.name)))
                for kind in fields(Interfaces)
            )
        )


def resolve(name: str, namespace: str, node: str) -> str:
    """Return a topic, service or action from the root on."""
    if name.startswith("/"):
        return name
    if name.startswith("~/"):
        return full_name(namespace, f"{node}/{name[2:]}")
    return full_name(namespace, name)


def below(*names: str) -> tuple[str, ...]:
    """Return names below the node itself."""
    return tuple(f"~/{name}" for name in names)


NODE = Interfaces(publishes=("/parameter_events",), serves=below("get_type_description"))
"""Interfaces of every node of rclpy."""

LOGGING = Interfaces(publishes=("/rosout",))

PARAMETERS = Interfaces(
    serves=below(
        "describe_parameters",
        "get_parameters",
        "get_parameter_types",
        "list_parameters",
        "set_parameters",
        "set_parameters_atomically",
    )
)

LIFECYCLE = Interfaces(
    publishes=below("transition_event"),
    serves=below(
        "change_state", "get_available_states", "get_available_transitions", "get_state", "get_transition_graph"
    ),
)

_DETECTION = Interfaces(
    publishes=(topics.EXTERNAL_TORQUE, topics.EVENTS, *end_effector.PUBLISHED, topics.DIAGNOSTICS),
    subscribes=(topics.JOINT_STATES,),
)
_CLASSIFICATION = Interfaces(publishes=(topics.CLASSIFICATION, topics.DIAGNOSTICS), subscribes=(topics.JOINT_STATES,))
_CONTROL = Interfaces(
    publishes=(topics.COMMANDS, topics.REFERENCE, topics.STATUS, topics.DIAGNOSTICS),
    subscribes=(topics.JOINT_STATES, topics.SUPERVISOR),
    requests=(topics.PREDICT,),
    executes=(topics.EXECUTE, topics.MOVE_TO),
)

OWN: Mapping[str, Interfaces] = {
    "loop": _DETECTION | _CLASSIFICATION | _CONTROL,
    "detector": _DETECTION | Interfaces(subscribes=(topics.STATUS,)),
    "classifier": _CLASSIFICATION | Interfaces(subscribes=(topics.REFERENCE, topics.EVENTS)),
    "controller": _CONTROL
    | Interfaces(subscribes=(topics.EVENTS, topics.CLASSIFICATION), requests=("classifier/set_parameters",)),
    "predictor": Interfaces(publishes=(topics.BELIEF,), serves=(topics.PREDICT,)),
    "simulator": Interfaces(publishes=(topics.DIAGNOSTICS,), serves=(topics.RESET, topics.PAUSE, topics.ACCEPT)),
    "supervisor": Interfaces(publishes=(topics.DIAGNOSTICS,)),
    "recorder": Interfaces(),
    "viewer": Interfaces(),
}
"""Interfaces of each executable's node, without those of every lifecycle node and of the arms of a scene."""

OF_AN_ARM = (topics.JOINT_STATES, topics.TRUTH)
"""Topics that the simulator publishes for each arm."""

ANSWERS = (topics.COMMANDS, topics.EXTERNAL_TORQUE)
"""Topics that the simulator takes from each arm; the second in lockstep only."""

OF_PARTNERS = (topics.EVENTS, topics.STATUS, topics.GUARD)
"""Topics of each of its partners that a loop subscribes to."""

LEARNED_FROM = (topics.JOINT_STATES, topics.CLASSIFICATION)
"""Topics that the predictor subscribes to where the scenario lets it learn."""

WATCHED = (topics.COMMANDS, topics.JOINT_STATES, topics.STATUS)
"""Topics of each arm that the supervisor watches."""

SHOWN = (
    topics.JOINT_STATES,
    topics.EXTERNAL_TORQUE,
    topics.REFERENCE,
    topics.STATUS,
    topics.TRUTH,
    topics.EVENTS,
    topics.CLASSIFICATION,
)
"""Displayed topics of each arm; the true state of a simulated one only."""

TOOLS = ("launch_ros_*", "_ros2cli_*")
"""Nodes of `ros2 launch` and of the other `ros2` commands, in the root namespace."""

VISITORS = ("session_*", "impact_client_*")
"""Nodes of the command line and of `ImpactClient`, in the namespace of the graph."""


def enclaves(
    specs: Sequence[NodeSpec], *, namespace: str = "", objects: Sequence[str] = ()
) -> dict[str, tuple[Profile, ...]]:
    """Return the nodes of each process of a graph, by its enclave, and of the operator, who starts and watches it.

    namespace: of the graph. objects: of a scene.
    """
    arms = tuple(dict.fromkeys(spec.namespace for spec in specs if spec.duty is Duty.LOOP))
    nodes = {spec.enclave(namespace): _profile(spec, namespace, arms, objects) for spec in specs}
    found: dict[str, tuple[Profile, ...]] = {path: (node,) for path, node in nodes.items()}
    found[full_name(namespace, OPERATOR)] = _operator(nodes.values(), namespace)
    return dict(sorted(found.items()))


def _profile(spec: NodeSpec, namespace: str, arms: Sequence[str], objects: Sequence[str]) -> Profile:
    """Return the node of a spec with all that its process uses."""
    poses = tuple(f"{topics.OBJECTS}/{name}" for name in objects)
    partners = [arm for arm in arms if "partners" in spec.parameters and arm != spec.namespace]
    more = Interfaces(subscribes=tuple(full_name(namespace, topic) for topic in _of_arms(partners, OF_PARTNERS)))
    if spec.executable == "simulator":
        taken = ANSWERS if spec.parameters.get("lockstep") else ANSWERS[:1]
        clock = (topics.CLOCK,) if spec.parameters.get("shared_memory") else ()
        more = Interfaces(publishes=(*_of_arms(arms, OF_AN_ARM), *poses, *clock), subscribes=_of_arms(arms, taken))
    elif spec.executable == "supervisor":
        kind = SwitchKind(spec.parameters.get("robot_side", SwitchKind.SIMULATOR))
        watched = (*WATCHED, franka_state.TOPIC) if kind is SwitchKind.ROS2_CONTROL else WATCHED
        more = Interfaces(
            publishes=_of_arms(arms, (topics.SUPERVISOR,)),
            subscribes=_of_arms(arms, watched),
            serves=_of_arms(arms, (topics.STOP, topics.RESUME)),
            requests=switches_of(kind, arms),
        )
    elif spec.executable == "predictor":
        learns = load_scenario(str(spec.parameters["scenario"])).arm().prediction.adapt
        more = Interfaces(subscribes=LEARNED_FROM if learns else ())
    elif spec.executable == "detector":
        detection = load_scenario(str(spec.parameters["scenario"])).detection
        more = Interfaces(subscribes=(topics.COMMANDS,) if detection.needs_commands else ())
    elif spec.executable == "viewer":
        more = Interfaces(subscribes=(*_of_arms(arms, SHOWN), *poses))
    elif spec.executable == "recorder":
        more = Interfaces(
            subscribes=(*_of_arms(arms, sorted(qos.OFFERED.keys() - {topics.DIAGNOSTICS})), *poses, topics.DIAGNOSTICS)
        )
    own = NODE | LOGGING | PARAMETERS | LIFECYCLE | OWN[spec.executable]
    return Profile(full_name(namespace, spec.namespace), spec.name, own | more)


def _of_arms(arms: Iterable[str], names: Sequence[str]) -> tuple[str, ...]:
    """Return topics of each arm."""
    return tuple(topics.of_arm(arm, name) for arm in arms for name in names)


def _operator(processes: Iterable[Profile], namespace: str) -> tuple[Profile, ...]:
    """Return the nodes of the operator, who starts, watches and ends a graph: they publish nothing to it."""
    used = reduce(or_, (profile.resolved() for profile in processes))
    watching = Interfaces(subscribes=used.publishes, requests=used.serves, calls=used.executes)
    ending = Interfaces(serves=(topics.END,), requests=(topics.END,))
    visitors = [Profile(full_name(namespace, ""), name, NODE | LOGGING) for name in VISITORS]
    tools = [Profile("/", name, NODE | LOGGING | PARAMETERS) for name in TOOLS]
    # The rights of a process are those of its enclave, in whichever profile: listed once.
    first = Profile(visitors[0].namespace, visitors[0].name, visitors[0].interfaces | watching | ending)
    return (first, *visitors[1:], *tools)
