"""Statements of Proper 2021, chapter 4, on Figs 4.12 to 4.20, beside ours.

The figures are lost; the text is on their parts (b), the behaviour after the impact, in steps of one degree: of -1 and
-2 deg, and of 1 and 2 deg, the one "precedes" the other (4.5). So here only the behaviour is judged, at whole degrees.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from impact_studies.classification.evaluation import Outcome, Verdicts, degrees
from impact_studies.frame.study import Comparison

STEP = 1.0
"""[deg] Gray areas that differ by no more are similar; one that is larger by more is significantly larger."""

_TOGETHER = "both sides of the gray area together"

Figures = Mapping[str, Verdicts]
"""Verdicts on the behaviour at whole degrees, by the number of the figure."""


def comparisons(outcomes: Sequence[Outcome]) -> tuple[Comparison, ...]:
    """Return the statements of sections 4.3.2, 4.4.1 and 4.5 in the order of the figures; all of them are needed."""
    published = {o.experiment.figure: o for o in outcomes if o.experiment.published}
    behaviour = {figure: outcome.behaviour.whole_degrees for figure, outcome in published.items()}
    return (
        *_single(behaviour),
        *_simultaneous(behaviour),
        *_simultaneous_on_single(behaviour),
        *_trends(behaviour),
        *(_acceptable(outcome) for outcome in published.values()),
    )


def _single(figures: Figures) -> tuple[Comparison, ...]:
    """Algorithm 1 on the sphere."""
    first = figures["4.12"]
    return (
        _ends("4.12", first),
        _always_at_one("4.12", first),
        _more_than_before("4.12", first, -1.0, -2.0),
        _worse_below("4.12", first),
        _ends("4.13", figures["4.13"]),
        _always("4.13", figures["4.13"], some=False),
        _smaller("4.13", "4.12", figures),
        _ends("4.14", figures["4.14"]),
        _larger("4.14", "4.13", figures),
    )


def _simultaneous(figures: Figures) -> tuple[Comparison, ...]:
    """Algorithm 2 on the edge."""
    edge = ("4.15", "4.16", "4.17")
    first = figures["4.15"]
    above = first.area.above
    widths = [_width(figures[figure]) for figure in edge]
    spreads = [_spread([_width(figures[figure]) for figure in trio]) for trio in (("4.12", "4.13", "4.14"), edge)]
    return (
        Comparison(
            "Fig. 4.15 (b)",
            "gray area above the acceptable tilt",
            2.0,
            above if math.isfinite(above) else degrees(above),
            "deg",
            above == 2.0,
        ),
        _more_than_before("4.15", first, 1.0, 2.0),
        _smaller("4.15", "4.12", figures),
        *(_symmetrical(figure, figures[figure]) for figure in edge),
        *(_always(figure, figures[figure], some=False) for figure in edge),
        Comparison(
            "Figs 4.15 to 4.17 (b)",
            _TOGETHER,
            "the same for each",
            _words(*widths),
            holds=len(set(widths)) == 1 and math.isfinite(widths[0]),
        ),
        Comparison(
            "Figs 4.12 to 4.17 (b)",
            "widest less narrowest gray area of three acceptable sets, Algorithm 1 and 2",
            "Algorithm 1 fluctuates, unlike Algorithm 2",
            _words(*spreads),
            holds=spreads[0] > spreads[1],
        ),
    )


def _simultaneous_on_single(figures: Figures) -> tuple[Comparison, ...]:
    """Algorithm 2 on the sphere."""
    small, middle, large = (figures[figure] for figure in ("4.18", "4.19", "4.20"))
    below, above = figures["4.13"].area.below, figures["4.13"].area.above
    less = figures["4.14"].area.below
    return (
        _smaller("4.18", "4.12", figures),
        _always_at_one("4.18", small),
        _beside(
            "4.19",
            "gray area below the acceptable tilts",
            "similar to that of Fig. 4.13",
            (middle.area.below, below),
            abs(middle.area.below - below) <= STEP,
        ),
        _beside(
            "4.19",
            "gray area above them",
            "significantly larger than that of Fig. 4.13",
            (middle.area.above, above),
            middle.area.above > above + STEP,
        ),
        _endless("4.19", middle),
        _always("4.19", middle, some=True),
        _beside(
            "4.20",
            "gray area below the acceptable tilts",
            "smaller than that of Fig. 4.14",
            (large.area.below, less),
            large.area.below < less,
        ),
        _endless("4.20", large),
        _smaller("4.18", "4.20", figures),
    )


def _trends(figures: Figures) -> tuple[Comparison, ...]:
    """Return the tilts at which the share rises: one of 4.12 and of 4.15, see there, and somewhere in 4.20."""
    known = {"4.12": -2.0, "4.15": 2.0}
    large = figures["4.20"].rises
    others = {
        figure: [tilt for tilt in one.rises if tilt != known.get(figure)]
        for figure, one in figures.items()
        if figure != "4.20"
    }
    rising = "tilts at which more is called expected than a step nearer"
    words = "; ".join(f"Fig. {figure}: {_tilts(tilts)}" for figure, tilts in others.items() if tilts)
    return (
        Comparison("Fig. 4.20 (b)", rising, "there are some", _tilts(large), holds=bool(large)),
        Comparison(
            "Figs 4.12 to 4.19 (b)",
            f"{rising}, but for -2 deg in Fig. 4.12 and 2 deg in Fig. 4.15",
            "none",
            words or "none",
            holds=not words,
        ),
    )


def _acceptable(outcome: Outcome) -> Comparison:
    alarms = float(outcome.overall.false_alarms)
    what = "acceptable trials called unexpected, of {} at tilts of {:g} to {:g} deg".format(
        outcome.overall.judged_acceptable, *outcome.experiment.acceptable
    )
    return Comparison(f"Fig. {outcome.experiment.figure}", what, 0.0, alarms, holds=alarms == 0.0)


def _ends(figure: str, one: Verdicts) -> Comparison:
    return Comparison(
        f"Fig. {figure} (b)",
        "gray area below and above the acceptable tilts",
        "ends",
        _words(one.area.below, one.area.above),
        holds=math.isfinite(_width(one)),
    )


def _endless(figure: str, one: Verdicts) -> Comparison:
    furthest = max(one.outside[1], default=math.nan)
    return Comparison(
        f"Fig. {figure} (b)",
        f"gray area above the acceptable tilts, up to {furthest:g} deg here",
        "does not end",
        _words(one.area.above),
        holds=math.isinf(one.area.above),
    )


def _always_at_one(figure: str, one: Verdicts) -> Comparison:
    share = one.share(1.0)
    what = "share that is called expected at 1 deg, which is not acceptable"
    return Comparison(f"Fig. {figure} (b)", what, 100.0, 100.0 * share, "%", _verdict(share == 1.0, share))


def _always(figure: str, one: Verdicts, *, some: bool) -> Comparison:
    """Compare the tilts at which everything is called expected with the source, in which there are some, or none."""
    what = "tilts outside the acceptable ones that are always called expected"
    always = one.always_expected
    published = "there are some" if some else "none"
    return Comparison(f"Fig. {figure} (b)", what, published, _tilts(always), holds=bool(always) is some)


def _more_than_before(figure: str, one: Verdicts, nearer: float, further: float) -> Comparison:
    shares = one.share(nearer), one.share(further)
    return Comparison(
        f"Fig. {figure} (b)",
        f"share that is called expected at {further:g} deg",
        f"larger than at {nearer:g} deg",
        "{1:.1f} %, and {0:.1f} % there".format(*(100.0 * share for share in shares)),
        holds=_verdict(shares[1] > shares[0], *shares),
    )


def _worse_below(figure: str, one: Verdicts) -> Comparison:
    below, above = (float(np.mean([one.share(tilt) for tilt in side])) for side in one.outside)
    return Comparison(
        f"Fig. {figure} (b)",
        "mean share that is called expected below and above 0",
        "below 0 is overall worse",
        f"{100.0 * below:.1f} % and {100.0 * above:.1f} %",
        holds=below > above,
    )


def _symmetrical(figure: str, one: Verdicts) -> Comparison:
    below, above = one.area.below, one.area.above
    return Comparison(
        f"Fig. {figure} (b)",
        "gray area below and above the acceptable tilts",
        "the same on both sides",
        _words(below, above),
        holds=below == above and math.isfinite(below),
    )


def _smaller(figure: str, other: str, figures: Figures) -> Comparison:
    widths = _width(figures[figure]), _width(figures[other])
    return _beside(figure, _TOGETHER, f"smaller than in Fig. {other}", widths, widths[0] < widths[1])


def _larger(figure: str, other: str, figures: Figures) -> Comparison:
    widths = _width(figures[figure]), _width(figures[other])
    larger = widths[0] > widths[1] + STEP
    return _beside(figure, _TOGETHER, f"significantly larger than in Fig. {other}", widths, larger)


def _beside(figure: str, what: str, published: str, widths: tuple[float, float], holds: bool) -> Comparison:
    """Compare a width of a figure with that of another one."""
    own = f"{_words(widths[0])}, there {_words(widths[1])}"
    return Comparison(f"Fig. {figure} (b)", what, published, own, holds=holds)


def _verdict(holds: bool, *shares: float) -> bool | None:
    """No verdict where a share is of no trial."""
    return None if any(math.isnan(share) for share in shares) else holds


def _width(one: Verdicts) -> float:
    return one.area.below + one.area.above


def _spread(widths: Sequence[float]) -> float:
    """Infinite where some end and some do not; 0 where none does."""
    return 0.0 if math.isinf(min(widths)) else max(widths) - min(widths)


def _words(*widths: float) -> str:
    return ", ".join(f"{width:g} deg" if math.isfinite(width) else degrees(width) for width in widths)


def _tilts(tilts: Sequence[float]) -> str:
    return ", ".join(f"{tilt:g} deg" for tilt in tilts) or "none"
