"""Arms that meet a rigid plane, and a second way to compute their motion, for the tests of plants B and C."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pinocchio as pin
from scipy.integrate import solve_ivp

from impact_control.robots import Dynamics, contact_point_jacobian, lowest_points
from impact_control.simulation import PlantOptions
from impact_studies.models.rigid_contact.contact import RigidSurface
from impact_studies.models.rigid_contact.options import RigidContactOptions
from impact_studies.models.rigid_contact.plant import FlexibleJointRigidContactPlant as PlantB
from impact_studies.models.rigid_contact.plant import RigidJointRigidContactPlant as PlantC
from simulated_arms import HOMES, surface_below, velocity_for

FREE_JOINTS = RigidContactOptions(joints=PlantOptions(joint_friction=False))
UNDRIVEN = RigidContactOptions(joints=PlantOptions(joint_friction=False, gravity_compensation=False, torque_loop=False))


def rigid_surface(robot, distance=5e-4, tilt=0.0):
    """Return a rigid surface, rising by tilt [rad] along x, whose smallest gap at home is `distance` [m]."""
    plane = surface_below(robot, distance, tilt)
    return RigidSurface(plane.point, plane.normal)


def rigid_plant(kind, robot, surface=None, options=FREE_JOINTS, linear=(0.05, 0.0, -0.17)):
    """Return a plant at home whose end-effector moves with `linear` [m/s] and does not turn."""
    plant = kind(robot, HOMES[robot.name], None, options)
    plant.reset(HOMES[robot.name], surface, velocity_for(robot, linear))
    return plant


def run(plant, samples, torque=0.0):
    """Step the plant, return the link velocities at all samples."""
    torques = np.zeros(plant.link_position.size) + torque
    velocities = [plant.link_velocity.copy()]
    for _ in range(samples):
        plant.step(torques)
        velocities.append(plant.link_velocity.copy())
    return np.array(velocities)


def state_at(robot, q, dq):
    """Return the Dynamics of a robot at a state."""
    dynamics = Dynamics(robot)
    dynamics.compute(q, dq)
    return dynamics


def point_jacobians(robot, surface, q):
    """Return J (n_c, 3, n) of the lowest places of the contact spheres, world axes, from Pinocchio."""
    dynamics, tool = state_at(robot, q, np.zeros(q.size)), robot.end_effector
    offsets = lowest_points(tool.contact_points, tool.radius, dynamics.rotation, surface.normal)
    return np.array([contact_point_jacobian(dynamics.jacobian, offset) for offset in offsets])


def kinetic_energy(plant):
    """Return the kinetic energy [J] of links and motors, from Pinocchio."""
    motors, model = plant.robot.transmission, plant.robot.pinocchio_model
    links = pin.computeKineticEnergy(model, model.createData(), plant.link_position, plant.link_velocity)
    if isinstance(plant, PlantC):
        reduced = plant.options.joints.torque_loop
        moving = motors.reduced_motor_inertia if reduced else motors.motor_inertia
        return links + 0.5 * moving @ plant.link_velocity**2
    return links + 0.5 * motors.motor_inertia @ plant.motor_velocity**2


def energy(plant):
    """Return the energy [J] of links, motors and springs, and in the field of gravity."""
    model = plant.robot.pinocchio_model
    total = kinetic_energy(plant) + pin.computePotentialEnergy(model, model.createData(), plant.link_position)
    if isinstance(plant, PlantB):
        total += 0.5 * plant.joint_torque**2 @ (1.0 / plant.robot.transmission.stiffness)
    return total


class _Contact(NamedTuple):
    """Of one contact sphere: gap [m]; J_N (n,); bias of the normal acceleration [m/s^2]; M^-1."""

    gap: float
    normal: np.ndarray
    bias: float
    mobility: np.ndarray


class Reference:
    """A planar arm with one sphere that hits a surface and slides on it: Rey Arias (1)-(4) or (8).

    Integrated by SciPy with Pinocchio's terms; impact and contact force in closed form for one point, Rey Arias (16)
    and Proper (2.59), (2.60).
    """

    def __init__(self, robot, surface, flexible, torque):
        self.robot, self.surface, self.flexible, self.torque = robot, surface, flexible, torque
        self.model = robot.pinocchio_model.copy()
        placement = pin.SE3(np.eye(3), robot.end_effector.contact_points[0])
        parent = self.model.frames[robot.contact_frame_id]
        self.centre = self.model.addFrame(
            pin.Frame("centre", parent.parentJoint, parent.placement * placement, pin.FrameType.OP_FRAME)
        )
        self.data = self.model.createData()
        self.added = np.zeros((3, 3)) if flexible else np.diag(robot.transmission.reduced_motor_inertia)
        self.closed = False

    def _contact(self, q, dq):
        model, data, surface = self.model, self.data, self.surface
        pin.computeAllTerms(model, data, q, dq)
        pin.forwardKinematics(model, data, q, dq, np.zeros(3))
        pin.updateFramePlacements(model, data)
        jacobian = pin.getFrameJacobian(model, data, self.centre, pin.LOCAL_WORLD_ALIGNED)
        way = -self.robot.end_effector.radius * surface.normal
        place = data.oMf[self.centre].translation + way
        rows = contact_point_jacobian(jacobian, way)
        bias = pin.getFrameClassicalAcceleration(model, data, self.centre, pin.LOCAL_WORLD_ALIGNED).linear
        normal = surface.normal @ rows
        mobility = np.linalg.inv(data.M + self.added)
        gap = surface.normal @ (place - surface.point)
        return _Contact(gap, normal, surface.normal @ bias, mobility)

    def _motion(self, x, actuation):
        """Return gap [m], normal force [N] and slope of the state."""
        q, dq = x[:3], x[3:6]
        contact = self._contact(q, dq)
        transmission, friction = self.robot.transmission, self.robot.friction
        h = pin.nonLinearEffects(self.model, self.data, q, dq)
        if self.flexible:
            theta, dtheta, filtered = x[6:].reshape(3, 3)
            spring = transmission.stiffness * (theta - q)
            driving = spring + transmission.damping * (dtheta - dq)
            cutoff = 2.0 * math.pi * self.robot.torque_loop.filter_cutoff
            behind = [dtheta, (actuation - driving) / transmission.motor_inertia, cutoff * (spring - filtered)]
        else:
            driving, behind = actuation + pin.computeGeneralizedGravity(self.model, self.data, q), []
        ddq = contact.mobility @ (driving - h - friction.torque(dq, np.zeros(3)))
        force = 0.0
        if self.closed:
            force = -(contact.normal @ ddq + contact.bias) / (contact.normal @ contact.mobility @ contact.normal)
            ddq = ddq + contact.mobility @ contact.normal * force
        return contact.gap, force, np.concatenate([dq, ddq, *behind])

    def _actuation(self, x):
        if not self.flexible:
            return self.torque
        q, (theta, _, filtered) = x[:3], x[6:].reshape(3, 3)
        t = self.robot.transmission
        wanted = self.torque + pin.computeGeneralizedGravity(self.model, self.model.createData(), q)
        gain = t.motor_inertia / t.reduced_motor_inertia - 1.0
        rate = 2.0 * math.pi * self.robot.torque_loop.filter_cutoff * (t.stiffness * (theta - q) - filtered)
        return wanted + gain * (wanted - filtered) - gain * t.damping / t.stiffness * rate

    def _hit(self, x):
        dq = x[3:6]
        contact = self._contact(x[:3], dq)
        impulse = -(contact.normal @ dq) / (contact.normal @ contact.mobility @ contact.normal)
        x[3:6] = dq + contact.mobility @ contact.normal * impulse
        self.closed = True

    def advance(self, x, duration):
        """Return the state after `duration` [s]: q, dq, and of flexible joints theta, dtheta, filtered torque."""
        x, tick = np.array(x), 1.0 / self.robot.torque_loop.rate

        def slope(_, y, actuation):
            return self._motion(y, actuation)[2]

        def touches_or_leaves(_, y, actuation):
            gap, force, _ = self._motion(y, actuation)
            return force if self.closed else gap

        touches_or_leaves.terminal, touches_or_leaves.direction = True, -1.0
        for _ in range(round(duration / tick)):
            actuation, now = self._actuation(x), 0.0
            while now < tick:
                found = solve_ivp(
                    slope,
                    (now, tick),
                    x,
                    method="DOP853",
                    args=(actuation,),
                    events=touches_or_leaves,
                    rtol=1e-9,
                    atol=1e-12,
                )
                now, x = found.t[-1], found.y[:, -1]
                if found.status == 1 and self.closed:
                    self.closed = False
                elif found.status == 1:
                    self._hit(x)
        return x
