"""Impacts for our map and for physics engines: the same system, written down twice.

For our map as bodies and contacts; for an engine as a model in MuJoCo's format (MJCF), which Drake reads too. The
engine finds inertia, contact points and normals by itself. Contacts are spheres that touch without a gap.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pinocchio as pin

from impact_control.impacts import Body, Contact, free_object
from impact_control.impacts.contact_system import ContactSystem
from impact_control.robots import Dynamics, InertiaModel, contact_point_jacobian, load_robot
from impact_control.util.errors import ImpactControlError, MissingExtraError
from impact_control.util.types import Matrix, Vector

OVERLAP = 1e-9
"""[m] Penetration of the spheres: engines leave contacts out that only touch."""


@dataclass(frozen=True, eq=False)
class EngineCase:
    """An impact.

    Attributes:
        name: what it is.
        mjcf: the model, without gravity.
        bodies, contacts: the same for `impacts.predict_multi_contact_impact`.
        joints: names of the joints of a body in the model, in the order of its velocity. A body that is not here
            is free: linear, then angular velocity, its frame in the centre of mass and parallel to the world's.
        positions: of the joints, by name [rad], [m]; 0 for the others.
    """

    name: str
    mjcf: str
    bodies: Mapping[str, Body]
    contacts: tuple[Contact, ...]
    joints: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    positions: Mapping[str, float] = field(default_factory=dict)


def all_cases() -> tuple[EngineCase, ...]:
    """Return the impacts of the comparison."""
    return (
        ball("ball, sticks", friction=0.6),
        ball("ball, slips", friction=0.1),
        plate("plate, four corners, no friction", friction=0.0, slide=0.3, spin=0.0),
        plate("plate, four corners, slips", friction=0.1, slide=0.3, spin=0.0),
        plate("plate, two corners open", friction=0.6, slide=0.0, spin=8.0),
        box_between_pushers(friction=0.0),
        box_between_pushers(friction=0.2),
        panda("Panda, sphere, no friction", friction=0.0, slide=0.1),
        panda("Panda, sphere, sticks", friction=0.6, slide=0.02),
        panda("Panda, sphere, slips", friction=0.1, slide=0.2),
    )


def ball(name: str, friction: float) -> EngineCase:
    """A solid ball of 1 kg that meets the ground at 45 degrees; it sticks from mu = 2/7 on."""
    radius, inertia = 0.1, 0.004 * np.eye(3)
    body = free_object(1.0, inertia, np.array([1.0, 0.0, -1.0, 0.0, 0.0, 0.0]))
    contact = Contact("ball", _free_point([0.0, 0.0, -radius]), np.array([0.0, 0.0, 1.0]), friction)
    model = _ground(friction) + _free_body("ball", radius - OVERLAP, 1.0, inertia, _sphere([0, 0, 0], radius, friction))
    return EngineCase(name, _mjcf(model), {"ball": body}, (contact,))


def plate(name: str, friction: float, slide: float, spin: float) -> EngineCase:
    """A plate of 2 kg that meets the ground with its four corners: one more than can be independent."""
    inertia, radius, low = np.diag([0.02, 0.03, 0.045]), 0.01, -0.02
    body = free_object(2.0, inertia, np.array([slide, 0.0, -0.5, 0.0, spin, 0.0]))
    corners = [(0.1, 0.1), (0.1, -0.1), (-0.1, -0.1), (-0.1, 0.1)]
    up = np.array([0.0, 0.0, 1.0])
    contacts = tuple(Contact("plate", _free_point([x, y, low]), up, friction) for x, y in corners)
    spheres = "".join(_sphere([x, y, low + radius], radius, friction) for x, y in corners)
    model = _ground(friction) + _free_body("plate", -low - OVERLAP, 2.0, inertia, spheres)
    return EngineCase(name, _mjcf(model), {"plate": body}, contacts)


def box_between_pushers(friction: float) -> EngineCase:
    """A free box that two pushers of one degree of freedom meet from both sides, four contacts each.

    A pusher weighs 2 kg, the reflected inertia of its drive is 3 kg more.
    """
    mass, inertia, half, radius, link, drive = 1.5, np.diag([0.006, 0.008, 0.007]), 0.1, 0.01, 2.0, 3.0
    bodies = {"box": free_object(mass, inertia, np.array([0.05, 0.1, 0.0, 0.0, 0.0, 0.4]))}
    contacts, model, actuators = [], "", ""
    corners = [(y, z) for y in (-0.04, 0.06) for z in (-0.05, 0.05)]
    for name, side, speed in (("left", -1.0, 0.5), ("right", 1.0, -0.2)):
        bodies[name] = Body(np.array([[link + drive]]), np.array([speed]))
        normal, along = np.array([-side, 0.0, 0.0]), np.array([[1.0], [0.0], [0.0]])
        for y, z in corners:
            contacts.append(Contact("box", _free_point([side * half, y, z]), normal, friction, 0.0, name, along))
        spheres = "".join(_sphere([0.0, y, z], radius, friction) for y, z in corners)
        model += (
            f'<body name="{name}" pos="{side * (half + radius - OVERLAP)} 0 1">'
            f'<inertial pos="0 0 0" mass="{link}" diaginertia="0.01 0.01 0.01"/>'
            f'<joint name="{name}" type="slide" axis="1 0 0" armature="{drive}"/>{spheres}</body>'
        )
        actuators += _motor(name)
    geometry = f'<geom type="box" size="{half} 0.1 0.1" friction="{friction} 0 0"/>'
    model += _free_body("box", 1.0, mass, inertia, geometry)
    name = f"box between two pushers, {'friction' if friction else 'no friction'}"
    joints = {"left": ("left",), "right": ("right",)}
    return EngineCase(name, _mjcf(model, actuators), bodies, tuple(contacts), joints)


def panda(name: str, friction: float, slide: float) -> EngineCase:
    """The Panda with its sphere on a plate, the motors as reflected inertia B_theta; 0.2 m/s into the plate."""
    robot = load_robot("panda", "sphere")
    model, dynamics = robot.pinocchio_model, Dynamics(robot)
    q = np.array([0.3, 0.4, -0.2, -2.1, 0.1, 2.4, 0.6])
    dynamics.compute(q, np.zeros(7))
    velocity = np.linalg.pinv(dynamics.jacobian) @ np.array([slide, 0.0, -0.2, 0.0, 0.0, 0.0])
    motors = robot.transmission.reduced_motor_inertia
    radius, up = robot.end_effector.radius, np.array([0.0, 0.0, 1.0])
    contact = Contact("arm", contact_point_jacobian(dynamics.jacobian, -radius * up), up, friction)

    frame = model.frames[robot.contact_frame_id]
    chain = _sphere(frame.placement.translation, radius, friction)
    names = tuple(f"joint{i}" for i in range(1, 8))
    for i in range(7, 0, -1):
        placement, inertia = model.jointPlacements[i], model.inertias[i]
        chain = (
            f'<body name="link{i}" pos="{_text(placement.translation)}" quat="{_quaternion(placement.rotation)}">'
            f"{_inertial(inertia.mass, inertia.lever, inertia.inertia)}"
            f'<joint name="{names[i - 1]}" type="hinge" axis="0 0 1" armature="{motors[i - 1]}"/>{chain}</body>'
        )
    ground = _ground(friction, float(dynamics.position[2]) - radius + OVERLAP)
    mjcf = _mjcf(ground + chain, "".join(_motor(joint) for joint in names))
    body = Body(dynamics.inertia(InertiaModel.REDUCED_MOTORS), velocity)
    positions = dict(zip(names, q.tolist(), strict=True))
    return EngineCase(name, mjcf, {"arm": body}, (contact,), {"arm": names}, positions)


def _free_point(offset: list[float]) -> Matrix:
    return contact_point_jacobian(np.eye(6), np.array(offset))


def _mjcf(world: str, actuators: str = "") -> str:
    return (
        '<mujoco model="impact"><compiler angle="radian"/><option gravity="0 0 0"/>'
        f"<worldbody>{world}</worldbody><actuator>{actuators}</actuator></mujoco>"
    )


def _ground(friction: float, height: float = 0.0) -> str:
    return f'<geom name="ground" type="plane" size="5 5 0.1" pos="0 0 {height!r}" friction="{friction} 0 0"/>'


def _sphere(centre: Vector | list[float], radius: float, friction: float) -> str:
    return f'<geom type="sphere" pos="{_text(centre)}" size="{radius}" friction="{friction} 0 0"/>'


def _free_body(name: str, height: float, mass: float, inertia: Matrix, geometry: str) -> str:
    inertial = _inertial(mass, np.zeros(3), inertia)
    return f'<body name="{name}" pos="0 0 {height!r}">{inertial}<freejoint/>{geometry}</body>'


def _inertial(mass: float, centre: Vector, inertia: Matrix) -> str:
    entries = inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
    return f'<inertial mass="{mass!r}" pos="{_text(centre)}" fullinertia="{_text(entries)}"/>'


def _motor(joint: str) -> str:
    # Drake takes the armature of a joint into account only where the joint has an actuator.
    return f'<motor name="motor_{joint}" joint="{joint}"/>'


def _quaternion(rotation: Matrix) -> str:
    x, y, z, w = pin.Quaternion(rotation).coeffs()
    return _text([w, x, y, z])


def _text(numbers: Vector | list[float]) -> str:
    return " ".join(repr(float(number)) for number in numbers)


def convex_friction_velocity(system: ContactSystem, restitution: float) -> Vector:
    """Return the velocity (N,) of a system after an impact with convex friction, by Pinocchio's ADMM.

    restitution: e of all contacts, in place of that in the system. Raises ImpactControlError if not converged,
    MissingExtraError for a Pinocchio below 4.
    """
    if not hasattr(pin, "ADMMConstraintSolver"):
        raise MissingExtraError(f"convex friction needs Pinocchio 4 or later; installed is {pin.__version__}")
    free = system.jacobian @ system.velocity
    free[::3] += restitution * np.minimum(free[::3], 0.0)
    # Pinocchio orders a contact by first tangent, second tangent, normal.
    order = np.arange(free.size).reshape(-1, 3)[:, [1, 2, 0]].ravel()
    delassus = system.delassus[np.ix_(order, order)]
    models, datas = pin.StdVec_ConstraintModel(), pin.StdVec_ConstraintData()
    for friction in system.friction:
        point = pin.PointContactConstraintModel(pin.Model(), 0, pin.SE3.Identity(), 0, pin.SE3.Identity())
        point.setFriction(float(friction))
        models.append(pin.ConstraintModel(point))
        datas.append(models[-1].createData())
    settings, result = pin.ADMMSolverSettings(), pin.ADMMSolverResult()
    settings.solve_ncp, settings.max_iterations = False, 20000
    settings.absolute_feasibility_tol = settings.absolute_complementarity_tol = 1e-9
    settings.relative_feasibility_tol = settings.relative_complementarity_tol = 1e-9
    operator = pin.DelassusOperatorDense(np.asfortranarray(delassus))
    solver = pin.ADMMConstraintSolver(free.size)
    if not solver.solve(operator, free[order], models, datas, settings, result):
        raise ImpactControlError(f"convex friction: not converged after {result.iterations} iterations")
    impulse = np.empty_like(free)
    impulse[order] = np.ravel(result.retrieveConstraintImpulses())
    velocity: Vector = system.velocity + impulse @ system.response
    return velocity
