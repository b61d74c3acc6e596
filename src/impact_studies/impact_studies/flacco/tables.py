"""Tables of the backlash study."""

from __future__ import annotations

import math
from dataclasses import fields

import numpy as np

from impact_studies.flacco.arm import JOINTS
from impact_studies.flacco.evaluation import LEVER_ERROR, MASS_ERROR
from impact_studies.flacco.outcome import Outcome
from impact_studies.frame.study import Cell, Column, Judged, Table, columns
from impact_studies.models.observation.backlash_model import BacklashModel

TOLERANCE = 0.05
"""Relative tolerance of the identified coefficients; a target of ours."""

_UNITS = ("Nm/rad", "Nm s/rad", "Nm s/rad", "Nm", "Nm s/rad", "Nm", "Nm s/rad", "Nm")
_MOTIONS = ("motion of Fig. 6", "another motion")


def largest_error(outcome: Outcome) -> float:
    """Return the largest relative error of gaps and coefficients."""
    present = JOINTS.gap > 0.0
    gaps = np.abs(outcome.fit.model.gap[present] / JOINTS.gap[present] - 1.0)
    return max(float(np.nanmax(np.abs(outcome.errors))), float(gaps.max()))


def gaps_table(outcome: Outcome) -> Table:
    """Gaps: Romeo's, measured by hand, corrected by the identification."""
    centre = outcome.gap.centre
    found = (JOINTS.gap, outcome.gap.gap, outcome.fit.model.gap, centre, centre + outcome.fit.centre)
    return Table.of(
        "gaps",
        "Half-width of the gaps",
        (
            Column("joint"),
            *columns(("Romeo,\nsimulated", "by hand"), "mrad", 2),
            Column("corrected", "mrad", 3),
            *columns(("centre\nby hand", "centre\ncorrected"), "mrad", 4),
        ),
        ((j + 1, *(1e3 * column[j] for column in found)) for j in range(JOINTS.gap.size)),
        "By hand the contact is strained a little; what is found in joints 5 and 6, which have no gap, is that. "
        "The simulated centres are at 0.",
    )


def coefficients_table(outcome: Outcome) -> Table:
    """Identified coefficients and their errors."""
    joints = range(outcome.errors.shape[1])

    def cell(i: int, j: int) -> Cell | Judged:
        error = float(outcome.errors[i, j])
        if math.isnan(error):
            return None
        found = f"{outcome.fit.model.coefficients[i, j]:.4g} ({100 * error:+.1f})"
        return Judged(found, abs(error) <= TOLERANCE)

    names = [field.name.replace("_", " ") for field in fields(BacklashModel)[1:-1]]
    return Table.of(
        "coefficients",
        "Identified coefficients (error in %)",
        columns(("coefficient", *(f"joint {j + 1}" for j in joints))),
        ((f"{name} [{_UNITS[i]}]", *(cell(i, j) for j in joints)) for i, name in enumerate(names)),
        "Flacco 2016 (8) to (11), with the signs and the filter of the regressors corrected.",
    )


def crossings_table(outcome: Outcome) -> Table:
    """Alarms in the crossings of each joint's gap."""
    groups = (("all joints", outcome.counts), ("Fig. 8, joint 1", outcome.first_counts))
    return Table.of(
        "crossings",
        "Crossings of the gaps without contact",
        (
            *columns(("motion", "joint")),
            Column("threshold", "Nm", 3),
            *columns(("crossings", "classical\nalarms", "new\nalarms")),
        ),
        (
            (
                *(name, j + 1, outcome.threshold[j], count.crossings),
                Judged(count.classical, count.classical == count.crossings),
                Judged(count.backlash, count.backlash == 0),
            )
            for name, counts in groups
            for j, count in enumerate(counts)
            if count.crossings
        ),
    )


def contacts_table(outcome: Outcome) -> Table:
    """Contacts with the delay of their detection."""
    half = len(outcome.contacts) // 2
    found = zip(outcome.contacts, outcome.delays, outcome.classical_delays, strict=True)
    return Table.of(
        "contacts",
        "Contacts, Fig. 11",
        (
            Column("arm in"),
            Column("start", "s", 2),
            Column("link"),
            *columns(("duration", "found by the\nnew after", "classical\nafter"), "ms", 0),
        ),
        (
            (
                "rest" if i < half else "motion",
                contact.start,
                int(np.count_nonzero(contact.torque)),
                1e3 * contact.duration,
                Judged(None if late is None else 1e3 * late, late is not None),
                None if classical is None else 1e3 * classical,
            )
            for i, (contact, late, classical) in enumerate(found)
        ),
        "The torque rises as a sine from zero. The classical residual uses the same thresholds, above which it "
        f"is {outcome.classical_false_alarms} times without a contact; the new one {outcome.false_alarms} times.",
    )


def variants_table(outcome: Outcome) -> Table:
    """Models of the torque that drives the link beyond the gap."""
    return Table.of(
        "variants",
        "What drives the link beyond the gap",
        (
            Column("torque"),
            Column("explained,\nworst joint", "%", 1),
            *columns(("threshold\njoint 1", "threshold\njoint 2"), "Nm", 2),
            *columns(("alarms without\ncontact", "contacts\nfound")),
        ),
        (
            (
                *(drive.value, 100.0 * variant.explained.min(), *variant.threshold[:2]),
                *(variant.alarms, f"{variant.found} of {len(outcome.contacts)}"),
            )
            for drive, variant in outcome.variants.items()
        ),
        "Each identified from the same recording, with thresholds from the same recordings.",
    )


def unexplained_table(outcome: Outcome) -> Table:
    """Part of the residual that the identified joints leave, by model of the links and motion."""
    left, length = outcome.unexplained, outcome.validation.recording.time[-1]
    found = (left.exact, left.exact_elsewhere, left.nominal, left.nominal_elsewhere)
    heads = (f"{model} model,\n{motion}" for model in ("exact", "nominal") for motion in _MOTIONS)
    return Table.of(
        "unexplained",
        "Part of the residual (8) that is left unexplained, Fig. 7",
        (Column("joint"), *columns(heads, "%", 3)),
        ((j + 1, *(100.0 * column[j] for column in found)) for j in range(left.exact.size)),
        f"Nominal: masses and inertias of the links within {100 * MASS_ERROR:g} %, centres of mass within "
        f"{1e3 * LEVER_ERROR:g} mm. Identified from {length:g} s of each motion, with the same gaps.",
    )


def guidance_table(outcome: Outcome) -> Table:
    """Way of the joints in the hands of the person in the third experiment."""
    led, first = outcome.led, outcome.guidance.pushes[0]
    empty = np.full(JOINTS.gap.size, math.nan)
    way, law_way, offset = (empty,) * 3 if led is None else (led.way, led.law_way, led.offset)
    return Table.of(
        "guidance",
        "Led by hand, Fig. 13",
        (
            Column("joint"),
            Column("first push,\npeak", "Nm", 1),
            *columns(("way of\nthe motor", "by (15)"), "rad", 4),
            Column("sine after, from where\nthe link was led", "mrad", 1),
        ),
        ((j + 1, first.torque[j], way[j], law_way[j], 1e3 * offset[j]) for j in range(JOINTS.gap.size)),
        "By (15): K_a times the residual beyond its threshold, and what is left of the speed of the sine. A link "
        "at rest is at one side of its gap, and while it swings at both.",
    )
