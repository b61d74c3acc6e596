"""All trials of the comparison, and what they come to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from impact_control.util.types import Vector
from impact_studies.frame.study import OWN_TARGET, Column, Comparison, Finding, Judged, Table, all_hold, columns
from impact_studies.impact_baselines.trial import (
    HEIGHT,
    JOINT_SPACE,
    PLAIN,
    REFERENCE_SPREADING,
    RESTING,
    SLOW,
    SLOW_SPEED,
    SOFT,
    STIFF,
    STIFFNESS,
    TILT,
    WINDOW,
    WITHOUT_INTERIM,
    Case,
    Measured,
)

LEAST_CUT = 50.0
"""[%] by which reference spreading is to cut the median peak of the feedback torque against plain tracking."""


@dataclass(frozen=True)
class Measure:
    """A number of each trial: heading, unit, decimals shown, and how it is taken in that unit."""

    name: str
    unit: str
    decimals: int
    of: Callable[[Measured], float]


PEAK_FEEDBACK = Measure("peak feedback\ntorque", "Nm", 1, lambda trial: trial.peak_feedback)
AROUND = Measure("from the nominal\ntime on", "Nm", 1, lambda trial: _peak_around(trial))
DETECTED = Measure("from the\ndetection on", "Nm", 1, lambda trial: trial.peak_feedback_detected)
BY_VELOCITY = Measure("peak of its\nvelocity part", "Nm", 1, lambda trial: trial.peak_velocity_feedback)
TRACKING = Measure("tracking\nerror", "mm", 2, lambda trial: 1e3 * trial.tracking_error)
CYCLE = Measure("cycle\ntime", "s", 3, lambda trial: trial.cycle_time)
SPEED = Measure("impact\nspeed off by", "mm/s", 1, lambda trial: 1e3 * abs(trial.impact_speed))
FORCE = Measure("force at the\nend off by", "N", 1, lambda trial: abs(trial.force_error))
MEASURES = (
    Measure("peak\ntorque", "Nm", 1, lambda trial: trial.peak_torque),
    Measure("peak\ntorque rate", "Nm/s", 0, lambda trial: trial.peak_torque_rate),
    Measure("at the\nrate limit", "ms", 1, lambda trial: 1e3 * trial.rate_limited),
    PEAK_FEEDBACK,
    DETECTED,
    AROUND,
    BY_VELOCITY,
    TRACKING,
    Measure("peak\nforce", "N", 0, lambda trial: trial.peak_force),
    SPEED,
    FORCE,
    CYCLE,
)


def _peak_around(trial: Measured) -> float:
    """Return the peak [Nm] from the contact or, where that is earlier, from the nominal time on."""
    shown = trial.feedback[trial.time >= -max(0.0, trial.contact_offset)]
    return max(trial.peak_feedback, float(np.max(shown)))


@dataclass(frozen=True, eq=False)
class Outcome:
    """Trials by method, in the same order of surfaces for all of them."""

    cases: dict[str, list[Case]]
    trials: dict[str, list[Measured]]

    def values(self, method: str, measure: Measure) -> Vector:
        """Return a measure of all trials of a method (k,)."""
        return np.array([measure.of(trial) for trial in self.trials[method]])

    def cut(self, measure: Measure = PEAK_FEEDBACK) -> float:
        """Return by how much the median with reference spreading is below that with plain tracking [%]."""
        spread, plain = (float(np.nanmedian(self.values(m, measure))) for m in (REFERENCE_SPREADING, PLAIN))
        return 100.0 * (1.0 - spread / plain)

    def paired_cut(self, measure: Measure = PEAK_FEEDBACK) -> Vector:
        """Return the same for each surface (k,) [%]."""
        return 100.0 * (1.0 - self.values(REFERENCE_SPREADING, measure) / self.values(PLAIN, measure))

    def broken(self) -> int:
        """Return in how many trials a limit was broken."""
        return sum(not trial.limits_kept for trials in self.trials.values() for trial in trials)

    def missed(self, method: str) -> int:
        """Return in how many trials of a method the impact was not detected."""
        return sum(bool(np.isnan(trial.detection_delay)) for trial in self.trials[method])


def medians_table(outcome: Outcome) -> Table:
    """Return the median of every measure by method."""
    count = len(next(iter(outcome.trials.values())))
    title = f"Medians of {count} trials"
    return _table(outcome, "medians", title, np.nanmedian, "The same surfaces and the same noise for all methods.")


def worst_table(outcome: Outcome) -> Table:
    """Return what 95 % of the trials stay below, by method."""
    return _table(outcome, "worst", "What 95 % of the trials stay below", lambda values: np.nanpercentile(values, 95))


def _table(outcome: Outcome, name: str, title: str, statistic: Callable[[Vector], float], note: str = "") -> Table:
    return Table.of(
        name,
        title,
        (Column("method"), *(Column(one.name, one.unit, one.decimals) for one in MEASURES)),
        (
            (method, *(float(statistic(outcome.values(method, measure))) for measure in MEASURES))
            for method in outcome.trials
        ),
        note,
    )


def comparisons(outcome: Outcome) -> tuple[Comparison, ...]:
    """Return the targets, which are ours: no source compares these methods."""
    cut, broken = outcome.cut(), outcome.broken()
    return (
        Comparison(
            OWN_TARGET,
            "cut of the median peak feedback torque against plain tracking, at least",
            LEAST_CUT,
            cut,
            "%",
            cut >= LEAST_CUT,
        ),
        Comparison(OWN_TARGET, "trials in which a limit was broken", 0.0, float(broken), holds=broken == 0),
    )


def target_table(outcome: Outcome) -> Table:
    """Return the target of the comparison beside the measured values."""
    cut, limits = outcome.cut(), outcome.broken()
    return Table.of(
        "targets",
        "Targets",
        (*columns(("what", "unit", "target")), Column("measured", "", 1)),
        (
            (
                *("cut of the median peak feedback torque against plain tracking", "%", f"at least {LEAST_CUT:g}"),
                Judged(cut, cut >= LEAST_CUT),
            ),
            ("median of the cuts on each surface", "%", "", np.median(outcome.paired_cut())),
            (
                *("the same from the nominal time on, where the impact is late", "%", ""),
                np.median(outcome.paired_cut(AROUND)),
            ),
            ("trials in which a limit was broken", "", "0", Judged(limits, limits == 0)),
        ),
    )


ASSUMPTIONS = (
    "No source compares these methods on this task; surfaces and trials are ours: height uniform within "
    f"{1e3 * HEIGHT:g} mm, tilts about x and y uniform within {TILT:g} deg, sensor noise of Proper 2021 (3.5).",
    "All methods go on whatever the classifier says, so that each trial is a whole task.",
    "Plain tracking has one reference that switches at the nominal time, with it the contact force, and full feedback "
    "throughout; the two parts of it are those of reference spreading.",
    f"The slow approach is reference spreading with {SLOW_SPEED:g} m/s: slower still, this surface would be met half a "
    "second early or late, while the slide after the impact has a fixed time.",
    "Impedance control: Albu-Schaeffer et al. 2003, one reference that switches at the nominal time, friction of the "
    "joints compensated, no inertia fed forward, the equilibrium force / stiffness below the expected surface; it "
    "neither detects nor judges an impact.",
    "Feedback torque: (M + B_theta) times the joint acceleration that the feedback part of the tasks asks for, van "
    "Steen 2024 (28) with orientation and joint 1, before torque and torque-rate limits; the largest of all joints.",
    f"Peaks and errors are taken in {1e3 * WINDOW:g} ms from the first contact on, so that what is fed back before the "
    "impact is detected counts. Tracking error: root mean square of the way along the surface to the post-impact "
    f"reference. Cycle time: until the arm stays at {1e3 * RESTING:g} mm/s or less along the surface.",
)


def findings(outcome: Outcome) -> tuple[Finding, ...]:
    """Return one sentence each."""
    spread, plain = (outcome.values(method, PEAK_FEEDBACK) for method in (REFERENCE_SPREADING, PLAIN))
    cut, paired, around = outcome.cut(), outcome.paired_cut(), outcome.paired_cut(AROUND)
    met = cut >= LEAST_CUT
    count, broken = sum(map(len, outcome.trials.values())), outcome.broken()
    detecting = [method for method in outcome.trials if method not in STIFFNESS]
    missed = sum(outcome.missed(method) for method in detecting)
    return (
        Finding(
            f"Reference spreading has a median peak of the feedback torque of {np.median(spread):.1f} Nm, plain "
            f"tracking of {np.median(plain):.1f} Nm: cut by {cut:.0f} % (asked for: {LEAST_CUT:g} %). On the single "
            f"surfaces it is cut by {np.min(paired):.0f} to {np.max(paired):.0f} %, median {np.median(paired):.0f} %.",
            met,
        ),
        Finding(
            "Where the surface is met late, plain tracking has its peak before the impact, when it follows a surface "
            "that is not there yet. From the nominal time on the medians are "
            f"{_median(outcome, REFERENCE_SPREADING, AROUND)} and {_median(outcome, PLAIN, AROUND)} Nm, "
            f"{outcome.cut(AROUND):.0f} % less; on the single surfaces {np.min(around):.0f} to {np.max(around):.0f} %, "
            f"median {np.median(around):.0f} %."
        ),
        Finding(
            f"From the detection on the medians are {_median(outcome, REFERENCE_SPREADING, DETECTED)} and "
            f"{_median(outcome, PLAIN, DETECTED)} Nm, {outcome.cut(DETECTED):.0f} % less."
        ),
        Finding(
            "The rest is feedback of the position, because the surface is not where it was expected: the velocity "
            f"errors alone ask for {_median(outcome, REFERENCE_SPREADING, BY_VELOCITY)} Nm, "
            f"with plain tracking for {_median(outcome, PLAIN, BY_VELOCITY)} Nm, {outcome.cut(BY_VELOCITY):.0f} % less."
        ),
        Finding(
            f"Without the interim mode the median peak is {_median(outcome, WITHOUT_INTERIM, PEAK_FEEDBACK)} Nm, in "
            f"joint space with it {_median(outcome, JOINT_SPACE, PEAK_FEEDBACK)} Nm."
        ),
        Finding(
            f"The slow approach has {_median(outcome, SLOW, PEAK_FEEDBACK)} Nm and takes "
            f"{_median(outcome, SLOW, CYCLE)} s instead of {_median(outcome, REFERENCE_SPREADING, CYCLE)} s."
        ),
        Finding(
            f"Tracking error along the surface: {_median(outcome, REFERENCE_SPREADING, TRACKING)} mm with reference "
            f"spreading, {_median(outcome, PLAIN, TRACKING)} mm with plain tracking."
        ),
        Finding(
            f"A limit of torque, torque rate, position or velocity was broken in {broken} of {count} trials.",
            broken == 0,
        ),
        Finding(
            f"Impedance control with {STIFFNESS[SOFT]:g} and {STIFFNESS[STIFF]:g} N/m has medians of "
            f"{_median(outcome, SOFT, PEAK_FEEDBACK)} and {_median(outcome, STIFF, PEAK_FEEDBACK)} Nm. It meets the "
            f"surface {_median(outcome, SOFT, SPEED)} and {_median(outcome, STIFF, SPEED)} mm/s off the planned speed, "
            f"reference spreading {_median(outcome, REFERENCE_SPREADING, SPEED)} mm/s; at the end the force is off by "
            f"{_median(outcome, SOFT, FORCE)} and {_median(outcome, STIFF, FORCE)} N, with reference spreading by "
            f"{_median(outcome, REFERENCE_SPREADING, FORCE)} N."
        ),
        Finding(f"The impact was not detected in {missed} of {sum(len(outcome.trials[m]) for m in detecting)} trials."),
    )


def verdict(outcome: Outcome) -> str:
    """Return the answer in one sentence."""
    word = "cuts" if all_hold(comparisons(outcome)) else "does not cut"
    return (
        f"Reference spreading {word} the median peak of the feedback torque after the impact by at least "
        f"{LEAST_CUT:g} % against plain tracking, inside all limits: {outcome.cut():.0f} %."
    )


def _median(outcome: Outcome, method: str, measure: Measure) -> str:
    return f"{np.nanmedian(outcome.values(method, measure)):.{measure.decimals}f}"
