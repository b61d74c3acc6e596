"""State and ground truth of the arms, pushers and boxes of a scene: views on its arrays."""

from __future__ import annotations

import math

import numpy as np

from impact_control.robots import RobotDescription
from impact_control.simulation.joint_kernel import holding_deflection, spring_torque
from impact_control.simulation.scene_arrays import SceneArrays
from impact_control.util.types import Matrix, Vector


class SceneBody:
    """Contacts of one body at the end of the last period. World frame A; all arrays are views.

    contact_force (3,) [N]: resultant of all contacts on the body. Of the k pairs in which its own contact points, or
    corners, may touch something, planes before boxes and for each of these point by point: contact_forces (k, 3) [N]
    on this body, normal_forces (k,) [N], gaps (k,) [m], first_contact_times (k,) [s], infinite before the touch.
    external_wrench (6,) [N, Nm]: force at the origin of E of an arm, or at the centre of a box, and torque. It may
    be written to and acts until it is changed; a pusher does not feel it.
    """

    def __init__(self, arrays: SceneArrays, index: int) -> None:
        """Look at body number `index`."""
        first, last = np.searchsorted(arrays.contacts["first_body"], [index, index + 1])
        contacts = arrays.contacts[first:last]
        self._body = arrays.bodies[index]
        self._base = int(self._body.start)
        self.contact_force: Vector = self._body.total_force
        self.contact_forces: Matrix = contacts["force"]
        self.normal_forces: Vector = contacts["normal_force"]
        self.gaps: Vector = contacts["gap"]
        self.first_contact_times: Vector = contacts["first_touch"]
        self.external_wrench: Vector = self._body.load

    @property
    def normal_force(self) -> float:
        """Sum of the normal contact forces [N] at the end of the period."""
        return float(self._body.normal_force)

    @property
    def peak_normal_force(self) -> float:
        """Largest sum of the normal contact forces [N] inside the last period."""
        return float(self._body.peak_normal_force)

    @property
    def first_contact_time(self) -> float:
        """Time of the first touch since the start [s]; NaN before it."""
        time = float(self._body.first_touch)
        return time if math.isfinite(time) else math.nan

    @property
    def gap(self) -> float:
        """Smallest distance to what may be touched [m]; negative: penetration; infinity with nothing to touch."""
        return float(self._body.gap)


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
        n, base = len(robot.joint_names), self._base
        rows = arrays.state[base : base + 5 * n].reshape(5, n)
        self.link_position: Vector = rows[0]
        self.link_velocity: Vector = rows[1]
        self.motor_position: Vector = rows[2]
        self.motor_velocity: Vector = rows[3]
        self.filtered_torque: Vector = rows[4]
        self.external_torque: Vector = arrays.joints["external"][index, :n]
        self._backlash = arrays.joints["backlash"][index, :n]

    @property
    def joint_torque(self) -> Vector:
        """tau = K (theta - q) (n,) [Nm], less the backlash, as measured by the torque sensors; new."""
        return spring_torque(self.robot.transmission, self._backlash, self.motor_position - self.link_position)

    def hold(self, gravity: Vector) -> None:
        """Put the arm at rest where it is, its springs holding it against gravity (n,) [Nm]."""
        self.link_velocity[:] = 0.0
        deflection = holding_deflection(self.robot.transmission, self._backlash, gravity)
        self.motor_position[:] = self.link_position + deflection
        self.motor_velocity[:] = 0.0
        self.filtered_torque[:] = gravity


class SimulatedPusher(SceneBody):
    """Position (3,) [m] and velocity (3,) [m/s] of a pusher, frame A: views, both may be written to."""

    def __init__(self, arrays: SceneArrays, index: int) -> None:
        """Look at a pusher, body number `index`."""
        super().__init__(arrays, index)
        base = self._base
        self.position: Vector = arrays.state[base : base + 3]
        self.velocity: Vector = self._body.weight


class SimulatedBox(SceneBody):
    """State of a box, as views.

    position (3,) [m], orientation (4,) as quaternion x, y, z, w, velocity (3,) [m/s] of the centre, frame A;
    angular_velocity (3,) [rad/s], axes of the box.
    """

    def __init__(self, arrays: SceneArrays, index: int) -> None:
        """Look at a box, body number `index`."""
        super().__init__(arrays, index)
        base = self._base
        self.position: Vector = arrays.state[base : base + 3]
        self.orientation: Vector = arrays.state[base + 3 : base + 7]
        self.velocity: Vector = arrays.state[base + 7 : base + 10]
        self.angular_velocity: Vector = arrays.state[base + 10 : base + 13]
