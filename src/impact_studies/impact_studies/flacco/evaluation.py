"""Crossings of a gap, alarms of a residual, and which contacts it finds."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from impact_control.robots import RobotDescription, load_robot
from impact_control.util.types import Matrix, Vector
from impact_studies.flacco.arm import HangingArm, Mechanism, Recording, Terms, simulate
from impact_studies.flacco.experiments import (
    DETECTION_GAIN,
    Contact,
    Drive,
    backlash_residual,
    classical_residual,
    identify,
    no_load,
    sinusoids,
)
from impact_studies.models.observation.backlash_identification import GapMeasurement
from impact_studies.models.observation.backlash_model import BacklashModel
from impact_studies.models.observation.first_order_filter import low_pass_series

AFTER = 5.0 / DETECTION_GAIN
"""[s] in which a residual forgets all but 0.7 %: an alarm that late still belongs to what was before."""

START = 0.3
"""[s] of a recording that are left out: the links fall to the edge of their gaps."""

MARGIN = 2.0
"""Threshold over the largest residual of a motion without contact."""

_POINTS, _CREEP = 40, 5.0
"""Points of the mean over the noise; speeds up to which it is looked at, over the slip speed."""


def creep_allowance(model: BacklashModel, motor_velocity: Matrix) -> Vector:
    """Return what a residual may be wrong by (n,) [Nm] while a motor creeps: noise takes from its dry friction.

    The mean of tanh(v / s) with noise in v is below it, the more so where it bends: at most by a part that depends on
    the noise only. A motor creeps to rest through all these speeds after a contact, which no recording without
    contact shows. motor_velocity: (m, n) [rad/s] of motors at rest; what changes from a sample to the next is noise.
    """
    noise = np.std(np.diff(motor_velocity, axis=0), axis=0) / np.sqrt(2.0)
    points, weights = np.polynomial.hermite_e.hermegauss(_POINTS)
    speeds = np.linspace(0.0, _CREEP * model.slip_speed, 10 * _POINTS)[:, None]
    lost = np.zeros_like(model.motor_dry)
    for j, deviation in enumerate(noise):
        mean = np.tanh((speeds + deviation * points) / model.slip_speed) @ weights / np.sum(weights)
        lost[j] = np.max(np.tanh(speeds[:, 0] / model.slip_speed) - mean)
    allowance: Vector = np.abs(model.motor_dry) * lost
    return allowance


def thresholds(allowance: Vector, *runs: tuple[Matrix, Vector]) -> Vector:
    """Return thresholds (n,) [Nm] from residuals (m, n) without contact, each with its time (m,) [s].

    allowance: (n,) [Nm] of `creep_allowance`, above what the residuals ask for.
    """
    largest = [np.max(np.abs(residual[time > START]), axis=0) for residual, time in runs]
    return np.asarray(MARGIN * np.max(largest, axis=0) + allowance, dtype=np.float64)


def crossings(deflection: Vector, gap: float) -> list[tuple[int, int]]:
    """Return first and last sample of each way from one edge of the gap to the other.

    deflection phi (m,) [rad], true; gap alpha [rad]. A link that comes back to the edge it left has not crossed.
    """
    edges = np.flatnonzero(np.abs(deflection) >= gap)
    sides = np.sign(deflection[edges])
    changes = np.flatnonzero(sides[1:] != sides[:-1])
    return [(int(edges[i]) + 1, int(edges[i + 1])) for i in changes] if gap > 0.0 else []


@dataclass(frozen=True)
class CrossingCount:
    """Crossings of one joint's gap, and in how many of them its residual passed the threshold."""

    crossings: int
    classical: int
    backlash: int


def count_crossings(
    deflection: Matrix, gap: Vector, time: Vector, classical: Matrix, backlash: Matrix, threshold: Vector
) -> list[CrossingCount]:
    """Return the counts for each joint; arrays (m, n), time (m,) [s], gap and threshold (n,).

    An alarm belongs to a crossing from its first sample to 1 / `DETECTION_GAIN` after the last.
    """
    tail = round(1.0 / DETECTION_GAIN / (time[1] - time[0]))
    counts = []
    for j in range(gap.size):
        found = [ends for ends in crossings(deflection[:, j], gap[j]) if time[ends[0]] > START]
        alarms = [
            sum(bool(np.any(np.abs(residual[a : b + tail + 1, j]) > threshold[j])) for a, b in found)
            for residual in (classical, backlash)
        ]
        counts.append(CrossingCount(len(found), *alarms))
    return counts


