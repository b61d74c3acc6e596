"""Nodes that join a domain, and graphs that run there: a second one with the same arms would command the first."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

import rclpy
from rclpy.signals import SignalHandlerOptions

from impact_control_ros.bridge.calls import GREETING_PATIENCE, Caller, NoAnswerError
from impact_control_ros.bridge.rclpy_internals import EventsExecutor
from impact_control_ros.bridge.runtime import await_quiet
from impact_control_ros.bridge.settings import CONTROLLER_MANAGER, Shape
from impact_control_ros.bridge.topics import of_arm
from impact_control_ros.session.graph import ALONE, describe_graph, full_name, require_namespace
from impact_control_ros.session.processes import GraphError, dds_environment

DISCOVERY_TIME = 1.0
"""[s] that are looked for other graphs: most nodes are found in that time, on a busy machine some are not."""

LAUNCH_DISCOVERY_TIME = 3.0
"""[s] the same before a launch; up to 2.7 s were seen."""

SETTLING = 5.0
"""[s] after which a node that joined has discovered the others."""

ANSWER_TIME = 2.0
"""[s] a node may take to say its state; one that was killed does not, and is listed for some time."""


class Visitor:
    """A node of ours that calls those of a graph. Use as a context manager: leaving it leaves the graph as it is."""

    def __init__(self, name: str, namespace: str, executor: Callable[..., Any], arguments: Sequence[str] = ()) -> None:
        """Join the graph, in a new context, which does not heed signals.

        executor: its class. arguments: of ROS. Raises InvalidInputError for a namespace that ROS does not allow,
        GraphError when ROS refuses the node, as it does where its security is incomplete.
        """
        require_namespace(namespace)
        # Else what the loop sends here goes through shared memory.
        os.environ.update(dds_environment())
        self._context = rclpy.Context()
        try:
            rclpy.init(args=list(arguments), context=self._context, signal_handler_options=SignalHandlerOptions.NO)
            self._node = rclpy.create_node(
                name, context=self._context, namespace=full_name(namespace, ""), start_parameter_services=False
            )
        except RuntimeError as error:
            self._context.try_shutdown()
            advice = ""
            if os.environ.get("ROS_SECURITY_ENABLE") == "true":
                keystore = os.environ.get("ROS_SECURITY_KEYSTORE", "")
                given = f", with enclave {arguments[-1]}" if arguments else ""
                advice = f"; security is on{given} of keystore {keystore!r}, see docs/network.md"
            raise GraphError(f"ROS refuses a node: {str(error).splitlines()[0]}{advice}") from error
        self._joined = time.monotonic()
        self._executor = executor(context=self._context)
        self._executor.add_node(self._node)
        self._caller = Caller(self._node, self._spin)

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the graph."""
        self.close()

    def close(self) -> None:
        """Leave the graph. Idempotent."""
        if self._context.ok():
            self._executor.remove_node(self._node)
            self._caller.close()
            if time.monotonic() - self._joined < SETTLING:
                await_quiet(self._node)
            self._node.destroy_node()
            self._executor.shutdown()
            self._context.try_shutdown()

    def require_free(self, paths: Iterable[str], discovery: float = DISCOVERY_TIME, arms: Sequence[str] = ()) -> None:
        """Refuse to start nodes, given by their paths from the namespace here, where living ones have these names.

        Nothing is sent but the question for their state, to nodes that were found. discovery: [s] that others are
        looked for. arms: those that the nodes command: then neither in the namespace here nor in one of theirs may be
        a node of any graph, or a controller manager. Raises GraphError, which names the living.
        """
        places = ("", *arms) if arms else ()
        paths = {*paths, *(of_arm(place, path) for place in places for path in nodes_of_a_graph())}
        managers = sorted({of_arm(place, CONTROLLER_MANAGER) for place in places})
        living: list[str] = []
        asked: set[str] = set()
        end = time.monotonic() + discovery
        while not living and time.monotonic() < end:
            self._spin(0.02)
            found = sorted(path for path in paths - asked if self._offers(f"{path}/get_state"))
            living = [path for path in found if self._answers(path)]
            living += [manager for manager in managers if self._offers(f"{manager}/list_controllers")]
            asked |= {*found}
        if living:
            names = [full_name(self._node.get_namespace(), name) for name in living]
            raise GraphError(
                f"a graph runs here already: {', '.join(names)}; allowed: none with these names, so end it, "
                "or use another namespace or ROS_DOMAIN_ID"
            )

    def _offers(self, service: str) -> int:
        """Return how many servers a service has, by its name from the namespace here."""
        return int(self._node.count_services(full_name(self._node.get_namespace(), service)))

    def _answers(self, path: str) -> bool:
        try:
            self._caller.state(path, ANSWER_TIME, GREETING_PATIENCE)
        except NoAnswerError:
            return False
        return True

    def _spin(self, timeout: float) -> None:
        """Serve what arrives, for `timeout` [s] at most."""
        self._executor.spin_once(timeout_sec=timeout)


def nodes_of_a_graph() -> set[str]:
    """Return the paths of the nodes of any graph of one arm."""
    return {spec.path for shape in Shape for spec in describe_graph("tabletop", shape=shape)}


def require_free_namespace(namespace: str, arms: Sequence[str] = ALONE) -> None:
    """Refuse to launch a graph of these arms where one runs, see `Visitor`; with a node that ends with this call."""
    with Visitor("launch_check", namespace, EventsExecutor) as visitor:
        visitor.require_free((), LAUNCH_DISCOVERY_TIME, arms)
