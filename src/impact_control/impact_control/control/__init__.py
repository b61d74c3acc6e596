"""QP reference-spreading control: tasks, limits, solver, modes."""

from impact_control.control.contact_force import ContactForce
from impact_control.control.controller import ControlParameters, Fault, Mode, ReferenceSpreadingController
from impact_control.control.qp import AccelerationQP, QPStatus

__all__ = [
    "AccelerationQP",
    "ContactForce",
    "ControlParameters",
    "Fault",
    "Mode",
    "QPStatus",
    "ReferenceSpreadingController",
]
