"""The experiments of Flacco 2016, V: gap by hand, identification, motion without contact, contacts."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from impact_control.observation import MomentumObserver
from impact_control.util.types import Matrix, Vector
from impact_studies.flacco.arm import (
    GAPS,
    JOINTS,
    MOTOR_INERTIA,
    POSTURE,
    HangingArm,
    Load,
    Motion,
    Recording,
    Sample,
    simulate,
)
from impact_studies.models.observation.backlash_identification import (
    BacklashFit,
    GapMeasurement,
    identify_backlash,
    measure_gap,
)
from impact_studies.models.observation.backlash_model import BacklashModel
from impact_studies.models.observation.backlash_observer import BacklashObserver, JointSample

IDENTIFICATION_GAIN = 100.0
"""[1/s] K_r of Flacco 2016, V-A."""

DETECTION_GAIN = 30.0
"""[1/s] K_bs: not published; that of Proper 2021, 2.5."""

PUBLISHED_THRESHOLDS = np.array([0.8, 0.5, 0.4, 0.3, 0.2, 0.2, 0.2])
"""[Nm] of the residual of Romeo's joints, Flacco 2016, V-C."""

CONTACT_TORQUE = PUBLISHED_THRESHOLDS * np.array([1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.25])
"""[Nm] The size of contacts: at joint 7, whose link here weighs less, a quarter."""

HAND_TORQUE = np.array([0.6, 0.6, 0.3, 0.3, 0.02, 0.02, 0.07])
"""[Nm] with which links are moved by hand in their gaps: more than the friction there, little against the spring."""

SETTLING = 1.0
"""[s] of a recording of the gaps that are left out: the motors come to rest."""

LEAST_GAP = 5e-4
"""[rad] A smaller one is taken for the strain under the hand."""

FADE = 1.0
"""[s] in which a motion begins."""

SINE_AMPLITUDE, SINE_FREQUENCY = 0.4, 0.3
"""[rad], [Hz] of joint 1 in the first and the third experiment."""


class Drive(Enum):
    """Model of the torque on the link beyond the gap."""

    SPRING = "spring and damper"
    BOTH = "motor, spring and damper, (5) as printed"
    MOTOR = "motor"

    @property
    def motor(self) -> bool:
        """True with the torque of the motor."""
        return self is not Drive.SPRING

    @property
    def spring(self) -> bool:
        """True with stiffness and damping."""
        return self is not Drive.MOTOR


@dataclass(frozen=True, eq=False)
class Contact:
    """A push: from `start` [s] for `duration` [s], torque (n,) [Nm] at its height, a half sine."""

    start: float
    duration: float
    torque: Vector

    @property
    def end(self) -> float:
        """Time [s] at which it is over."""
        return self.start + self.duration

    def at(self, time: float) -> Vector:
        """Torque (n,) [Nm] at a time [s]."""
        phase = (time - self.start) / self.duration
        return self.torque * np.sin(np.pi * phase) if 0.0 < phase < 1.0 else np.zeros_like(self.torque)


def no_load(time: float, position: Vector, motor_position: Vector) -> Vector:
    """No external torque."""
    del time, motor_position
    return np.zeros_like(position)


def standing(time: float) -> tuple[Vector, Vector]:
    """Motors hold the posture."""
    del time
    return POSTURE, np.zeros_like(POSTURE)


def sinusoids(
    amplitude: Matrix, frequency: Matrix, phase: Matrix, start: float = 0.0, centre: Vector = POSTURE
) -> Motion:
    """Return sums of sines about a centre (n,) [rad], faded in within `FADE` from `start` [s].

    amplitude (k, n) [rad], frequency (k, n) [Hz], phase (k, n) [rad].
    """
    rate = 2.0 * np.pi * frequency

    def motion(time: float) -> tuple[Vector, Vector]:
        since = time - start
        if since <= 0.0:
            return centre, np.zeros_like(centre)
        fade = min(since / FADE, 1.0)
        # A cubic with zero slope at both ends.
        weight, slope = fade**2 * (3.0 - 2.0 * fade), 6.0 * fade * (1.0 - fade) / FADE
        angle = rate * since + phase
        sines, cosines = (amplitude * np.sin(angle)).sum(axis=0), (amplitude * rate * np.cos(angle)).sum(axis=0)
        return centre + weight * sines, weight * cosines + slope * sines

    return motion


def excitation(random: np.random.Generator) -> Motion:
    """Return a motion of all joints with three frequencies each, which crosses all gaps many times."""
    n = POSTURE.size
    amplitude = np.array([[0.25], [0.12], [0.05]]) * np.ones(n)
    frequency = np.array([[0.35], [0.85], [1.9]]) * random.uniform(0.85, 1.15, (3, n))
    return sinusoids(amplitude, frequency, random.uniform(0.0, 2.0 * np.pi, (3, n)))


def hand(weight: Vector, random: np.random.Generator) -> Load:
    """Return a load that carries the weight (n,) [Nm] and moves every link slowly from edge to edge of its gap."""
    phase = random.uniform(0.0, 2.0 * np.pi, POSTURE.size)
    stiffness = HAND_TORQUE / 0.004

    def load(time: float, position: Vector, motor_position: Vector) -> Vector:
        target = motor_position + (GAPS + 0.01) * np.sin(2.0 * np.pi * 0.25 * time + phase)
        return weight + np.clip(stiffness * (target - position), -HAND_TORQUE, HAND_TORQUE)

    return load


def figure_8_motion(start: float = 0.0, centre: Vector = POSTURE) -> Motion:
    """Return the motion of Flacco 2016, Figs 8 and 13: from `start` [s] a sine of joint 1, the others at rest."""
    only_first = np.eye(POSTURE.size)[:1]
    frequency = np.full((1, POSTURE.size), SINE_FREQUENCY)
    return sinusoids(SINE_AMPLITUDE * only_first, frequency, np.zeros((1, POSTURE.size)), start, centre)


