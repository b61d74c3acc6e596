"""Viewer: shows the running graph in the browser. Nobody waits for it, and nothing ends with it."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped
from impact_msgs.msg import (
    ControllerReference,
    ControllerStatus,
    ExternalTorque,
    GroundTruth,
    ImpactClassification,
    ImpactEvent,
)
from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState

from impact_control.errors import ImpactControlError
from impact_control.nodes import qos, real_time, runtime, topics
from impact_control.nodes.inbox import Inbox, Slot
from impact_control.recording.cdr import decode
from impact_control.recording.definitions import MessageType, message_definition, parse_definition, short_name
from impact_control.scenario import load_any
from impact_control.types import Vector
from impact_control.view.columns import POSE, pose_signal, signals_of
from impact_control.view.drawing import DEFAULT_PORT, Drawing, address, close_server, open_server
from impact_control.view.frame import PLOT_SPAN, Frame, courses_of, frame_of
from impact_control.view.player import FRAME_PERIOD, PANEL_EVERY, PLOTS_EVERY, TRACE_SPAN
from impact_control.view.signals import GrowingSignals, Signal
from impact_control.view.stage import stage_of

OF_ARM: dict[str, tuple[type, str, QoSProfile]] = {
    "joint_states": (JointState, topics.JOINT_STATES, qos.LOOK),
    "impact/external_torque": (ExternalTorque, topics.EXTERNAL_TORQUE, qos.LOOK),
    "controller/reference": (ControllerReference, topics.REFERENCE, qos.LOOK),
    "controller/status": (ControllerStatus, topics.STATUS, qos.LOOK),
    "simulation/truth": (GroundTruth, topics.TRUTH, qos.LOOK),
    "impact/events": (ImpactEvent, topics.EVENTS, qos.EVENT),
    "impact/classification": (ImpactClassification, topics.CLASSIFICATION, qos.EVENT),
}
"""What is shown of an arm: by key of `view.columns.LAYOUTS`, type, topic and quality of service."""

KEPT = 2.0 * PLOT_SPAN
"""[s] of the past that is kept."""

NICENESS = 15
"""How much the process gives way to others."""


class Feed:
    """One topic, taken in handfuls and decoded without making messages."""

    def __init__(self, slot: Slot, kind: type, signals: GrowingSignals, convert: Callable[..., dict[str, Signal]]):
        """convert: columns and times [s] of messages into signals, which go into `signals`."""
        name = f"{kind.__module__.split('.')[0]}/msg/{kind.__name__}"
        self._root = short_name(name)
        self._types: dict[str, MessageType] = parse_definition(name, message_definition(name))
        self._slot, self._signals, self._convert = slot, signals, convert

    def take(self, clock: StampClock) -> None:
        """Take what has come."""
        payloads = [data for data, _, _ in self._slot.drain()]
        if payloads:
            columns = decode(payloads, self._types, self._root)
            self._signals.extend(self._convert(columns, clock.seconds(columns["header.stamp"])))


class StampClock:
    """Turns stamps into seconds since the first one. Attribute: now [s], the newest so far."""

    def __init__(self) -> None:
        self._zero: int | None = None
        self.now = 0.0

    def seconds(self, stamps: Any) -> Vector:
        """Return stamps (k,) datetime64[ns] in [s]."""
        nanoseconds = stamps.astype(np.int64)
        if self._zero is None:
            self._zero = int(nanoseconds[0])
        seconds: Vector = (nanoseconds - self._zero) / 1e9
        self.now = max(self.now, float(seconds[-1]))
        return seconds


class ViewerNode(LifecycleNode):
    """Draws what the topics say, 25 times a second. Active once a browser looks on, or `patience` is over."""

    def __init__(self) -> None:
        super().__init__("viewer")
        describe = ParameterDescriptor
        self.declare_parameter("scenario", "tabletop", describe(description="name or path of the scenario file"))
        self.declare_parameter(
            "port",
            DEFAULT_PORT,
            describe(description="of the page", integer_range=[IntegerRange(from_value=1, to_value=65535, step=1)]),
        )
        self.declare_parameter(
            "host", "127.0.0.1", describe(description="address to listen at; 0.0.0.0: for other machines, too")
        )
        self.declare_parameter(
            "patience",
            0.0,
            describe(
                description="seconds that the activation waits for a browser; 0: not at all",
                floating_point_range=[FloatingPointRange(from_value=0.0, to_value=150.0)],
            ),
        )
        self.declare_parameter(
            "simulated", True, describe(description="whether the robot side is the simulator: then truth is shown")
        )
        self.stop: Callable[[], bool] = lambda: False
        self._feeds: list[Feed] = []
        self._drawing: Drawing | None = None
        self._frames = 0
        self._shown = -math.inf

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Open the page, subscribe."""
        port, host = int(self.get_parameter("port").value), str(self.get_parameter("host").value)
        simulated = bool(self.get_parameter("simulated").value)
        try:
            stage = stage_of(load_any(str(self.get_parameter("scenario").value)), simulated=simulated)
            self._server = open_server(port, host)
            self._drawing = Drawing(self._server, stage)
        except ImpactControlError as error:
            self.get_logger().error(str(error))
            return TransitionCallbackReturn.FAILURE
        self._inbox = Inbox(self)
        self._clock = StampClock()
        self._arms = {name: GrowingSignals(KEPT) for name in stage.arms}
        self._objects = {name: GrowingSignals(KEPT) for name in stage.boxes}
        self._joints = {name: arm.robot.joint_names for name, arm in stage.arms.items()}
        for arm, signals in self._arms.items():
            for key, (kind, topic, profile) in OF_ARM.items():
                if simulated or topic != topics.TRUTH:
                    slot = self._inbox.subscribe(kind, topics.of_arm(arm, topic), profile, raw=True)
                    self._feeds.append(Feed(slot, kind, signals, self._converter(key, arm)))
        for name, signals in self._objects.items():
            slot = self._inbox.subscribe(PoseStamped, f"{topics.OBJECTS}/{name}", qos.LOOK, raw=True)
            self._feeds.append(Feed(slot, PoseStamped, signals, _pose))
        self.get_logger().info(f"to be seen at {address(port, host)}")
        return TransitionCallbackReturn.SUCCESS

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Wait for a browser, so that nothing is missed."""
        end = time.monotonic() + float(self.get_parameter("patience").value)
        while self._drawing is not None and not self._drawing.watched and time.monotonic() < end and not self.stop():
            self.draw()
            time.sleep(FRAME_PERIOD)
        return super().on_activate(state)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Close the page, unsubscribe."""
        self.close()
        return TransitionCallbackReturn.SUCCESS

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Close the page."""
        self.close()
        return TransitionCallbackReturn.SUCCESS

    def close(self) -> None:
        """Close the page and unsubscribe, if that is not done."""
        if self._drawing is not None:
            self._drawing, self._feeds = None, []
            self._inbox.close()
            close_server(self._server)

    def draw(self) -> None:
        """Take what has come, and show it."""
        drawing = self._drawing
        if drawing is None:
            return
        for feed in self._feeds:
            feed.take(self._clock)
        now = self._clock.now
        frame = frame_of(self._arms, self._objects, now, self._shown)
        drawing.show(frame)
        if self._frames % PANEL_EVERY == 0:
            drawing.tell(frame)
        if self._frames % PLOTS_EVERY == 0 and self._seen(frame):
            drawing.trace(self._arms, now - TRACE_SPAN, now)
            drawing.plot(
                {name: courses_of(signals, now, len(self._joints[name])) for name, signals in self._arms.items()}
            )
        self._frames += 1
        self._shown = now

    def _seen(self, frame: Frame) -> bool:
        return any(arm.position is not None for arm in frame.arms.values())

    def _converter(self, key: str, arm: str) -> Callable[..., dict[str, Signal]]:
        joints = self._joints[arm]
        return lambda columns, time: signals_of(key, columns, time, joints)


def _pose(columns: dict[str, Any], time: Vector) -> dict[str, Signal]:
    return {POSE: pose_signal(columns, time)}


def _spin(node: ViewerNode, executor: runtime.NodeExecutor, stop: runtime.StopRequest) -> None:
    node.stop = lambda: stop.requested
    try:
        while not stop.requested:
            end = time.monotonic() + FRAME_PERIOD
            node.draw()
            executor.spin_once(timeout_sec=0.0)
            while (left := end - time.monotonic()) > 0.0:
                executor.spin_once(timeout_sec=left)
    finally:
        node.close()


def main() -> int:
    """Entry point of the process."""
    runtime.give_way(NICENESS, real_time.ROBOT_CORES)
    return runtime.run(ViewerNode, _spin)


if __name__ == "__main__":
    sys.exit(main())
