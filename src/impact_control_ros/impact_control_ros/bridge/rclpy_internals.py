"""Everything of ours that reaches into private or experimental parts of rclpy, and of the messages made for it.

Written for rclpy 7.1 (Jazzy). Another series, and one in which a part has moved, is refused when this module is
imported, by name, and not in the middle of a task. A port to a later rclpy changes this file only.
"""

from __future__ import annotations

import ctypes
import time
import traceback
import uuid
import warnings
from array import array
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
import rclpy
from action_msgs.msg import GoalInfo
from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rcl_interfaces.msg import SetParametersResult
from rcl_interfaces.srv import SetParameters, SetParametersAtomically
from rclpy.action import ActionServer
from rclpy.action.server import ServerGoalHandle
from rclpy.impl.rcutils_logger import RcutilsLogger
from rclpy.logging import get_logger
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile
from rclpy.service import Service
from rclpy.subscription import Subscription
from rclpy.task import Future
from unique_identifier_msgs.msg import UUID

from impact_control.util.errors import MissingDependencyError
from impact_control.util.types import Vector
from impact_control_ros.bridge import real_time

TRIED = "7.1"
"""Series of rclpy that this module is written for."""

LOOK_INTERVAL = 0.01
"""[s] between two looks at whether a node is ready for the activation that it was asked for."""


def _installed() -> str:
    try:
        return version("rclpy")
    except PackageNotFoundError:  # built without its metadata: then the parts that are looked for decide
        return f"{TRIED} or another version"


def _refused(found: str) -> MissingDependencyError:
    return MissingDependencyError(f"{found}; allowed: rclpy {TRIED}, of ROS 2 Jazzy")


def _moved(part: str) -> MissingDependencyError:
    return _refused(f"rclpy {_installed()} has no {part}")


def _require_series(installed: str) -> None:
    """Raise MissingDependencyError for an rclpy of another series: that a part is there does not say what it does."""
    if not installed.startswith((f"{TRIED}.", f"{TRIED} ")):
        raise _refused(f"rclpy {installed} was not tried")


def _require(owner: Any, *names: str) -> None:
    """Raise MissingDependencyError for a part that this rclpy does not have."""
    for name in names:
        if not hasattr(owner, name):
            raise _moved(f"{getattr(owner, '__name__', owner)}.{name}")


_require_series(_installed())
try:
    from rclpy.experimental import EventsExecutor
    from rclpy.impl.implementation_singleton import rclpy_implementation
except ImportError as error:
    raise _moved(str(error)) from error

_require(rclpy_implementation, "EventHandle", "InvalidHandle", "rcl_subscription_event_type_t")
_require(rclpy_implementation, "rmw_service_info_t", "rmw_request_id_t")
_require(Service, "send_response", "handle")
_require(Subscription, "handle", "get_publisher_count")
_require(Node, "services")
_require(ServerGoalHandle, "_update_state")

__all__ = [
    "EventsExecutor",
    "Inbox",
    "Matches",
    "NodeExecutor",
    "RcutilsLogger",
    "Slot",
    "client_is_there",
    "float_field",
    "guard_services",
    "numbers_are_of_one_client",
    "replace_send",
    "request_id",
]


# ---------------------------------------------------------------------- executor


class NodeExecutor:
    """An events executor that survives a service that is withdrawn between a request and its response.

    A transition may withdraw it, and rclpy raises then. The client gets no response.
    """

    def __init__(self) -> None:
        self._executor = EventsExecutor()
        self.add_node = self._executor.add_node
        self.remove_node = self._executor.remove_node

    def spin_once(self, timeout_sec: float) -> None:
        """Serve one callback, or wait this long [s] for one."""
        try:
            self._executor.spin_once(timeout_sec=timeout_sec)
        except rclpy_implementation.InvalidHandle as error:
            # The executor does not say which handle was invalid; only the innermost frame of the traceback does.
            if traceback.extract_tb(error.__traceback__)[-1].name != "send_response":
                raise
            get_logger("impact_control").warning("a request gets no response: its service was withdrawn")


# ---------------------------------------------------------------------- subscriptions without an executor


class Inbox:
    """Subscriptions that no executor serves: messages wait in the middleware until they are taken.

    A wake-up for each message costs more than handling it. Recorder and simulator poll at a fixed rate anyway, and take
    what has arrived by then. The subscriptions belong to a node beside the owner, in its namespace.
    """

    def __init__(self, owner: Node) -> None:
        self._node = rclpy.create_node(
            f"{owner.get_name()}_inbox",
            context=owner.context,
            namespace=owner.get_namespace(),
            enable_rosout=False,
            start_parameter_services=False,
            # The owner has the service of that name: processes are started with one name for all their nodes.
            parameter_overrides=[Parameter("start_type_description_service", value=False)],
        )
        real_time.widen_receive_buffers()

    def subscribe(self, kind: type, topic: str, profile: QoSProfile, *, raw: bool = False) -> Slot:
        """Subscribe; `raw` leaves messages serialised."""
        return Slot(self._node, self._node.create_subscription(kind, topic, _ignore, profile, raw=raw))

    def close(self) -> None:
        """Unsubscribe from everything."""
        self._node.destroy_node()


