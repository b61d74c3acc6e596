"""Tables of the backlash study."""

from __future__ import annotations

import math
from dataclasses import fields

import numpy as np

from impact_control.observation import BacklashModel
from impact_control.studies.flacco.arm import JOINTS
from impact_control.studies.flacco.nominal import LEVER_ERROR, MASS_ERROR
from impact_control.studies.flacco.outcome import Outcome
from impact_control.studies.study import Cell, Column, Mark, Table, columns

TOLERANCE = 0.05
"""Of the identified coefficients; a target of ours."""

_UNITS = ("Nm/rad", "Nm s/rad", "Nm s/rad", "Nm", "Nm s/rad", "Nm", "Nm s/rad", "Nm")


def largest_error(outcome: Outcome) -> float:
    """Return the largest relative error of gaps and coefficients."""
    present = JOINTS.gap > 0.0
    gaps = np.abs(outcome.fit.model.gap[present] / JOINTS.gap[present] - 1.0)
    return max(float(np.nanmax(np.abs(outcome.errors))), float(gaps.max()))


def targets_table(outcome: Outcome) -> Table:
    """What was to be shown, and what came out."""
    counts = [*outcome.counts, *outcome.first_counts]
    crossings = sum(count.crossings for count in counts)
    classical, new = sum(count.classical for count in counts), sum(count.backlash for count in counts)
    half = len(outcome.contacts) // 2
    found = [delay is not None for delay in outcome.delays]
    error = largest_error(outcome)
    rows: list[tuple[Cell, ...]] = [
        ("largest error of gaps and coefficients", f"at most {100 * TOLERANCE:g} %", f"{100 * error:.1f} %"),
        ("crossings in which the classical residual alarms", "all", f"{classical} of {crossings}"),
        ("crossings in which the new residual alarms", "none", f"{new} of {crossings}"),
        ("alarms of the new residual without contact", "none", str(outcome.free_alarms)),
        ("contacts found at rest", "all", f"{sum(found[:half])} of {half}"),
        ("contacts found in motion", "all", f"{sum(found[half:])} of {len(found) - half}"),
        ("alarms of the new residual beside contacts", "none", str(outcome.false_alarms)),
    ]
    good = (
        error <= TOLERANCE,
        classical == crossings,
        new == 0,
        outcome.free_alarms == 0,
        all(found[:half]),
        all(found[half:]),
        outcome.false_alarms == 0,
    )
    return Table(
        "targets",
        "Targets",
        columns(("what", "target", "measured")),
        tuple(rows),
        {(i, 2): Mark.of(one) for i, one in enumerate(good)},
    )


def gaps_table(outcome: Outcome) -> Table:
    """Gaps: Romeo's, measured by hand, corrected by the identification."""
    centre = outcome.gap.centre
    found = (JOINTS.gap, outcome.gap.gap, outcome.fit.model.gap, centre, centre + outcome.fit.centre)
    rows = tuple((j + 1, *(1e3 * float(column[j]) for column in found)) for j in range(JOINTS.gap.size))
    return Table(
        "gaps",
        "Half-width of the gaps",
        (
            Column("joint"),
            *columns(("Romeo,\nsimulated", "by hand"), "mrad", 2),
            Column("corrected", "mrad", 3),
            *columns(("centre\nby hand", "centre\ncorrected"), "mrad", 4),
        ),
        rows,
        note="By hand the contact is strained a little; what is found in joints 5 and 6, which have no gap, is that. "
        "The simulated centres are at 0.",
    )


def coefficients_table(outcome: Outcome) -> Table:
    """Identified coefficients and their errors."""
    errors = outcome.errors
    rows: list[tuple[Cell, ...]] = []
    marks: dict[tuple[int, int], Mark] = {}
    names = [field.name.replace("_", " ") for field in fields(BacklashModel)[1:-1]]
    for i, name in enumerate(names):
        row: list[Cell] = [f"{name} [{_UNITS[i]}]"]
        for j in range(errors.shape[1]):
            error = float(errors[i, j])
            if math.isnan(error):
                row.append(None)
                continue
            row.append(f"{outcome.fit.model.coefficients[i, j]:.4g} ({100 * error:+.1f})")
            marks[i, j + 1] = Mark.of(abs(error) <= TOLERANCE)
        rows.append(tuple(row))
    return Table(
        "coefficients",
        "Identified coefficients (error in %)",
        columns(("coefficient", *(f"joint {j + 1}" for j in range(errors.shape[1])))),
        tuple(rows),
        marks,
        note="Flacco 2016 (8) to (11), with the signs and the filter of the regressors corrected.",
    )


