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

from impact_control.compiled import compiled
from impact_control.types import Matrix, Vector

# What becomes of the slip, see `SlipOutcome`.
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

_SMALLEST_MOBILITY_RATIO = 1e-12
"""Tangential mobility below this part of the whole is rounding: the contact cannot move that way."""

_SMALLEST_RESTITUTION = 1e-6
"""Restitution up to this gives back less work than rounding."""

_TOLERANCE = 1e-7
"""Error of one step, as a part of the least impulse that stops the contact: of the embedded solution of order 4."""

_SLIP_TOLERANCE = 1e-2
"""Error of one step, as a part of the least impulse that stops the slip."""

# Cash and Karp 1990, orders 5 and 4. All weights of order 5 are at least 0: a sum of increments in the friction
# cone with such weights is in the cone too, whatever the step.
_STAGES = np.array(
    [
        [0.0, 0.0, 0.0, 0.0, 0.0],
        [1 / 5, 0.0, 0.0, 0.0, 0.0],
        [3 / 40, 9 / 40, 0.0, 0.0, 0.0],
        [3 / 10, -9 / 10, 6 / 5, 0.0, 0.0],
        [-11 / 54, 5 / 2, -70 / 27, 35 / 27, 0.0],
        [1631 / 55296, 175 / 512, 575 / 13824, 44275 / 110592, 253 / 4096],
    ]
)
_WEIGHTS = np.array([37 / 378, 0.0, 250 / 621, 125 / 594, 0.0, 512 / 1771])
_ERROR_WEIGHTS = _WEIGHTS - np.array([2825 / 27648, 0.0, 18575 / 48384, 13525 / 55296, 277 / 14336, 1 / 4])


@compiled
def coulomb_impulse(
    mobility: Matrix, velocity: Vector, friction: float, restitution: float, impulse: Vector
) -> tuple[int, bool]:
    """Write the impulse P (3,) [Ns] of the impact to `impulse`; return what became of the slip, and whether it jammed.

    Contact axes: normal first, then two tangents. mobility G (3, 3) [1/kg], symmetric, at least semidefinite;
    velocity v^- (3,) [m/s] of the contact point, in the range of G, v^-[0] < 0; friction mu at least 0;
    restitution e in [0, 1]. The input is not checked. Jammed: friction drove the contact into the surface for
    a part of the impact. Stronge 2000, which Wang 2022 cites as [6].
    """
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
            sticks = _direction_at_rest(mobility, friction, direction)
            if slip <= smallest_slip:
                stuck = sticks
            elif sticks:
                limit = _aim_at_rest(mobility, v, friction, direction)
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
        if stuck and change_n <= _SMALLEST_MOBILITY_RATIO * mobility[0, 0]:
            solved = True  # Wedged: no impulse in the cone moves the contact any more.
            break
        jammed = jammed or change_n < 0.0

        ended = True  # closing or opening
        if straight:
            missing = target - _normal_work(state, velocity, v)
            length = _length_to_end(v[0], change_n, closing, missing)
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
            error = _curved_step(state, velocity, mobility, friction, step, rates, trial)
            # A small slip has to keep its direction: errors as large as itself would keep it alive.
            allowed = min(tolerance, _SLIP_TOLERANCE * slip / largest)
            if error > allowed:
                step *= max(0.2, 0.9 * (allowed / error) ** 0.2)
                continue
            if _beyond_end(trial, velocity, mobility, closing, target) < 0.0:
                ended = False
                step *= min(4.0, 0.9 * (allowed / (error + 1e-6 * allowed)) ** 0.2)
            else:
                _step_to_end(state, velocity, mobility, friction, step, closing, target, rates, trial)
            for i in range(4):
                state[i] = trial[i]

        for i in range(3):
            v[i] = velocity[i] + mobility[i, 0] * state[0] + mobility[i, 1] * state[1] + mobility[i, 2] * state[2]
        if ended and closing:
            target = (1.0 - restitution**2) * _normal_work(state, velocity, v)
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


