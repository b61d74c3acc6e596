"""What is said of Figs 4.12 to 4.20: it holds for shares as in the text of Proper 2021, and for no others."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from impact_control.classification import TUNED, GrayArea
from impact_control.scenario import Classification
from impact_studies.classification.comparisons import comparisons
from impact_studies.classification.evaluation import EXPERIMENTS, Outcome, Verdicts, reaches, targets
from impact_studies.classification.statements import verdict
from impact_studies.frame.study import OWN_TARGET, Comparison, Mark

TRIALS = 20
"""At each tilt."""

AS_PUBLISHED = {
    "4.12": {-5: 0.1, -4: 0.3, -3: 0.4, -2: 0.6, -1: 0.5, 1: 1.0, 2: 0.4},
    "4.13": {-4: 0.2, -3: 0.5, 3: 0.5, 4: 0.2},
    "4.14": {-7: 0.1, -6: 0.3, -5: 0.5, 5: 0.5, 6: 0.3, 7: 0.1},
    "4.15": {-2: 0.3, -1: 0.5, 1: 0.5, 2: 0.6},
    "4.16": {-4: 0.3, -3: 0.5, 3: 0.5, 4: 0.2},
    "4.17": {-6: 0.3, -5: 0.5, 5: 0.5, 6: 0.2},
    "4.18": {-1: 0.5, 1: 1.0},
    "4.19": {-4: 0.2, -3: 0.5, 3: 1.0, 4: 0.9, 5: 0.8, 6: 0.7, 7: 0.6, 8: 0.5, 9: 0.4, 10: 0.3},
    "4.20": {-5: 0.4, 5: 0.9, 6: 0.8, 7: 0.7, 8: 0.5, 9: 0.6, 10: 0.3},
}
"""Share of the tilts [deg] outside the acceptable ones that is called expected, 0 where none is given."""


def verdicts_of(acceptable, shares):
    low, high = acceptable
    tilts, unexpected = [], []
    for tilt in sorted({*range(-10, 11), *shares}):
        share = shares.get(tilt, float(low <= tilt <= high))
        tilts += [float(tilt)] * TRIALS
        unexpected += [i >= round(TRIALS * share) for i in range(TRIALS)]
    return Verdicts(np.array(tilts), np.array(unexpected), acceptable)


def outcomes_of(**changed):
    """Outcomes as published but for some shares, by figure with _ for the dot; completion as the figure it varies."""
    found = []
    for experiment in EXPERIMENTS:
        figure = experiment.figure.split(",")[0]
        shares = AS_PUBLISHED[figure] | changed.get("f" + experiment.figure.replace(".", "_").replace(", ", "_"), {})
        one = verdicts_of(experiment.acceptable, shares)
        everything = np.zeros_like(one.unexpected)
        values = (10, 20.0, 0.03, 0.1, 0.1, 0.1, None)
        parameters = Classification.of(**dict(zip(TUNED, values, strict=True)))
        area = GrayArea(0.0, 0.0, 0.0)
        found.append(
            Outcome(experiment, parameters, area, one.tilts, one.unexpected, everything, one.unexpected, one.tilts)
        )
    return found


def wrong(**changed):
    """Figure and first words of what does not hold."""
    return {(one.where, one.what) for one in comparisons(outcomes_of(**changed)) if one.mark is Mark.BAD}


def test_all_that_is_said_holds_for_shares_as_in_the_text():
    said = comparisons(outcomes_of())
    assert {one.mark for one in said} == {Mark.GOOD}
    assert {one.where.split()[1] for one in said} >= set(AS_PUBLISHED)
    assert not any("completion" in one.where for one in said)


TOGETHER = "both sides of the gray area together"
BOTH = "gray area below and above the acceptable tilts"
ALWAYS = "tilts outside the acceptable ones that are always called expected"
ONE = "share that is called expected at 1 deg, which is not acceptable"
RISING = "tilts at which more is called expected than a step nearer"


@pytest.mark.parametrize(
    ("changed", "where", "what"),
    [
        ({"f4_12": {-10: 0.05}}, "Fig. 4.12 (b)", BOTH),
        ({"f4_12": {1: 0.95}}, "Fig. 4.12 (b)", ONE),
        ({"f4_12": {-2: 0.5}}, "Fig. 4.12 (b)", "share that is called expected at -2 deg"),
        ({"f4_12": {2: 0.9}}, "Fig. 4.12 (b)", "mean share that is called expected below and above 0"),
        ({"f4_13": {10: 0.05}}, "Fig. 4.13 (b)", BOTH),
        ({"f4_13": {3: 1.0}}, "Fig. 4.13 (b)", ALWAYS),
        ({"f4_13": {5: 0.1, 6: 0.1, -5: 0.1}}, "Fig. 4.13 (b)", TOGETHER),
        ({"f4_14": {-10: 0.05}}, "Fig. 4.14 (b)", BOTH),
        ({"f4_14": {7: 0.0}}, "Fig. 4.14 (b)", TOGETHER),  # larger by 1 deg
        ({"f4_19": {-5: 0.1}}, "Fig. 4.19 (b)", None),  # larger by 1 deg
        ({"f4_15": {2: 0.0, -2: 0.0}}, "Fig. 4.15 (b)", "gray area above the acceptable tilt"),
        ({"f4_15": {3: 0.05, -3: 0.05}}, "Fig. 4.15 (b)", "gray area above the acceptable tilt"),
        ({"f4_15": {10: 0.05}}, "Fig. 4.15 (b)", "gray area above the acceptable tilt"),
        ({"f4_15": {2: 0.5}}, "Fig. 4.15 (b)", "share that is called expected at 2 deg"),
        ({"f4_15": {-3: 0.1, -4: 0.1, -5: 0.1}}, "Fig. 4.15 (b)", TOGETHER),
        ({"f4_15": {-3: 0.1}}, "Fig. 4.15 (b)", BOTH),
        ({"f4_16": {5: 0.1}}, "Fig. 4.16 (b)", BOTH),
        ({"f4_17": {-7: 0.1}}, "Fig. 4.17 (b)", BOTH),
        ({"f4_17": {-10: 0.1, 10: 0.1}}, "Fig. 4.17 (b)", BOTH),
        ({"f4_15": {-1: 1.0}}, "Fig. 4.15 (b)", ALWAYS),
        ({"f4_16": {3: 1.0}}, "Fig. 4.16 (b)", ALWAYS),
        ({"f4_17": {5: 1.0}}, "Fig. 4.17 (b)", ALWAYS),
        ({"f4_17": {-7: 0.1, 7: 0.1}}, "Figs 4.15 to 4.17 (b)", TOGETHER),
        (
            {"f4_17": {-7: 0.1, 7: 0.1, 8: 0.1}},
            "Figs 4.12 to 4.17 (b)",
            "widest less narrowest gray area of three acceptable sets, Algorithm 1 and 2",
        ),
        ({"f4_18": {-2: 0.1, -3: 0.1, -4: 0.1, -5: 0.1, -6: 0.1, -7: 0.1}}, "Fig. 4.18 (b)", TOGETHER),
        ({"f4_18": {1: 0.95}}, "Fig. 4.18 (b)", ONE),
        ({"f4_19": {-5: 0.1, -6: 0.1}}, "Fig. 4.19 (b)", "gray area below the acceptable tilts"),
        ({"f4_19": {-10: 0.1}}, "Fig. 4.19 (b)", "gray area below the acceptable tilts"),
        ({"f4_19": dict.fromkeys(range(6, 11), 0.0)}, "Fig. 4.19 (b)", "gray area above them"),
        ({"f4_19": {10: 0.0}}, "Fig. 4.19 (b)", "gray area above the acceptable tilts, up to 10 deg here"),
        ({"f4_19": {3: 0.95}}, "Fig. 4.19 (b)", ALWAYS),
        ({"f4_20": {-6: 0.1, -7: 0.1}}, "Fig. 4.20 (b)", "gray area below the acceptable tilts"),
        ({"f4_20": {10: 0.0}}, "Fig. 4.20 (b)", "gray area above the acceptable tilts, up to 10 deg here"),
        ({"f4_20": {9: 0.4}}, "Fig. 4.20 (b)", RISING),
        ({"f4_18": {-10: 0.05, 10: 0.05}}, "Fig. 4.18 (b)", TOGETHER),
        ({"f4_12": {3: 0.5}}, "Figs 4.12 to 4.19 (b)", RISING + ", but for -2 deg in Fig. 4.12 and 2 deg in Fig. 4.15"),
        (
            {"f4_16": {-4: 0.6}},
            "Figs 4.12 to 4.19 (b)",
            RISING + ", but for -2 deg in Fig. 4.12 and 2 deg in Fig. 4.15",
        ),
    ],
)
def test_what_is_said_does_not_hold_for_other_shares(changed, where, what):
    found = wrong(**changed)
    if what is None:  # still within the bound
        assert not found
    else:
        assert (where, what) in found


@pytest.mark.parametrize("figure", sorted(AS_PUBLISHED))
def test_an_acceptable_trial_that_is_unexpected_is_seen(figure):
    bad = wrong(**{"f" + figure.replace(".", "_"): {0: 0.95}})
    assert {where for where, what in bad if what.startswith("acceptable trials")} == {f"Fig. {figure}"}


def test_half_degrees_are_not_in_the_source_but_in_our_targets():
    changed = {"f4_15": {2.5: 0.1, -2.5: 0.1, 0.5: 1.0}}
    assert not wrong(**changed)
    first = outcomes_of(**changed)[3]
    assert first.overall.area.above == 2.5 and first.overall.always_expected == [0.5]


def test_the_source_is_on_the_behaviour_alone_and_the_targets_are_on_the_verdict_as_a_whole():
    """Where the impacts tell every tilt outside, no gray area is left, but for the behaviour it is as before."""
    outcomes = []
    for one in outcomes_of():
        low, high = one.experiment.acceptable
        told = (one.tilts < low) | (one.tilts > high)
        outcomes.append(replace(one, unexpected=one.behaviour_unexpected | told, impact_unexpected=told))
    assert {one.mark for one in comparisons(outcomes)} == {Mark.GOOD}
    assert {one.mark for one in targets(outcomes)} == {Mark.GOOD}
    assert Mark.BAD in {one.mark for one in targets(outcomes_of())}
    assert all(one.impacts.area.share == 0.0 for one in outcomes)


def test_a_share_of_no_trial_gets_no_verdict():
    """Without tilts of 1 and -1 deg."""
    outcomes = outcomes_of()
    for i, one in enumerate(outcomes):
        kept = np.abs(one.tilts) != 1.0
        changed = {name: value[kept] for name, value in vars(one).items() if isinstance(value, np.ndarray)}
        outcomes[i] = Outcome(one.experiment, one.parameters, one.tuned, **changed)
    plain = [(one.where, one.what) for one in comparisons(outcomes) if one.mark is Mark.PLAIN]
    assert plain == [
        ("Fig. 4.12 (b)", ONE),
        ("Fig. 4.12 (b)", "share that is called expected at -2 deg"),
        ("Fig. 4.15 (b)", "share that is called expected at 2 deg"),
        ("Fig. 4.18 (b)", ONE),
    ]


def test_targets_are_rows_of_their_own_with_what_is_asked_for_in_the_place_of_what_is_published():
    rows = targets(outcomes_of())
    assert {one.where for one in rows} == {OWN_TARGET}
    by_name = {one.what: one for one in rows}
    edge = by_name["4.15: edge, Algorithm 2, acceptable 0 to 0 deg: gray area above"]
    assert (edge.published, edge.own, edge.mark) == ("at most 1.5 deg", "2 deg", Mark.BAD)
    sphere = by_name["4.12: sphere, Algorithm 1, acceptable 0 to 0 deg: gray area below"]
    assert (sphere.published, sphere.own, sphere.mark) == ("an end", "5 deg", Mark.GOOD)
    endless = by_name["4.20: sphere, Algorithm 2, acceptable -4 to 4 deg: gray area above"]
    assert (endless.published, endless.own, endless.mark) == ("an end", "does not end", Mark.BAD)
    # The same gray area is as in the source, where it does not end either.
    (said,) = (one for one in comparisons(outcomes_of()) if "up to 10 deg" in one.what and "4.20" in one.where)
    assert (said.published, said.own, said.mark) == ("does not end", "does not end", Mark.GOOD)


def test_false_alarms_of_the_variants_are_a_target_and_those_of_the_figures_are_not_counted_twice():
    rows = [one for one in targets(outcomes_of()) if "unexpected" in one.what]
    assert len(rows) == 3 and all("completion" in one.what for one in rows)
    bad = [one for one in targets(outcomes_of(**{"f4_16_completion": {0: 0.9}})) if one.mark is Mark.BAD]
    assert [one.own for one in bad if "unexpected" in one.what] == [2.0]


def test_a_target_is_reached_up_to_its_bound():
    edge, sphere = outcomes_of()[3], outcomes_of()[0]
    assert reaches(edge, 1.5) and not reaches(edge, 2.0)
    assert reaches(sphere, 10.0) and not reaches(sphere, math.inf)


def test_the_verdict_counts_what_is_said_and_what_is_asked_for_apart():
    rows = [
        Comparison("Fig. 4.12 (b)", "x", "a", "a", holds=True),
        Comparison("Fig. 4.13 (b)", "x", "a", "b", holds=None),
        Comparison(OWN_TARGET, "x", "a", "a", holds=True),
        Comparison(OWN_TARGET, "x", "a", "b", holds=False),
    ]
    sentence = verdict(rows)
    assert sentence.startswith("1 of 1 statements of the source hold, and 1 of 2 targets")
    assert "and 1 of 1 targets" in verdict(rows[:3])


def test_rises_are_told_at_the_tilt_where_more_is_called_expected_than_nearer():
    one = verdicts_of((-2.0, 2.0), {-5: 0.3, -4: 0.2, -3: 0.2, 3: 0.2, 3.5: 0.3, 4: 0.2})
    assert one.rises == [-5.0, 3.5]
    assert one.whole_degrees.rises == [-5.0]
    assert one.outside[0][:2] == [-3.0, -4.0] and one.outside[1][:2] == [3.0, 3.5]
    assert one.share(-5.0) == 0.3 and math.isnan(one.share(3.25))
