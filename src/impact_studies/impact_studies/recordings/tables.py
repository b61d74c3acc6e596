"""Tables, targets and sentences of the study on real recordings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from impact_studies.frame.study import OWN_TARGET, Cell, Column, Comparison, Finding, Judged, Table
from impact_studies.recordings.contacts import CONTACTS, STIFF_RATE, STIFF_STIFFNESS, VELOCITY_FILTER
from impact_studies.recordings.evaluation import (
    FALSE_ALARMS_PER_HOUR,
    SHIPPED,
    SINGLE,
    WHITENED,
    Outcome,
)

ASSUMPTIONS = (
    "A contact pushes the end-effector in a random direction, from a random time on. It is computed for an arm with "
    "elastic joints, the links M(q) and motors B_theta of the robot's data, linear about the sample before.",
    f"Every second arm is held by a position control of {STIFF_STIFFNESS:g} Nm/rad on the motors, with a damping of "
    f"B_theta {STIFF_RATE:g} 1/s + 2 sqrt({STIFF_STIFFNESS:g}) Nm s/rad; the others do not react.",
    "An impact on steel is a half sine of 1.5 ms whose impulse stops the reflected inertia of the links; the joints "
    "ring after it at their own frequencies.",
    "The velocity of the links is measured through a first-order low-pass of "
    f"{1e3 * VELOCITY_FILTER:g} ms, which is what the FR3's shows against its position, and the torque through the one "
    "of the robot's torque loop.",
    "Repeated samples are left out, as in a replay; gaps and stamps stay as recorded. A contact counts as found "
    "by the first event after it began.",
    f"Thresholds are calibrated for {FALSE_ALARMS_PER_HOUR:g} false alarm an hour, by the law of the maxima of a half.",
)


def _half(outcome: Outcome) -> str:
    return f"{outcome.source}, learned on the {outcome.learned} half"


def outcome_table(outcomes: Sequence[Outcome]) -> Table:
    """Return false impacts and shares of contacts found in time."""
    heads = [Column("Recording"), Column("Detector"), Column("Seconds", "s", 1), Column("False\nimpacts")]
    heads += [Column(f"{c.name}\nwithin {1e3 * c.limit:g} ms", "%", 1) for c in CONTACTS]
    rows: list[list[Cell | Judged]] = []
    for one in outcomes:
        judged = one.detector == WHITENED
        row: list[Cell | Judged] = [_half(one), one.detector, one.seconds]
        row.append(Judged(one.false_impacts, one.false_impacts == 0 if judged else None))
        row += [Judged(100.0 * one.found(c), one.found(c) >= c.target if judged else None) for c in CONTACTS]
        rows.append(row)
    return Table.of("outcomes", "False impacts, and added contacts found", heads, rows)


def delay_table(outcomes: Sequence[Outcome]) -> Table:
    """Return the delays of the detector on all joints."""
    heads = [Column("Recording"), Column("Contact"), *(Column(name, "ms", 1) for name in ("median", "90 %", "95 %"))]
    rows = [
        (_half(one), c.name, *(1e3 * np.quantile(one.delays[c.name], (0.5, 0.9, 0.95), method="higher")))
        for one in outcomes
        if one.detector == WHITENED
        for c in CONTACTS
    ]
    return Table.of("delays", "Delays of the detector on all joints, infinite where it finds nothing", heads, rows)


def targets(outcomes: Sequence[Outcome]) -> tuple[Comparison, ...]:
    """Return the targets beside what the detector on all joints reaches in each half."""
    compared = []
    for one in outcomes:
        if one.detector != WHITENED:
            continue
        false = one.false_impacts
        compared.append(Comparison(OWN_TARGET, f"{_half(one)}: false impacts", 0.0, float(false), "", not false))
        for contact in CONTACTS:
            share = one.found(contact)
            what = f"{_half(one)}: {contact.name} found within {1e3 * contact.limit:g} ms, at least"
            met = share >= contact.target
            compared.append(Comparison(OWN_TARGET, what, 100.0 * contact.target, 100.0 * share, "%", met))
    return tuple(compared)


def findings(outcomes: Sequence[Outcome]) -> tuple[Finding, ...]:
    """Return a sentence for each detector."""
    sentences = []
    for name in (SHIPPED, SINGLE, WHITENED):
        own = [one for one in outcomes if one.detector == name]
        minutes = sum(one.seconds for one in own) / 60.0
        false = sum(one.false_impacts for one in own)
        shares = ", ".join(f"{min(100.0 * one.found(c) for one in own):.1f} % of {c.name}" for c in CONTACTS)
        text = f"{name}: {false} false impacts in {minutes:.2f} min; found in time in the worst half: {shares}."
        sentences.append(Finding(text))
    return tuple(sentences)
