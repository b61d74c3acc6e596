"""Tables of the benchmark."""

from __future__ import annotations

import math

import numpy as np

from impact_control.studies.detection.arms import ARMS
from impact_control.studies.detection.evaluation import (
    Choice,
    median_delay,
    missed,
    percentage,
    right_links,
    typical_error,
)
from impact_control.studies.detection.methods import METHODS
from impact_control.studies.detection.plan import FRICTIONS, Extent, Outcomes, Sequences
from impact_control.studies.detection.targets import Target
from impact_control.studies.detection.trials import INERTIAS, NOISES, SCALES
from impact_control.studies.study import Cell, Column, Mark, Table


def targets_table(targets: tuple[Target, ...]) -> Table:
    """Each target beside what was measured."""
    return Table(
        name="targets",
        title="Targets, best setting",
        columns=(Column("what"), Column("unit"), Column("target", decimals=1), Column("measured", decimals=2)),
        rows=tuple((t.text, t.unit, t.limit, t.measured) for t in targets),
        marks={(i, 3): Mark.GOOD if t.met else Mark.BAD for i, t in enumerate(targets)},
    )


def methods_table(outcomes: Outcomes, extent: Extent, choice: Choice) -> Table:
    """All detectors at the bounds that tuning gave them."""
    fast = [v for v, speed in enumerate(extent.speeds) if speed >= 0.05]
    rows: list[tuple[Cell, ...]] = []
    for a, arm in enumerate(ARMS):
        for m, method in enumerate(METHODS):
            scale = choice.scales[a][m]
            delay, error = outcomes.delay[a, ..., m, scale], outcomes.error[a, ..., m, scale]
            alarms = outcomes.alarms[a, :, :, :, m, scale]
            hours = outcomes.hours * alarms[:, 0].size
            links = right_links(outcomes, extent.contacts, m, choice.scales, arms=(a,))
            rows.append(
                (
                    arm.robot,
                    method.name,
                    SCALES[scale],
                    *(float(alarms[:, n].sum() / hours) for n in range(len(NOISES))),
                    100.0 * missed(delay),
                    _milliseconds(median_delay(delay[:, 0])),
                    _milliseconds(median_delay(delay[:, fast])),
                    1e3 * typical_error(error),
                    percentage(links),
                )
            )
    return Table(
        name="methods",
        title="Detectors at the bounds of the tuning set, all contacts, speeds, frictions, noises and models",
        columns=(
            Column("arm"),
            Column("detector"),
            Column("scale", decimals=2),
            *(Column(f"alarms an\nhour, noise x{noise:g}", decimals=1) for noise in NOISES),
            Column("missed", "%", 1),
            Column(f"median delay\n{extent.speeds[0]:g} m/s", "ms", 2),
            Column("median delay\nfrom 0.05 m/s", "ms", 2),
            Column("error of\nimpact time", "ms", 2),
            Column("right\nlink", "%", 1),
        ),
        rows=tuple(rows),
        note=(
            "Bounds: scale times the largest score of contact-free motion at the same noise. A delay is that of the "
            "sample of detection after the first touch; a missed impact counts as later than all others, - is most "
            "missed. Error: median of its magnitude. Link: of the detected impacts, 10 ms after detection, from the "
            "residual with K_O = 100 for all detectors."
        ),
    )


def speeds_table(outcomes: Outcomes, extent: Extent, choice: Choice) -> Table:
    """The best setting by contact and speed, both arms."""
    best = choice.method
    rows: list[tuple[Cell, ...]] = []
    for a, arm in enumerate(ARMS):
        for c, contact in enumerate(extent.contacts):
            delay = outcomes.delay[a, c, ..., best, choice.scales[a][best]]
            cells: list[Cell] = []
            for v in range(len(extent.speeds)):
                cells += [_milliseconds(median_delay(delay[v])), 100.0 * missed(delay[v])]
            rows.append((arm.robot, contact, *cells))
    columns = []
    for speed in extent.speeds:
        columns += [Column(f"{speed:g} m/s\nmedian", "ms", 2), Column("missed", "%", 0)]
    return Table(
        name="speeds",
        title=f"Best setting ({METHODS[best].name}): median delay and share missed",
        columns=(Column("arm"), Column("contact"), *columns),
        rows=tuple(rows),
    )


def conditions_table(outcomes: Outcomes, extent: Extent, choice: Choice) -> Table:
    """The best setting by noise, model and joint friction, both arms."""
    best = choice.method
    rows: list[tuple[Cell, ...]] = []
    for n, noise in enumerate(NOISES):
        for h, inertia in enumerate(INERTIAS):
            for f, friction in enumerate(FRICTIONS):
                scales = [choice.scales[a][best] for a in range(len(ARMS))]
                delay = np.array([outcomes.delay[a, :, :, f, :, n, h, best, s] for a, s in enumerate(scales)])
                early = sum(int(outcomes.early[a, :, :, f, :, n, h, best, s].sum()) for a, s in enumerate(scales))
                alarms = sum(int(outcomes.alarms[a, f, n, h, best, s]) for a, s in enumerate(scales))
                rows.append(
                    (
                        f"x{noise:g}",
                        f"{100.0 * (inertia - 1.0):+.0f} %",
                        "yes" if friction else "no",
                        alarms,
                        early,
                        100.0 * missed(delay),
                        _milliseconds(median_delay(delay[:, :, 0])),
                        _milliseconds(median_delay(delay)),
                    )
                )
    return Table(
        name="conditions",
        title=f"Best setting ({METHODS[best].name}) by condition, both arms",
        columns=(
            Column("noise"),
            Column("inertia of\nthe model"),
            Column("joint\nfriction"),
            Column("alarms, free\nmotion"),
            Column("events before\nthe impact"),
            Column("missed", "%", 1),
            Column(f"median delay\n{extent.speeds[0]:g} m/s", "ms", 2),
            Column("median delay\nall speeds", "ms", 2),
        ),
        rows=tuple(rows),
        note=f"Free motion: {120.0 * outcomes.hours:.1f} min a row, both arms together.",
    )


def sequences_table(sequences: Sequences) -> Table:
    """Contacts after the first, of the planar edge on hard surfaces."""
    rows = tuple(
        (
            method.name,
            100.0 * float(sequences.found[m]) / sequences.later if sequences.later else math.nan,
            float(sequences.extra[m]) / sequences.impacts,
        )
        for m, method in enumerate(METHODS)
    )
    return Table(
        name="sequences",
        title="Planar edge: contacts after the first one, of the other end and of bounces",
        columns=(Column("detector"), Column("found", "%", 1), Column("other events\nan impact", decimals=2)),
        rows=rows,
        note=(
            f"{sequences.later} later contacts in {sequences.impacts} impacts, at least 10 ms after the one before; "
            "found: an event within 20 ms. Other events: none of the points closed in the 20 ms before, as when the "
            "arm swings or leaves the surface."
        ),
    )


def _milliseconds(seconds: float) -> float:
    return 1e3 * seconds if math.isfinite(seconds) else math.nan
