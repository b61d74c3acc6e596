"""Touches: external forces on links of an arm, from neither its end-effector nor its task, as of a person.

A touch is a force on one point of a link that rises from zero and falls back to it smoothly. As J^T F it acts on the
links, where contact acts: the joint torque sensors see it only through the motion and the springs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pinocchio as pin

from impact_control.robots import RobotDescription, contact_point_jacobian
from impact_control.scenario import Touch, TouchProfile
from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Vector

DEPARTURE = 1e-3
"""[rad] A joint this far from where the arm stood has moved: holding still under sensor noise takes far less."""


def force_at(touch: Touch, elapsed: float) -> Vector:
    """Return the force (3,) [N] of a touch at `elapsed` [s] after the arm began to move, axes of A."""
    part = (elapsed - touch.start) / touch.duration
    if not 0.0 < part < 1.0:
        share = 0.0
    elif touch.profile is TouchProfile.HALF_SINE:
        share = math.sin(math.pi * part)
    else:
        share = 0.5 * (1.0 - math.cos(2.0 * math.pi * part))
    return share * np.asarray(touch.force)


class Touches:
    """The touches of one arm as joint torques.

    Their clock starts when the arm moves: when first a joint is `DEPARTURE` from `configuration`. So a touch comes
    in the same place of a task whenever the task is started.
    """

    def __init__(self, robot: RobotDescription, touches: Sequence[Touch], configuration: Vector) -> None:
        """Wait for the arm to leave `configuration` (n,) [rad]. Raises InvalidInputError for unknown links."""
        self.touches = tuple(touches)
        self._model = robot.pinocchio_model
        self._data = self._model.createData()
        self._start = configuration.copy()
        self._departure = math.inf
        for touch in self.touches:
            if not self._model.existFrame(touch.link):
                names = ", ".join(frame.name for frame in self._model.frames)
                raise InvalidInputError("touch link", touch.link, f"one of {names}")
        self._frames = [self._model.getFrameId(touch.link) for touch in self.touches]

    def torque(self, time: float, period: float, configuration: Vector) -> Vector:
        """Return the joint torques J^T F (n,) [Nm] of all touches over the next period [s], as in its middle.

        time [s] of the arm's clock, and configuration (n,) [rad], at the beginning of the period.
        """
        if not math.isfinite(self._departure) and np.abs(configuration - self._start).max() > DEPARTURE:
            self._departure = time
        elapsed = time + 0.5 * period - self._departure
        torque = np.zeros_like(configuration)
        for touch, frame in zip(self.touches, self._frames, strict=True):
            force = force_at(touch, elapsed)
            if force.any():
                jacobian = pin.computeFrameJacobian(
                    self._model, self._data, configuration, frame, pin.LOCAL_WORLD_ALIGNED
                )
                rotation = pin.updateFramePlacement(self._model, self._data, frame).rotation
                torque += contact_point_jacobian(jacobian, rotation @ touch.point).T @ force
        return torque
