"""All experiments in a row, and what they gave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from impact_control.util.types import Matrix, Vector
from impact_studies.flacco.arm import JOINTS, HangingArm, Load, Recording, simulate
from impact_studies.flacco.evaluation import (
    AFTER,
    START,
    CrossingCount,
    Swing,
    Unexplained,
    alarm_count,
    count_crossings,
    creep_allowance,
    delay,
    judge_swing,
    record_swing,
    thresholds,
    unexplained,
)
from impact_studies.flacco.experiments import (
    Contact,
    Drive,
    backlash_residual,
    classical_residual,
    contacts,
    excitation,
    figure_8_motion,
    figure_9_motion,
    gap_of,
    identify,
    no_load,
    pushes,
    record_gaps,
    standing,
)
from impact_studies.flacco.guidance import (
    CONTACTS,
    FIGURE_8,
    GAPS,
    IDENTIFICATION,
    NOMINAL,
    RECORDINGS,
    REST,
    SINGLE_JOINT,
    Guidance,
    GuidanceCase,
    Led,
    measure,
    random_of,
    record_guidance,
)
from impact_studies.frame.study import Progress, part
from impact_studies.frame.trials import from_arrays, run_trials, trials_directory
from impact_studies.models.observation.backlash_identification import BacklashFit, GapMeasurement


@dataclass(frozen=True)
class Durations:
    """[s] of the experiments: gap, identification, rest and validation without contact, Fig. 8, contacts at rest and in
    motion, the joint of Fig. 2, the sine before and after the person comes; and how many contacts in each half."""

    gap: float = 9.0
    identification: float = 60.0
    rest: float = 6.0
    validation: float = 16.0
    figure_8: float = 10.0
    half: float = 20.0
    single_joint: float = 9.0
    swing: float = 7.0
    contacts: int = 12


QUICK = Durations(
    gap=3.0,
    identification=8.0,
    rest=1.0,
    validation=4.0,
    figure_8=2.0,
    half=2.0,
    single_joint=5.0,
    swing=4.5,
    contacts=2,
)


@dataclass(frozen=True, eq=False)
class Run:
    """A recording with its residuals (m, n) [Nm], the new and the classical one."""

    recording: Recording
    backlash: Matrix
    classical: Matrix


@dataclass(frozen=True, eq=False)
class Variant:
    """Result of one `Drive`: explained part of the residual, thresholds, false alarms, detected contacts."""

    explained: Vector
    threshold: Vector
    alarms: int
    found: int


@dataclass(frozen=True, eq=False)
class Outcome:
    """Results of all experiments. `counts` are of the validation, `first_counts` of the motion of Fig. 8.

    led: None when the arm was not led and left alone once, as it should; classical_sine_alarms: of the classical
    residual in the third experiment before the person comes.
    """

    durations: Durations
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
    unexplained: Unexplained
    single_joint: Swing
    guidance: Guidance
    led: Led | None
    classical_sine_alarms: int

    @property
    def errors(self) -> Matrix:
        """Relative errors of the coefficients (8, n); NaN where the joint has no such coefficient."""
        true = JOINTS.coefficients
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(true > 0.0, self.fit.model.coefficients / true - 1.0, np.nan)


@dataclass(frozen=True)
class RecordingCase:
    """A recording by what it is for; its random numbers are those of the seed and of what it is for."""

    name: str
    durations: Durations
    seed: int


def record(case: RecordingCase) -> Mapping[str, NDArray[Any]]:
    """Simulate a recording and return its arrays by name."""
    durations, random = case.durations, random_of(case.seed, case.name)
    if case.name == SINGLE_JOINT:
        return vars(record_swing(durations.single_joint))
    arm = HangingArm()
    if case.name == GAPS:
        return vars(record_gaps(arm, durations.gap, random))
    load: Load = no_load
    if case.name == CONTACTS:
        load = pushes(_contacts(durations, random))
        motion, duration = figure_9_motion(durations.half), 2.0 * durations.half + AFTER
    elif case.name == FIGURE_8:
        motion, duration = figure_8_motion(), durations.figure_8
    elif case.name == REST:
        motion, duration = standing, durations.rest
    else:
        motion = excitation(random)
        duration = durations.identification if case.name == IDENTIFICATION else durations.validation
    return vars(simulate(arm, JOINTS, motion, load, duration, random))


def _contacts(durations: Durations, random: np.random.Generator) -> tuple[Contact, ...]:
    """Return the contacts at rest and in motion."""
    half = durations.half
    at_rest = contacts(0.5, half - 0.5, durations.contacts, random)
    return (*at_rest, *contacts(half, half, durations.contacts, random))


def compute(seed: int, durations: Durations, progress: Progress) -> Outcome:
    """Record all experiments and evaluate them."""
    cases = [RecordingCase(name, durations, seed) for name in RECORDINGS]
    recorded = run_trials(record, cases, trials_directory("flacco_backlash"), part(progress, 0.0, 0.5))
    gap_recording, moved, rest, validation, first, touched, swung = (
        from_arrays(Recording, arrays) for arrays in recorded
    )
    pushed = _contacts(durations, random_of(seed, CONTACTS))
    gap = gap_of(gap_recording)
    progress(0.5, "identification")
    fit, residual = identify(moved, gap, Drive.SPRING)
    corrected = GapMeasurement(fit.model.gap, gap.centre + fit.centre)
    left = unexplained(moved, validation, corrected, random_of(seed, NOMINAL))
    progress(0.65, "residuals")

    def run(recording: Recording) -> Run:
        return Run(
            recording,
            backlash_residual(recording, fit.model, corrected.centre, Drive.SPRING),
            classical_residual(recording, fit.model),
        )

    def calibrated(found: BacklashFit, drive: Drive) -> Vector:
        # Rest belongs to it: the noise of the motors' velocity in the dry friction is largest there.
        centre = gap.centre + found.centre
        quiet = [(backlash_residual(one, found.model, centre, drive), one.time) for one in (moved, rest)]
        return thresholds(creep_allowance(found.model, rest.motor_velocity[rest.time > START]), *quiet)

    threshold = calibrated(fit, Drive.SPRING)
    free, first_run, contact_run = run(validation), run(first), run(touched)

    def variant(found: BacklashFit, bound: Vector, quiet: Matrix, loud: Matrix) -> Variant:
        detected = sum(delay(loud, touched.time, bound, contact) is not None for contact in pushed)
        return Variant(found.explained, bound, alarm_count(quiet, validation.time, bound), detected)

    variants = {Drive.SPRING: variant(fit, threshold, free.backlash, contact_run.backlash)}
    for drive in (Drive.BOTH, Drive.MOTOR):
        other = identify(moved, gap, drive)[0]
        centre = gap.centre + other.centre
        quiet, loud = (backlash_residual(one, other.model, centre, drive) for one in (validation, touched))
        variants[drive] = variant(other, calibrated(other, drive), quiet, loud)

    def counted(result: Run) -> list[CrossingCount]:
        time = result.recording.time
        return count_crossings(
            result.recording.deflection, JOINTS.gap, time, result.classical, result.backlash, threshold
        )

    case = GuidanceCase.of(seed, durations.swing, fit.model, corrected.centre, threshold)
    (guided,) = run_trials(record_guidance, [case], trials_directory("flacco_backlash"), part(progress, 0.8, 0.2))
    guidance = from_arrays(
        Guidance, guided, recording=from_arrays(Recording, guided), threshold=threshold, pushes=case.pushes
    )
    alone = guidance.recording.time < case.swing
    by_classical = classical_residual(guidance.recording, fit.model)[alone]

    quiet_runs = (free, first_run)
    return Outcome(
        durations=durations,
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
        classical_free_alarms=sum(alarm_count(one.classical, one.recording.time, threshold) for one in quiet_runs),
        variants=variants,
        unexplained=left,
        single_joint=judge_swing(swung),
        guidance=guidance,
        led=measure(guidance),
        classical_sine_alarms=alarm_count(by_classical, guidance.recording.time[alone], threshold),
    )
