"""QP reference-spreading control: tasks, limits, solver, modes, and what happens when a task is interrupted."""

from impact_control.control.contact_force import SLIDING_SPEED, ContactForce, DesiredForce
from impact_control.control.controller import ReferenceSpreadingController
from impact_control.control.limits import Limit
from impact_control.control.mode_machine import FurtherImpacts, ImpactCourse, ImpactStrategy, InterimEnd
from impact_control.control.modes import RUNNING, Event, Fault, Mode
from impact_control.control.object_force import ObjectForce
from impact_control.control.parameters import ControlParameters
from impact_control.control.qp import AccelerationQP, QPStatus

__all__ = [
    "RUNNING",
    "SLIDING_SPEED",
    "AccelerationQP",
    "ContactForce",
    "ControlParameters",
    "DesiredForce",
    "Event",
    "Fault",
    "FurtherImpacts",
    "ImpactCourse",
    "ImpactStrategy",
    "InterimEnd",
    "Limit",
    "Mode",
    "ObjectForce",
    "QPStatus",
    "ReferenceSpreadingController",
]
