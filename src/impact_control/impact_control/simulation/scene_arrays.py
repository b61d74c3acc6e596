"""Arrays of a scene, on which the kernels work, and their construction from the descriptions.

Bodies are numbered arms first, then pushers, then boxes. The state is one vector: for each arm link position, link
velocity, motor position, motor velocity, filtered torque (n each); for each pusher its position (3); for each box
position (3), quaternion x, y, z, w (4) and velocity (3) of the centre, frame A, and angular velocity in axes of the
box (3).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from impact_control.robots import RobotDescription
from impact_control.simulation.chain_dynamics import CHAIN_END, LINK, serial_chain
from impact_control.simulation.objects import Arm, Box, Pusher
from impact_control.simulation.options import PlantOptions
from impact_control.simulation.surface import Surface
from impact_control.util.checks import finite_array
from impact_control.util.compiled import record_type
from impact_control.util.types import Matrix, Records, Vector

ARM, PUSHER, BOX = range(3)
"""Kinds of bodies."""

_TRIPLE, _NINE = (float, 3), (float, (3, 3))

BODY = record_type(
    ("kind start joint_count", int),
    ("position velocity spin force torque middle_position weight moments half_size total_force", _TRIPLE),
    ("rotation middle_rotation", _NINE),
    ("mobility", (float, (6, 6))),
    ("load", (float, 6)),
    ("mass normal_force normal_force_sum peak_normal_force first_touch gap", float),
    ("touched near", bool),
)
"""A body: kind ARM, PUSHER or BOX; start of its state; joint_count of an arm.

position of the reference point, the origin of E or the centre [m]; rotation, axes of the body as columns; velocity
[m/s], spin [rad/s]; force [N] of the contacts and their torque about the point [Nm]; touched by a contact now, or near
one in this interval. Of an arm, at the middle of the interval: middle_position [m], middle_rotation, mobility
J M^-1 J^T. load: external force and torque [N, Nm]. Of a box: mass [kg], principal moments [kg m^2], weight: its
acceleration by gravity [m/s^2], half_size [m]. Of a pusher weight is its velocity [m/s]. At the end of the interval:
total_force of the contacts [N], normal_force, the sum of their normal forces [N], its peak in the sample, time of the
first_touch [s], infinite before it, the smallest gap [m]; normal_force_sum: scratch.
"""

JOINT = record_type(
    ("stiffness damping motor_inertia torque_gain torque_rate_gain filter_rate", float),
    ("friction_amplitude friction_slope friction_offset friction_at_rest", float),
    ("backlash backlash_damping backlash_friction", float),
    ("friction_on_motor", bool),
    ("command external middle acceleration nonlinear compensation actuation link_torque", float),
    ("twist", (float, 6)),
)
"""A flexible joint, with the terms of its arm that are frozen over an interval.

Constants: stiffness K [Nm/rad], damping D [Nm s/rad], motor_inertia B_rho [kg m^2], torque_gain K_T [-] and
torque_rate_gain K_S [s] of Rey Arias 2024 (1)-(4); amplitude, slope and offset phi_1, phi_2, phi_3 of the friction of
Gaz et al. 2019, and its sigmoid at rest; rate of the torque filter [1/s], 0: none; half-width of the backlash alpha
[rad], viscous [Nm s/rad] and dry [Nm] friction inside it, Flacco 2016 (6); friction_on_motor: the friction of the joint
acts on the motor, van Steen 2024 (4), otherwise on the link.

Inputs: command and external torque [Nm]. At the middle of the interval: configuration middle [rad], nonlinear torque
less the external ones [Nm], compensation, the gravity torque that the arm adds to its command [Nm], twist: column of
the Jacobian of E. acceleration at the end of the last interval [rad/s^2]; actuation of the motor [Nm]; link_torque
[Nm]: scratch.
"""

CONTACT = record_type(
    ("first_body second_body law_kind", int),
    ("centre plane_normal plane_point normal force point", _TRIPLE),
    ("radius friction slip_scale gap closing normal_force first_touch normal_mobility surface_mobility", float),
    ("law", (float, 4)),
    ("active", bool),
)
"""A pair of a sphere and a plane or a box that may touch.

Constants: first_body, which carries the sphere; second_body, the box, -1 for a plane; law_kind and its parameters law,
see `impacts.normal_force`; centre of the sphere in axes of its body and radius [m]; plane_normal and plane_point [m];
friction [-], slip_scale [m/s].