def node_names(node: Node, topic: str) -> list[str]:
    """Return the names of the nodes that publish a topic, from the root on."""
    publishers = node.get_publishers_info_by_topic(topic)
    return sorted(f"{one.node_namespace.rstrip('/')}/{one.node_name}" for one in publishers)


def rival_publishers(node: Node, subscription: Subscription, topic: str) -> str:
    """Name the publishers of a topic where there are several; "" for one. topic: its name in the text.

    A message of rclpy does not say which publisher it is of.
    """
    if (count := subscription.get_publisher_count()) < 2:
        return ""
    return f"{count} publishers of {topic}: {', '.join(node_names(node, subscription.topic_name))}"


def only_namesakes(node: Node, topic: str) -> bool:
    """Return whether a topic has several publishers whose nodes have one name: all but one of them may be dead.

    A node that was killed is listed until its lease is over.
    """
    names = node_names(node, topic)
    return len(names) > 1 == len(set(names))


class Matches:
    """Publishers that a subscription is matched with, one after another: also those that are gone again."""

    def __init__(self, subscription: Subscription) -> None:
        kind = rclpy_implementation.rcl_subscription_event_type_t.RCL_SUBSCRIPTION_MATCHED
        with subscription.handle:
            self._event = rclpy_implementation.EventHandle(subscription.handle, kind)

    def take(self) -> int:
        """Return how many have come since it was called last."""
        status = self._event.take_event()
        return 0 if status is None else int(status.total_count_change)

    def close(self) -> None:
        """Let go of the subscription."""
        self._event.destroy_when_not_in_use()


class Slot:
    """One subscription of an inbox.

    Attributes: topic, its full name; sent, when the message that was taken last was sent [ns of the system clock].
    """

    def __init__(self, node: Node, subscription: Subscription) -> None:
        self._node = node
        self._subscription = subscription
        self.topic: str = subscription.topic_name
        self.sent = 0

    @property
    def publishers(self) -> int:
        """Number of publishers it is matched with."""
        return int(self._subscription.get_publisher_count())

    def publisher_names(self) -> list[str]:
        """Return the names of the nodes that publish to it; asks the graph, which takes time."""
        return node_names(self._node, self.topic)

    def take(self) -> Any | None:
        """Return the oldest message that waits, or None."""
        # rclpy.subscription has no public take; an executor does the same with the handle.
        taken = self._subscription.handle.take_message(self._subscription.msg_type, self._subscription.raw)
        if taken is None:
            return None
        message, information = taken
        self.sent = information["source_timestamp"]
        return message

    def drain(self) -> Iterator[tuple[Any, int, int]]:
        """Yield every message that waits with the times [ns] at which it was received and sent.

        One that arrives meanwhile is the last: of a stream that arrives faster than it is taken, there is no end.
        """
        subscription, begun = self._subscription, time.time_ns()
        while (taken := subscription.handle.take_message(subscription.msg_type, subscription.raw)) is not None:
            message, information = taken
            received = information["received_timestamp"]
            yield message, received, information["source_timestamp"]
            if received > begun:
                return


def _ignore(message: Any) -> None:
    """Stand in for the callback that rclpy asks for."""


# ---------------------------------------------------------------------- messages


def float_field(message: Any, name: str, size: int) -> Vector:
    """Give the float64[] field `name` its final length and return a numpy view (size,) that writes into it.

    The setter of a generated message keeps an `array` as it is, without a copy: writing into the view is all that a
    publication costs, no conversion and no allocation.
    """
    storage = array("d", bytes(8 * size))
    setattr(message, name, storage)
    return np.frombuffer(getattr(message, name), dtype=np.float64)


# ---------------------------------------------------------------------- goals without a client


def accept_goal(server: ActionServer, goal: Any) -> tuple[ServerGoalHandle, Future]:
    """Keep a goal as the server does for one that came over DDS and was accepted; return its handle and its result."""
    information = GoalInfo(goal_id=UUID(uuid=list(uuid.uuid4().bytes)))
    key = bytes(information.goal_id.uuid)
    server._goal_handles[key] = handle = ServerGoalHandle(server, information, goal)
    server._result_futures[key] = result = Future()
    server.add_future(result)
    return handle, result


def cancel_goal(handle: ServerGoalHandle) -> None:
    """Note that a client asked to cancel a goal."""
    handle._update_state(rclpy_implementation.GoalEvent.CANCEL_GOAL)


# ---------------------------------------------------------------------- requests of a client


class RequestId(ctypes.Structure):
    """Client and number of a request, `rmw_request_id_t`.

    Attributes: writer_guid, the client; sequence_number, from 1 on; header, to which they belong. A response goes to
    the request that they name.
    """

    header: Any

    _fields_ = (("writer_guid", ctypes.c_int8 * 16), ("sequence_number", ctypes.c_int64))


