"""Invariants of every sample: an arm inside its limits, at rest in the end."""

from __future__ import annotations

from typing import Any

import numpy as np
import rclpy
from impact_msgs.msg import GroundTruth
from numpy.typing import NDArray
from rclpy.signals import SignalHandlerOptions

from impact_control.robots import JointLimits
from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Matrix, Vector
from impact_control_ros.bridge import qos, topics
from impact_control_ros.bridge.messages import decoder
from impact_control_ros.bridge.rclpy_internals import Inbox

REST_SPEED = 0.05
"""[rad/s] joint speed below which the arm is called at rest."""

UNSEEN_AT_MOST = 0.01
"""Part of the samples that may be lost on their way here."""


class ArmWatch:
    """Looks at the true motion of an arm and keeps the worst of it.

    Attributes: samples, how many were seen; unseen, how many between them were not; torque, velocity (n,) [-], the
    largest magnitudes as parts of their limits; position (n,) [rad], the smallest distance to a limit, negative beyond
    it; speed [rad/s], the largest of the last sample.
    """

    def __init__(self, limits: JointLimits) -> None:
        self._limits = limits
        self.clear()

    def clear(self) -> None:
        """Forget what was seen."""
        n = self._limits.torque.size
        self.samples = self.unseen = 0
        self._cycle = -1
        self.torque, self.velocity, self.position = np.zeros(n), np.zeros(n), np.full(n, np.inf)
        self.speed = np.nan

    def see(self, cycles: NDArray[np.integer[Any]], position: Matrix, velocity: Matrix, torque: Matrix) -> None:
        """Take samples (k, n) of position [rad], velocity [rad/s] and applied torque [Nm], k at least 1.

        cycles: number of each sample (k,), from 0 or 1 when the arm is put back to its start. Raises InvalidInputError
        where a sample is not finite: no arm moves like that.
        """
        for name, values in (("position", position), ("velocity", velocity), ("torque", torque)):
            if not np.all(np.isfinite(values)):
                raise InvalidInputError(f"true {name}", values[~np.isfinite(values).all(axis=1)][0], "finite numbers")
        limits = self._limits
        self.samples += len(position)
        for cycle in cycles.tolist():
            if self._cycle >= 0:
                self.unseen += max(0, cycle - 1 - (self._cycle if cycle > self._cycle else 0))
            self._cycle = cycle
        np.maximum(self.torque, np.abs(torque).max(axis=0) / limits.torque, out=self.torque)
        np.maximum(self.velocity, np.abs(velocity).max(axis=0) / limits.velocity, out=self.velocity)
        for distance in (position - limits.position_lower, limits.position_upper - position):
            np.minimum(self.position, distance.min(axis=0), out=self.position)
        self.speed = float(np.abs(velocity[-1]).max())

    @property
    def at_rest(self) -> bool:
        """True where the arm stood still in the last sample."""
        return self.speed < REST_SPEED

    def violations(self) -> list[str]:
        """Return which limits were not kept, in words, and whether too little was seen to say so."""
        exceeded = [("torque", self.torque), ("velocity", self.velocity)]
        found = [f"{name} at {100 * used.max():.1f} % of its limit" for name, used in exceeded if _above(used)]
        beyond = -float(self.position.min())
        if beyond > 0.0:
            found.append(f"position {beyond:.4f} rad beyond its limit")
        if self.unseen > UNSEEN_AT_MOST * (self.samples + self.unseen):
            found.append(f"{self.unseen} samples were not seen, beside {self.samples} that were")
        return found


def _above(used: Vector) -> bool:
    return bool(np.any(used > 1.0 + 1e-9))


class TrueMotion:
    """Samples of the arm wait here until they are looked at, for 20 s at most. Use as a context manager."""

    def __init__(self) -> None:
        self._context = rclpy.Context()
        rclpy.init(context=self._context, signal_handler_options=SignalHandlerOptions.NO)
        self._node = rclpy.create_node("true_motion", context=self._context, start_parameter_services=False)
        self._inbox = Inbox(self._node)
        self._truths = self._inbox.subscribe(GroundTruth, topics.TRUTH, qos.WATCH, raw=True)
        self._decode = decoder(GroundTruth)

    def __enter__(self) -> TrueMotion:
        """Return it."""
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the graph."""
        self._inbox.close()
        self._node.destroy_node()
        self._context.try_shutdown()

    def forget(self) -> None:
        """Forget what has come since the last look, as of an arm that is not there any more."""
        for _ in self._truths.drain():
            pass

    def show(self, watch: ArmWatch) -> None:
        """Show what has come since the last look to a watch."""
        if payloads := [data for data, _, _ in self._truths.drain()]:
            truths = self._decode(payloads)
            watch.see(truths["cycles"], truths["joint_position"], truths["joint_velocity"], truths["applied_torque"])
