"""Modes of the controller, the events that change them, and faults."""

from __future__ import annotations

from enum import IntEnum


class Mode(IntEnum):
    """Mode of the controller; constants of impact_msgs/ControllerReference."""

    IDLE = 0
    ANTE = 1
    INTERIM = 2
    POST = 3
    STOPPED = 4
    FAULT = 5
    PULL_BACK = 6
    ADMITTANCE = 7
    RESUME = 8
    MOVE = 9


RUNNING = (Mode.ANTE, Mode.INTERIM, Mode.POST)
"""Modes in which the references of a task are followed at full speed, and its impacts are judged."""

REACTING = (Mode.PULL_BACK, Mode.ADMITTANCE, Mode.RESUME)
"""Modes in which a reaction to a verdict is under way."""


class Event(IntEnum):
    """Event that may change the mode, see `mode_machine`; STOP to RESUME are those of a reaction.

    RESUMED: the controller has taken the arm all the way back into the task, whose clock runs at full speed again.
    """

    RESET = 0
    START = 1
    IMPACT = 2
    CONTACT_CLOSED = 3
    STOP = 4
    PULL_BACK = 5
    YIELD_TO_ANTE = 6
    YIELD_TO_POST = 7
    RESUME = 8
    RESUMED = 9
    FAIL = 10
    MOVE = 11


class Fault(IntEnum):
    """Reason of Mode.FAULT; constants of impact_msgs/ControllerStatus."""

    NONE = 0
    STATE_NOT_FINITE = 1
    STATE_WRONG_SIZE = 2
    STATE_JOINT_NAMES = 3
    STATE_STALE = 4
    STATE_OUT_OF_LIMITS = 5
    QP_FAILED = 6
    INTERNAL = 7
    SUPERVISOR_STOP = 8
    SUPERVISOR_LOST = 9
    STATE_CONTRADICTORY = 10
    STATE_SOURCES = 11
    RESULT_SOURCES = 12
