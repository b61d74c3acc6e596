"""Reference of the arm: approach the surface, wait until all points have touched, then slide and press."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from impact_control.impacts import Body, Contact, predict_multi_contact_impact
from impact_control.robots import Dynamics, InertiaModel, RobotDescription, contact_jacobians, lowest_points
from impact_control.simulation.surface import inclined_plane
from impact_control.util.types import Vector
from impact_studies.planar_impact.response import PLANAR_TASK, StraightApproach, TaskController, planar_approach

ANGLE, SPEED, DISTANCE, HEIGHT = 120.0, 0.2, 0.3, 0.02
"""alpha [deg], v_imp [m/s], x_imp, y_imp [m] of Proper 2021, Table 3.2."""

SLIDE, PRESSING_FORCE = 0.1, 30.0
"""delta x [m], lambda_ref [N] of Proper 2021, Table 3.2."""

SLIDE_TIME = 1.0
"""[s] from the expected impact to the end of the slide: the source does not give its t_f."""

DETECTION_DELAY, LONGEST_INTERIM = 2e-3, 0.15
"""t_delay, t_switch [s] of Proper 2021, 3.3.1 and 3.5.2."""

STIFFNESS = 400.0
"""Gain of the pose task [1/s^2]: the source does not give its own."""

EXPECTED_NORMAL = np.array([0.0, 0.0, 1.0])


def expected_approach(speed: float = SPEED, cruise: float = 0.2) -> StraightApproach:
    """Return the approach of Proper 2021, Table 3.2, or with another speed [m/s]: (3.2), down and away from the base.

    cruise [s]: how long it has this speed before the impact.
    """
    return replace(planar_approach(ANGLE, speed, DISTANCE, HEIGHT), cruise=cruise)


def rigid_map(
    robot: RobotDescription, q: Vector, dq: Vector, normal: Vector, points: NDArray[np.int_], model: InertiaModel
) -> Vector:
    """Return dq^+ (n,) [rad/s] of the inelastic map without friction at the contact points of these indices."""
    dynamics = Dynamics(robot)
    dynamics.compute(q, dq)
    tool = robot.end_effector
    offsets = lowest_points(tool.contact_points[points], tool.radius, dynamics.rotation, normal)
    contacts = [Contact("arm", jacobian, normal) for jacobian in contact_jacobians(dynamics.jacobian, offsets)]
    arm = Body(dynamics.inertia(model), dq)
    return predict_multi_contact_impact({"arm": arm}, contacts).velocities["arm"]


def predicted_twist(robot: RobotDescription, approach: StraightApproach) -> Vector:
    """Return the planar twist of E (3,) [m/s, m/s, rad/s] expected after the impact: Proper 2021 (3.16)-(3.18)."""
    q = approach.configuration(robot, approach.impact_position)
    dynamics = Dynamics(robot)
    dynamics.compute(q, np.zeros_like(q))
    jacobian = dynamics.jacobian[list(PLANAR_TASK)]
    before = np.linalg.solve(jacobian, np.array([*approach.speed * approach.direction[[0, 2]], 0.0]))
    every = np.arange(len(robot.end_effector.contact_points))
    after = rigid_map(robot, q, before, EXPECTED_NORMAL, every, InertiaModel.REDUCED_MOTORS)
    twist: Vector = jacobian @ after
    return twist


@dataclass(frozen=True, eq=False)
class Slide:
    """Motion along the surface: a quintic from the expected impact to rest, straight on backwards before it.

    It gives the part of the pose that an arm in the plane can choose: x [m], z [m] of E in A, turn about y of A [rad].

    Attributes:
        start: pose at the expected impact (3,).
        twist: its rate there (3,).
        end: pose at rest (3,).
        duration: [s].
    """

    start: Vector
    twist: Vector
    end: Vector
    duration: float

    def at(self, time: float) -> tuple[Vector, Vector, Vector]:
        """Return pose, rate and second derivative, each (3,), at `time` [s] after the expected impact."""
        if time < 0.0:
            return self.start + time * self.twist, self.twist, np.zeros(3)
        x = min(time / self.duration, 1.0)
        way, reach = self.end - self.start, self.duration * self.twist
        # Quintic Hermite polynomials of position and velocity, with no acceleration at both ends.
        pose = self.start + way * x**3 * (10.0 - 15.0 * x + 6.0 * x**2)
        pose = pose + reach * (x - 6.0 * x**3 + 8.0 * x**4 - 3.0 * x**5)
        rate = way * 30.0 * x**2 * (1.0 - x) ** 2 + reach * (1.0 - 18.0 * x**2 + 32.0 * x**3 - 15.0 * x**4)
        second = way * 60.0 * x * (1.0 - 3.0 * x + 2.0 * x**2) + reach * (-36.0 * x + 96.0 * x**2 - 60.0 * x**3)
        return pose, rate / self.duration, second / self.duration**2


def expected_slide(robot: RobotDescription, approach: StraightApproach) -> Slide:
    """Return the motion after the impact: Proper 2021 (3.15), (3.16), with the pose realigned at its end."""
    start = np.array([*approach.impact_position[[0, 2]], 0.0])
    end = start + np.array([math.copysign(SLIDE, approach.direction[0]), 0.0, 0.0])
    return Slide(start, predicted_twist(robot, approach), end, SLIDE_TIME)


class Course:
    """Torque of the three phases of Proper 2021 (3.11), (3.12); in the first two that of `TaskController`.

    Ante: along the approach. Interim, only with more than one point: the same without damping. Post: along the slide,
    pressing. The torque is that of the rigid model with M + B_theta, as in all plants.
    """

    def __init__(
        self, robot: RobotDescription, stiffness: float = STIFFNESS, approach: StraightApproach | None = None
    ) -> None:
        """Plan for the surface that is expected: horizontal, at the height of the base.

        stiffness [1/s^2]: of the pose task, which is critically damped but in the interim phase. approach: other than
        the expected one.
        """
        self._stiffness, self._damping = stiffness, 2.0 * math.sqrt(stiffness)
        self.approach = approach or expected_approach()
        self.slide = expected_slide(robot, self.approach)
        self.points = len(robot.end_effector.contact_points)
        self._ante = TaskController(robot, self.approach, stiffness, self._damping)
        self._interim = TaskController(robot, self.approach, stiffness, 0.0)
        self._dynamics = Dynamics(robot)

    def phase(self, time: float, touches: Vector, returned: float = math.inf) -> str:
        """Return "ante", "interim" or "post". touches (n_c,) [s]: first touch of each point, infinite before it.

        Touches that are nearer to each other than the delay are detected as one. returned [s]: when the first point
        was back on the surface and that is detected as another impact, Proper 2021, Fig. 3.20. By default no return
        is detected, as with the raised bounds of Fig. 3.21.
        """
        since = time - float(touches.min()) - DETECTION_DELAY
        if since < 0.0:
            return "ante"
        second = float(touches.max())
        apart = second - float(touches.min()) > DETECTION_DELAY
        last = min(second if apart else math.inf, returned)
        complete = self.points == 1 or time >= last + DETECTION_DELAY
        return "post" if complete or since >= LONGEST_INTERIM else "interim"

    def torque(self, phase: str, time: float, q: Vector, dq: Vector) -> Vector:
        """Return the torque (n,) [Nm] without gravity, which the arm adds itself; q [rad], dq [rad/s] (n,)."""
        if phase != "post":
            return (self._ante if phase == "ante" else self._interim).torque(time, q, dq)
        dynamics, task = self._dynamics, list(PLANAR_TASK)
        dynamics.compute(q, dq)
        pose, rate, second = self.slide.at(time - self.approach.impact_time)
        turn = float(pin.log3(dynamics.rotation @ self.approach.rotation.T)[1])
        found = np.array([dynamics.position[0], dynamics.position[2], turn])
        desired = second + self._damping * (rate - dynamics.twist[task]) + self._stiffness * (pose - found)
        ddq = np.linalg.solve(dynamics.jacobian[task], desired - dynamics.jacobian_rate_velocity[task])
        torque: Vector = dynamics.inertia(InertiaModel.REDUCED_MOTORS) @ ddq + dynamics.coriolis
        return torque + self._ante.pressing_torque(q, EXPECTED_NORMAL, PRESSING_FORCE)


def tilted_surface(tilt: float) -> tuple[Vector, Vector]:
    """Return point (3,) [m] and normal (3,) of the surface turned by `tilt` [deg]: Proper 2021, 2.2.1 with (3.32)."""
    beta = math.radians(tilt)
    return inclined_plane(beta, -math.tan(beta) * DISTANCE)
