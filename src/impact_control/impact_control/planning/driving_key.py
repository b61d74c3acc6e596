"""The entry of a scenario that determines the load of a joint in a sample of a reference."""

from __future__ import annotations

import numpy as np

from impact_control.planning.arm_plan import ArmPlan
from impact_control.planning.knobs import key_of
from impact_control.planning.limit_use import ANTE, Quantity
from impact_control.references import ReferenceColumns, task_jacobian
from impact_control.robots import Dynamics


def driving_key(plan: ArmPlan, quantity: Quantity, reference: str, row: int, joint: int) -> str:
    """Return the dotted key; row: number of the sample, joint: of the joint, both from 0.

    The way drives positions, the time that is given for it the other quantities, the force a torque of which it is the
    larger part.
    """
    table = plan.reference.ante if reference == ANTE else plan.reference.post
    early = row * table.period <= plan.reference.nominal_impact_time
    desired = ReferenceColumns(table.columns.data[row], table.columns.joints)
    if reference == ANTE and quantity is Quantity.POSITION:
        key = "task.ante.distance" if early else "task.ante.extension_depth"
    elif reference == ANTE:
        key = key_of("speed", plan.name) if early else "task.ante.extension_duration"
    elif quantity is Quantity.POSITION:
        key = key_of("joint_1" if early else "slide", plan.name)
    elif quantity is Quantity.TORQUE and _force_prevails(plan, desired, joint):
        key = "task.post.force"
    elif early:
        key = "task.post.lead"
    else:
        key = "task.post.settle_duration" if _turning_prevails(plan, desired, joint) else "task.post.duration"
    return key


def _force_prevails(plan: ArmPlan, desired: ReferenceColumns, joint: int) -> bool:
    """Return whether the desired force takes more torque of the joint than the motion does."""
    dynamics, torque = Dynamics(plan.robot), np.zeros(desired.joints)
    dynamics.compute(desired.joint_position, desired.joint_velocity)
    plan.force.exert(1.0, desired, dynamics.jacobian, np.zeros(6), torque)
    inertia = dynamics.mass_matrix[joint] @ desired.joint_acceleration
    motion = inertia + plan.robot.transmission.reduced_motor_inertia[joint] * desired.joint_acceleration[joint]
    return bool(abs(torque[joint]) > abs(motion))


def _turning_prevails(plan: ArmPlan, desired: ReferenceColumns, joint: int) -> bool:
    """Return whether orientation and joint 1 accelerate the joint more than the path of the end-effector does."""
    dynamics = Dynamics(plan.robot)
    dynamics.compute(desired.joint_position, desired.joint_velocity)
    row = np.linalg.lstsq(task_jacobian(dynamics.jacobian).T, np.eye(desired.joints)[joint], rcond=None)[0]
    turning = row[3:6] @ desired.angular_acceleration + row[6] * desired.posture[2]
    return bool(abs(turning) > abs(row[:3] @ desired.acceleration))
