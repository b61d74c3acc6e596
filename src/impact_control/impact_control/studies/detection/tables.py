"""Tables of the benchmark."""

from __future__ import annotations

import math

import numpy as np

from impact_control.detection import NO_LINK
from impact_control.detection.isolation import WINDOWS
from impact_control.studies.detection.arms import ARMS
from impact_control.studies.detection.evaluation import (
    Choice,
    is_right_link,
    median_delay,
    missed,
    percentage,
    right_links,
    typical_error,
)
from impact_control.studies.detection.ideal import LATER, QUIET, Ideal, needed_distance
from impact_control.studies.detection.methods import METHODS
from impact_control.studies.detection.motion import PERIOD
from impact_control.studies.detection.plan import FRICTIONS, Extent, Outcomes, Sequences
from impact_control.studies.detection.targets import SLOW_DELAY, Target
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
            "missed. Error: median of its magnitude. Link: of the detected impacts, at most 30 ms after detection, "
            "from the residual with K_O = 100 for all detectors."
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


def links_table(outcomes: Outcomes, extent: Extent, choice: Choice) -> Table:
    """Which link the best setting names, and when."""
    best = choice.method
    rows: list[tuple[Cell, ...]] = []
    for a, arm in enumerate(ARMS):
        scale = choice.scales[a][best]
        for c, contact in enumerate(extent.contacts):
            detected = ~np.isnan(outcomes.delay[a, c, ..., best, scale])
            link = outcomes.link[a, c, ..., best, scale][detected]
            named = 1e3 * outcomes.named[a, c, ..., best, scale][detected]
            named = named[~np.isnan(named)]
            unknown, right = link == NO_LINK, is_right_link(arm, contact, link)
            times = np.quantile(named, (0.5, 0.9)).tolist() if named.size else [math.nan, math.nan]
            shares = (percentage(right), percentage(~right & ~unknown), percentage(unknown))
            rows.append((arm.robot, contact, int(link.size), *shares, *times))
    return Table(
        name="links",
        title=f"Best setting ({METHODS[best].name}): the link of the detected impacts",
        columns=(
            Column("arm"),
            Column("contact"),
            Column("detected"),
            Column("right", "%", 1),
            Column("another", "%", 1),
            Column("not known", "%", 1),
            Column("named after,\nmedian", "ms", 1),
            Column("90 % of them\nafter", "ms", 1),
        ),
        rows=tuple(rows),
        note=f"Named: from the impact to the last change of the link, {WINDOWS[-1]} ms after the detection at most.",
    )


def ideal_table(ideal: Ideal, outcomes: Outcomes, extent: Extent, choice: Choice) -> Table:
    """What the measurements of the slowest impacts can show, beside what the best setting found."""
    best = choice.method
    needed = float(needed_distance(np.array([LATER / PERIOD]))[0])
    rows: list[tuple[Cell, ...]] = []
    marks = {}
    for a, arm in enumerate(ARMS):
        for c, contact in enumerate(extent.contacts):
            torque = 1e3 * float(np.median(ideal.torque[a, c]))
            smallest = 1e3 * float(np.median(ideal.torque[a, c] * needed / ideal.distance[a, c]))
            cells: list[Cell] = []
            for n in range(len(NOISES)):
                bound = median_delay(ideal.delay[a, c, :, n])
                found = median_delay(outcomes.delay[a, c, 0, :, :, n, :, best, choice.scales[a][best]])
                cells += [_milliseconds(bound), _milliseconds(found)]
                marks[len(rows), 5 + 2 * n] = Mark.GOOD if 1e3 * bound <= SLOW_DELAY else Mark.BAD
            rows.append((arm.robot, contact, float(np.median(ideal.force[a, c])), torque, smallest, *cells))
    delays = []
    for noise in NOISES:
        delays += [Column(f"ideal delay,\nnoise x{noise:g}", "ms", 2), Column(f"measured,\nnoise x{noise:g}", "ms", 2)]
    return Table(
        name="ideal",
        title=f"What an ideal detector could do at {extent.speeds[0]:g} m/s",
        columns=(
            Column("arm"),
            Column("contact"),
            Column(f"force after\n{1e3 * LATER:g} ms", "N", 3),
            Column("torque of it", "mNm", 2),
            Column("smallest\ndetectable", "mNm", 2),
            *delays,
        ),
        rows=tuple(rows),
        marks=marks,
        note=(
            "Torque: largest on a joint. Smallest detectable: that of the same course of forces that an ideal detector "
            f"finds in half of all cases within {1e3 * LATER:g} ms, one false alarm in {QUIET / 60.0:g} min, noise "
            "x1. It knows model, motion and contact, and only the noise not. Ideal delay: the median nobody can be "
            "below. Measured: best setting; - is most missed."
        ),
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