def crossings_table(outcome: Outcome) -> Table:
    """Alarms in the crossings of each joint's gap."""
    rows: list[tuple[Cell, ...]] = []
    marks: dict[tuple[int, int], Mark] = {}
    groups = (("all joints", outcome.counts), ("Fig. 8, joint 1", outcome.first_counts))
    for name, counts in groups:
        for j, count in enumerate(counts):
            if not count.crossings:
                continue
            marks[len(rows), 4] = Mark.of(count.classical == count.crossings)
            marks[len(rows), 5] = Mark.of(count.backlash == 0)
            rows.append((name, j + 1, float(outcome.threshold[j]), count.crossings, count.classical, count.backlash))
    return Table(
        "crossings",
        "Crossings of the gaps without contact",
        (
            *columns(("motion", "joint")),
            Column("threshold", "Nm", 3),
            *columns(("crossings", "classical\nalarms", "new\nalarms")),
        ),
        tuple(rows),
        marks,
    )


def contacts_table(outcome: Outcome) -> Table:
    """Each contact and when it was found."""
    rows: list[tuple[Cell, ...]] = []
    marks: dict[tuple[int, int], Mark] = {}
    half = len(outcome.contacts) // 2
    for i, contact in enumerate(outcome.contacts):
        late, classical = outcome.delays[i], outcome.classical_delays[i]
        marks[i, 4] = Mark.of(late is not None)
        rows.append(
            (
                "rest" if i < half else "motion",
                contact.start,
                int(np.count_nonzero(contact.torque)),
                1e3 * contact.duration,
                None if late is None else 1e3 * late,
                None if classical is None else 1e3 * classical,
            )
        )
    return Table(
        "contacts",
        "Contacts, Fig. 11",
        (
            Column("arm in"),
            Column("start", "s", 2),
            Column("link"),
            *columns(("duration", "found by the\nnew after", "classical\nafter"), "ms", 0),
        ),
        tuple(rows),
        marks,
        note="The torque rises as a sine from zero. The classical residual uses the same thresholds, above which it "
        f"is {outcome.classical_false_alarms} times without a contact; the new one {outcome.false_alarms} times.",
    )


def variants_table(outcome: Outcome) -> Table:
    """What the torque beyond the gap is taken to be."""
    rows = tuple(
        (
            drive.value,
            100.0 * float(variant.explained.min()),
            float(variant.threshold[0]),
            float(variant.threshold[1]),
            variant.alarms,
            f"{variant.found} of {len(outcome.contacts)}",
        )
        for drive, variant in outcome.variants.items()
    )
    return Table(
        "variants",
        "What drives the link beyond the gap",
        (
            Column("torque"),
            Column("explained,\nworst joint", "%", 1),
            *columns(("threshold\njoint 1", "threshold\njoint 2"), "Nm", 2),
            *columns(("alarms without\ncontact", "contacts\nfound")),
        ),
        rows,
        note="Each identified from the same recording, with thresholds from the same recordings.",
    )


def unexplained_table(outcome: Outcome) -> Table:
    """What the identified joints leave of the residual, by model of the links and motion."""
    left, length = outcome.unexplained, outcome.validation.recording.time[-1]
    found = (left.exact, left.exact_elsewhere, left.nominal, left.nominal_elsewhere)
    rows = tuple((j + 1, *(100.0 * float(column[j]) for column in found)) for j in range(left.exact.size))
    return Table(
        "unexplained",
        "Part of the residual (8) that is left unexplained, Fig. 7",
        (
            Column("joint"),
            *columns(
                (
                    "exact model,\nmotion of Fig. 6",
                    "exact model,\nanother motion",
                    "nominal model,\nmotion of Fig. 6",
                    "nominal model,\nanother motion",
                ),
                "%",
                3,
            ),
        ),
        rows,
        note=f"Nominal: masses and inertias of the links within {100 * MASS_ERROR:g} %, centres of mass within "
        f"{1e3 * LEVER_ERROR:g} mm. Identified from {length:g} s of each motion, with the same gaps.",
    )


def guidance_table(outcome: Outcome) -> Table:
    """Where the person led the joints in the third experiment."""
    led, first = outcome.led, outcome.guidance.pushes[0]
    empty = np.full(JOINTS.gap.size, math.nan)
    found = (empty,) * 3 if led is None else (led.way, led.law_way, led.offset)
    rows = tuple(
        (j + 1, float(first.torque[j]), *(float(column[j]) for column in found[:2]), 1e3 * float(found[2][j]))
        for j in range(JOINTS.gap.size)
    )
    return Table(
        "guidance",
        "Led by hand, Fig. 13",
        (
            Column("joint"),
            Column("first push,\npeak", "Nm", 1),
            *columns(("way of\nthe motor", "by (15)"), "rad", 4),
            Column("sine after, from where\nthe link was led", "mrad", 1),
        ),
        rows,
        note="By (15): K_a times the residual beyond its threshold, and what is left of the speed of the sine. A link "
        "at rest is at one side of its gap, and while it swings at both.",
    )
