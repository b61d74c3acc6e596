"""Viewer: draws the running graph in the browser. No node depends on it."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped
from rclpy.node import Node

from impact_control.scenario import load_scenario
from impact_control.util.settings import HOST, PORT, SCENARIO
from impact_control.util.types import Vector
from impact_control.view.drawing import Drawing, address, close_server, open_server
from impact_control.view.frame import PLOT_SPAN, courses_of, frame_of
from impact_control.view.player import FRAME_PERIOD, PANEL_EVERY, PLOTS_EVERY, TRACE_SPAN
from impact_control.view.signals import POSE, GrowingSignals, Signal, pose_signal, signals_of
from impact_control.view.stage import stage_of
from impact_control_ros.bridge import qos, real_time, runtime, topics
from impact_control_ros.bridge.lifecycle import Configuration, ConfiguredNode, declare, declare_setting
from impact_control_ros.bridge.messages import decoder
from impact_control_ros.bridge.rclpy_internals import Inbox, Slot
from impact_control_ros.bridge.settings import BROWSER_PATIENCE
from impact_control_ros.session.interfaces import SHOWN

KEPT = 2.0 * PLOT_SPAN
"""[s] of history."""

NICENESS = 15
"""Added to the niceness of the process: it gives way to all others."""


class Feed:
    """One topic, read in batches and decoded without making messages."""

    def __init__(self, slot: Slot, kind: type, signals: GrowingSignals, convert: Callable[..., dict[str, Signal]]):
        """convert: columns and times [s] of messages into signals, which go into `signals`."""
        self._slot, self._decode, self._signals, self._convert = slot, decoder(kind), signals, convert

    def take(self, clock: StampClock) -> None:
        """Read what has arrived."""
        payloads = [data for data, _, _ in self._slot.drain()]
        if payloads:
            columns = self._decode(payloads)
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


class Page(Configuration):
    """The page in the browser, and the topics that it shows."""

    def __init__(self, node: Node) -> None:
        """Open the page, subscribe."""
        super().__init__(node)
        port, host, simulated = (node.value(name) for name in ("port", "host", "simulated"))
        stage = stage_of(load_scenario(node.value("scenario")), simulated=simulated)
        server = open_server(port, host)
        self.when_closed(lambda: close_server(server))
        self._drawing = Drawing(server, stage)
        inbox = Inbox(node)
        self.when_closed(inbox.close)
        self._stamps = StampClock()
        self._arms = {name: GrowingSignals(KEPT) for name in stage.arms}
        self._objects = {name: GrowingSignals(KEPT) for name in stage.boxes}
        self._joints = {name: arm.robot.joint_names for name, arm in stage.arms.items()}
        self._feeds: list[Feed] = []
        self._frames = 0
        self._shown = -math.inf
        for arm, signals in self._arms.items():
            for topic in SHOWN:
                if simulated or topic != topics.TRUTH:
                    kind, offered = qos.OFFERED[topic]
                    slot = inbox.subscribe(kind, topics.of_arm(arm, topic), qos.buffered(offered, qos.LOOK), raw=True)
                    self._feeds.append(Feed(slot, kind, signals, partial(signals_of, topic, joints=self._joints[arm])))
        for name, signals in self._objects.items():
            slot = inbox.subscribe(PoseStamped, f"{topics.OBJECTS}/{name}", qos.LOOK, raw=True)
            self._feeds.append(Feed(slot, PoseStamped, signals, _pose))
        node.get_logger().info(f"to be seen at {address(port, host)}")

    def prepare(self) -> float:
        """Wait for a browser, so that nothing is missed."""
        return float(self.node.value("patience"))

    def missing(self) -> str:
        """Return "a browser" as long as nobody looks on; the activation does without."""
        return "" if self._drawing.watched else "a browser"

    def draw(self) -> None:
        """Read what has arrived, and draw it."""
        drawing = self._drawing
        for feed in self._feeds:
            feed.take(self._stamps)
        now = self._stamps.now
        frame = frame_of(self._arms, self._objects, now, self._shown)
        drawing.show(frame)
        if self._frames % PANEL_EVERY == 0:
            drawing.tell(frame)
        seen = any(arm.position is not None for arm in frame.arms.values())
        if self._frames % PLOTS_EVERY == 0 and seen:
            drawing.trace(self._arms, now - TRACE_SPAN, now)
            drawing.plot(
                {name: courses_of(signals, now, len(self._joints[name])) for name, signals in self._arms.items()}
            )
        self._frames += 1
        self._shown = now


class ViewerNode(ConfiguredNode[Page]):
    """Draws the topics, 25 times a second. Active once a browser looks on, or `patience` is over."""

    def __init__(self) -> None:
        super().__init__("viewer", Page)
        declare_setting(self, SCENARIO)
        declare_setting(self, PORT)
        declare_setting(self, HOST)
        declare_setting(self, BROWSER_PATIENCE)
        declare(self, "simulated", True, "the robot side is the simulator, whose true state is shown")


def _pose(columns: dict[str, Any], time: Vector) -> dict[str, Signal]:
    return {POSE: pose_signal(columns, time)}


def main() -> int:
    """Entry point of the process."""
    runtime.give_way(NICENESS, real_time.ROBOT_CORES)
    return runtime.run(ViewerNode, runtime.spin_every(FRAME_PERIOD, Page.draw))