def figure_9_motion(start: float) -> Motion:
    """Return the motion of Flacco 2016, Fig. 9: at rest until `start` [s], then sines of joints 1, 3, 4 and 7."""
    amplitude = np.array([[0.3, 0.0, 0.3, 0.3, 0.0, 0.0, 0.3]])
    frequency = np.array([[0.25, 0.0, 0.3, 0.35, 0.0, 0.0, 0.4]])
    return sinusoids(amplitude, frequency, np.zeros_like(amplitude), start)


def contacts(start: float, duration: float, count: int, random: np.random.Generator) -> tuple[Contact, ...]:
    """Return pushes spread over `duration` [s] from `start` [s], on links 2 to 7 in turn.

    A push on link i is felt by the joints 1 to i; its torques are three to six times `CONTACT_TORQUE`.
    """
    spacing = duration / count
    result = []
    for k in range(count):
        link = 2 + k % (POSTURE.size - 1)
        size = CONTACT_TORQUE * random.uniform(3.0, 6.0, POSTURE.size) * random.choice([-1.0, 1.0], POSTURE.size)
        torque = np.where(np.arange(POSTURE.size) < link, size, 0.0)
        result.append(Contact(start + (k + random.uniform(0.1, 0.3)) * spacing, random.uniform(0.3, 0.5), torque))
    return tuple(result)


def pushes(contacts: tuple[Contact, ...]) -> Load:
    """Return the sum of the contacts as a load."""

    def load(time: float, position: Vector, motor_position: Vector) -> Vector:
        del motor_position
        total = np.zeros_like(position)
        for contact in contacts:
            total += contact.at(time)
        return total

    return load


def record_gaps(arm: HangingArm, duration: float, random: np.random.Generator) -> Recording:
    """Record for the gaps: motors stand still, links are moved by hand."""
    weight = arm.terms(*standing(0.0)).gravity
    return simulate(arm, JOINTS, standing, hand(weight, random), duration, random)


def gap_of(recording: Recording) -> GapMeasurement:
    """Measure the gaps in such a recording."""
    settled = recording.time >= SETTLING
    return measure_gap(recording.position[settled], recording.motor_position[settled])


def identify(
    recording: Recording, gap: GapMeasurement, drive: Drive, *, refine: bool = True
) -> tuple[BacklashFit, Matrix]:
    """Return the joints identified from a motion without contact, and the residual (8) (m, n) [Nm] they explain.

    refine: whether to correct gaps and centres, for which every link has to come to both sides; only with the spring.
    """
    n = POSTURE.size
    deflection = recording.position - recording.motor_position - gap.centre
    gaps = np.where(gap.gap > LEAST_GAP, gap.gap, 0.0)
    # (9); the observer does the same by itself, and the gap is corrected only afterwards.
    torque = np.where(np.abs(deflection) < gaps, 0.0, recording.motor_torque) * drive.motor
    observer = MomentumObserver(np.full(n, IDENTIFICATION_GAIN), np.zeros(n))
    residual = _run(recording, torque, observer, recording.mass_matrix)
    fit = identify_backlash(
        recording.time,
        deflection,
        recording.velocity,
        recording.motor_velocity,
        residual,
        IDENTIFICATION_GAIN,
        gaps,
        spring=drive.spring,
        refine=refine and drive is Drive.SPRING,
    )
    return fit, residual


def backlash_residual(recording: Recording, model: BacklashModel, centre: Vector, drive: Drive) -> Matrix:
    """Return the residual (12) (m, n) [Nm] of a recording; centre: offset of the encoders (n,) [rad]."""
    observer = BacklashObserver(np.full(model.gap.size, DETECTION_GAIN), model)
    residual = np.zeros_like(recording.position)
    for k in range(recording.time.size):
        residual[k] = observe(observer, recording.sample(k), centre, drive)
    return residual


def observe(observer: BacklashObserver, sample: Sample, centre: Vector, drive: Drive) -> Vector:
    """Return the residual (12) (n,) [Nm] after a sample, which the next call overwrites; centre as above."""
    joints = JointSample(
        position=sample.position - centre,
        velocity=sample.velocity,
        motor_position=sample.motor_position,
        motor_velocity=sample.motor_velocity,
        motor_torque=sample.motor_torque if drive.motor else np.zeros_like(centre),
    )
    coriolis = sample.coriolis_transposed_velocity
    return observer.observe(sample.mass_matrix, coriolis, sample.gravity, sample.time, joints)


def classical_residual(recording: Recording, model: BacklashModel, motor_inertia: Vector = MOTOR_INERTIA) -> Matrix:
    """Return the residual (2) (m, n) [Nm], at its best: motors' inertia and friction beyond the gap are known to it.

    motor_inertia: (n,) [kg m^2].
    """
    dry = model.motor_dry * np.tanh(recording.motor_velocity / model.slip_speed)
    torque = recording.motor_torque - model.motor_viscous * recording.motor_velocity - dry
    observer = MomentumObserver(np.full(motor_inertia.size, DETECTION_GAIN), np.zeros(motor_inertia.size))
    return _run(recording, torque, observer, recording.mass_matrix + np.diag(motor_inertia))


def _run(recording: Recording, torque: Matrix, observer: MomentumObserver, mass_matrix: Matrix) -> Matrix:
    residual = np.zeros_like(recording.position)
    for k in range(recording.time.size):
        residual[k] = observer.observe(
            mass_matrix[k],
            recording.velocity[k],
            torque[k],
            recording.coriolis_transposed_velocity[k],
            recording.gravity[k],
            recording.time[k],
        )
    return residual
