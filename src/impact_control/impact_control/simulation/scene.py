"""Plant A and what is around it: arms with flexible joints, free boxes and driven effectors in compliant contact.

Rey Arias 2024 (1)-(6) and section III; Proper 2021, model A; van Steen 2024 for boxes that are hit, pushed or held.
Pinocchio gives the rigid-body terms of the arms, `plant_kernel` integrates.

What may touch what: every contact sphere of an arm or a pusher touches every plane and every box, at faces, edges and
corners; the corners of every box touch every plane. Boxes pass through each other, and so do effectors. Planes have
no border.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from impact_control.errors import InvalidInputError
from impact_control.robots import Dynamics, RobotDescription
from impact_control.simulation.joint_kernel import BACKLASH
from impact_control.simulation.objects import Arm, Box, Pusher
from impact_control.simulation.options import PlantOptions
from impact_control.simulation.plant_kernel import advance_interval, freeze_arm, observe, predict_middle
from impact_control.simulation.scene_arrays import (
    BASE,
    COMMAND,
    CONTACT_FORCE,
    EXTERNAL,
    FIRST_BODY,
    FIRST_TOUCH,
    GAP,
    LOAD,
    MIDDLE,
    MIDDLE_RATE,
    NORMAL_FORCE,
    SECOND_BODY,
    TRUTH_FIRST,
    TRUTH_FORCE,
    TRUTH_GAP,
    TRUTH_NORMAL,
    TRUTH_PEAK,
    WEIGHT,
    SceneArrays,
    scene_arrays,
)
from impact_control.simulation.surface import Surface, require_numbers
from impact_control.types import Matrix, Vector

_INSIDE = 1e-9
"""[m] How far something may lie inside something else at the start: rounding."""

_STANDARD_GRAVITY = np.array([0.0, 0.0, -9.81])
"""[m/s^2] For boxes without an arm near them, which else brings its own."""


class SceneBody:
    """What the contacts do to one body at the end of the last period. World frame A; all arrays are views.

    contact_force (3,) [N]: resultant of all contacts on the body. Of the k pairs in which its own contact points, or
    corners, may touch something, planes before boxes and for each of these point by point: contact_forces (k, 3) [N]
    on this body, normal_forces (k,) [N], gaps (k,) [m], first_contact_times (k,) [s], infinite before the touch.
    external_wrench (6,) [N, Nm]: force at the origin of E of an arm, or at the centre of a box, and torque. It may
    be written to and acts until it is changed; a pusher does not feel it.
    """

    def __init__(self, arrays: SceneArrays, index: int) -> None:
        """Look at body number `index`."""
        first, last = np.searchsorted(arrays.pairs[:, FIRST_BODY], [index, index + 1])
        rows = arrays.contacts[first:last]
        self._row: Vector = arrays.bodies[index]
        self.contact_force: Vector = self._row[TRUTH_FORCE : TRUTH_FORCE + 3]
        self.contact_forces: Matrix = rows[:, CONTACT_FORCE : CONTACT_FORCE + 3]
        self.normal_forces: Vector = rows[:, NORMAL_FORCE]
        self.gaps: Vector = rows[:, GAP]
        self.first_contact_times: Vector = rows[:, FIRST_TOUCH]
        self.external_wrench: Vector = self._row[LOAD : LOAD + 6]

    @property
    def normal_force(self) -> float:
        """Sum of the normal contact forces [N] at the end of the period."""
        return float(self._row[TRUTH_NORMAL])

    @property
    def peak_normal_force(self) -> float:
        """Largest sum of the normal contact forces [N] inside the last period."""
        return float(self._row[TRUTH_PEAK])

    @property
    def first_contact_time(self) -> float:
        """Time of the first touch since the start [s]; NaN before it."""
        time = float(self._row[TRUTH_FIRST])
        return time if math.isfinite(time) else math.nan

    @property
    def gap(self) -> float:
        """Smallest distance to what may be touched [m]; negative: penetration; infinity with nothing to touch."""
        return float(self._row[TRUTH_GAP])


class SimulatedArm(SceneBody):
    """State of an arm in a scene; `SceneBody` for its contacts.

    link_position q, link_velocity dq, motor_position theta, motor_velocity dtheta (n,) [rad, rad/s], the motors
    after the gear; filtered_torque (n,) [Nm]: output of the torque filter. external_torque (n,) [Nm]: on the links,
    may be written to and acts until it is changed. All are views.
    """

    def __init__(self, robot: RobotDescription, arrays: SceneArrays, index: int) -> None:
        """Look at arm number `index`."""
        super().__init__(arrays, index)
        self.robot = robot
        n, base = len(robot.joint_names), int(arrays.layout[index, BASE])
        rows = arrays.state[base : base + 5 * n].reshape(5, n)
        self.link_position: Vector = rows[0]
        self.link_velocity: Vector = rows[1]
        self.motor_position: Vector = rows[2]
        self.motor_velocity: Vector = rows[3]
        self.filtered_torque: Vector = rows[4]
        self.external_torque: Vector = arrays.terms[index, EXTERNAL, :n]
        self._backlash = arrays.joints[index, BACKLASH, :n]

    @property
    def joint_torque(self) -> Vector:
        """tau = K (theta - q) (n,) [Nm], what the torque sensors see, less the backlash if there is one; new."""
        twist = self.motor_position - self.link_position
        torque: Vector = self.robot.transmission.stiffness * (twist - np.clip(twist, -self._backlash, self._backlash))
        return torque

    def hold(self, configuration: Vector, gravity: Vector) -> None:
        """Put the arm at rest at configuration (n,) [rad], its springs holding it against gravity (n,) [Nm]."""
        self.link_position[:] = configuration
        self.motor_position[:] = (
            configuration + gravity / self.robot.transmission.stiffness + np.sign(gravity) * self._backlash
        )
        self.link_velocity[:] = 0.0
        self.motor_velocity[:] = 0.0
        self.filtered_torque[:] = gravity


class SimulatedPusher(SceneBody):
    """Position (3,) [m] and velocity (3,) [m/s] of a pusher, frame A: views, both may be written to."""

    def __init__(self, arrays: SceneArrays, index: int) -> None:
        """Look at a pusher, body number `index`."""
        super().__init__(arrays, index)
        base = int(arrays.layout[index, BASE])
        self.position: Vector = arrays.state[base : base + 3]
        self.velocity: Vector = self._row[WEIGHT : WEIGHT + 3]


class SimulatedBox(SceneBody):
    """State of a box, as views.

    position (3,) [m], orientation (4,) as quaternion x, y, z, w, velocity (3,) [m/s] of the centre, frame A;
    angular_velocity (3,) [rad/s], axes of the box.
    """

    def __init__(self, arrays: SceneArrays, index: int) -> None:
        """Look at a box, body number `index`."""
        super().__init__(arrays, index)
        base = int(arrays.layout[index, BASE])
        self.position: Vector = arrays.state[base : base + 3]
        self.orientation: Vector = arrays.state[base + 3 : base + 7]
        self.velocity: Vector = arrays.state[base + 7 : base + 10]
        self.angular_velocity: Vector = arrays.state[base + 10 : base + 13]


class Scene:
    """Arms, pushers, boxes and planes, simulated together.

    `arms`, `pushers`, `boxes`: state and ground truth of each, in the order given. `time` [s] and
    `integration_steps` since the start. `arrays`: what the kernels work on.
    """

    def __init__(
        self,
        arms: Sequence[Arm] = (),
        boxes: Sequence[Box] = (),
        pushers: Sequence[Pusher] = (),
        surfaces: Sequence[Surface] = (),
        options: PlantOptions | None = None,
        gravity: Vector | None = None,
    ) -> None:
        """Put everything where it says, the arms at rest.

        gravity (3,) [m/s^2]: of the boxes, frame A; by default that of the first arm. Raises InvalidInputError, also
        when something starts inside something else.
        """
        self.options = options or PlantOptions()
        if gravity is None:
            gravity = arms[0].robot.gravity if arms else _STANDARD_GRAVITY
        arrays = scene_arrays(arms, pushers, boxes, surfaces, self.options, require_numbers("gravity", gravity, (3,)))
        self.arrays = arrays
        self._clock = _clock(arms, self.options)
        first_box = len(arms) + len(pushers)
        self.arms = tuple(SimulatedArm(arm.robot, arrays, i) for i, arm in enumerate(arms))
        self.pushers = tuple(SimulatedPusher(arrays, i) for i in range(len(arms), first_box))
        self.boxes = tuple(SimulatedBox(arrays, i) for i in range(first_box, first_box + len(boxes)))
        self._workspaces = tuple(_Workspace(arm, arrays, i, self.options) for i, arm in enumerate(self.arms))
        self.time = 0.0
        self.integration_steps = 0
        for arm, workspace, description in zip(self.arms, self._workspaces, arms, strict=True):
            workspace.dynamics.update(description.configuration, arm.link_velocity)
            arm.hold(description.configuration, workspace.dynamics.gravity)
            workspace.freeze(0.0)
        observe(0.0, arrays.state, arrays.layout, arrays.terms, arrays.bodies, arrays.pairs, arrays.contacts)
        _require_clear(arrays, len(arms), len(pushers))

    def step(self, torques: Sequence[Vector]) -> None:
        """Advance one sample period under the commanded torque (n,) [Nm] of each arm, held constant.

        Without gravity: an arm adds its gravity torque itself, unless `PlantOptions` switches that off.
        """
        clock, options = self._clock, self.options
        self.arrays.bodies[:, TRUTH_PEAK] = 0.0
        for workspace, torque in zip(self._workspaces, torques, strict=True):
            workspace.command[:] = torque
        for _ in range(clock.intervals):
            for workspace in self._workspaces:
                workspace.freeze(clock.interval)
            self.integration_steps += advance_interval(
                options.refresh_ticks,
                clock.tick_period,
                options.largest_step,
                options.step_safety,
                self.time,
                *self.arrays,
            )
            self.time += clock.interval


class _Clock(NamedTuple):
    """Intervals a sample, length of one [s], period of the torque loops [s]."""

    intervals: int
    interval: float
    tick_period: float


def _clock(arms: Sequence[Arm], options: PlantOptions) -> _Clock:
    """Divide the sample period into intervals of as many ticks of the torque loops as are asked for."""
    # Without arms nothing is frozen: one interval.
    rates = {arm.robot.torque_loop.rate for arm in arms} or {options.refresh_ticks / options.sample_period}
    if len(rates) > 1:
        raise InvalidInputError("torque loop rates", sorted(rates), "the same rate in Hz for all arms of a scene")
    rate = rates.pop()
    ticks = options.sample_period * rate
    if abs(ticks - round(ticks)) > 1e-9 or round(ticks) % options.refresh_ticks:
        allowed = f"a divisor of the {ticks:g} torque-loop ticks a sample"
        raise InvalidInputError("refresh_ticks", options.refresh_ticks, allowed)
    return _Clock(round(ticks) // options.refresh_ticks, options.refresh_ticks / rate, 1.0 / rate)


class _Workspace:
    """What computes the rigid-body terms of one arm. `command` (n,) [Nm] is the commanded torque."""

    def __init__(self, arm: SimulatedArm, arrays: SceneArrays, index: int, options: PlantOptions) -> None:
        n = len(arm.robot.joint_names)
        self.dynamics = Dynamics(arm.robot)
        self.command: Vector = arrays.terms[index, COMMAND, :n]
        self._middle: Vector = arrays.terms[index, MIDDLE, :n]
        self._compensation = 1.0 if options.gravity_compensation else 0.0
        self._middle_rate: Vector = arrays.terms[index, MIDDLE_RATE, :n]
        self._predict_velocity = options.predict_velocity
        self._index, self._arrays = index, arrays

    def freeze(self, interval: float) -> None:
        """Compute the terms for the next interval [s], at its middle."""
        dynamics, arrays = self.dynamics, self._arrays
        predict_middle(self._index, interval, self._predict_velocity, arrays.state, arrays.layout, arrays.terms)
        dynamics.update(self._middle, self._middle_rate)
        freeze_arm(
            self._index,
            dynamics.mass_matrix,
            dynamics.nonlinear,
            dynamics.gravity,
            dynamics.jacobian,
            dynamics.position,
            dynamics.rotation,
            self._compensation,
            arrays.terms,
            arrays.bodies,
        )


def _require_clear(arrays: SceneArrays, arm_count: int, pusher_count: int) -> None:
    """Raise InvalidInputError when something lies inside something else."""
    first_box = arm_count + pusher_count
    names = [f"the end-effector of arm {i}" for i in range(arm_count)]
    names += [f"pusher {i}" for i in range(pusher_count)]
    names += [f"box {i}" for i in range(len(arrays.layout) - first_box)]
    for pair, gap in zip(arrays.pairs, arrays.contacts[:, GAP], strict=True):
        if gap < -_INSIDE:
            first, second = pair[FIRST_BODY], pair[SECOND_BODY]
            other = "the surface" if second < 0 else names[second]
            raise InvalidInputError("gap at the start", float(gap), f"at least 0 m: {names[first]} is inside {other}")
