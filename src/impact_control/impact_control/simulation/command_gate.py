"""Gate between a commanded torque and the arm: checks, limits, and a damped stop when commands cease.

ros2_control keeps writing the last effort. An arm must not be left with it: every robot side needs such a gate, and the
simulator has this one.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from impact_control.robots import JointLimits
from impact_control.scenario import Simulation
from impact_control.util.types import Vector


class CommandState(IntEnum):
    """Origin of the torque of a period; constants of impact_msgs/GroundTruth."""

    FRESH = 0
    HELD = 1
    LOST = 2
    REFUSED = 3


DOUBLED_ABOVE = 0.1
"""[rad/s]; so is `damping_doubled_above` in `config/controllers`."""


class CommandGate:
    """Selects the torque of each period.

    `torque` (n,) [Nm] acts, without gravity; `state` is its origin; `refused` counts commands of the wrong size or not
    finite, which are dropped as ros2_control drops them; `seen_command`: one was accepted since the reset; `timeout`
    [s] is the limit of their age; while `closed` is set, no command is taken and the joints are damped.
    """

    def __init__(self, limits: JointLimits, timeout: float, damping: Vector) -> None:
        """Commands older than timeout [s] are replaced by -damping dq; damping (n,) [Nm s/rad].

        As from the guard: twice that for the part of a speed above DOUBLED_ABOVE, at the torque rate of the robot.
        """
        Simulation.require(command_timeout=timeout)
        self._limit, self._rate = limits.torque, limits.torque_rate
        self.timeout = timeout
        self._damping = np.asarray(damping, dtype=float)
        self._pending = np.zeros(self._limit.size)
        self._have_new = False
        self._new_age = 0.0
        self._age = np.inf
        self.torque = np.zeros(self._limit.size)
        self._change, self._step = np.zeros_like(self.torque), np.zeros_like(self.torque)
        self.state = CommandState.LOST
        self.refused = 0
        self.seen_command = False
        self.closed = False

    def reset(self) -> None:
        """Forget every command: the arm is damped until the next one."""
        self.release()
        self.torque[:] = 0.0
        self.state = CommandState.LOST
        self.seen_command = False

    def release(self) -> None:
        """Note that nobody commands the arm: it is damped until the next command."""
        self._have_new, self._age = False, np.inf

    def offer(self, command: Vector, age: float = 0.0) -> bool:
        """Take a command (n,) [Nm], sent `age` [s] ago, for the next period; False when it was refused."""
        if command.shape != self._pending.shape or not np.all(np.isfinite(command)):
            self.refused += 1
            return False
        np.clip(command, -self._limit, self._limit, out=self._pending)
        self._have_new = True
        self._new_age = age
        self.seen_command = True
        return True

    def select(self, velocity: Vector, period: float) -> Vector:
        """Return the torque (n,) [Nm] for the next period [s], given the joint velocity (n,) [rad/s]."""
        if self.closed:
            self.release()
            self._damp(velocity, period, CommandState.REFUSED)
            return self.torque
        fresh, self._have_new = self._have_new, False
        self._age = self._new_age if fresh else self._age + period
        if self._age >= self.timeout + 0.5 * period:  # whole periods, whatever their sum rounds to
            self._damp(velocity, period, CommandState.LOST)
            return self.torque
        if fresh:
            self.torque[:] = self._pending
        self.state = CommandState.FRESH if fresh else CommandState.HELD
        return self.torque

    def _damp(self, velocity: Vector, period: float, state: CommandState) -> None:
        self.state = state
        np.clip(velocity, -DOUBLED_ABOVE, DOUBLED_ABOVE, out=self._change)
        self._change -= velocity
        self._change -= velocity
        self._change *= self._damping
        np.clip(self._change, -self._limit, self._limit, out=self._change)
        np.subtract(self._change, self.torque, out=self._change)
        np.multiply(self._rate, period, out=self._step)
        np.minimum(self._change, self._step, out=self._change)
        np.negative(self._step, out=self._step)
        np.maximum(self._change, self._step, out=self._change)
        self.torque += self._change
