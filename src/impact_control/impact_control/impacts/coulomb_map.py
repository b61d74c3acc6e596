"""Impulse of one rigid contact under Coulomb's law at every instant of the impact, in three dimensions.

The impact is followed along its normal impulse p (Routh's method): with the contact velocity v = v^- + G P, the
tangential impulse grows by -mu dp against the slip of that instant, so that the slip may turn, stop, stick or go
on the other way. Restitution is Stronge's: after compression, the normal force gives back e^2 of the work it took
until then. Without friction that is v_N^+ = -e v_N^-.

Why not one algebraic step, stick or else slide against the slip after the impact: all friction then acts in the final
direction, also what acted before the slip turned around, and with Newton's restitution even a contact that sticks can
gain energy. Followed along p, friction never does positive work and the normal force gives back at most what it took:
no impact gains energy, whatever e and mu are. A slip that keeps its direction is Rey Arias 2024 (16) in both.

Jamming, G_NN - mu G_NT u < 0 with u the direction of the slip, is no dead end here: friction then drives the
contact in faster than the normal force drives it out, and compression goes on. But v_N - mu |slip| grows with p by
(n - mu u)^T G (n - mu u) > 0, so that in the end the slip ends or the jamming does, and the compression after it.
"""

from __future__ import annotations

import math

import numpy as np

from impact_control.impacts.curved_slip import curved_step, step_to_end
from impact_control.impacts.impact_phases import SingleContact, beyond_end, length_to_end, normal_work
from impact_control.impacts.slip_at_rest import SMALLEST_MOBILITY_RATIO, aim_at_rest, direction_at_rest
from impact_control.util.compiled import compiled
from impact_control.util.types import Matrix, Vector

# Outcomes of the slip, see `SlipOutcome`.
SLIPS, STICKS, REVERSES = range(3)

UNSOLVED = -1
"""Instead of an outcome: the slip cannot be followed in a reasonable number of steps."""

_MOST_STEPS = 10_000
"""Some milliseconds. Exceeded where the contact moves some ten thousand times more easily along one tangent than along
the other, and slips along both."""

_SMALL_SLIP_RATIO = 1e-2
"""Slip below this part of the contact speed before the impact may be about to stop."""

SMALLEST_SLIP_RATIO = 1e-9
"""Slip below this part of the contact speed before the impact is rounding: it has no direction."""

_SMALLEST_TURN_RATIO = 1e-10
"""Change of the slip across itself, below this part of the whole change: it goes straight."""

_SMALLEST_RESTITUTION = 1e-6
"""Restitution up to this gives back less work than rounding."""

_TOLERANCE = 1e-7
"""Error of one step, as a part of the least impulse that stops the contact: of the embedded solution of order 4."""

_SLIP_TOLERANCE = 1e-2
"""Error of one step, as a part of the least impulse that stops the slip."""