@compiled
def _principal_axes(mobility: Matrix) -> tuple[float, float, float, float]:
    """Return cosine and sine of the angle of the principal axes of G_TT, and the mobilities along them.

    A mobility that is rounding is returned as infinite: what is divided by it vanishes.
    """
    mean = 0.5 * (mobility[1, 1] + mobility[2, 2])
    angle = 0.5 * math.atan2(2.0 * mobility[1, 2], mobility[1, 1] - mobility[2, 2])
    radius = math.hypot(0.5 * (mobility[1, 1] - mobility[2, 2]), mobility[1, 2])
    smallest = _SMALLEST_MOBILITY_RATIO * (mobility[0, 0] + 2.0 * mean)
    first = mean + radius if mean + radius > smallest else math.inf
    second = mean - radius if mean - radius > smallest else math.inf
    return math.cos(angle), math.sin(angle), first, second


@compiled
def _direction_at_rest(mobility: Matrix, friction: float, direction: Vector) -> bool:
    """Write the impulse per normal impulse of a contact that does not slip now; return whether it sticks.

    It sticks where the friction that keeps the slip zero, t = -G_TT^-1 G_TN, is in the cone. Else it starts to
    slip in the one direction u that it then keeps: G_TN - mu G_TT u = rate u, u = (mu G_TT + rate)^-1 G_TN
    of length 1 with rate > 0; its length falls with the rate, so there is one.
    """
    cosine, sine, mobility_1, mobility_2 = _principal_axes(mobility)
    drive_1 = cosine * mobility[1, 0] + sine * mobility[2, 0]
    drive_2 = cosine * mobility[2, 0] - sine * mobility[1, 0]
    along_1, along_2 = -drive_1 / mobility_1, -drive_2 / mobility_2
    sticks = math.hypot(along_1, along_2) <= friction
    if not sticks:
        if mobility_1 == math.inf:
            mobility_1, drive_1 = 1.0, 0.0
        if mobility_2 == math.inf:
            mobility_2, drive_2 = 1.0, 0.0
        low, high = 0.0, math.hypot(drive_1, drive_2)
        for _ in range(60):
            rate = 0.5 * (low + high)
            if math.hypot(drive_1 / (friction * mobility_1 + rate), drive_2 / (friction * mobility_2 + rate)) > 1.0:
                low = rate
            else:
                high = rate
        along_1 = -friction * drive_1 / (friction * mobility_1 + high)
        along_2 = -friction * drive_2 / (friction * mobility_2 + high)
    direction[0] = 1.0
    direction[1] = cosine * along_1 - sine * along_2
    direction[2] = sine * along_1 + cosine * along_2
    return sticks


@compiled
def _aim_at_rest(mobility: Matrix, velocity: Vector, friction: float, direction: Vector) -> float:
    """Turn `direction`, in which a contact would stick, into the one that ends its slip; return how long that takes.

    With the friction impulse -G_TT^-1 s + t p after the normal impulse p the slip is zero; the least p for which that
    is in the cone. There is one, as the slip shrinks with p by at least mu - |t| (in the norm of G_TT^-1).
    """
    cosine, sine, mobility_1, mobility_2 = _principal_axes(mobility)
    stop_1 = -(cosine * velocity[1] + sine * velocity[2]) / mobility_1
    stop_2 = -(cosine * velocity[2] - sine * velocity[1]) / mobility_2
    first, second = cosine * stop_1 - sine * stop_2, sine * stop_1 + cosine * stop_2
    # (mu^2 - t^2) p^2 - 2 (t stop) p - stop^2 = 0
    square = friction**2 - direction[1] ** 2 - direction[2] ** 2
    half = direction[1] * first + direction[2] * second
    if square <= 0.0:
        return math.inf
    length: float = (half + math.sqrt(half**2 + square * (first**2 + second**2))) / square
    if length > 0.0:
        direction[1] += first / length
        direction[2] += second / length
    return length


