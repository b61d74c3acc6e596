"""Tables of the benchmark."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import product

import numpy as np

from impact_control.detection import NO_LINK
from impact_control.detection.isolation import WINDOWS
from impact_studies.detection.evaluation import (
    SLOW_DELAY,
    Choice,
    is_right_link,
    median_delay,
    missed,
    percentage,
    right_links,
    typical_error,
)
from impact_studies.detection.methods import METHODS
from impact_studies.detection.motion import ARMS, PERIOD
from impact_studies.detection.plan import FRICTIONS, LATER, QUIET, Extent, Ideal, Outcomes, Sequences, needed_distance
from impact_studies.detection.trials import INERTIAS, NOISES, SCALES
from impact_studies.frame.study import Cell, Column, Judged, Table, columns

TARGETS = {
    **{name: Column(name) for name in ("what", "unit")},
    "published": Column("target", decimals=1),
    "own": Column("measured", decimals=2),
}
"""Head of the targets."""


def methods_table(outcomes: Outcomes, extent: Extent, choice: Choice) -> Table:
    """Detectors at the bounds of the tuning set."""
    fast = [v for v, speed in enumerate(extent.speeds) if speed >= 0.05]

    def row(a: int, m: int) -> Iterable[Cell]:
        scale = choice.scales[a][m]
        delay, alarms = outcomes.delay[a, ..., m, scale], outcomes.alarms[a, :, :, :, m, scale]
        hours = outcomes.hours * alarms[:, 0].size
        yield from (ARMS[a].robot, METHODS[m].name, SCALES[scale])
        yield from (float(alarms[:, n].sum() / hours) for n in range(len(NOISES)))
        yield from (100.0 * missed(delay), *(_milliseconds(median_delay(delay[:, at])) for at in (0, fast)))
        yield 1e3 * typical_error(outcomes.error[a, ..., m, scale])
        yield percentage(right_links(outcomes, extent.contacts, m, choice.scales, arms=(a,)))

    return Table.of(
        "methods",
        "Detectors at the bounds of the tuning set, all contacts, speeds, frictions, noises and models",
        (
            *columns(("arm", "detector")),
            Column("scale", decimals=2),
            *columns((f"alarms an\nhour, noise x{noise:g}" for noise in NOISES), decimals=1),
            Column("missed", "%", 1),
            *columns((f"median delay\n{extent.speeds[0]:g} m/s", "median delay\nfrom 0.05 m/s"), "ms", 2),
            Column("error of\nimpact time", "ms", 2),
            Column("right\nlink", "%", 1),
        ),
        (row(a, m) for a in range(len(ARMS)) for m in range(len(METHODS))),
        "Bounds: scale times the largest score of contact-free motion at the same noise. A delay is that of the "
        "sample of detection after the first touch; a missed impact counts as later than all others, - is most "
        f"missed. Error: median of its magnitude. Link: of the detected impacts, {WINDOWS[-1]} ms after detection, "
        "from the residual with K_O = 100 for all detectors.",
    )


def speeds_table(outcomes: Outcomes, extent: Extent, choice: Choice) -> Table:
    """Best setting by contact and speed, both arms."""
    best = choice.method

    def row(a: int, c: int) -> Iterable[Cell]:
        yield from (ARMS[a].robot, extent.contacts[c])
        for delay in outcomes.delay[a, c, ..., best, choice.scales[a][best]]:
            yield from (_milliseconds(median_delay(delay)), 100.0 * missed(delay))

    heads = [(Column(f"{speed:g} m/s\nmedian", "ms", 2), Column("missed", "%", 0)) for speed in extent.speeds]
    return Table.of(
        "speeds",
        f"Best setting ({METHODS[best].name}): median delay and share missed",
        (*columns(("arm", "contact")), *(column for pair in heads for column in pair)),
        (row(a, c) for a in range(len(ARMS)) for c in range(len(extent.contacts))),
    )


def links_table(outcomes: Outcomes, extent: Extent, choice: Choice) -> Table:
    """Links that the best setting names, with their delay."""
    best = choice.method

    def row(a: int, c: int, contact: str) -> Iterable[Cell]:
        at = (a, c, ..., best, choice.scales[a][best])
        detected = ~np.isnan(outcomes.delay[at])
        link, named = outcomes.link[at][detected], 1e3 * outcomes.named[at][detected]
        named = named[~np.isnan(named)]
        unknown, right = link == NO_LINK, is_right_link(ARMS[a], contact, link)
        yield from (ARMS[a].robot, contact, int(link.size))
        yield from (percentage(right), percentage(~right & ~unknown), percentage(unknown))
        yield from np.quantile(named, (0.5, 0.9)).tolist() if named.size else (math.nan, math.nan)

    return Table.of(
        "links",
        f"Best setting ({METHODS[best].name}): the link of the detected impacts",
        (
            *columns(("arm", "contact", "detected")),
            *columns(("right", "another", "not known"), "%", 1),
            *columns(("named after,\nmedian", "90 % of them\nafter"), "ms", 1),
        ),
        (row(a, c, contact) for a in range(len(ARMS)) for c, contact in enumerate(extent.contacts)),
        f"Named: from the impact to the last change of the link, {WINDOWS[-1]} ms after the detection at most.",
    )


def isolation_table(outcomes: Outcomes, extent: Extent, choice: Choice) -> Table:
    """Share of right links of the best setting, beside the best decision that its samples allow."""
    best = choice.method

    def row(a: int, c: int, contact: str, n: int) -> Iterable[Cell]:
        yield from (ARMS[a].robot, contact, f"x{NOISES[n]:g}")
        for v in range(len(extent.speeds)):
            at = (a, c, v, slice(None), slice(None), n, slice(None), best, choice.scales[a][best])
            detected = ~np.isnan(outcomes.delay[at])
            right = is_right_link(ARMS[a], contact, outcomes.link[at])[detected]
            yield from (percentage(outcomes.bound[at][detected]), percentage(right))

    heads = (head for speed in extent.speeds for head in (f"{speed:g} m/s\nat best", "right"))
    return Table.of(
        "isolation",
        f"Best setting ({METHODS[best].name}): right link, and the best decision between it and the next inwards",
        (*columns(("arm", "contact", "noise")), *columns(heads, "%", 1)),
        (
            row(a, c, contact, n)
            for a in range(len(ARMS))
            for c, contact in enumerate(extent.contacts)
            for n in range(len(NOISES))
        ),
        "Of the detected impacts; - is none. At best: by one who knows the model, joint friction and the course of "
        "either contact, from the same samples, both links equally probable; right: with all models and frictions.",
    )


def ideal_table(ideal: Ideal, outcomes: Outcomes, extent: Extent, choice: Choice) -> Table:
    """Delay of an ideal detector on the slowest impacts, beside that of the best setting."""
    best = choice.method
    needed = float(needed_distance(np.array([LATER / PERIOD]))[0])

    def row(a: int, c: int, contact: str) -> Iterable[Cell | Judged]:
        torque = ideal.torque[a, c]
        yield from (ARMS[a].robot, contact, float(np.median(ideal.force[a, c])))
        yield from (1e3 * float(np.median(one)) for one in (torque, torque * needed / ideal.distance[a, c]))
        for n in range(len(NOISES)):
            bound = median_delay(ideal.delay[a, c, :, n])
            yield Judged(_milliseconds(bound), 1e3 * bound <= SLOW_DELAY)
            found = outcomes.delay[a, c, 0, :, :, n, :, best, choice.scales[a][best]]
            yield _milliseconds(median_delay(found))

    delays = (f"{what},\nnoise x{noise:g}" for noise in NOISES for what in ("ideal delay", "measured"))
    return Table.of(
        "ideal",
        f"What an ideal detector could do at {extent.speeds[0]:g} m/s",
        (
            *columns(("arm", "contact")),
            Column(f"force after\n{1e3 * LATER:g} ms", "N", 3),
            *columns(("torque of it", "smallest\ndetectable"), "mNm", 2),
            *columns(delays, "ms", 2),
        ),
        (row(a, c, contact) for a in range(len(ARMS)) for c, contact in enumerate(extent.contacts)),
        "Torque: largest on a joint. Smallest detectable: that of the same course of forces that an ideal detector "
        f"finds in half of all cases within {1e3 * LATER:g} ms, one false alarm in {QUIET / 60.0:g} min, noise "
        "x1. It knows model, motion and contact, but not the noise. Ideal delay: the median no detector can be "
        "below. Measured: best setting; - is most missed.",
    )


def conditions_table(outcomes: Outcomes, extent: Extent, choice: Choice) -> Table:
    """Best setting by noise, model and joint friction, both arms."""
    best = choice.method
    scales = [choice.scales[a][best] for a in range(len(ARMS))]

    def row(n: int, h: int, f: int) -> Iterable[Cell]:
        delay = np.array([outcomes.delay[a, :, :, f, :, n, h, best, s] for a, s in enumerate(scales)])
        yield from (f"x{NOISES[n]:g}", f"{100.0 * (INERTIAS[h] - 1.0):+.0f} %", "yes" if FRICTIONS[f] else "no")
        yield sum(int(outcomes.alarms[a, f, n, h, best, s]) for a, s in enumerate(scales))
        yield sum(int(outcomes.early[a, :, :, f, :, n, h, best, s].sum()) for a, s in enumerate(scales))
        yield 100.0 * missed(delay)
        yield from (_milliseconds(median_delay(delay[:, :, 0])), _milliseconds(median_delay(delay)))

    conditions = product(range(len(NOISES)), range(len(INERTIAS)), range(len(FRICTIONS)))
    return Table.of(
        "conditions",
        f"Best setting ({METHODS[best].name}) by condition, both arms",
        (
            *columns(("noise", "inertia of\nthe model", "joint\nfriction")),
            *columns(("alarms, free\nmotion", "events before\nthe impact")),
            Column("missed", "%", 1),
            *columns((f"median delay\n{extent.speeds[0]:g} m/s", "median delay\nall speeds"), "ms", 2),
        ),
        (row(*condition) for condition in conditions),
        f"Free motion: {120.0 * outcomes.hours:.1f} min a row, both arms together.",
    )


def sequences_table(sequences: Sequences) -> Table:
    """Contacts after the first, of the planar edge on hard surfaces."""
    return Table.of(
        "sequences",
        "Planar edge: contacts after the first one, of the other end and of bounces",
        (Column("detector"), Column("found", "%", 1), Column("other events\nan impact", decimals=2)),
        (
            (
                method.name,
                100.0 * float(sequences.found[m]) / sequences.later if sequences.later else math.nan,
                float(sequences.extra[m]) / sequences.impacts,
            )
            for m, method in enumerate(METHODS)
        ),
        f"{sequences.later} later contacts in {sequences.impacts} impacts, at least 10 ms after the one before; "
        "found: an event within 20 ms. Other events: none of the points closed in the 20 ms before, as when the "
        "arm swings or leaves the surface.",
    )


def _milliseconds(seconds: float) -> float:
    return 1e3 * seconds if math.isfinite(seconds) else math.nan
