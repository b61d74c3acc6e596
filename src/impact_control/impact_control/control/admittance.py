"""Joint admittance: external torque turned into joint motion, Flacco 2016 section V-D."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from impact_control.checks import checked_vector, require_positive
from impact_control.compiled import compiled
from impact_control.types import Vector


@dataclass(frozen=True, eq=False)
class AdmittanceParameters:
    """How the arm yields, each (n,) for its joints, and how it goes back to its task.

    gain: K_a [rad/(Nm s)] of Flacco 2016 (15). threshold [Nm]: dead zone. speed [rad/s], acceleration [rad/s^2]:
    bounds of the motion. excursion [rad]: how far a joint may be led from where it began to yield.
    resume_duration [s]: time in which the clock of the task comes back to full speed.
    """

    gain: Vector
    threshold: Vector
    speed: Vector
    acceleration: Vector
    excursion: Vector
    resume_duration: float

    def __post_init__(self) -> None:
        size = np.size(self.gain)
        for name in ("gain", "threshold", "speed", "acceleration", "excursion"):
            checked_vector(f"admittance {name}", getattr(self, name), size, zero_allowed=False)
        require_positive("resume_duration", self.resume_duration)


@compiled
def _fastest(way: float, deceleration: float, period: float) -> float:
    """Return the highest speed of the next period after which a stop within `way` is still possible.

    v^2 / 2 a <= way - period v, solved for v; from one period to the next it falls by a period at most.
    """
    pace = deceleration * period
    return math.sqrt(pace * pace + 2.0 * deceleration * max(0.0, way)) - pace


@compiled
def _advance(
    torque: Vector, gain: Vector, threshold: Vector, speed: Vector, largest: Vector, lower: Vector, upper: Vector,
    rate: float, period: float, position: Vector, velocity: Vector, acceleration: Vector,
) -> None:  # fmt: skip
    """Move the reference of all joints on by one period [s]; all arrays (n,)."""
    for j in range(position.shape[0]):
        beyond = 0.0  # also for a torque that is not a number
        if torque[j] > threshold[j]:
            beyond = torque[j] - threshold[j]
        elif torque[j] < -threshold[j]:
            beyond = torque[j] + threshold[j]
        wanted = min(max(gain[j] * beyond, -speed[j]), speed[j])
        change = min(max(rate * (wanted - velocity[j]), -largest[j]), largest[j])
        new = velocity[j] + period * change
        new = min(new, _fastest(upper[j] - position[j], largest[j], period))
        new = max(new, -_fastest(position[j] - lower[j], largest[j], period))
        acceleration[j] = (new - velocity[j]) / period
        velocity[j] = new
        position[j] += period * new


@compiled
def _anchor(place: Vector, rate: Vector, speed: Vector, reach: Vector, position: Vector, velocity: Vector) -> None:
    """Take the reference along where the arm, at place (n,) moving with rate (n,), is further from it than reach."""
    for j in range(position.shape[0]):
        ahead = place[j] - position[j]
        if abs(ahead) > reach[j]:
            position[j] = place[j] - math.copysign(reach[j], ahead)
            velocity[j] = min(max(rate[j], -speed[j]), speed[j])


class JointAdmittance:
    """The motion to which an external torque leads the joints: position, velocity, acceleration, each (n,).

    dq_d = K_a r, Flacco 2016 (15), with a dead zone: the torque beyond the threshold counts, so that the speed does
    not jump at it. Added here: the speed follows dq_d with a first-order lag, bounded in size and change, and ends at
    the joint's limit or at the excursion, whichever comes first. It begins with the velocity the arm has, or with what
    can still be stopped before these bounds. Without a
    torque it comes to rest and stays.

    A push that is stronger than what holds the joint at the reference takes the reference along: the arm is never
    further from it than `reach`, and does not spring back when it is let go.
    """

    def __init__(self, lower: Vector, upper: Vector, reach: Vector, rate: float, period: float) -> None:
        """Limits lower, upper and reach (n,) [rad] of the joints; rate [1/s] at which the speed follows; period [s]."""
        n = lower.size
        self._limits = (np.array(lower, dtype=float), np.array(upper, dtype=float))
        self._lower, self._upper = np.zeros(n), np.zeros(n)
        self._reach = np.array(reach, dtype=float)
        self._rate = rate
        self._period = period
        one = np.ones(n)
        self.parameters = AdmittanceParameters(one, one, one, one, one, 1.0)
        self.position = np.zeros(n)
        self.velocity = np.zeros(n)
        self.acceleration = np.zeros(n)
        # Compiles the kernels here and not in the loop.
        self.anchor(np.zeros(n), np.zeros(n))
        self.advance(np.zeros(n))

    def start(self, position: Vector, velocity: Vector) -> None:
        """Begin at position (n,) [rad] with velocity (n,) [rad/s]; a joint outside its limits may stay there."""
        self.position[:] = position
        self.velocity[:] = velocity
        np.subtract(position, self.parameters.excursion, out=self._lower)
        np.add(position, self.parameters.excursion, out=self._upper)
        np.maximum(self._lower, self._limits[0], out=self._lower)
        np.minimum(self._upper, self._limits[1], out=self._upper)
        np.minimum(self._lower, position, out=self._lower)
        np.maximum(self._upper, position, out=self._upper)

    def anchor(self, position: Vector, velocity: Vector) -> None:
        """Keep within reach of the arm, which is at position (n,) [rad] with velocity (n,) [rad/s]."""
        _anchor(position, velocity, self.parameters.speed, self._reach, self.position, self.velocity)

    def advance(self, torque: Vector) -> None:
        """Go on by one period under the external torque (n,) [Nm], positive when it accelerates the joint."""
        p = self.parameters
        _advance(
            torque, p.gain, p.threshold, p.speed, p.acceleration, self._lower, self._upper, self._rate, self._period,
            self.position, self.velocity, self.acceleration,
        )  # fmt: skip
