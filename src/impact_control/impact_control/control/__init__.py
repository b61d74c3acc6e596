"""QP reference-spreading control: tasks, limits, solver, modes, and what happens when a task is interrupted."""

from impact_control.control.contact_force import SLIDING_SPEED, ContactForce, DesiredForce
from impact_control.control.controller import ReferenceSpreadingController
from impact_control.control.limits import Limit
from impact_control.control.modes import REACTING, RUNNING, Event, Fault, Mode
from impact_control.control.object_force import ObjectForce
from impact_control.control.qp import AccelerationQP, QPStatus
from impact_control.control.torque_law import fault_damping

__all__ = [
    "REACTING",
    "RUNNING",
    "SLIDING_SPEED",
    "AccelerationQP",
    "ContactForce",
    "DesiredForce",
    "Event",
    "Fault",
    "Limit",
    "Mode",
    "ObjectForce",
    "QPStatus",
    "ReferenceSpreadingController",
    "fault_damping",
]
