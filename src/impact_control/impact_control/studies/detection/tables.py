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
from impact_control.studies.study import Cell, Column, Comparison, Mark, Table, columns


def targets_table(targets: tuple[Target, ...]) -> Table:
    """Each target beside what was measured."""
    return Table(
        name="targets",
        title="Targets, best setting",
        columns=(*columns(("what", "unit")), Column("target", decimals=1), Column("measured", decimals=2)),
        rows=tuple((t.text, t.unit, t.limit, t.measured) for t in targets),
        marks={(i, 3): Mark.of(t.met) for i, t in enumerate(targets)},
    )


def comparisons(targets: tuple[Target, ...]) -> tuple[Comparison, ...]:
    """Each target, which is ours, in the place of what is published."""
    return tuple(Comparison("target of our own", t.text, t.limit, t.measured, t.unit, Mark.of(t.met)) for t in targets)


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
            *columns(("arm", "detector")),
            Column("scale", decimals=2),
            *columns((f"alarms an\nhour, noise x{noise:g}" for noise in NOISES), decimals=1),
            Column("missed", "%", 1),
            *columns((f"median delay\n{extent.speeds[0]:g} m/s", "median delay\nfrom 0.05 m/s"), "ms", 2),
            Column("error of\nimpact time", "ms", 2),
            Column("right\nlink", "%", 1),
        ),
        rows=tuple(rows),
        note=(
            "Bounds: scale times the largest score of contact-free motion at the same noise. A delay is that of the "
            "sample of detection after the first touch; a missed impact counts as later than all others, - is most "
            f"missed. Error: median of its magnitude. Link: of the detected impacts, {WINDOWS[-1]} ms after detection, "
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
    heads = [(Column(f"{speed:g} m/s\nmedian", "ms", 2), Column("missed", "%", 0)) for speed in extent.speeds]
    return Table(
        name="speeds",
        title=f"Best setting ({METHODS[best].name}): median delay and share missed",
        columns=(*columns(("arm", "contact")), *(column for pair in heads for column in pair)),
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
            *columns(("arm", "contact", "detected")),
            *columns(("right", "another", "not known"), "%", 1),
            *columns(("named after,\nmedian", "90 % of them\nafter"), "ms", 1),
        ),
        rows=tuple(rows),
        note=f"Named: from the impact to the last change of the link, {WINDOWS[-1]} ms after the detection at most.",
    )


def isolation_table(outcomes: Outcomes, extent: Extent, choice: Choice) -> Table:
    """How often the best setting names the right link, beside the best decision that its samples allow."""
    best = choice.method
    rows: list[tuple[Cell, ...]] = []
    for a, arm in enumerate(ARMS):
        for c, contact in enumerate(extent.contacts):
            for n, noise in enumerate(NOISES):
                cells: list[Cell] = []
                for v in range(len(extent.speeds)):
                    at = (a, c, v, slice(None), slice(None), n, slice(None), best, choice.scales[a][best])
                    detected = ~np.isnan(outcomes.delay[at])
                    right = is_right_link(arm, contact, outcomes.link[at])[detected]
                    cells += [percentage(outcomes.bound[at][detected]), percentage(right)]
                rows.append((arm.robot, contact, f"x{noise:g}", *cells))
    heads = (head for speed in extent.speeds for head in (f"{speed:g} m/s\nat best", "right"))
    return Table(
        name="isolation",
        title=f"Best setting ({METHODS[best].name}): right link, and the best decision between it and the next inwards",
        columns=(*columns(("arm", "contact", "noise")), *columns(heads, "%", 1)),
        rows=tuple(rows),
        note=(
            "Of the detected impacts; - is none. At best: by one who knows the model, joint friction and the course of "
            "either contact, from the same samples, both links equally probable; right: with all models and frictions."
        ),
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
                marks[len(rows), 5 + 2 * n] = Mark.of(1e3 * bound <= SLOW_DELAY)
            rows.append((arm.robot, contact, float(np.median(ideal.force[a, c])), torque, smallest, *cells))
    return Table(
        name="ideal",
        title=f"What an ideal detector could do at {extent.speeds[0]:g} m/s",
        columns=(
            *columns(("arm", "contact")),
            Column(f"force after\n{1e3 * LATER:g} ms", "N", 3),
            *columns(("torque of it", "smallest\ndetectable"), "mNm", 2),
            *columns(
                (f"{what},\nnoise x{noise:g}" for noise in NOISES for what in ("ideal delay", "measured")), "ms", 2
            ),
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
            *columns(("noise", "inertia of\nthe model", "joint\nfriction")),
            *columns(("alarms, free\nmotion", "events before\nthe impact")),
            Column("missed", "%", 1),
            *columns((f"median delay\n{extent.speeds[0]:g} m/s", "median delay\nall speeds"), "ms", 2),
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
