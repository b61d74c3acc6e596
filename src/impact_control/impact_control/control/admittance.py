"""Joint admittance: external torque turned into joint motion, Flacco 2016 section V-D."""

from __future__ import annotations

import math

import numpy as np

from impact_control.scenario import Admittance
from impact_control.util.compiled import compiled_in_place
from impact_control.util.memory import Memory, named_memory
from impact_control.util.types import Vector


@compiled_in_place
def _fastest(way: float, deceleration: float, period: float) -> float:
    """Return the highest speed of the next period after which a stop within `way` is still possible.

    v^2 / 2 a <= way - period v, solved for v; from one period to the next it falls by a period at most.
    """
    pace = deceleration * period
    return math.sqrt(pace * pace + 2.0 * deceleration * max(0.0, way)) - pace


@compiled_in_place
def _advance(motion: Memory, torque: Vector) -> None:
    """Move the reference of all joints on by one period; torque (n,) [Nm]."""
    m = motion[()]
    for j in range(torque.shape[0]):
        beyond = 0.0  # also for a torque that is not a number
        if torque[j] > m.threshold[j]:
            beyond = torque[j] - m.threshold[j]
        elif torque[j] < -m.threshold[j]:
            beyond = torque[j] + m.threshold[j]
        desired = min(max(m.gain[j] * beyond, -m.speed[j]), m.speed[j])
        largest = m.largest_acceleration[j]
        change = min(max(m.rate * (desired - m.velocity[j]), -largest), largest)
        new = m.velocity[j] + m.period * change
        new = min(new, _fastest(m.upper[j] - m.position[j], largest, m.period))
        new = max(new, -_fastest(m.position[j] - m.lower[j], largest, m.period))
        m.acceleration[j] = (new - m.velocity[j]) / m.period
        m.velocity[j] = new
        m.position[j] += m.period * new


@compiled_in_place
def _anchor(motion: Memory, position: Vector, velocity: Vector) -> None:
    """Take the reference along where the arm, at position (n,) with velocity (n,), is further from it than reach."""
    m = motion[()]
    for j in range(position.shape[0]):
        ahead = position[j] - m.position[j]
        if abs(ahead) > m.reach[j]:
            m.position[j] = position[j] - math.copysign(m.reach[j], ahead)
            m.velocity[j] = min(max(velocity[j], -m.speed[j]), m.speed[j])


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
        self._limits = (np.array(lower, dtype=float), np.array(upper, dtype=float))
        names = ("gain", "threshold", "speed", "largest_acceleration", "lower", "upper", "reach")
        motion = ("position", "velocity", "acceleration")
        shapes = dict.fromkeys((*names, *motion), (lower.size,))
        self._memory = memory = named_memory(**shapes, rate=(), period=())
        memory["reach"], memory["rate"], memory["period"] = reach, rate, period
        self._lower, self._upper = memory["lower"], memory["upper"]
        self.position: Vector = memory["position"]
        self.velocity: Vector = memory["velocity"]
        self.acceleration: Vector = memory["acceleration"]
        one = np.ones(lower.size)
        self.set_parameters(Admittance.of(gain=one, threshold=one, speed=one, acceleration=one, excursion=one))
        # Compiles the kernels here and not in the loop.
        self.anchor(one, one)
        self.advance(one)

    def set_parameters(self, parameters: Admittance) -> None:
        """Use these parameters, attribute `parameters`, from the next start on."""
        self.parameters, memory = parameters, self._memory
        memory["gain"], memory["threshold"] = parameters.gain, parameters.threshold
        memory["speed"], memory["largest_acceleration"] = parameters.speed, parameters.acceleration

    def begin(self, position: Vector, velocity: Vector) -> None:
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
        _anchor(self._memory, position, velocity)

    def advance(self, torque: Vector) -> None:
        """Advance by one period under the external torque (n,) [Nm], positive when it accelerates the joint."""
        _advance(self._memory, torque)
