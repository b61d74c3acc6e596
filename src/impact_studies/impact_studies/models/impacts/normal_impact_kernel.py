"""The motion of a free mass on a normal force law, followed step by step in compiled code.

By Dormand and Prince's pair of orders 5 and 4 with step size control, which stops exactly at the end of compression
and at the end of restitution. The energies are integrated beside the motion.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from impact_control.impacts.contact_laws import EXPONENT, LawKind, normal_force
from impact_control.impacts.contact_laws.kernel import DAMPING, STIFFNESS
from impact_control.util.compiled import compiled
from impact_control.util.types import Matrix, Vector

_MAXWELL = int(LawKind.MAXWELL)

DEPTH, RATE, CREEP, DISSIPATED, WORK = range(5)
STATE_SIZE = 5
"""Columns of the states: depth [m], rate [m/s], creep [m], energy that damping took and work on the contact [J]."""

_MOTION_SIZE = 3

# Dormand, Prince 1980: stages, weights of order 5 (the last row), difference to the weights of order 4.
_STAGES = np.array(
    [
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [1 / 5, 0.0, 0.0, 0.0, 0.0, 0.0],
        [3 / 40, 9 / 40, 0.0, 0.0, 0.0, 0.0],
        [44 / 45, -56 / 15, 32 / 9, 0.0, 0.0, 0.0],
        [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729, 0.0, 0.0],
        [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656, 0.0],
        [35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
    ]
)
_ERROR = np.array([71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40])

MOST_STEPS = 100_000
"""Bound on the steps of one impact: beyond it, the time scales of the law lie too far apart."""

_SIMULATION_TOLERANCE = 1e-12
_SAMPLING_TOLERANCE = 1e-9
# Longest step between which samples are interpolated, in times that the mass takes for the elastic depth.
_SAMPLING_STEP = 0.05
# Of the first energy: with less left, the mass is taken to have stopped (an overdamped Maxwell law never opens).
_ENERGY_OF_REST = 1e-14


def state_scale(parameters: Vector, mass: float, speed: float) -> Vector:
    """Return the size (5,) of depth [m], rate [m/s], creep [m] and energies [J] of an impact without damping."""
    stiffness, _, exponent, _ = parameters.tolist()
    energy = 0.5 * mass * speed**2
    depth = ((exponent + 1.0) * energy / stiffness) ** (1.0 / (exponent + 1.0))
    return np.array([depth, speed, depth, energy, energy])


class FreeMass(NamedTuple):
    """A mass [kg] on the normal force law of a kind with parameters (4,), see `impacts.normal_force`."""

    kind: int
    parameters: Vector
    mass: float


@compiled
def _derivative(body: FreeMass, state: Vector, derivative: Vector) -> float:
    """Write the derivative of the state, of its motion alone if it is (3,), and return the force [N]."""
    kind, parameters, mass = body
    depth = state[DEPTH]
    rate = state[RATE]
    creep_rate = 0.0
    force: float
    if kind == _MAXWELL:
        force = parameters[STIFFNESS] * max(depth - state[CREEP], 0.0)
        creep_rate = force / parameters[DAMPING]
    else:
        force = normal_force(kind, parameters, depth, rate)
    derivative[DEPTH] = rate
    derivative[RATE] = -force / mass
    derivative[CREEP] = creep_rate
    if state.shape[0] == STATE_SIZE:
        if kind == _MAXWELL:
            derivative[DISSIPATED] = force * creep_rate
        else:
            derivative[DISSIPATED] = (force - normal_force(kind, parameters, depth, 0.0)) * rate
        derivative[WORK] = force * rate
    return force


@compiled
def _step(body: FreeMass, state: Vector, step: float, scale: Vector, slopes: Matrix, following: Vector) -> float:
    """Write the state after `step` to `following`, return the estimated error over `scale`. slopes (7, state): work."""
    for stage in range(7):
        for i in range(state.shape[0]):
            rise = 0.0
            for j in range(stage):
                rise += _STAGES[stage, j] * slopes[j, i]
            following[i] = state[i] + step * rise
        _derivative(body, following, slopes[stage])
    worst = 0.0
    for i in range(state.shape[0]):
        error = 0.0
        for j in range(7):
            error += _ERROR[j] * slopes[j, i]
        worst = max(worst, abs(step * error) / scale[i])
    return worst


@compiled
def _next_step(step: float, error: float, tolerance: float) -> float:
    """Return the step that meets the tolerance by the order of the pair, within a fifth to five times `step`."""
    if not error > 0.0:
        return 5.0 * step
    factor: float = 0.9 * (tolerance / error) ** 0.2
    return step * min(5.0, max(0.2, factor))


@compiled
def _event(which: int, state: Vector) -> float:
    """Return what is positive before the event: the rate before the turn (0), the spring's depth before opening (1)."""
    if which == 0:
        return float(state[RATE])
    return float(state[DEPTH] - state[CREEP])


