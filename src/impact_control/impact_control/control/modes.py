"""What the controller does, and why it gave up: numbers that also stand in the messages."""

from __future__ import annotations

from enum import IntEnum


class Mode(IntEnum):
    """What the controller does; constants of impact_msgs/ControllerReference."""

    IDLE = 0
    ANTE = 1
    INTERIM = 2
    POST = 3
    STOPPED = 4
    FAULT = 5
    PULL_BACK = 6
    ADMITTANCE = 7
    RESUME = 8


RUNNING = (Mode.ANTE, Mode.INTERIM, Mode.POST)
"""Modes in which the references of a task are followed at full speed, and its impacts are judged."""


class Fault(IntEnum):
    """Why it is in Mode.FAULT; constants of impact_msgs/ControllerStatus."""

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
