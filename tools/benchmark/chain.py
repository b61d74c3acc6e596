"""An arm of any number of joints, to see how cost grows with them, and a task at rest for it."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, TypeVar

import numpy as np
import pinocchio as pin

from impact_control.impacts import SlipOutcome
from impact_control.references import ImpactReference
from impact_control.references.impact_geometry import ImpactGeometry
from impact_control.references.table import ReferenceColumns, ReferenceTable
from impact_control.robots import Dynamics, RobotDescription, load_robot
from impact_control.robots.description import CONTACT_FRAME
from impact_control.robots.joints import JointFriction, JointLimits, SensorNoise, Transmission
from impact_control.scenario import Control, TaskGains, TaskWeights
from impact_control.util.types import Vector

Group = TypeVar("Group", JointLimits, Transmission, JointFriction, SensorNoise)

LINK = 0.2
"""[m] length of a link; a cylinder of 2 kg."""


def chain(joints: int) -> RobotDescription:
    """Return an arm of equal links, the first joint about z, then two about y, one about z, and so on.

    What is not geometry is that of the Panda's first joint, its sphere is at the end.
    """
    panda = load_robot()
    model = pin.Model()
    step = pin.SE3(np.eye(3), np.array([0.0, 0.0, LINK]))
    link = pin.Inertia.FromCylinder(2.0, 0.05, LINK)
    for k in range(joints):
        kind = pin.JointModelRZ() if k % 3 == 0 else pin.JointModelRY()
        model.addJoint(k, kind, step, f"joint{k + 1}")
        model.appendBodyToJoint(k + 1, link, pin.SE3(np.eye(3), np.array([0.0, 0.0, 0.5 * LINK])))
    frame = model.addFrame(pin.Frame(CONTACT_FRAME, joints, 0, step, pin.FrameType.OP_FRAME))

    def of_all(group: Group) -> Group:
        """Return what each joint has as the first one has it."""
        names = [entry.name for entry in fields(group) if entry.init and np.ndim(getattr(group, entry.name))]
        values: dict[str, Any] = {name: np.full(joints, getattr(group, name)[0]) for name in names}
        return replace(group, **values)

    return replace(
        panda,
        name=f"chain of {joints}",
        joint_names=tuple(model.names[1:]),
        limits=of_all(panda.limits),
        transmission=of_all(panda.transmission),
        friction=of_all(panda.friction),
        noise=of_all(panda.noise),
        pinocchio_model=model,
        contact_frame_id=int(frame),
    )


def bent(joints: int) -> Vector:
    """Return a configuration (n,) [rad] of the chain in which its end can move in all directions."""
    return 0.4 * np.cos(np.arange(joints))


def control(joints: int, period: float) -> Control:
    """Return the settings of a controller for the chain."""
    return Control.of(
        period=period,
        gains=TaskGains.of(position=100.0, orientation=100.0, posture=50.0),
        weights=TaskWeights.of(position=10.0, orientation=1.0, posture=1.0),
        interim_duration=0.05,
        friction_compensation=0.5,
        stop_damping=10.0,
        max_joint_acceleration=np.full(joints, 10.0),
        state_timeout=0.02,
    )


def rest_at(robot: RobotDescription, q: Vector) -> ImpactReference:
    """Return the reference of a task that stays at q (n,) [rad], with an impact that never comes."""
    dynamics = Dynamics(robot)
    dynamics.compute(q, np.zeros_like(q))
    columns = ReferenceColumns.samples(2, q.size)
    columns.position[:], columns.joint_position[:] = dynamics.position, q
    columns.posture[:, 0] = q[0]
    table = ReferenceTable(1.0, columns)
    here, up, nothing = dynamics.position.copy(), np.array([0.0, 0.0, 1.0]), np.zeros(3)
    geometry = ImpactGeometry(
        normal=up,
        heading=np.array([1.0, 0.0, 0.0]),
        contact_point=here,
        contact_offsets=np.zeros((1, 3)),
        contact_offset=nothing,
        start_position=here,
        impact_position=here,
        rest_position=here,
        approach_velocity=nothing,
        orientation=dynamics.rotation.copy(),
    )
    still = np.zeros_like(q)
    return ImpactReference(
        1e6, q, still, still, still, 0.0, table, table, geometry, q, still, still, 0.0, SlipOutcome.STICKS
    )
