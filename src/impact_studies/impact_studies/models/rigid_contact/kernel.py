"""Smooth motion between the events of a rigid contact: one sample of an arm in compiled code.

The classical Runge-Kutta scheme of fourth order with a fixed step. It is shorter only where the joints are so stiff
that they ask for that, where friction turns the slip of a point quickly, as it does in three dimensions before the
point stops, and where a backlash begins or ends. Each stage evaluates the rigid-body terms, the transmission where
there is one, and the forces of the closed contacts. An event ends the smooth motion: a point that touches, leaves,
starts to slip or stops. A step after which one is due is repeated with bisected length until the event is located to
rounding; the caller deals with it and enters again.
"""

from __future__ import annotations

import math
from typing import Any

from impact_control.util.compiled import compiled, compiled_in_place
from impact_control.util.types import Matrix, Vector
from impact_studies.models.rigid_contact.arm_drive import LINK_STATE, STATE, actuate, fastest_mode, time_to_any_edge
from impact_studies.models.rigid_contact.forces import SHORTEST_STEP
from impact_studies.models.rigid_contact.system import (
    RigidSystem,
    accelerate,
    copy_rows,
    is_known,
    locate,
    rigid_system,
)

_END, _BEGIN, _SUM = STATE, 2 * STATE, 3 * STATE
"""First rows in the scratch of a step, whose start is above them: slope at its end, at its begin, sum of the stages."""

_LARGEST_TURN = 0.25
_LARGEST_DECAY = 0.5
"""Step over the time of the fastest mode of the joints: its oscillation after an impact is resolved."""

_SMALLEST_INTERVAL = 1e-16
_BACKLASH_OVERSHOOT = 0.005
"""Steps that end at the edge of a backlash overshoot it by this part of a whole step."""


@compiled_in_place
def _copy(source: Vector, target: Vector) -> None:
    for i in range(source.size):
        target[i] = source[i]


@compiled_in_place
def _runge_kutta(system: RigidSystem, step: float, rows: int, arm: Matrix) -> tuple[bool, float]:
    """Move the first `rows` of the arm by one step [s].

    It takes the state at the start and the slope there from `system.slopes`, and writes the slope at the end to it.
    Returned: as by `accelerate`, at the end.
    """
    slopes = system.slopes
    start, slope, first, total = slopes[:_END], slopes[_END:_BEGIN], slopes[_BEGIN:_SUM], slopes[_SUM:]
    copy_rows(first, total, rows)
    copy_rows(first, slope, rows)
    due, rate = False, 0.0
    for stage in range(4):
        reach = 0.5 * step if stage < 2 else step
        for r in range(rows):
            for j in range(arm.shape[1]):
                if stage == 3:
                    arm[r, j] = start[r, j] + step / 6.0 * total[r, j]
                else:
                    arm[r, j] = start[r, j] + reach * slope[r, j]
        locate(system, arm, stage == 3)
        due, rate = accelerate(system, arm, slope)
        weight = 1.0 if stage == 2 else 2.0
        for r in range(rows):
            for j in range(arm.shape[1]):
                total[r, j] += weight * slope[r, j]
    return due, rate


@compiled_in_place
def _advance(system: RigidSystem, period: float, steps: int, mode: float, clock: Vector, arm: Matrix) -> bool:
    drive, state, work, slopes = system.joints, system.contacts, system.work, system.slopes
    whole, rows = period / steps, STATE if drive.flexible else LINK_STATE
    start, slope, first = slopes[:_END], slopes[_END:_BEGIN], slopes[_BEGIN:_SUM]
    copy_rows(state.direction, work.slip_direction, state.mode.size)
    fresh, rate = True, 0.0
    while clock[0] < steps:
        ticks = clock[1] == 0.0 and int(clock[0]) * drive.ticks % steps == 0
        if fresh or ticks:
            if not is_known(system, arm):
                locate(system, arm, True)
            if ticks:
                actuate(drive, system.terms, arm)
            due, rate = accelerate(system, arm, first)
            if due:
                return True
            fresh = False
        copy_rows(work.slip_direction, state.direction, state.mode.size)
        copy_rows(arm, start, rows)
        _copy(state.force, system.force)
        remaining = whole - clock[1]
        length = min(remaining, time_to_any_edge(drive, arm) + _BACKLASH_OVERSHOOT * whole)
        if mode * length > _LARGEST_DECAY:
            length /= math.ceil(mode * length / _LARGEST_DECAY)
        if rate * length > _LARGEST_TURN:
            length = min(length, max(_LARGEST_TURN / rate, SHORTEST_STEP))
        shortest, longest, step = 0.0, length, length
        while True:
            # Which way a slow slip goes depends on the last force: from the same one a step ends in the same way.
            _copy(system.force, state.force)
            due, rate = _runge_kutta(system, step, rows, arm)
            if due:
                longest = step
                if longest - shortest <= _SMALLEST_INTERVAL:
                    clock[1] += step
                    return True
            elif step == length:
                break
            else:
                shortest = step
            step = 0.5 * (shortest + longest) if longest - shortest > _SMALLEST_INTERVAL else longest
        copy_rows(slope, first, rows)
        if length == remaining:
            clock[0] += 1.0
            clock[1] = 0.0
        else:
            clock[1] += length
    return False


@compiled
def advance_smooth(fields: tuple[Any, ...], period: float, steps: int, clock: Vector, arm: Matrix) -> bool:
    """Integrate to the end of the sample, or to the next event; return whether there is one.

    fields: see `rigid_system`; the contacts are as they are where the motion ends.
    period [s] of a sample, of `steps` steps. clock (2,): step in the sample, time since its start [s]; carried on.
    arm (7, n): state, command and actuation, see `arm_drive`; without flexible joints only the first two rows of the
    state count.
    """
    system = rigid_system(fields, arm.shape[1])
    mode = 0.0
    if clock[0] < steps:
        if not is_known(system, arm):
            locate(system, arm, True)
        mode = fastest_mode(system.joints, system.terms, system.slopes[_SUM])
    return _advance(system, period, steps, mode, clock, arm)