@compiled
def follow_impact(
    kind: int, parameters: Vector, mass: float, speed: float, scale: Vector, times: Vector, states: Matrix
) -> tuple[int, int, bool]:
    """Write times and states of an impact; return how many, the index of the turn (-1: none), whether it opened.

    The number is 0 if the arrays are too short.
    """
    body = FreeMass(kind, parameters, mass)
    slopes = np.empty((7, STATE_SIZE))
    following = np.empty(STATE_SIZE)
    state = states[0]
    state[:] = 0.0
    state[RATE] = speed
    times[0] = 0.0
    turn = -1
    step = 1e-3 * scale[DEPTH] / speed
    exponent = parameters[EXPONENT]
    count = 1
    for _ in range(10 * times.shape[0]):
        if count == times.shape[0]:
            break
        error = _step(body, state, step, scale, slopes, following)
        if not error <= _SIMULATION_TOLERANCE:
            step = _next_step(step, error, _SIMULATION_TOLERANCE) if error > 0.0 else 0.2 * step
            continue
        taken = step
        step = _next_step(step, error, _SIMULATION_TOLERANCE)
        which = 0 if turn < 0 else 1
        event = _event(which, following) <= 0.0
        if event:
            low, high = 0.0, taken
            for _ in range(60):
                taken = 0.5 * (low + high)
                _step(body, state, taken, scale, slopes, following)
                if _event(which, following) > 0.0:
                    low = taken
                else:
                    high = taken
        times[count] = times[count - 1] + taken
        states[count] = following
        state = states[count]
        count += 1
        if event and which == 1:
            return count, turn, True
        if event:
            turn = count - 1
        spring = max(state[DEPTH] - state[CREEP], 0.0)
        stored = parameters[STIFFNESS] * spring ** (exponent + 1.0) / (exponent + 1.0)
        if 0.5 * mass * state[RATE] ** 2 + stored < _ENERGY_OF_REST * scale[WORK]:
            return count, turn, False
    return 0, -1, False


@compiled
def _interpolate(
    part: float, step: float, state: Vector, slope: Vector, following: Vector, slope_after: Vector, between: Vector
) -> None:
    """Write the state at the part [0, 1] of a step by the cubic that meets values and slopes at both ends."""
    rest = 1.0 - part
    for i in range(between.shape[0]):
        line = rest * state[i] + part * following[i]
        change = following[i] - state[i]
        bend = rest * (step * slope[i] - change) + part * (change - step * slope_after[i])
        between[i] = line + part * rest * bend


@compiled
def sample_impact_force(
    kind: int, parameters: Vector, mass: float, speed: float, scale: Vector, time: Vector, force: Vector
) -> bool:
    """Write the force (m,) [N] at the ascending times (m,) [s] since first contact; False if it cannot be followed.

    The kernel of `sample_normal_impact`, open to parameters that the law objects refuse; its steps are chosen by
    scale (5,), see `state_scale`.
    """
    body = FreeMass(kind, parameters, mass)
    slopes = np.empty((7, _MOTION_SIZE))
    following = np.empty(_MOTION_SIZE)
    between = np.empty(_MOTION_SIZE)
    unused = np.empty(_MOTION_SIZE)
    state = np.zeros(_MOTION_SIZE)
    state[RATE] = speed
    now = 0.0
    longest = _SAMPLING_STEP * scale[DEPTH] / speed
    step = 0.1 * longest
    force[:] = 0.0
    sample = int(np.searchsorted(time, 0.0, side="right"))
    for _ in range(MOST_STEPS):
        if sample == time.shape[0] or state[DEPTH] < state[CREEP]:
            return True
        error = _step(body, state, step, scale, slopes, following)
        if not error <= _SAMPLING_TOLERANCE:
            step = _next_step(step, error, _SAMPLING_TOLERANCE) if error > 0.0 else 0.2 * step
            continue
        while sample < time.shape[0] and time[sample] <= now + step:
            part = (time[sample] - now) / step
            _interpolate(part, step, state, slopes[0], following, slopes[6], between)
            force[sample] = _derivative(body, between, unused)
            sample += 1
        now += step
        state[:] = following
        step = min(longest, _next_step(step, error, _SAMPLING_TOLERANCE))
    return False