@compiled
def _normal_work(state: Vector, before: Vector, now: Vector) -> float:
    """Return the work of the normal force until now [J], at most 0: change of kinetic energy plus loss in friction.

    Taken from the energy of the whole impact, so that its balance holds however accurate the steps were.
    """
    total: float = state[3]
    for i in range(3):
        total += 0.5 * state[i] * (before[i] + now[i])
    return total


@compiled
def _length_to_end(normal_velocity: float, change: float, closing: bool, missing: float) -> float:
    """Return the normal impulse [Ns] after which closing or opening ends, where v_N grows by `change` per impulse.

    Closing ends with v_N = 0, opening when the normal force has done the work `missing` [J]; infinite: it does not.
    """
    length: float = math.inf
    if closing:
        if change > 0.0:
            length = -normal_velocity / change
        return length
    square = normal_velocity**2 + 2.0 * change * missing
    mean = normal_velocity + math.sqrt(max(square, 0.0))  # twice the mean of v_N until then
    if square >= 0.0 and mean > 0.0:
        length = 2.0 * missing / mean
    return length


@compiled
def _curved_step(
    state: Vector, velocity: Vector, mobility: Matrix, friction: float, step: float, rates: Matrix, trial: Vector
) -> float:
    """Write the state after one step to `trial`; return its estimated error [Ns].

    Along the variable tau with dp = |slip| dtau the slip obeys d slip = (|slip| G_TN - mu G_TT slip) dtau:
    smooth however small the slip gets, which along p it is not.
    """
    for stage in range(6):
        for i in range(4):
            total = 0.0
            for j in range(stage):
                total += _STAGES[stage, j] * rates[i, j]
            trial[i] = state[i] + step * total
        v_n = velocity[0]
        v_1 = velocity[1]
        v_2 = velocity[2]
        for i in range(3):
            v_n += mobility[0, i] * trial[i]
            v_1 += mobility[1, i] * trial[i]
            v_2 += mobility[2, i] * trial[i]
        slip = math.sqrt(v_1 * v_1 + v_2 * v_2)
        rates[0, stage] = slip
        rates[1, stage] = -friction * v_1
        rates[2, stage] = -friction * v_2
        rates[3, stage] = friction * slip * slip
    error = 0.0
    for i in range(4):
        increment = 0.0
        difference = 0.0
        for stage in range(6):
            increment += _WEIGHTS[stage] * rates[i, stage]
            difference += _ERROR_WEIGHTS[stage] * rates[i, stage]
        trial[i] = state[i] + step * increment
        if i < 3:
            error = max(error, abs(step * difference))
    return error


@compiled
def _beyond_end(state: Vector, velocity: Vector, mobility: Matrix, closing: bool, target: float) -> float:
    """Return a number that turns positive where closing or opening ends: normal velocity, or work over the target."""
    now = np.empty(3)
    for i in range(3):
        now[i] = velocity[i] + mobility[i, 0] * state[0] + mobility[i, 1] * state[1] + mobility[i, 2] * state[2]
    beyond: float = now[0]
    return beyond if closing else _normal_work(state, velocity, now) - target


@compiled
def _step_to_end(
    state: Vector,
    velocity: Vector,
    mobility: Matrix,
    friction: float,
    step: float,
    closing: bool,
    target: float,
    rates: Matrix,
    trial: Vector,
) -> None:
    """Write the state at the end of closing or opening, inside the step, to `trial`. Regula falsi, Illinois."""
    low, high = 0.0, step
    value_low = _beyond_end(state, velocity, mobility, closing, target)
    value_high = _beyond_end(trial, velocity, mobility, closing, target)
    accepted = 1e-12 * -value_low
    side = 0
    for _ in range(60):
        part = high - value_high * (high - low) / (value_high - value_low)
        _curved_step(state, velocity, mobility, friction, part, rates, trial)
        value = _beyond_end(trial, velocity, mobility, closing, target)
        if abs(value) <= accepted:
            return
        if value < 0.0:
            low, value_low = part, value
            if side < 0:
                value_high *= 0.5
            side = -1
        else:
            high, value_high = part, value
            if side > 0:
                value_low *= 0.5
            side = 1