gap [m], closing speed [m/s], normal_force [N], normal out of the surface or box, force [N] on the first body, point of
contact [m], time of the first_touch [s], infinite before it, normal_mobility and surface_mobility of the two bodies
[1/kg]; active: near enough to be evaluated in this interval.
"""


class SceneArrays(NamedTuple):
    """The arrays of a scene of b bodies, of them a arms of up to n joints, with c pairs that may touch.

    state (s,): see above. work (4, s): scratch of the integration; its first row is the rate of the state. bodies (b,)
    of BODY; joints (a, n) of JOINT; inverse_mass (a, n, n): M^-1 at the middle of the interval [1/(kg m^2)]; contacts
    (c,) of CONTACT; links (a, n), ends (a,): see `SerialChain`.
    """

    state: Vector
    work: Matrix
    bodies: Records
    joints: Records
    inverse_mass: Matrix
    contacts: Records
    links: Records
    ends: Records


def scene_arrays(
    arms: Sequence[Arm],
    pushers: Sequence[Pusher],
    boxes: Sequence[Box],
    surfaces: Sequence[Surface],
    options: PlantOptions,
    gravity: Vector,
) -> SceneArrays:
    """Return the arrays of a scene with pushers and boxes at their initial state and the arms at zero.

    gravity (3,) [m/s^2]: of the boxes, frame A. Raises InvalidInputError for an arm that is not a chain.
    """
    joint_counts = [len(arm.robot.joint_names) for arm in arms]
    width = max([1, *joint_counts])
    joints, links = np.zeros((len(arms), width), JOINT), np.zeros((len(arms), width), LINK)
    ends = np.zeros(len(arms), CHAIN_END)
    for i, (arm, n) in enumerate(zip(arms, joint_counts, strict=True)):
        joints[i, :n] = joint_records(arm.robot, options)
        links[i, :n], ends[i : i + 1] = serial_chain(arm.robot)
    states = [np.zeros(5 * n) for n in joint_counts]
    states += [np.array(pusher.position) for pusher in pushers]
    states += [np.concatenate([b.position, b.orientation, b.velocity, b.angular_velocity]) for b in boxes]
    state = np.concatenate([np.zeros(0), *states])
    bodies = np.zeros(len(states), BODY)
    bodies["kind"] = [ARM] * len(arms) + [PUSHER] * len(pushers) + [BOX] * len(boxes)
    bodies["start"][1:] = np.cumsum([each.size for each in states])[:-1]
    bodies["joint_count"][: len(arms)] = joint_counts
    bodies["rotation"] = np.eye(3)
    first_box = len(arms) + len(pushers)
    for body, pusher in zip(bodies[len(arms) : first_box], pushers, strict=True):
        body.weight = pusher.velocity
    for body, box in zip(bodies[first_box:], boxes, strict=True):
        body.mass, body.moments, body.weight, body.half_size = box.mass, box.inertia, gravity, 0.5 * box.size
    return SceneArrays(
        state=state,
        work=np.zeros((4, state.size)),
        bodies=bodies,
        joints=joints,
        inverse_mass=np.zeros((len(arms), width, width)),
        contacts=_contacts(arms, pushers, boxes, surfaces),
        links=links,
        ends=ends,
    )


def joint_records(robot: RobotDescription, options: PlantOptions) -> Records:
    """Return the constants of the joints of a robot (n,) as JOINT records. Raises InvalidInputError."""
    t, friction, n = robot.transmission, robot.friction, len(robot.joint_names)
    torque_gain = t.motor_inertia / t.reduced_motor_inertia - 1.0 if options.torque_loop else np.zeros(n)
    joints = np.zeros(n, JOINT)
    joints["stiffness"], joints["damping"], joints["motor_inertia"] = t.stiffness, t.damping, t.motor_inertia
    joints["torque_gain"], joints["torque_rate_gain"] = torque_gain, torque_gain * t.damping / t.stiffness
    joints["friction_amplitude"] = friction.amplitude if options.joint_friction else 0.0
    joints["friction_slope"], joints["friction_offset"] = friction.slope, friction.offset
    joints["friction_at_rest"] = 1.0 / (1.0 + np.exp(-friction.slope * friction.offset))
    joints["friction_on_motor"] = friction.on_motor
    joints["filter_rate"] = 2.0 * math.pi * robot.torque_loop.filter_cutoff if options.torque_filter else 0.0
    for field, name in (("backlash", "gap"), ("backlash_damping", "damping"), ("backlash_friction", "dry_friction")):
        value = getattr(options.backlash, name)
        joints[field] = value if np.ndim(value) == 0 else finite_array(f"backlash {name}", value, (n,))
    return joints


def _contacts(
    arms: Sequence[Arm], pushers: Sequence[Pusher], boxes: Sequence[Box], surfaces: Sequence[Surface]
) -> Records:
    """Return the CONTACT records, body by body, planes before boxes, point by point."""
    tools = [arm.robot.end_effector for arm in arms]
    spheres = [(tool.contact_points, tool.radius) for tool in tools]
    spheres += [(pusher.points, pusher.radius) for pusher in pushers]
    first_box = len(spheres)
    spheres += [(box.corners, 0.0) for box in boxes]
    planes: list[tuple[int, Surface | Box]] = [(-1, surface) for surface in surfaces]
    targets = [*planes, *((first_box + i, box) for i, box in enumerate(boxes))]
    reach = [targets] * first_box + [planes] * len(boxes)
    contacts = np.zeros(sum(len(s[0]) * len(r) for s, r in zip(spheres, reach, strict=True)), CONTACT)
    contacts["first_touch"] = math.inf
    row = 0
    for body, (centres, radius) in enumerate(spheres):
        for second, target in reach[body]:
            pairs = contacts[row : row + len(centres)]
            pairs["first_body"], pairs["second_body"], pairs["law_kind"] = body, second, int(target.law.kind)
            pairs["centre"], pairs["radius"], pairs["law"] = centres, radius, target.law.parameters
            pairs["friction"], pairs["slip_scale"] = target.friction, target.slip_scale
            if isinstance(target, Surface):
                pairs["plane_normal"], pairs["plane_point"] = target.normal, target.point
            row += len(centres)
    return contacts
