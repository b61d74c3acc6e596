"""Standard deviations of an impact and of the velocity after it, by what is not known exactly."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from impact_control.impacts import FrictionLaw, predict_post_impact_velocity
from impact_control.references.impact_geometry import ImpactGeometry
from impact_control.references.impact_map import DEPENDENT, simultaneous_impact
from impact_control.references.table import ReferenceTable
from impact_control.robots import Dynamics, InertiaModel, RobotDescription, contact_jacobians
from impact_control.scenario import Scenario, Uncertainty
from impact_control.util.errors import ImpactControlError
from impact_control.util.types import Matrix, Vector


def jump_deviation(
    robot: RobotDescription,
    geometry: ImpactGeometry,
    q: Vector,
    before: Vector,
    after: Vector,
    friction: float,
    uncertainty: Uncertainty,
    closing_speed: float = 0.0,
) -> Vector:
    """Return the standard deviation (n,) [rad/s] of dq^+, independent errors added by their squares.

    q (n,) [rad], before dq^-, after dq^+ (n,) [rad/s]: as planned. Errors of one standard deviation each: of M and
    B_theta (robot data), friction, restitution and normal of the surface (two ways), by a difference of the impact map;
    and the part `uncertainty.model` of each joint's own jump, which the map of one rigid inelastic impact leaves to
    flexible joints and to a contact that opens and closes.

    Several contacts n_c do not touch at once: each is as likely to be the first, and then the others close without
    friction, with the motion that takes least kinetic energy, W = H^-1 N^T (N H^-1 N^T)^+, for rows n^T J_c in N and
    H = M + B_theta. closing_speed [m/s]: largest of a contact along the normal with which full contact is found, and
    the behaviour begins to be judged, but not faster than it approached. Uniform up to it at each contact, it adds
    sum_c (W_ic closing_speed)^2 / 3. What restitution does to several contacts is not modelled.
    """
    dynamics = Dynamics(robot)
    dynamics.compute(q, before)
    links, motors = dynamics.inertia(InertiaModel.LINKS), np.diag(robot.transmission.reduced_motor_inertia)
    jacobians = contact_jacobians(dynamics.jacobian, geometry.contact_offsets)
    known = robot.deviation

    def velocity(inertia: Matrix, normal: Vector, mu: float, restitution: float) -> Vector:
        if len(jacobians) == 1:
            law = FrictionLaw.COULOMB
            return predict_post_impact_velocity(inertia, jacobians[0], normal, before, mu, restitution, law).velocity
        return simultaneous_impact(inertia, jacobians, normal, before, mu).velocity

    def changed() -> Iterator[Vector]:
        inertia, normal = links + motors, geometry.normal
        planned = velocity(inertia, normal, friction, 0.0)
        yield velocity(inertia + known.link_inertia * links, normal, friction, 0.0) - planned
        yield velocity(inertia + known.reduced_motor_inertia * motors, normal, friction, 0.0) - planned
        yield velocity(inertia, normal, friction + uncertainty.friction, 0.0) - planned
        yield velocity(inertia, normal, friction, uncertainty.restitution) - planned
        for tangent in (geometry.heading, np.cross(normal, geometry.heading)):
            tilted = normal + np.tan(uncertainty.normal) * tangent
            yield velocity(inertia, tilted / np.linalg.norm(tilted), friction, 0.0) - planned
        for jacobian in jacobians if len(jacobians) > 1 else ():
            alone = predict_post_impact_velocity(inertia, jacobian, normal, before, friction).velocity
            yield (alone - closing @ (rows @ alone) - planned) / math.sqrt(len(jacobians))

    rows = np.einsum("j,cjn->cn", geometry.normal, jacobians)
    response = np.linalg.solve(links + motors, rows.T)
    closing = response @ np.linalg.pinv(rows @ response, rcond=DEPENDENT)
    variance = (uncertainty.model * (after - before)) ** 2
    try:
        for change in changed():
            variance += change**2
    except ImpactControlError:
        # A grazing approach may miss the tilted surface: then nothing is known of the jump but its size.
        variance = (after - before) ** 2
    slower = np.minimum(closing_speed, np.abs(rows @ before))
    deviation: Vector = np.sqrt(variance + np.sum((closing * slower) ** 2, axis=1) / 3.0)
    return deviation


class FrictionDeviation(NamedTuple):
    """Standard deviations by joint friction: q at the impact (n,) [rad], dq (n,) [rad/s] and n^T p [m] after it."""

    configuration: Vector
    velocity: Vector
    height: float


def friction_deviation(
    robot: RobotDescription, scenario: Scenario, post: ReferenceTable, normal: Vector, q: Vector, before: Vector
) -> FrictionDeviation:
    """Return the standard deviations by joint friction that is not fed forward.

    Before the impact an offset of the position balances that friction. With the velocity friction changes, and the
    offset has to follow. Of joint j the part s_j of phi_1 is not fed forward (one standard deviation, robot data), and
    f_j is its known friction; then, to first order and with the position gain k, full feedback, van Steen 2024 (15),

        offset_i^2 = sum_j O_ij^2,  O_ij = (M + B_theta)^-1_ij s_j f_j(dq^-) / k,
        e_i(t)^2 = sum_j ((M + B_theta)^-1_ij s_j v_j(t))^2,
        v'' + 2 sqrt(k) v' + k v = d/dt (f_j(dq^post(t)) - f_j(dq^-)).

    Of e_i the largest is returned of the time in which the behaviour is judged.

    The offset also lifts the end-effector, each joint's friction by all joints at once; a force F of the task presses
    it down by F / (k m_n), with the mass m_n along the normal, which counts at the limit of the verdict:

        height = max(0, sqrt(sum_j (n^T J O)_j^2) - F / (limit k m_n)),  m_n = 1 / (n^T J (M + B_theta)^-1 J^T n).

    normal (3,): n, frame A; q (n,) [rad] and before, dq^- (n,) [rad/s]: at the impact; post: the reference after it.
    """
    gain = scenario.control.gains.position
    first = round(scenario.task.impact.time / post.period)
    count = max(1, round(scenario.classification.post_impact_time / post.period))
    velocity = np.vstack([before, post.columns.joint_velocity[first : first + count]])
    friction = robot.friction.reduced(robot.transmission)
    torque = np.array([friction.torque(row, np.empty_like(row)) for row in velocity])
    change = torque[1:] - torque[0]
    # An impulse of the bracket is answered by (1 - sqrt(k) t) exp(-sqrt(k) t), taken in the middle of each period.
    late = math.sqrt(gain) * post.period * (np.arange(change.shape[0]) + 0.5)
    answer = post.period * (1.0 - late) * np.exp(-late)
    drift = np.array([np.convolve(joint, answer)[: late.size] for joint in change.T])
    unknown = np.hypot(robot.deviation.joint_friction, 1.0 - scenario.control.friction_compensation)
    dynamics = Dynamics(robot)
    dynamics.compute(q, before)
    inverse = np.linalg.inv(dynamics.inertia(InertiaModel.REDUCED_MOTORS))
    mobility = inverse * unknown
    offsets, rise = mobility * torque[0] / gain, normal @ dynamics.jacobian[:3]
    offset: Vector = np.linalg.norm(offsets, axis=1)
    largest: Vector = np.sqrt((mobility**2 @ drift**2).max(axis=1))
    pressed = scenario.task.post.force * (rise @ inverse @ rise) / gain
    height = np.linalg.norm(rise @ offsets) - pressed / scenario.classification.uncertainty.limit
    return FrictionDeviation(offset, largest, max(0.0, float(height)))
