"""Operator: finds, stops and resets a running graph; loads neither robots nor solvers, so that a stop is sent soon."""

from __future__ import annotations

import os
import time

from lifecycle_msgs.srv import GetState
from rclpy.executors import SingleThreadedExecutor
from std_srvs.srv import Trigger

from impact_control_ros.bridge import topics
from impact_control_ros.bridge.calls import CALL_PATIENCE, GREETING_PATIENCE, NoAnswerError
from impact_control_ros.session.graph import full_name
from impact_control_ros.session.occupants import ANSWER_TIME, LAUNCH_DISCOVERY_TIME, Visitor, nodes_of_a_graph
from impact_control_ros.session.processes import GraphError

END_PATIENCE = 30.0
"""[s] a graph may take to end."""


class Operator(Visitor):
    """An operator of one arm. Use as a context manager: leaving it leaves the graph as it is.

    The graph has to run in the same ROS domain. Every method waits, and raises GraphError, or NoAnswerError when
    nobody answers in time.
    """

    def __init__(self, namespace: str = "", *, patience: float = CALL_PATIENCE) -> None:
        """Join the graph. namespace: of the arm. patience: seconds that nodes may take to be found and to answer."""
        # The events executor wants a standard error with a file number, which a notebook has not.
        super().__init__(f"impact_client_{os.getpid()}_{id(self) % 100_000}", namespace, SingleThreadedExecutor)
        self._patience = patience

    def stop(self) -> str:
        """Have the supervisor keep commands from the robot, until `reset`; return its answer."""
        return str(self._caller.call_until_answered(Trigger, topics.STOP, Trigger.Request(), self._patience).message)

    def end_graph(self) -> str:
        """Have the command `up` end its graph, wait until it has, and return its answer."""
        answer = self._caller.call(Trigger, topics.END, Trigger.Request(), self._patience)
        name = full_name(self._node.get_namespace(), topics.END)
        self._caller.wait(lambda: self._node.count_services(name) == 0, END_PATIENCE, "the end of the graph")
        return str(answer.message)

    def reset(self) -> str:
        """Have the supervisor let commands through again; return its answer. Raises GraphError when it refuses."""
        answer = self._caller.call(Trigger, topics.RESUME, Trigger.Request(), self._patience)
        if not answer.success:
            raise GraphError(f"the supervisor refused: {answer.message}")
        return str(answer.message)

    @property
    def place(self) -> str:
        """Where the graph is looked for, in words: ROS domain and namespace."""
        return f"ROS domain {self._context.get_domain_id()}, namespace {self._node.get_namespace()}"

    def absence(self, name: str, patience: float) -> str:
        """Return "" as soon as a service or topic is offered; after `patience` [s] that it is not, and where it is.

        name: relative to the namespace of the arm.
        """
        node, end = self._node, time.monotonic() + patience

        def offered(full: str) -> bool:
            return bool(node.count_services(full) or node.count_publishers(full))

        while not offered(full_name(node.get_namespace(), name)):
            self._spin(0.02)
            if time.monotonic() > end:
                seen = (full for full, _ in (*node.get_service_names_and_types(), *node.get_topic_names_and_types()))
                others = sorted(full.removesuffix(f"/{name}") or "/" for full in seen if full.endswith(f"/{name}"))
                elsewhere = ", ".join(other for other in others if offered(full_name(other, name)))
                return f"no {name} in {self.place}{elsewhere and f'; there is one in {elsewhere}'}"
        return ""

    def nodes(self, discovery: float = LAUNCH_DISCOVERY_TIME) -> dict[str, str]:
        """Return the lifecycle states of the nodes of graphs in and below the namespace, by full name.

        discovery: [s] that nodes are looked for. A node that does not answer, as one that was killed, has the state
        "no answer".
        """
        self._spin_for(discovery)
        names = {path.rpartition("/")[2] for path in nodes_of_a_graph()}
        root = self._node.get_namespace().rstrip("/")
        services = (name for name, _ in self._node.get_service_names_and_types())
        found = (name.removesuffix("/get_state") for name in services if name.endswith("/get_state"))
        chosen = sorted(name for name in found if name.startswith(f"{root}/") and name.rpartition("/")[2] in names)
        return {name: self._state_of(name) for name in chosen}

    def _state_of(self, node: str) -> str:
        try:
            answer = self._caller.call_until_answered(
                GetState, f"{node}/get_state", GetState.Request(), ANSWER_TIME, GREETING_PATIENCE
            )
        except NoAnswerError:
            return "no answer"
        return str(answer.current_state.label)

    def _spin_for(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0.0:
            self._spin(left)
