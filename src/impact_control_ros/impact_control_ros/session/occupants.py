"""Nodes that join a domain, and graphs that run there: a second one in the same namespace would command the first."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence

import rclpy
from lifecycle_msgs.srv import GetState
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from impact_control_ros.bridge.calls import Caller, NoAnswerError
from impact_control_ros.bridge.rclpy_internals import EventsExecutor
from impact_control_ros.session.graph import describe_graph, full_name, require_namespace
from impact_control_ros.session.processes import GraphError, dds_environment
from impact_control_ros.session.shape import Shape

DISCOVERY_TIME = 1.0
"""[s] that are looked for other graphs: most nodes are found in that time, on a busy machine some are not."""

LAUNCH_DISCOVERY_TIME = 3.0
"""[s] the same before a launch; up to 2.7 s were seen."""

ANSWER_TIME = 2.0
"""[s] a node may take to say its state; one that was killed does not, and is listed for some time."""


def join(context: rclpy.Context, name: str, namespace: str, arguments: Sequence[str] = ()) -> Node:
    """Return a node of ours in a new context, which does not heed signals. arguments: of ROS.

    Raises InvalidInputError for a namespace that ROS does not allow, GraphError when ROS refuses the node, as it does
    where its security is incomplete.
    """
    require_namespace(namespace)
    # Else what the loop sends here goes through shared memory.
    os.environ.update(dds_environment())
    try:
        rclpy.init(args=list(arguments), context=context, signal_handler_options=SignalHandlerOptions.NO)
        return rclpy.create_node(
            name, context=context, namespace=full_name(namespace, ""), start_parameter_services=False
        )
    except RuntimeError as error:
        context.try_shutdown()
        advice = ""
        if os.environ.get("ROS_SECURITY_ENABLE") == "true":
            keystore = os.environ.get("ROS_SECURITY_KEYSTORE", "")
            given = f", with enclave {arguments[-1]}" if arguments else ""
            advice = f"; security is on{given} of keystore {keystore!r}, see docs/network.md"
        raise GraphError(f"ROS refuses a node: {str(error).splitlines()[0]}{advice}") from error


def nodes_of_a_graph() -> set[str]:
    """Return the paths of the nodes of any graph of one arm."""
    return {spec.path for shape in Shape for spec in describe_graph("tabletop", shape=shape)}


def _servers(node: Node, path: str) -> int:
    return int(node.count_services(full_name(node.get_namespace(), f"{path}/get_state")))


def require_free(
    node: Node,
    spin: Callable[[float], None],
    paths: Iterable[str],
    discovery: float = DISCOVERY_TIME,
    *,
    robot_side: bool = True,
) -> None:
    """Refuse to start nodes, given by their paths from the namespace of `node`, where living ones have these names.

    Nothing is sent but the question for their state, to nodes that were found. spin: serves `node` for some seconds.
    discovery: [s] that others are looked for. robot_side: the nodes command an arm, which a controller manager may do
    already. Raises GraphError, which names the living.
    """
    paths, end = sorted(paths), time.monotonic() + discovery
    found: list[str] = []
    while not found and time.monotonic() < end:
        spin(0.02)
        found = [path for path in paths if _servers(node, path)]
    caller = Caller(node, spin)
    living = [path for path in found if _answers(caller, path)]
    manager = full_name(node.get_namespace(), "controller_manager/list_controllers")
    managed = robot_side and node.count_services(manager)
    if living or managed:
        names = [full_name(node.get_namespace(), name) for name in [*living, *["controller_manager"] * bool(managed)]]
        raise GraphError(
            f"a graph runs here already: {', '.join(names)}; allowed: none with these names, so end it, "
            "or use another namespace or ROS_DOMAIN_ID"
        )


def require_free_namespace(namespace: str) -> None:
    """Refuse to launch a graph where one runs, see `require_free`; with a node that ends with this call."""
    context = rclpy.Context()
    node = join(context, "launch_check", namespace)
    executor = EventsExecutor(context=context)
    try:
        executor.add_node(node)

        def spin(seconds: float) -> None:
            executor.spin_once(timeout_sec=seconds)

        require_free(node, spin, nodes_of_a_graph(), LAUNCH_DISCOVERY_TIME)
        executor.remove_node(node)
        node.destroy_node()
    finally:
        executor.shutdown()
        context.try_shutdown()


def _answers(caller: Caller, path: str) -> bool:
    try:
        caller.call_until_answered(GetState, f"{path}/get_state", GetState.Request(), ANSWER_TIME, 0.5)
    except NoAnswerError:
        return False
    return True
