"""What the comparison says, in sentences built from its numbers."""

from __future__ import annotations

import numpy as np

from impact_control.studies.impact_baselines.methods import (
    HEIGHT,
    JOINT_SPACE,
    PLAIN,
    REFERENCE_SPREADING,
    SLOW,
    SLOW_SPEED,
    TILT,
    WITHOUT_INTERIM,
)
from impact_control.studies.impact_baselines.outcome import (
    AROUND,
    BY_VELOCITY,
    CYCLE,
    DETECTED,
    LEAST_CUT,
    PEAK_FEEDBACK,
    TRACKING,
    Measure,
    Outcome,
)
from impact_control.studies.impact_baselines.trial import RESTING, WINDOW
from impact_control.studies.study import Finding, Mark

ASSUMPTIONS = (
    "No source compares these methods on this task; surfaces and trials are ours: height uniform within "
    f"{1e3 * HEIGHT:g} mm, tilts about x and y uniform within {TILT:g} deg, sensor noise of Proper 2021 (3.5).",
    "All methods go on whatever the classifier says, so that each trial is a whole task.",
    "Plain tracking has one reference that switches at the nominal time, with it the contact force, and full feedback "
    "throughout; the two parts of it are those of reference spreading.",
    f"The slow approach is reference spreading with {SLOW_SPEED:g} m/s: slower still, this surface would be met half a "
    "second early or late, while the slide after the impact has a fixed time.",
    "Feedback torque: (M + B_theta) times the joint acceleration that the feedback part of the tasks asks for, van "
    "Steen 2024 (28) with orientation and joint 1, before torque and torque-rate limits; the largest of all joints.",
    f"Peaks and errors are taken in {1e3 * WINDOW:g} ms from the first contact on, so that what is fed back before the "
    "impact is detected counts. Tracking error: root mean square of the way along the surface to the post-impact "
    f"reference. Cycle time: until the arm moves along the surface with {1e3 * RESTING:g} mm/s or less for good.",
)


def findings(outcome: Outcome) -> tuple[Finding, ...]:
    """Return one sentence each."""
    spread, plain = (outcome.values(method, PEAK_FEEDBACK) for method in (REFERENCE_SPREADING, PLAIN))
    cut, paired, around = outcome.cut(), outcome.paired_cut(), outcome.paired_cut(AROUND)
    met = cut >= LEAST_CUT
    count, broken = sum(map(len, outcome.trials.values())), outcome.broken()
    missed = sum(outcome.missed(method) for method in outcome.trials)
    return (
        Finding(
            f"Reference spreading has a median peak of the feedback torque of {np.median(spread):.1f} Nm, plain "
            f"tracking of {np.median(plain):.1f} Nm: cut by {cut:.0f} % (asked for: {LEAST_CUT:g} %). On the single "
            f"surfaces it is cut by {np.min(paired):.0f} to {np.max(paired):.0f} %, median {np.median(paired):.0f} %.",
            Mark.of(met),
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
            Mark.of(broken == 0),
        ),
        Finding(f"The impact was not detected in {missed} of {count} trials."),
    )


def verdict(outcome: Outcome) -> tuple[bool, str]:
    """Return whether the target is met, and the answer in one sentence."""
    holds = outcome.cut() >= LEAST_CUT and outcome.broken() == 0
    word = "cuts" if holds else "does not cut"
    return holds, (
        f"Reference spreading {word} the median peak of the feedback torque after the impact by at least "
        f"{LEAST_CUT:g} % against plain tracking, inside all limits: {outcome.cut():.0f} %."
    )


def _median(outcome: Outcome, method: str, measure: Measure) -> str:
    return f"{np.nanmedian(outcome.values(method, measure)):.{measure.decimals}f}"