def alarm_count(residual: Matrix, time: Vector, threshold: Vector, contacts: tuple[Contact, ...] = ()) -> int:
    """Return how many times a residual (m, n) rises above its threshold (n,) [Nm] without a contact.

    Alarms in different joints less than `AFTER` apart are one.
    """
    alarm = _alarms(residual, time, threshold)
    for contact in contacts:
        alarm &= ~((time >= contact.start) & (time <= contact.end + AFTER))
    stamps = time[alarm]
    return int(np.count_nonzero(np.diff(stamps, prepend=-np.inf) > AFTER))


def delay(residual: Matrix, time: Vector, threshold: Vector, contact: Contact) -> float | None:
    """Return after how long [s] a contact raises an alarm, or None when it does not while it lasts."""
    during = _alarms(residual, time, threshold) & (time >= contact.start) & (time <= contact.end)
    return float(time[np.argmax(during)]) - contact.start if np.any(during) else None


def _alarms(residual: Matrix, time: Vector, threshold: Vector) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = np.any(np.abs(residual) > threshold, axis=1) & (time > START)
    return found


AMPLITUDE, FREQUENCY = 0.5, 0.25
"""[rad], [Hz] of the motor's sine. Our choice."""

_NONE = np.zeros(1)

JOINT = BacklashModel(
    gap=np.array([0.1]),
    stiffness=np.array([1500.0]),
    damping=np.array([20.0]),
    gap_viscous=_NONE,
    gap_dry=_NONE,
    link_viscous=_NONE,
    link_dry=_NONE,
    motor_viscous=_NONE,
    motor_dry=_NONE,
)
"""Its gap is that of Fig. 2; no friction, which the source brings in only later. The rest is our choice."""

MASS, LEVER, INERTIA = 1.0, 0.5, 0.1
"""[kg], [m] of the link, [kg m^2] of the motor. Our choice."""

_GRAVITY = 9.81
"""[m/s^2]"""


class Pendulum(Mechanism):
    """A point mass that hangs from one joint."""

    def __init__(self) -> None:
        super().__init__(np.array([INERTIA]), np.zeros(1))

    def terms(self, q: Vector, dq: Vector) -> Terms:
        """Return the terms of the link at q (1,) [rad] from hanging down; a single joint has no Coriolis torque."""
        return Terms(np.full((1, 1), MASS * LEVER**2), _NONE, _NONE, MASS * _GRAVITY * LEVER * np.sin(q))


def record_swing(duration: float) -> Recording:
    """Record the joint without noise while its motor follows the sine for `duration` [s]."""
    sine = sinusoids(np.array([[AMPLITUDE]]), np.array([[FREQUENCY]]), np.zeros((1, 1)), centre=np.zeros(1))
    return simulate(Pendulum(), JOINT, sine, no_load, duration, np.random.default_rng(0), noise=0.0)


@dataclass(frozen=True, eq=False)
class Swing:
    """Residuals of the single joint [Nm] beside its recording.

    Attributes:
        recording: of `record_swing`.
        classical, backlash: residuals (2) and (12) (m,).
        untransmitted: the torque on the link less the one that (2) assumes, through the filter of the residual (m,).
        inside: largest classical residual in each crossing of the gap (k,).
        arrival: largest one after the end of each crossing, while the residual forgets it (k,).
        elsewhere: largest one while the motor carries the link, the gap being forgotten.
        apart: largest difference of the classical residual and `untransmitted`.
    """

    recording: Recording
    classical: Vector
    backlash: Vector
    untransmitted: Vector
    inside: Vector
    arrival: Vector
    elsewhere: float
    apart: float


