"""Running for a long time, and with faults at random: which faults there are, and what has to hold whatever happens."""

from impact_control.endurance.faults import COMMANDS, FAULTS, STATES, Fault, FaultKind, draw_fault, gaps_in
from impact_control.endurance.faulty_line import Disturbance, FaultyLine, Order
from impact_control.endurance.records import EnduranceReport, TaskRecord
from impact_control.endurance.watch import ArmWatch

__all__ = [
    "COMMANDS",
    "FAULTS",
    "STATES",
    "ArmWatch",
    "Disturbance",
    "EnduranceReport",
    "Fault",
    "FaultKind",
    "FaultyLine",
    "Order",
    "TaskRecord",
    "draw_fault",
    "gaps_in",
]
