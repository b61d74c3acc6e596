"""Lifecycle nodes whose state of a configuration is one object, made at configure and closed at clean-up."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor, SetParametersResult
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile, qos_profile_services_default

from impact_control.util.errors import ImpactControlError, InvalidInputError
from impact_control.util.settings import Setting
from impact_control_ros.bridge.settings import UNNAMED

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
"""A name of an arm or an object, which becomes part of the names of topics."""

_LARGEST = 2**31 - 1
"""Bound of parameters that have no other."""


class Configuration:
    """All that a node has from its configuration to its clean-up.

    Publishers, subscriptions, services, clients and timers that are opened here are closed together. A constructor
    that raises ImpactControlError refuses the configuration: it does so before it opens anything.

    Attributes: node; active, between activation and deactivation.
    """

    def __init__(self, node: Node) -> None:
        self.node = node
        self.active = False
        self._closing: list[Callable[[], object]] = []

    def publisher(self, kind: type, topic: str, profile: QoSProfile) -> Any:
        """Open a publisher."""
        return self._opened(self.node.create_publisher(kind, topic, profile), self.node.destroy_publisher)

    def subscription(
        self, kind: type, topic: str, callback: Callable[[Any], None], profile: QoSProfile, *, raw: bool = False
    ) -> Any:
        """Subscribe; `raw` leaves messages serialised."""
        subscription = self.node.create_subscription(kind, topic, callback, profile, raw=raw)
        return self._opened(subscription, self.node.destroy_subscription)

    def service(
        self,
        kind: type,
        name: str,
        callback: Callable[[Any, Any], Any],
        profile: QoSProfile = qos_profile_services_default,
    ) -> Any:
        """Offer a service and return it."""
        service = self.node.create_service(kind, name, callback, qos_profile=profile)
        return self._opened(service, self.node.destroy_service)

    def client(self, kind: type, name: str) -> Any:
        """Return the client of a service."""
        return self._opened(self.node.create_client(kind, name), self.node.destroy_client)

    def timer(self, period: float, callback: Callable[[], None]) -> None:
        """Call back once every period [s]."""
        self._opened(self.node.create_timer(period, callback), self.node.destroy_timer)

    def _opened(self, entity: Any, destroy: Callable[[Any], object]) -> Any:
        self.when_closed(lambda: destroy(entity))
        return entity

    def when_closed(self, close: Callable[[], object]) -> None:
        """Call `close` at clean-up; what was opened last is closed first."""
        self._closing.append(close)

    def close(self) -> None:
        """Close everything that was opened."""
        while self._closing:
            self._closing.pop()()

    # ------------------------------------------------------------------ for the classes derived from this one

    def prepare(self) -> float:
        """Begin to wait for what an activation needs; return for how long [s] at most. Default: no wait."""
        return 0.0

    def missing(self) -> str:
        """Return what an activation still waits for, "" for nothing."""
        return ""

    def activate(self) -> None:
        """Begin to work; raise ImpactControlError to refuse."""

    def deactivate(self) -> None:
        """End the work, until the next activation."""


Built = TypeVar("Built", bound=Configuration)


class ConfiguredNode(LifecycleNode, Generic[Built]):
    """A lifecycle node around its configuration.

    Attributes: configured, None before configure and after clean-up.
    """

    FIXED: tuple[str, ...] = ()
    """Parameters that the configuration is built from: a change while it exists would have no effect, and is refused.
    """

    def __init__(self, name: str, build: Callable[[Any], Built]) -> None:
        """build: returns the configuration that the parameters of a node ask for. Raises ImpactControlError."""
        super().__init__(name)
        self._build = build
        self.configured: Built | None = None
        self._patience_ends = 0.0
        self.add_on_set_parameters_callback(self._on_parameters)

    def value(self, parameter: str) -> Any:
        """Return the value of a parameter."""
        return self.get_parameter(parameter).value

    @property
    def built(self) -> Built:
        """The configuration; raises ImpactControlError without one."""
        if self.configured is None:
            raise ImpactControlError(f"node {self.get_name()} is not configured")
        return self.configured

    @property
    def active(self) -> bool:
        """True between activation and deactivation."""
        return self.configured is not None and self.configured.active

    # ------------------------------------------------------------------ transitions

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Build the configuration."""
        return self._try(self._configure)

    def prepare_activation(self) -> None:
        """Begin to wait for what the activation needs."""
        self._patience_ends = time.monotonic() + self.built.prepare()

    def awaits_activation(self) -> bool:
        """Return True as long as the activation has to wait."""
        return time.monotonic() < self._patience_ends and bool(self.built.missing())

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Begin to work."""
        made = self._try(self.built.activate)
        self.built.active = made is TransitionCallbackReturn.SUCCESS
        return made

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """End the work, until the next activation."""
        self.built.active = False
        self.built.deactivate()
        return TransitionCallbackReturn.SUCCESS

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Close what the configuration opened."""
        self.built.close()
        self.configured = None
        return TransitionCallbackReturn.SUCCESS

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """End the work."""
        if self.configured is not None:
            self.on_deactivate(state)
        return TransitionCallbackReturn.SUCCESS

    def destroy_node(self) -> None:
        """Close what the configuration opened: others may wait for its end, as a hardware on shared memory does."""
        configured, self.configured = self.configured, None
        if configured is not None:
            configured.close()
        super().destroy_node()

    def _configure(self) -> None:
        self.configured = self._build(self)

    def _try(self, step: Callable[[], None]) -> TransitionCallbackReturn:
        try:
            step()
        except ImpactControlError as error:
            self.get_logger().error(str(error))
            return TransitionCallbackReturn.FAILURE
        return TransitionCallbackReturn.SUCCESS

    def _on_parameters(self, parameters: list[Parameter]) -> SetParametersResult:
        """Refuse a change of the fixed parameters of a configured node. Ranges were checked before."""
        refused = [one.name for one in parameters if self.configured is not None and one.name in self.FIXED]
        if not refused:
            return SetParametersResult(successful=True)
        reason = f"{', '.join(refused)}: the node is built from it; deactivate, clean up, set and configure again"
        return SetParametersResult(successful=False, reason=reason)