def untransmitted_torque(recording: Recording) -> Vector:
    """Return what the link gets less what the classical residual assumes (m,) [Nm], filtered as the residual is.

    tau_L = tau_M - B ddtheta without friction; assumed is tau_M - B ddq, a motor that moves with the link, so that the
    difference is B (ddq - ddtheta). And tau_M is held from sample to sample, while the mean of two is assumed, (13).
    """
    rate = recording.velocity - recording.motor_velocity
    inertial = INERTIA * np.diff(rate, axis=0) / np.diff(recording.time)[:, None]
    means = inertial - 0.5 * np.diff(recording.motor_torque, axis=0)
    return low_pass_series(recording.time, means, DETECTION_GAIN)[:, 0]


def judge_swing(recording: Recording) -> Swing:
    """Compute the residuals of a recording and compare them inside the gap and outside."""
    classical = classical_residual(recording, JOINT, Pendulum().motor_inertia)[:, 0]
    backlash = backlash_residual(recording, JOINT, np.zeros(1), Drive.SPRING)[:, 0]
    untransmitted = untransmitted_torque(recording)
    time, deflection = recording.time, recording.deflection[:, 0]
    size, gap = np.abs(classical), float(JOINT.gap[0])
    forget = round(AFTER / (time[1] - time[0]))
    found = [(first, last) for first, last in crossings(deflection, gap) if time[first] > START]
    # How many samples ago the link was in its gap; a rebound counts, too.
    index = np.arange(time.size)
    ago = index - np.maximum.accumulate(np.where(np.abs(deflection) < gap, index, -forget - 1))
    carried = (ago > forget) & (time > START)
    return Swing(
        recording=recording,
        classical=classical,
        backlash=backlash,
        untransmitted=untransmitted,
        inside=np.array([size[first:last].max() for first, last in found]),
        arrival=np.array([size[last : last + forget + 1].max() for _, last in found]),
        elsewhere=float(size[carried].max()),
        apart=float(np.abs(classical - untransmitted)[time > START].max()),
    )


MASS_ERROR = 0.1
"""Mass and inertia of each link, relative; half-width of a uniform distribution. Our choice, as the next one."""

LEVER_ERROR = 0.005
"""[m] The same for each coordinate of its centre of mass."""


@dataclass(frozen=True, eq=False)
class Unexplained:
    """Parts (n,) of the residual's mean square that backlash and friction, identified from it, leave unexplained.

    By the model of the links, exact or nominal, and the motion: the one of Fig. 6 or another one as long.
    """

    exact: Vector
    exact_elsewhere: Vector
    nominal: Vector
    nominal_elsewhere: Vector


def unexplained(
    moved: Recording, elsewhere: Recording, gap: GapMeasurement, random: np.random.Generator
) -> Unexplained:
    """Identify from two motions, of which the first one may be the longer, with an exact and with a nominal model.

    gap: as corrected by an identification; a short motion need not bring every link to both sides of its own.
    """
    first = _beginning(moved, elsewhere.time.size)
    arm = HangingArm(nominal_robot(random))

    def left(recording: Recording) -> Vector:
        return 1.0 - identify(recording, gap, Drive.SPRING, refine=False)[0].explained

    return Unexplained(left(first), left(elsewhere), left(by_model(first, arm)), left(by_model(elsewhere, arm)))


def nominal_robot(random: np.random.Generator) -> RobotDescription:
    """Return the robot with links that differ from the simulated ones within the errors above."""
    robot = load_robot()
    model = robot.pinocchio_model.copy()
    for joint in range(1, model.njoints):
        link, factor = model.inertias[joint], 1.0 + float(random.uniform(-MASS_ERROR, MASS_ERROR))
        lever = link.lever + random.uniform(-LEVER_ERROR, LEVER_ERROR, 3)
        model.inertias[joint] = pin.Inertia(factor * link.mass, lever, factor * link.inertia)
    return replace(robot, pinocchio_model=model)


def _beginning(recording: Recording, count: int) -> Recording:
    """Return the first samples of a recording."""
    return Recording(**{field.name: getattr(recording, field.name)[:count] for field in fields(recording)})


def by_model(recording: Recording, arm: HangingArm) -> Recording:
    """Return a recording with the terms that the model of an arm gives at the measured states."""
    found = [arm.terms(q, dq) for q, dq in zip(recording.position, recording.velocity, strict=True)]
    named = ("mass_matrix", "coriolis_transposed_velocity", "gravity")
    return replace(recording, **{name: np.array([getattr(terms, name) for terms in found]) for name in named})
