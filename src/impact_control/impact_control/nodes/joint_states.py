"""From sensor_msgs/JointState to arrays in the order of the robot model, with every defect named."""

from __future__ import annotations

import math

import numpy as np
from sensor_msgs.msg import JointState

from impact_control.control import Fault
from impact_control.types import Vector


class JointStateReader:
    """Copies position, velocity and effort of the model's joints out of messages.

    Joints may come in any order and among others; names are matched once for each new list of names.
    Attributes: position, velocity, effort (n,); `fault` and `reason` of the last message.
    """

    def __init__(self, joint_names: tuple[str, ...]) -> None:
        self._names = list(joint_names)
        self._seen: list[str] | None = None
        self._order: list[int] | None = None
        n = len(joint_names)
        self.position: Vector = np.zeros(n)
        self.velocity: Vector = np.zeros(n)
        self.effort: Vector = np.zeros(n)
        self.fault = Fault.NONE
        self.reason = ""

    def read(self, message: JointState) -> bool:
        """Take a message; False when it cannot be used, and then `fault` and `reason` say why."""
        if message.name != self._seen:
            self._match(message.name)
        if self._order is None:
            self.velocity[:] = math.nan
            return False
        count = len(message.name)
        sizes = (len(message.position), len(message.velocity), len(message.effort))
        if sizes != (count, count, count):
            self.velocity[:] = math.nan
            self.fault = Fault.STATE_WRONG_SIZE
            self.reason = f"{count} joint names but {sizes} positions, velocities, efforts"
            return False
        if self._order:
            for target, source in enumerate(self._order):
                self.position[target] = message.position[source]
                self.velocity[target] = message.velocity[source]
                self.effort[target] = message.effort[source]
        else:
            self.position[:] = message.position
            self.velocity[:] = message.velocity
            self.effort[:] = message.effort
        self.fault = Fault.NONE
        return True

    def _match(self, names: list[str]) -> None:
        self._seen = list(names)
        missing = [name for name in self._names if name not in self._seen]
        if missing or len(set(self._seen)) != len(self._seen):
            self._order = None
            self.fault = Fault.STATE_JOINT_NAMES
            self.reason = f"joints {', '.join(missing) or 'named twice'} are missing among {', '.join(self._seen)}"
        elif self._seen == self._names:
            self._order = []
        else:
            self._order = [self._seen.index(name) for name in self._names]
