"""All experiments in a row, and what they gave."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from impact_control.identification.backlash import BacklashFit, GapMeasurement
from impact_control.studies.flacco.arm import JOINTS, HangingArm, Recording
from impact_control.studies.flacco.evaluation import (
    AFTER,
    START,
    CrossingCount,
    alarm_count,
    count_crossings,
    creep_allowance,
    delay,
    thresholds,
)
from impact_control.studies.flacco.experiments import (
    Contact,
    Drive,
    backlash_residual,
    classical_residual,
    contacts,
    excitation,
    figure_8_motion,
    figure_9_motion,
    gap_experiment,
    identify,
    no_load,
    pushes,
    standing,
)
from impact_control.studies.study import Progress
from impact_control.types import Matrix, Vector


@dataclass(frozen=True)
class Durations:
    """[s] of the experiments: gap, identification, rest and validation without contact, Fig. 8, contacts at rest and in
    motion; and how many contacts in each half."""

    gap: float = 9.0
    identification: float = 60.0
    rest: float = 6.0
    validation: float = 16.0
    figure_8: float = 10.0
    half: float = 20.0
    contacts: int = 12


QUICK = Durations(gap=3.0, identification=8.0, rest=1.0, validation=2.0, figure_8=2.0, half=2.0, contacts=2)


@dataclass(frozen=True, eq=False)
class Run:
    """A recording with its residuals (m, n) [Nm], the new and the classical one."""

    recording: Recording
    backlash: Matrix
    classical: Matrix


@dataclass(frozen=True, eq=False)
class Variant:
    """What one `Drive` gave: part of the residual explained, alarms without contact, and contacts found."""

    explained: Vector
    threshold: Vector
    alarms: int
    found: int


@dataclass(frozen=True, eq=False)
class Outcome:
    """What came out; see the fields' names. `counts` are of the validation, `first_counts` of the motion of Fig. 8."""

    gap: GapMeasurement
    gap_recording: Recording
    identification: Recording
    fit: BacklashFit
    residual: Matrix
    threshold: Vector
    validation: Run
    counts: list[CrossingCount]
    figure_8: Run
    first_counts: list[CrossingCount]
    contacts: tuple[Contact, ...]
    figure_11: Run
    delays: list[float | None]
    classical_delays: list[float | None]
    false_alarms: int
    classical_false_alarms: int
    free_alarms: int
    classical_free_alarms: int
    variants: dict[Drive, Variant]

    @property
    def errors(self) -> Matrix:
        """Relative errors of the coefficients (8, n); NaN where the joint has no such coefficient."""
        true = JOINTS.coefficients
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(true > 0.0, self.fit.model.coefficients / true - 1.0, np.nan)


def compute(seed: int, durations: Durations, progress: Progress) -> Outcome:
    """Run the experiments one after another."""
    randoms = [np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(6)]
    arm = HangingArm()
    progress(0.0, "gaps")
    gap_recording, gap = gap_experiment(arm, durations.gap, randoms[0])
    progress(0.1, "motion for the identification")
    moved = arm.run(excitation(randoms[1]), no_load, durations.identification, randoms[1])
    progress(0.45, "identification")
    fit, residual = identify(moved, gap, Drive.SPRING)
    progress(0.55, "motions without contact")
    rest = arm.run(standing, no_load, durations.rest, randoms[2])
    validation = arm.run(excitation(randoms[3]), no_load, durations.validation, randoms[3])
    first = arm.run(figure_8_motion(), no_load, durations.figure_8, randoms[4])
    progress(0.75, "contacts")
    half = durations.half
    at_rest = contacts(0.5, half - 0.5, durations.contacts, randoms[5])
    pushed = (*at_rest, *contacts(half, half, durations.contacts, randoms[5]))
    touched = arm.run(figure_9_motion(half), pushes(pushed), 2.0 * half + AFTER, randoms[5])
    progress(0.85, "residuals")

    def run(recording: Recording) -> Run:
        return Run(
            recording,
            backlash_residual(recording, fit.model, gap.centre + fit.centre, Drive.SPRING),
            classical_residual(recording, fit.model),
        )

    def calibrated(found: BacklashFit, drive: Drive) -> Vector:
        # Rest belongs to it: the noise of the motors' velocity in the dry friction is largest there.
        centre = gap.centre + found.centre
        quiet = [(backlash_residual(one, found.model, centre, drive), one.time) for one in (moved, rest)]
        return thresholds(creep_allowance(found.model, rest.motor_velocity[rest.time > START]), *quiet)

    threshold = calibrated(fit, Drive.SPRING)
    free, first_run, contact_run = run(validation), run(first), run(touched)
    variants = {}
    for drive in Drive:
        other = fit if drive is Drive.SPRING else identify(moved, gap, drive)[0]
        bound = calibrated(other, drive)
        centre = gap.centre + other.centre
        quiet = backlash_residual(validation, other.model, centre, drive)
        loud = backlash_residual(touched, other.model, centre, drive)
        found = sum(delay(loud, touched.time, bound, contact) is not None for contact in pushed)
        variants[drive] = Variant(other.explained, bound, alarm_count(quiet, validation.time, bound), found)

    def counted(result: Run) -> list[CrossingCount]:
        time = result.recording.time
        return count_crossings(
            result.recording.deflection, JOINTS.gap, time, result.classical, result.backlash, threshold
        )

    quiet_runs = (free, first_run)
    return Outcome(
        gap=gap,
        gap_recording=gap_recording,
        identification=moved,
        fit=fit,
        residual=residual,
        threshold=threshold,
        validation=free,
        counts=counted(free),
        figure_8=first_run,
        first_counts=counted(first_run),
        contacts=pushed,
        figure_11=contact_run,
        delays=[delay(contact_run.backlash, touched.time, threshold, contact) for contact in pushed],
        classical_delays=[delay(contact_run.classical, touched.time, threshold, contact) for contact in pushed],
        false_alarms=alarm_count(contact_run.backlash, touched.time, threshold, pushed),
        classical_false_alarms=alarm_count(contact_run.classical, touched.time, threshold, pushed),
        free_alarms=sum(alarm_count(one.backlash, one.recording.time, threshold) for one in quiet_runs),
        classical_free_alarms=sum(
            alarm_count(one.classical, one.recording.time, threshold) for one in (free, first_run)
        ),
        variants=variants,
    )
