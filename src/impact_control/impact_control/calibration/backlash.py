"""Free play of the joints from recordings with the motors, Flacco 2016, III-C: the gap by hand, then a free motion."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from impact_control.calibration.backlash_identification import (
    BacklashFit,
    GapMeasurement,
    identify_backlash,
    measure_gap,
)
from impact_control.calibration.motion import BRIDGED_GAP, Opened, Result, open_files, quantity
from impact_control.observation import MomentumObserver
from impact_control.observation.backlash_model import GAP_DRY, GAP_VISCOUS
from impact_control.recording.log import LogColumns
from impact_control.recording.summary import Mark, Row, RunSummary, number_grid, short_joint_names
from impact_control.replay import SETTLING_TIME, usable_samples
from impact_control.robots import Dynamics, RobotDescription
from impact_control.scenario import Scenario, robot_of
from impact_control.util.errors import InvalidInputError, RecordingError
from impact_control.util.types import Matrix, Vector

GAIN = 100.0
"""[1/s] of the residual that is explained, K_r of Flacco 2016, V-A."""

STANDING = 0.05
"""[rad] by which no motor moves in a recording in which the links are moved by hand."""

VISIBLE = 3.0
"""Standard deviations of the noise of the deflection, and of the fit, above which a half-width is a gap."""

FINE = 50.0
"""Such deviations above which it is also known when a link is in its gap, and with that what friction acts there."""

BLUR = 0.1
"""Part of the noise by which a gap may be off, as its edges are passed in it: 0.08 at most on the simulated Panda,
with the published noise and with a tenth of it."""

SHORTEST = 2.0
"""[s] of a recording without lost samples that is worth a fit."""


@dataclass(frozen=True, eq=False)
class _Twist:
    """Samples (m,) [s] with links and motors, each (m, n) [rad, rad/s], and notes on defects."""

    name: str
    time: Vector
    position: Matrix
    velocity: Matrix
    motor_position: Matrix
    motor_velocity: Matrix
    notes: tuple[str, ...]

    @property
    def by_hand(self) -> bool:
        """True if the motors stood still."""
        return bool(np.ptp(self.motor_position, axis=0).max() < STANDING)

    @property
    def noise(self) -> Vector:
        """Standard deviation (n,) [rad] of the deflection from a sample to the next."""
        second = np.diff(self.position - self.motor_position, n=2, axis=0)
        deviation: Vector = second.std(axis=0) / math.sqrt(6.0)
        return deviation

    def pieces(self) -> list[slice]:
        """Return the stretches without a gap in the stamps that are long enough, without their first moments."""
        ends = [*np.flatnonzero(np.diff(self.time) > BRIDGED_GAP).tolist(), self.time.size - 1]
        begins = [0, *(end + 1 for end in ends[:-1])]
        long = [(b, e) for b, e in zip(begins, ends, strict=True) if self.time[e] - self.time[b] >= SHORTEST]
        return [slice(int(np.searchsorted(self.time, self.time[b] + SETTLING_TIME)), e + 1) for b, e in long]


@dataclass(frozen=True, eq=False)
class _Joint:
    """Identified values of a joint, with standard errors; NaN, and words with the reason, where there are none."""

    gap: float = math.nan
    gap_error: float = math.nan
    damping: float = math.nan
    damping_error: float = math.nan
    dry_friction: float = math.nan
    dry_error: float = math.nan
    stiffness: float = math.nan
    explained: float = math.nan
    words: str = ""


def calibrate_backlash(paths: Sequence[Path], scenario: str | None = None, columns: LogColumns | None = None) -> Result:
    """Return the free play of the joints for which it is found; the others keep that of the scenario.

    paths: recordings with position and velocity of the motors; at least one in which these stand still while the links
    are moved by hand from edge to edge of their gaps, and one of a motion without contact.

    Raises RecordingError for recordings without motors, of one kind only, or with no identifiable joint; ScenarioError.
    """
    chosen, files = open_files(paths, scenario, columns)
    robot = robot_of(chosen.robot)
    twists = [_twist(chosen, robot, opened) for opened in files]
    hands, motions = ([twist for twist in twists if twist.by_hand is still] for still in (True, False))
    names = ", ".join(twist.name for twist in twists)
    if not hands:
        allowed = f"also one in which the links are moved by hand and no motor by {STANDING} rad"
        raise RecordingError(names, "motors move in each recording", allowed)
    if not any(motion.pieces() for motion in motions):
        allowed = f"also {SHORTEST:g} s or more of a motion of all joints without contact"
        raise RecordingError(names, "no motion in which no sample is missing", allowed)
    by_hand = _by_hand(hands)
    noise = np.max([twist.noise for twist in twists], axis=0)
    fits: list[tuple[_Twist, slice, Matrix]] = [
        (motion, piece, _residual(robot, motion, piece)) for motion in motions for piece in motion.pieces()
    ]
    joints = [_joint(fits, by_hand, float(noise[j]), j) for j in range(noise.size)]
    if all(math.isnan(joint.gap) for joint in joints):
        reasons = "; ".join(f"joint {j + 1}: {joint.words}" for j, joint in enumerate(joints))
        raise RecordingError(names, f"no joint is identified: {reasons}", "a motion that crosses the gaps")
    known = chosen.simulation.backlash
    section = {
        name: quantity(np.where(np.isnan(now), before, now), unit)
        for name, unit, before, now in (
            ("gap", "rad", known.gap, [joint.gap for joint in joints]),
            ("damping", "Nm*s/rad", known.damping, [joint.damping for joint in joints]),
            ("dry_friction", "Nm", known.dry_friction, [joint.dry_friction for joint in joints]),
        )
    }
    summary = _summary(chosen, robot, twists, by_hand.gap, noise, joints)
    remarks = (f"joint {j + 1}: {joint.words}" for j, joint in enumerate(joints) if joint.words)
    sources = tuple(_source(twist) for twist in twists)
    return Result(summary, {"simulation": {"backlash": section}}, (*sources, *remarks))


def _twist(scenario: Scenario, robot: RobotDescription, opened: Opened) -> _Twist:
    name, file, run = opened.name, opened.file, opened.run
    samples = usable_samples(file, run, robot, scenario.control.period)
    if run.motor is None:
        allowed = "a log with motor_position and motor_velocity in the file of --columns, or trials with these signals"
        raise RecordingError(name, "no motors in it", allowed)
    kept = samples.usable & np.isfinite(np.hstack(run.motor)).all(axis=1)
    if np.count_nonzero(kept) < SHORTEST / scenario.control.period:
        raise RecordingError(name, f"{np.count_nonzero(kept)} samples can be used", f"{SHORTEST:g} s of them or more")
    notes = (*file.notes, *run.notes, *samples.in_words())
    q, dq, theta, dtheta = (column[kept] for column in (samples.position, samples.velocity, *run.motor))
    return _Twist(name, samples.time[kept], q, dq, theta, dtheta, notes)


def _by_hand(hands: Sequence[_Twist]) -> GapMeasurement:
    """Return for each joint the widest of the gaps that were measured by hand."""
    found = [measure_gap(hand.position, hand.motor_position) for hand in hands]
    widest = np.argmax([one.gap for one in found], axis=0)
    joints = np.arange(widest.size)
    gap, centre = (np.array([getattr(one, name) for one in found])[widest, joints] for name in ("gap", "centre"))
    return GapMeasurement(gap, centre)


def _residual(robot: RobotDescription, motion: _Twist, piece: slice) -> Matrix:
    """Return the residual (8) of Flacco 2016 (m, n) [Nm] with no torque at all: what the transmission does."""
    dynamics = Dynamics(robot)
    still = np.zeros(motion.position.shape[1])
    observer = MomentumObserver(np.full(still.size, GAIN), still)
    rows = []
    for time, q, dq in zip(motion.time[piece], motion.position[piece], motion.velocity[piece], strict=True):
        dynamics.compute(q, dq)
        dynamics.compute_momentum_terms()
        terms = (dynamics.coriolis_transposed_velocity, dynamics.gravity)
        rows.append(observer.observe(dynamics.mass_matrix, dq, still, *terms, float(time)).copy())
    return np.array(rows)


def _joint(fits: Sequence[tuple[_Twist, slice, Matrix]], by_hand: GapMeasurement, noise: float, j: int) -> _Joint:
    """Identify a joint in all pieces, and weight the results by their standard errors."""
    if by_hand.gap[j] < VISIBLE * noise:
        return _Joint(gap=0.0, words=f"no gap wider than {VISIBLE * noise:.2g} rad, which would be seen in the noise")
    found, reason = [], ""
    for motion, piece, residual in fits:
        twist = (motion.position - motion.motor_position)[piece, j : j + 1] - by_hand.centre[j]
        rates = (motion.velocity[piece, j : j + 1], motion.motor_velocity[piece, j : j + 1])
        try:
            start = by_hand.gap[j : j + 1]
            found.append(identify_backlash(motion.time[piece], twist, *rates, residual[:, j : j + 1], GAIN, start))
        except InvalidInputError as error:
            reason = f"keeps its gap: its motion does not tell, {error.allowed}"
    if not found:
        return _Joint(words=reason)
    gap, scatter = _mean([fit.model.gap[0] for fit in found], [fit.gap_error[0] for fit in found])
    gap_error = math.hypot(scatter, BLUR * noise)
    stiffness = float(np.mean([fit.model.stiffness[0] for fit in found]))
    explained = float(np.mean([fit.explained[0] for fit in found]))
    if not (gap > VISIBLE * max(gap_error, noise) and stiffness > 0.0):
        return _Joint(
            0.0, gap_error, stiffness=stiffness, explained=explained, words="no gap: it is not above its error"
        )
    viscous, dry = _coefficient(found, GAP_VISCOUS), _coefficient(found, GAP_DRY)
    if gap < FINE * noise or min(viscous[0], dry[0]) < 0.0:
        words = f"keeps the friction in its gap: {noise:.1e} rad of noise blur when it is in it"
        return _Joint(gap, gap_error, stiffness=stiffness, explained=explained, words=words)
    return _Joint(gap, gap_error, *viscous, *dry, stiffness, explained)


def _coefficient(found: Sequence[BacklashFit], row: int) -> tuple[float, float]:
    values = [fit.model.coefficients[row, 0] for fit in found]
    return _mean(values, [fit.standard_error[row, 0] for fit in found])


def _mean(values: Sequence[float], errors: Sequence[float]) -> tuple[float, float]:
    """Return the mean of values weighted by their standard errors, and its own."""
    weights = 1.0 / np.maximum(errors, 1e-300) ** 2
    return float(np.average(values, weights=weights)), float(1.0 / math.sqrt(weights.sum()))


def _source(twist: _Twist) -> str:
    kind = "links moved by hand" if twist.by_hand else "motion"
    return f"{twist.name}: {kind}, {twist.time.size} samples of {twist.time[-1] - twist.time[0]:.3f} s"


def _summary(
    scenario: Scenario,
    robot: RobotDescription,
    twists: Sequence[_Twist],
    by_hand: Vector,
    noise: Vector,
    joints: Sequence[_Joint],
) -> RunSummary:
    rows = []
    for twist in twists:
        rows += [Row("Recording", _source(twist)), *(Row("Note", words) for words in twist.notes)]
    rows += [Row(f"Joint {j + 1}", joint.words, Mark.BAD) for j, joint in enumerate(joints) if joint.words]
    columns, known = short_joint_names(robot.joint_names), scenario.simulation.backlash

    def found(name: str) -> Vector:
        return np.array([getattr(joint, name) for joint in joints])

    gaps = [("before", known.gap), ("by hand", by_hand), ("now", found("gap")), ("+-", found("gap_error"))]
    viscous = [("before", known.damping), ("now", found("damping")), ("+-", found("damping_error"))]
    dry = [("dry before", known.dry_friction), ("dry now", found("dry_friction")), ("+-", found("dry_error"))]
    stiffness = [("of the model", robot.transmission.stiffness), ("found", found("stiffness"))]
    gaps = [(label, 1e3 * values) for label, values in (*gaps, ("noise", noise))]
    grids = (
        number_grid("Half-width of the gap, its standard error, and the noise of the deflection [mrad]", gaps, columns),
        number_grid(
            "Friction in the gap, viscous [Nm s/rad] and dry [Nm], with standard errors", viscous + dry, columns
        ),
        number_grid(
            "Stiffness beyond it [Nm/rad], and the part of the residual explained",
            [*stiffness, ("explained", found("explained"))],
            columns,
        ),
    )
    count = sum(joint.gap > 0.0 for joint in joints)
    verdict = f"IDENTIFIED: a gap in {count} of {len(joints)} joints."
    return RunSummary("Backlash", tuple(rows), grids, verdict, count > 0)