def request_id(header: Any) -> RequestId | None:
    """Return the id in the header of a request, to be read and written; None if it is not where it is looked for.

    rclpy shows the number of a request, not its client, and makes no header for a response of our own. An object of
    pybind11 holds the address of what it stands for right behind what every Python object begins with.
    """
    shown = header.request_id
    address = ctypes.c_void_p.from_address(id(shown) + object.__basicsize__).value
    if address is None:
        return None
    found = RequestId.from_address(address)
    found.header = header  # lives as long as the id is used
    return found if found.sequence_number == shown.sequence_number else None


def numbers_are_of_one_client() -> bool:
    """Return whether the requests of each client are numbered without gaps: CycloneDDS counts all of a process."""
    return "fastrtps" in str(rclpy.get_rmw_implementation_identifier())


def replace_send(service: Service, on_send: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
    """Let the executor call `on_send` with response and header in the place of `Service.send_response`; return that."""
    send: Callable[[Any, Any], None] = service.send_response
    service.send_response = on_send
    return send


def client_is_there(send: Callable[[Any, Any], None], response: Any, header: Any) -> bool:
    """Send a response and return whether its client is still there; Fast DDS waits 0.1 s for one that is not."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        send(response, header)
    return not any("failed to send response" in str(one.message) for one in caught)


# ---------------------------------------------------------------------- services that every node has

_TYPES = frozenset(kind.value for kind in Parameter.Type)


def guard_services(node: Node) -> None:
    """Put our handlers before those of rclpy, which raise at some requests, and so would end the process.

    Parameters of no known type and transitions that the state does not allow are refused. An activation waits until
    the node is ready for it, see `PatientTransitions`.
    """
    services = {service.srv_type: service for service in node.services}
    for kind in (SetParameters, SetParametersAtomically):
        if kind in services:
            services[kind].callback = partial(_set_parameters, services[kind].callback)
    if ChangeState in services:
        PatientTransitions(node, services[ChangeState], services[GetState])


def _set_parameters(serve: Callable[[Any, Any], Any], request: Any, response: Any) -> Any:
    odd = [f"{one.name} of type {one.value.type}" for one in request.parameters if one.value.type not in _TYPES]
    if not odd:
        return serve(request, response)
    allowed = f"types are {min(_TYPES)} to {max(_TYPES)}, see rcl_interfaces/ParameterType"
    reason = f"{', '.join(odd)}: {allowed}; nothing is set"
    refused = SetParametersResult(successful=False, reason=reason)
    if isinstance(response, SetParametersAtomically.Response):
        response.result = refused
    else:
        response.results = [refused] * len(request.parameters)
    return response


class PatientTransitions:
    """The service `change_state` of a lifecycle node, with activations that wait until the node is ready for them.

    rclpy makes a transition within one callback: a node that waited there for its robot would serve neither stop
    requests nor signals meanwhile. So the response is held back, a timer asks the node whether it is ready, and makes
    the transition then, or when the patience of the node is over. Meanwhile the state is "activating".

    A node that wants this has `prepare_activation()`, called with the request, and `awaits_activation()`, which
    returns True as long as it has to wait.
    """

    def __init__(self, node: Node, change: Service, state: Service) -> None:
        self._node = node
        self._serve, self._send, self._state = change.callback, replace_send(change, self._on_send), state.callback
        self._request: Any = None
        self._response: Any = None
        self._header: Any = None
        change.callback, state.callback = self._on_change, self._on_state
        # Not made for each activation: destroying a timer in its own callback is not safe in the events executor.
        self._timer = node.create_timer(LOOK_INTERVAL, self._look)
        self._timer.cancel()

    def _on_change(self, request: Any, response: Any) -> Any:
        if self._request is not None:
            response.success = False
            return response
        if self._is_activation(request) and hasattr(self._node, "prepare_activation"):
            self._node.prepare_activation()
            if self._node.awaits_activation():
                self._request, self._response = request, response
                self._timer.reset()
                return response
        return self._made(request, response)

    def _on_send(self, response: Any, header: Any) -> None:
        """Take the place of `Service.send_response`, which the executor calls with what `_on_change` returns."""
        if response is self._response:
            self._header = header
        else:
            self._send(response, header)

    def _on_state(self, request: Any, response: Any) -> Any:
        if self._request is None:
            return self._state(request, response)
        response.current_state = State(id=State.TRANSITION_STATE_ACTIVATING, label="activating")
        return response

    def _look(self) -> None:
        if self._request is None or self._node.awaits_activation():
            return
        self._timer.cancel()
        request, response, header = self._request, self._response, self._header
        self._request = self._response = self._header = None
        self._send(self._made(request, response), header)

    def _is_activation(self, request: Any) -> bool:
        asked = request.transition
        named = asked.label == "activate" if asked.label else asked.id == Transition.TRANSITION_ACTIVATE
        state = self._state(GetState.Request(), GetState.Response()).current_state.id
        return bool(named and state == State.PRIMARY_STATE_INACTIVE)

    def _made(self, request: Any, response: Any) -> Any:
        try:
            return self._serve(request, response)
        except RuntimeError:  # RCLError, before anything was changed
            asked = request.transition.label or request.transition.id
            self._node.get_logger().warning(f"transition {asked} refused: the state of the node does not allow it")
            response.success = False
            return response