def declare(
    node: Node,
    name: str,
    default: Any,
    description: str,
    *,
    bounds: tuple[float, float] | None = None,
) -> None:
    """Declare a parameter with its description and, of a number, the least and the largest value."""
    descriptor = ParameterDescriptor(description=description)
    if bounds is not None and isinstance(default, int):
        descriptor.integer_range = [IntegerRange(from_value=int(bounds[0]), to_value=int(bounds[1]), step=1)]
    elif bounds is not None:
        descriptor.floating_point_range = [FloatingPointRange(from_value=bounds[0], to_value=bounds[1])]
    node.declare_parameter(name, default, descriptor)


def declare_setting(node: Node, setting: Setting, default: Any = None, *, unset: int | None = None) -> None:
    """Declare the parameter of a setting. default: in place of its own; unset: value with which it is left open."""
    low, high = setting.bounds
    if unset is None:
        words = setting.description
    else:
        default, words, low = unset, setting.words(f"{unset}"), min(low, unset)
    bounds = (low, min(high, _LARGEST)) if math.isfinite(low) else None
    declare(node, setting.name, setting.default if default is None else default, words, bounds=bounds)


def names_in(parameter: str, listed: Sequence[str]) -> list[str]:
    """Return the names that a parameter lists, none of `UNNAMED`.

    Raises InvalidInputError for names that no topic can contain, and for a name that is there twice.
    """
    names = [] if tuple(listed) == UNNAMED else list(listed)
    if len(set(names)) < len(names) or not all(map(_NAME.fullmatch, names)):
        allowed = "different names of letters, digits and underscores, a letter first"
        raise InvalidInputError(parameter, list(listed), allowed)
    return names


def arms_in(listed: Sequence[str]) -> list[str]:
    """Return the arms that the parameter `arms` lists, of `UNNAMED` the only one, ""; raises as `names_in`."""
    return names_in("arms", listed) or [""]
