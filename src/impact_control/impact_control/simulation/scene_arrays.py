"""A scene as arrays: what the kernels work on. `scene_arrays` makes them from descriptions.

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
from numpy.typing import NDArray

from impact_control.robots import RobotDescription
from impact_control.simulation.chain_dynamics import END_COLUMNS, LINK_COLUMNS, serial_chain
from impact_control.simulation.joint_kernel import JOINT_ROWS
from impact_control.simulation.objects import Arm, Box, Pusher
from impact_control.simulation.options import PlantOptions
from impact_control.simulation.surface import Surface
from impact_control.types import Matrix, Vector

ARM, PUSHER, BOX = range(3)
KIND, BASE, JOINT_COUNT = range(3)
FIRST_BODY, SECOND_BODY, LAW_KIND = range(3)
COMMAND, EXTERNAL, MIDDLE, MIDDLE_RATE, ACCELERATION, NONLINEAR, COMPENSATION, ACTUATION = range(8)
JACOBIAN, INVERSE_MASS = 8, 14
POSITION, ROTATION, VELOCITY, SPIN, FORCE, TORQUE, TOUCHED, NEAR = 0, 3, 12, 15, 18, 21, 24, 25
MIDDLE_POSITION, MIDDLE_ROTATION, MOBILITY = 26, 29, 38
LOAD, LOAD_TORQUE, WEIGHT, MASS, MOMENTS, HALF_SIZE = 74, 77, 80, 83, 84, 87
TRUTH_FORCE, TRUTH_NORMAL, TRUTH_PEAK, TRUTH_FIRST, TRUTH_GAP, TRUTH_SUM = 90, 93, 94, 95, 96, 97
GAP, CLOSING, NORMAL_FORCE, NORMAL, CONTACT_FORCE, POINT, FIRST_TOUCH, ACTIVE = 0, 1, 2, 3, 6, 9, 12, 13
NORMAL_MOBILITY, SURFACE_MOBILITY = 14, 15
CENTRE, RADIUS, PLANE_NORMAL, PLANE_POINT, FRICTION, SLIP_SCALE, LAW = 16, 19, 20, 23, 26, 27, 28
LAW_EXPONENT = LAW + 2

Indices = NDArray[np.int64]


class SceneArrays(NamedTuple):
    """The arrays of a scene of b bodies, of them a arms of up to n joints, with c pairs that may touch.

    state (s,): see above. work (5, >= s): scratch of the integration.

    layout (b, 3): KIND of the body, ARM, PUSHER or BOX; BASE, where its state begins; JOINT_COUNT of an arm.

    joints (a, 13, n): constants, see `joint_kernel`. links (a, n, 31) and ends (a, 15): see `SerialChain`.

    terms (a, 14 + n, n), of each arm in rows: COMMAND and EXTERNAL torque [Nm], given from outside; MIDDLE and
    MIDDLE_RATE, configuration [rad] and velocity [rad/s] at the middle of the interval; ACCELERATION at the end of
    the last interval [rad/s^2]; at MIDDLE the NONLINEAR torques less what acts from outside [Nm], COMPENSATION, the
    gravity torque that the arm adds to its command [Nm], JACOBIAN of E (6, n) and INVERSE_MASS (n, n); ACTUATION of
    the motors [Nm].

    bodies (b, 98), of each body in columns: POSITION (3) of the reference point, which is the origin of E or the
    centre [m], ROTATION (9), axes of the body as columns, VELOCITY (3) [m/s], SPIN (3) [rad/s]; FORCE (3) [N] of the
    contacts and their TORQUE (3) about the point [Nm], whether it is TOUCHED and whether a contact is NEAR. Of an arm
    MIDDLE_POSITION (3), MIDDLE_ROTATION (9) and MOBILITY J M^-1 J^T (36) at MIDDLE. From outside LOAD (3) and
    LOAD_TORQUE (3) [N, Nm]. Of a box its MASS [kg], principal MOMENTS (3) [kg m^2], acceleration by its WEIGHT (3)
    [m/s^2] and HALF_SIZE (3) [m]; of a pusher its velocity in place of WEIGHT. For the record TRUTH_FORCE (3),
    resultant of the contacts [N], TRUTH_NORMAL, sum of their normal forces [N], TRUTH_PEAK of that, TRUTH_FIRST touch
    [s], TRUTH_GAP, the smallest [m]; TRUTH_SUM, scratch.

    pairs (c, 3): FIRST_BODY, which carries a sphere; SECOND_BODY, the box it may touch, -1 for a plane; LAW_KIND.

    contacts (c, 32), of each pair in columns: GAP [m], CLOSING speed [m/s], NORMAL_FORCE [N], NORMAL (3) out of what
    is touched, CONTACT_FORCE (3) [N] on the first body, POINT (3) of contact [m], time of the FIRST_TOUCH [s], infinite
    before it, ACTIVE: whether it is near enough to be looked at, NORMAL_MOBILITY and SURFACE_MOBILITY of its bodies
    [1/kg]. Constants: CENTRE (3) of the sphere in axes of its
    body and RADIUS [m], PLANE_NORMAL (3) and PLANE_POINT (3) [m] of the plane, FRICTION, SLIP_SCALE [m/s] and the
    parameters (4) of the normal force LAW, of which the third is its LAW_EXPONENT.
    """

    state: Vector
    work: Matrix
    layout: Indices
    joints: Matrix
    links: Matrix
    ends: Matrix
    terms: Matrix
    bodies: Matrix
    pairs: Indices
    contacts: Matrix


def scene_arrays(
    arms: Sequence[Arm],
    pushers: Sequence[Pusher],
    boxes: Sequence[Box],
    surfaces: Sequence[Surface],
    options: PlantOptions,
    gravity: Vector,
) -> SceneArrays:
    """Return the arrays of a scene in which pushers and boxes are where they say and the arms are at zero.

    gravity (3,) [m/s^2]: of the boxes, frame A. Raises InvalidInputError for an arm that is not a chain.
    """
    joint_counts = [len(arm.robot.joint_names) for arm in arms]
    width = max([1, *joint_counts])
    joints = np.zeros((len(arms), JOINT_ROWS, width))
    links, ends = np.zeros((len(arms), width, LINK_COLUMNS)), np.zeros((len(arms), END_COLUMNS))
    for i, (arm, n) in enumerate(zip(arms, joint_counts, strict=True)):
        joints[i, :, :n] = joint_parameters(arm.robot, options)
        links[i, :n], ends[i : i + 1] = serial_chain(arm.robot)
    kinds = [ARM] * len(arms) + [PUSHER] * len(pushers) + [BOX] * len(boxes)
    states = [np.zeros(5 * n) for n in joint_counts]
    states += [np.array(pusher.position) for pusher in pushers]
    states += [np.concatenate([b.position, b.orientation, b.velocity, b.angular_velocity]) for b in boxes]
    layout = np.zeros((len(kinds), 3), dtype=np.int64)
    layout[:, KIND] = kinds
    layout[1:, BASE] = np.cumsum([state.size for state in states])[:-1]
    layout[: len(arms), JOINT_COUNT] = joint_counts
    state = np.concatenate([np.zeros(0), *states])
    bodies = np.zeros((len(kinds), TRUTH_SUM + 1))
    bodies[:, ROTATION : ROTATION + 9] = np.eye(3).ravel()
    first_box = len(arms) + len(pushers)
    for row, pusher in zip(bodies[len(arms) : first_box], pushers, strict=True):
        row[WEIGHT : WEIGHT + 3] = pusher.velocity
    for row, box in zip(bodies[first_box:], boxes, strict=True):
        row[MASS] = box.mass
        row[MOMENTS : MOMENTS + 3] = box.inertia
        row[WEIGHT : WEIGHT + 3] = gravity
        row[HALF_SIZE : HALF_SIZE + 3] = 0.5 * box.size
    pairs, contacts = _contacts(arms, pushers, boxes, surfaces)
    return SceneArrays(
        state=state,
        work=np.zeros((5, max(state.size, width))),
        layout=layout,
        joints=joints,
        links=links,
        ends=ends,
        terms=np.zeros((len(arms), INVERSE_MASS + width, width)),
        bodies=bodies,
        pairs=pairs,
        contacts=contacts,
    )


def joint_parameters(robot: RobotDescription, options: PlantOptions) -> Matrix:
    """Return the rows of `joint_kernel` (13, n) for the joints of a robot. Raises InvalidInputError."""
    t, friction, n = robot.transmission, robot.friction, len(robot.joint_names)
    torque_gain = t.motor_inertia / t.reduced_motor_inertia - 1.0 if options.torque_loop else np.zeros(n)
    backlash = options.backlash.expanded(n)
    return np.array(
        [
            t.stiffness,
            t.damping,
            t.motor_inertia,
            torque_gain,
            torque_gain * t.damping / t.stiffness,
            friction.amplitude if options.joint_friction else np.zeros(n),
            friction.slope,
            friction.offset,
            1.0 / (1.0 + np.exp(-friction.slope * friction.offset)),
            np.full(n, 2.0 * math.pi * robot.torque_loop.filter_cutoff if options.torque_filter else 0.0),
            backlash.gap,
            backlash.damping,
            backlash.dry_friction,
        ]
    )


def _contacts(
    arms: Sequence[Arm], pushers: Sequence[Pusher], boxes: Sequence[Box], surfaces: Sequence[Surface]
) -> tuple[Indices, Matrix]:
    """Return pairs and contacts, body by body, planes before boxes, point by point."""
    tools = [arm.robot.end_effector for arm in arms]
    points = [(tool.contact_points, tool.radius) for tool in tools]
    points += [(pusher.points, pusher.radius) for pusher in pushers]
    first_box = len(points)
    points += [(box.corners, 0.0) for box in boxes]
    pairs: list[tuple[int, int, int]] = []
    contacts: list[list[float]] = []
    for body, (centres, radius) in enumerate(points):
        targets: list[tuple[int, Surface | Box, Vector]] = [(-1, s, np.array([*s.normal, *s.point])) for s in surfaces]
        if body < first_box:
            targets += [(first_box + i, box, np.zeros(6)) for i, box in enumerate(boxes)]
        for second, touched, plane in targets:
            material = [touched.friction, touched.slip_scale, *touched.law.parameters]
            for centre in centres:
                pairs.append((body, second, int(touched.law.kind)))
                contacts.append([*centre, radius, *plane, *material])
    constants = np.array(contacts).reshape(-1, LAW + 4 - CENTRE)
    changing = np.zeros((len(pairs), CENTRE))
    changing[:, FIRST_TOUCH] = math.inf
    return np.array(pairs, dtype=np.int64).reshape(-1, 3), np.hstack([changing, constants])