@compiled
def coulomb_impulse(
    mobility: Matrix, velocity: Vector, friction: float, restitution: float, impulse: Vector
) -> tuple[int, bool]:
    """Write the impulse P (3,) [Ns] of the impact to `impulse`; return the outcome of the slip, and whether it jammed.

    Contact axes: normal first, then two tangents. mobility G (3, 3) [1/kg], symmetric, at least semidefinite;
    velocity v^- (3,) [m/s] of the contact point, in the range of G, v^-[0] < 0; friction mu at least 0;
    restitution e in [0, 1]. The input is not checked. Jammed: friction drove the contact into the surface for
    a part of the impact. Stronge 2000, which Wang 2022 cites as [6].
    """
    contact = SingleContact(velocity, mobility, friction)
    speed = math.sqrt(velocity[0] ** 2 + velocity[1] ** 2 + velocity[2] ** 2)
    smallest_slip = SMALLEST_SLIP_RATIO * speed
    state = np.zeros(4)  # P, and the energy that friction has taken
    trial = np.zeros(4)
    rates = np.zeros((4, 6))
    v = velocity.copy()
    direction = np.zeros(3)
    largest = mobility[0, 0] + mobility[1, 1] + mobility[2, 2]
    step = 0.25 / (largest * (1.0 + friction))
    tolerance = _TOLERANCE * -velocity[0] / largest
    target = 0.0  # work of the normal force when opening ends
    closing = True
    stuck = False
    jammed = False
    solved = False
    for _ in range(_MOST_STEPS):
        slip = math.hypot(v[1], v[2])
        # Where the contact goes: along `direction` for as much normal impulse as `limit`, or on a curve.
        limit = math.inf
        straight = True
        stuck = False
        stopping = False
        if slip <= _SMALL_SLIP_RATIO * speed:
            sticks = direction_at_rest(mobility, friction, direction)
            if slip <= smallest_slip:
                stuck = sticks
            elif sticks:
                limit = aim_at_rest(mobility, v, friction, direction)
                # What is left to lose in friction is too little for the way there to matter.
                stopping = friction * limit * slip <= _TOLERANCE * velocity[0] ** 2 / largest
        slides = slip > smallest_slip and not stopping
        if slides:
            limit = math.inf
            _slide_direction(v, slip, friction, direction)
        change_n = mobility[0, 0] + mobility[0, 1] * direction[1] + mobility[0, 2] * direction[2]
        if slides and friction > 0.0:
            change_1 = mobility[1, 0] + mobility[1, 1] * direction[1] + mobility[1, 2] * direction[2]
            change_2 = mobility[2, 0] + mobility[2, 1] * direction[1] + mobility[2, 2] * direction[2]
            along = (change_1 * v[1] + change_2 * v[2]) / slip
            across = (change_2 * v[1] - change_1 * v[2]) / slip
            straight = abs(across) <= _SMALLEST_TURN_RATIO * (abs(along) + abs(across))
            if straight and along < 0.0:
                limit = -slip / along
        if stuck and change_n <= SMALLEST_MOBILITY_RATIO * mobility[0, 0]:
            solved = True  # Wedged: no impulse in the cone moves the contact any more.
            break
        jammed = jammed or change_n < 0.0

        ended = True  # closing or opening
        if straight:
            missing = target - normal_work(state, velocity, v)
            length = length_to_end(v[0], change_n, closing, missing)
            if limit < (1.0 - SMALLEST_SLIP_RATIO) * length:
                length, ended = limit, False
            for i in range(3):
                state[i] += direction[i] * length
            # The friction impulse at the mean of the slip; it is constant along the length, or the slip is zero.
            change_1 = mobility[1, 0] + mobility[1, 1] * direction[1] + mobility[1, 2] * direction[2]
            change_2 = mobility[2, 0] + mobility[2, 1] * direction[1] + mobility[2, 2] * direction[2]
            loss_1 = direction[1] * (v[1] + 0.5 * change_1 * length)
            loss_2 = direction[2] * (v[2] + 0.5 * change_2 * length)
            state[3] += max(-(loss_1 + loss_2) * length, 0.0)
        else:
            error = curved_step(contact, state, step, rates, trial)
            # A small slip has to keep its direction: errors as large as itself would keep it alive.
            allowed = min(tolerance, _SLIP_TOLERANCE * slip / largest)
            if error > allowed:
                step *= max(0.2, 0.9 * (allowed / error) ** 0.2)
                continue
            if beyond_end(contact, trial, closing, target) < 0.0:
                ended = False
                step *= min(4.0, 0.9 * (allowed / (error + 1e-6 * allowed)) ** 0.2)
            else:
                step_to_end(contact, state, step, closing, target, rates, trial)
            for i in range(4):
                state[i] = trial[i]

        for i in range(3):
            v[i] = velocity[i] + mobility[i, 0] * state[0] + mobility[i, 1] * state[1] + mobility[i, 2] * state[2]
        if ended and closing:
            target = (1.0 - restitution**2) * normal_work(state, velocity, v)
            closing = False
            ended = restitution <= _SMALLEST_RESTITUTION
        if ended:
            solved = True
            break

    for i in range(3):
        impulse[i] = state[i]
    if not solved:
        return UNSOLVED, jammed
    if stuck:
        return STICKS, jammed
    if v[1] * velocity[1] + v[2] * velocity[2] < 0.0:
        return REVERSES, jammed
    return SLIPS, jammed


@compiled
def _slide_direction(velocity: Vector, slip: float, friction: float, direction: Vector) -> None:
    """Write the impulse per normal impulse of a slipping contact, n - mu u."""
    direction[0] = 1.0
    direction[1] = -friction * velocity[1] / slip
    direction[2] = -friction * velocity[2] / slip
