"""Random tasks: how they are drawn, what is really there, a short form of the study, its judgement and statistics."""

from __future__ import annotations

import functools
import math
import re

import h5py
import numpy as np
import pytest
from scipy.stats import binom

from impact_control.classification import FALL, GROWTH, HIDDEN, MISTAKEN, probability_expected
from impact_control.pipeline import Outcome
from impact_control.planning import Quantity, departures, load_envelope, planned_values
from impact_control.scenario import config_directory
from impact_studies.envelope import statements as targets
from impact_studies.envelope.drawing import draw_delays, draw_envelope, draw_refusals
from impact_studies.envelope.outcome import Law, Runs, Share, fit, reliability, write_runs
from impact_studies.envelope.statements import findings, verdict
from impact_studies.envelope.tasks import (
    OUT_OF_REACH,
    RIGHT_OUTCOMES,
    Case,
    Ended,
    Variant,
    actual_friction,
    cases,
    draw,
    geometry,
    met,
    planned,
    run_case,
)
from impact_studies.frame.study import Mark
from study_files import require_same_files, study_command

ENVELOPE = load_envelope()
SEED, TASKS = 21, 40
OTHERS = tuple(variant for variant in Variant if variant is not Variant.AS_EXPECTED)


def changed(case: Case, **changes) -> Case:
    return Case(**{**vars(case), **changes})


@functools.cache
def short_form() -> Runs:
    """40 tasks, half of them for each robot, as expected and in one other variant each."""
    every = cases(ENVELOPE, TASKS, SEED)
    chosen = [
        changed(case, variants=(Variant.AS_EXPECTED.name, OTHERS[case.task.number // 2 % len(OTHERS)].name))
        for number, case in enumerate(every)
        if number // 2 % 2 == number % 2
    ]
    return Runs.of(chosen, [run_case(case) for case in chosen])


def fewest(of: int, share: float = targets.RIGHT) -> int:
    """Return how many right verdicts a share of them explains at the least, in 99 of 100 sets."""
    return of - int(binom.ppf(0.99, of, 1.0 - share))


@pytest.mark.timeout(400)
@pytest.mark.scenario
def test_verdicts_on_random_tasks_are_right_inside_all_limits():
    runs = short_form()
    assert [np.count_nonzero(runs["robot"] == robot) for robot in ENVELOPE.robots] == [TASKS, TASKS]
    assert targets.refused(runs).count <= TASKS - fewest(TASKS, 1.0 - targets.REFUSED)
    assert runs.outcomes(Outcome.FAULT) == 0
    assert targets.exceeded(runs) == 0
    assert np.all(np.abs(targets.force_errors(runs)) <= targets.FORCE)
    expected = targets.right(runs.of_variant(Variant.AS_EXPECTED))
    assert expected.count >= fewest(expected.of)
    others = targets.right(runs.certain.of_variant(*OTHERS))
    assert others.count >= fewest(others.of)


@pytest.mark.scenario
def test_contacts_of_random_tasks_are_detected_in_time_and_nothing_else():
    runs = short_form()
    stiff = targets.delays(runs, softest=targets.STIFF)
    assert stiff.size > TASKS // 2
    assert np.median(stiff) <= targets.MEDIAN_DELAY
    assert 0.0 <= stiff.min() <= stiff.max() <= targets.LARGEST_DELAY
    assert not np.any(runs["early"])
    assert targets.missed(runs, softest=targets.STIFF) == 0


@pytest.mark.scenario
def test_the_probability_of_random_tasks_is_close_to_the_frequency():
    runs = short_form().certain
    assert all(one.close is not False for one in reliability(runs["probability"], runs.as_expected))


def test_more_tasks_begin_with_the_same_and_each_robot_gets_its_own():
    few, more = cases(ENVELOPE, 3, 5), cases(ENVELOPE, 4, 5)
    assert more[: len(few)] == few
    assert [case.robot for case in few] == list(ENVELOPE.robots) * 3
    assert len({case.task for case in few}) == len(few)
    assert cases(load_envelope(), 3, 5) == few
    assert cases(ENVELOPE, 3, 6)[0].task != few[0].task


def test_drawn_values_fill_their_ranges_and_are_those_of_the_scenario():
    tasks = [draw(ENVELOPE, "fr3", SEED, number) for number in range(400)]
    for name, (lower, upper) in vars(ENVELOPE.ranges).items():
        ends = np.log10([lower, upper]) if name == "stiffness" else np.array([lower, upper])
        values = np.array([getattr(task, name) for task in tasks])
        places = ((np.log10(values) if name == "stiffness" else values) - ends[0]) / (ends[1] - ends[0])
        assert 0.0 <= places.min() < 0.02 < 0.98 < places.max() <= 1.0
        # The distance of Kolmogorov and Smirnov of 400 uniform numbers is below this in 999 of 1000 sets.
        assert np.max(np.abs(np.sort(places) - np.arange(400) / 400.0)) < 1.95 / 20.0
    for task in tasks[:10]:
        scenario = planned(Case("tabletop", "fr3", "sphere", task, 0.1, 0.06, 0.2))
        assert planned_values(scenario) == pytest.approx({n: getattr(task, n) for n in planned_values(scenario)})
        assert departures(scenario) == ()
        assert scenario.robot.model == "fr3"


@pytest.mark.parametrize("number", range(4))
def test_only_what_a_variant_names_is_different(number):
    case = cases(ENVELOPE, number + 1, SEED)[-1]
    scenario, axes, task = planned(case), geometry(case.task), case.task
    expected, point = scenario.expected_environment.surface, np.array([task.x, task.y, task.z])
    assert axes.heading @ axes.normal == pytest.approx(0.0, abs=1e-12)
    assert axes.approach @ axes.normal == pytest.approx(-math.sin(task.approach_angle))
    for variant in Variant:
        changed_scenario = met(scenario, case, variant)
        actual = changed_scenario.actual_environment.surface
        if variant is Variant.MISSING:
            assert actual is None
            continue
        tilt = math.degrees(math.acos(np.clip(actual.normal @ expected.normal, -1.0, 1.0)))
        assert tilt == pytest.approx(10.0 if variant is Variant.TILTED else 0.0, abs=1e-5)
        late = (actual.point - point) @ axes.normal / (axes.approach @ axes.normal * task.speed)
        assert late == pytest.approx({Variant.EARLY: -0.06, Variant.LATE: 0.06}.get(variant, 0.0))
        friction = actual_friction(case) if variant is Variant.OTHER_FRICTION else task.friction
        assert actual.friction == pytest.approx(friction)
        stiffness = task.other_stiffness if variant is Variant.OTHER_STIFFNESS else task.stiffness
        assert actual.contact.stiffness == pytest.approx(stiffness)
        assert actual.contact.damping == pytest.approx(1e3 * stiffness)
        assert changed_scenario.expected_environment.surface.point == pytest.approx(point)
        differs = changed_scenario.simulation.arm_deviation
        assert differs.inertia == float(variant is Variant.OTHER_INERTIA)
        assert differs.friction == float(variant is Variant.OTHER_JOINT_FRICTION)


def test_the_other_friction_is_never_below_none():
    tasks = [draw(ENVELOPE, "panda", SEED, number) for number in range(60)]
    real = {task: actual_friction(Case("tabletop", "panda", "sphere", task, 0.1, 0.06, 0.2)) for task in tasks}
    for task, friction in real.items():
        assert friction == pytest.approx(task.friction + 0.2 if task.rougher else max(0.0, task.friction - 0.2))
    assert 0.0 in real.values()


def test_a_refused_task_is_not_run_and_says_why_and_what_could_be_done():
    case = cases(ENVELOPE, 1, SEED)[0]
    task = type(case.task)(**{**vars(case.task), "speed": 0.8})
    found = run_case(changed(case, task=task, variants=(Variant.AS_EXPECTED.name,)))
    assert found["outcome"].tolist() == [Outcome.REFUSED]
    named = re.fullmatch(r"([a-z ]+), (ante-impact|post-impact|impact) \((task\.[a-z_.]+)\)", str(found["refusal"]))
    assert named is not None and named[1] in {quantity.words for quantity in Quantity}
    assert named[3] in str(found["reason"][0])
    assert bool(found["proposed"])
    far = run_case(changed(case, task=type(case.task)(**{**vars(case.task), "x": 1.5})))
    assert str(far["refusal"]) == OUT_OF_REACH
    assert len(far["outcome"]) == len(Variant)


def made(outcomes, change=0.0, refusal="", **columns):
    """Runs of one task, each variant with its outcome; columns: other values of `Ended`, of all."""
    rows = [vars(Ended(outcome=int(outcome), **columns)) for outcome in outcomes]
    found = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    facts = {"refusal": np.asarray(refusal), "proposed": np.asarray(False), "jump_change": np.asarray(change)}
    return Runs.of(cases(ENVELOPE, 1, SEED)[:1], [found | facts])


def test_each_variant_has_its_right_outcomes():
    right = made([RIGHT_OUTCOMES[variant][-1] for variant in Variant], change=5.0)
    assert np.all(right.right) and np.all(right.judged)
    assert right.as_expected.tolist() == [True, False, False, False, False, False, True, True, True]
    for outcome in (Outcome.FAULT, Outcome.UNDECIDED, Outcome.CANCELLED):
        assert not np.any(made([outcome] * len(Variant), change=5.0).right)
    early = list(Variant).index(Variant.EARLY)
    assert not made([Outcome.POST_IMPACT_UNEXPECTED] * len(Variant)).right[early]


@pytest.mark.parametrize(
    ("change", "outcome", "right", "judged"),
    [
        (5.0, Outcome.POST_IMPACT_UNEXPECTED, True, True),
        (5.0, Outcome.SUCCEEDED, False, True),
        (0.5, Outcome.SUCCEEDED, True, True),
        (0.5, Outcome.POST_IMPACT_UNEXPECTED, False, True),
        (2.0, Outcome.SUCCEEDED, False, False),
    ],
)
def test_another_friction_is_judged_by_what_it_changes(change, outcome, right, judged):
    runs = made([outcome] * len(Variant), change=change).of_variant(Variant.OTHER_FRICTION)
    assert (bool(runs.right[0] and runs.judged[0]), bool(runs.judged[0])) == (right, judged)


def test_refused_tasks_are_not_judged():
    runs = made([Outcome.REFUSED] * len(Variant), refusal=OUT_OF_REACH)
    assert not np.any(runs.judged)
    assert targets.refused(runs) == Share(1, 1)
    assert runs.certain.begun.size == 0


def test_shares_have_the_interval_of_wilson():
    """By its formula: centre and half-width of the interval of a share p of n, z of 95 %."""
    count, of, z = 392, 400, 1.959963984540054
    p = count / of
    centre = (p + z**2 / (2 * of)) / (1 + z**2 / of)
    half = z / (1 + z**2 / of) * math.sqrt(p * (1 - p) / of + z**2 / (4 * of**2))
    assert Share(count, of).interval == pytest.approx((centre - half, centre + half))
    assert math.isnan(Share(0, 0).value)


def test_a_law_is_found_again_in_what_it_draws():
    random = np.random.default_rng(1)
    law = Law(0.3, 5.0, 0.2, 8.0)
    deviation = np.concatenate([random.uniform(0.0, 2.0, 20000), [0.0, math.inf]])
    expected = random.uniform(size=deviation.size) < law.probability(deviation)
    found = fit(deviation, expected, Law(0.1, 1.0, 0.1, 1.0))
    assert tuple(vars(found).values()) == pytest.approx((0.3, 5.0, 0.2, 8.0), rel=0.2)
    assert found.loss(deviation, expected) <= law.loss(deviation, expected)
    inside = deviation <= 1.0
    one_side = vars(fit(deviation[inside], expected[inside], law))
    assert one_side == pytest.approx(vars(found) | {"mistaken": 0.2, "fall": 8.0}, rel=1e-3)
    p = law.probability(deviation)
    by_definition = [-math.log(a if e else 1.0 - a) for a, e in zip(p, expected, strict=True)]
    assert law.loss(deviation, expected) == pytest.approx(np.mean(by_definition), rel=1e-9)
    bins = reliability(p, expected)
    assert sum(one.expected.of for one in bins) == deviation.size
    assert all(one.close is not False for one in bins)
    assert any(one.close is False for one in reliability(Law(0.5, 0.5, 0.5, 0.5).probability(deviation), expected))


def test_the_law_of_the_study_is_that_of_the_classifier():
    law = Law(HIDDEN, GROWTH, MISTAKEN, FALL)
    deviation = np.array([0.0, 0.3, 1.0, 1.0 + 1e-9, 1.5, 40.0, math.inf])
    assert law.probability(deviation) == pytest.approx([probability_expected(float(d)) for d in deviation], rel=1e-12)


def test_wrong_runs_miss_their_targets_and_are_told():
    good = made([RIGHT_OUTCOMES[variant][0] for variant in Variant], change=5.0, torque=0.5, held_force=1.0)
    bad = made([Outcome.FAULT] * len(Variant), change=5.0, torque=1.1, early=True)
    missed = {one.what for one in targets.targets(bad, []) if one.mark is Mark.BAD}
    assert "runs that ended in FAULT" in missed and "runs in which a limit was exceeded" in missed
    assert "detections without a contact" in missed
    assert any(what.startswith("tilted") for what in missed)
    assert not any("unexpected" in what or "FAULT" in what for what in _missed(good))
    assert verdict(bad, targets.targets(bad, [])).endswith("Not all targets are met.")
    assert any("tilted: 1 of 1 ended 1 FAULT" in one.text for one in findings(bad, ()))


def _missed(runs):
    return {one.what for one in targets.targets(runs, []) if one.mark is Mark.BAD}


def test_every_run_is_written_with_units(tmp_path):
    runs = made([RIGHT_OUTCOMES[variant][0] for variant in Variant], delay=1e-3)
    write_runs(runs, tmp_path / "tasks.h5")
    with h5py.File(tmp_path / "tasks.h5") as file:
        assert file["outcome"].asstr()[0] == "SUCCEEDED"
        assert file["variant"].asstr()[:].tolist() == [variant.value for variant in Variant]
        assert file["delay"].attrs["unit"] == "s"
        assert file["stiffness"].attrs["unit"] == "N/m^1.5"
        assert file["speed"][0] == runs["speed"][0]
        assert {len(file[name]) for name in file} == {len(Variant)}


@pytest.mark.scenario
def test_pictures_are_drawn_of_the_short_form():
    runs = short_form()
    certain = runs.certain
    figure = draw_envelope(runs, reliability(certain["probability"], certain.as_expected))
    assert len(figure.axes) == 6
    assert len(draw_refusals(runs).axes) == 3
    assert len(draw_delays(runs).axes[0].lines) == 2


@pytest.mark.long
@pytest.mark.scenario
def test_the_study_goes_on_from_what_is_kept_to_the_same_files(tmp_path, monkeypatch):
    """With two tasks for one robot, given by a file; the second run finds all trials and computes none."""
    monkeypatch.setattr("impact_studies.catalogue.operating_envelope.QUICK_TASKS", 2)
    ranges = tmp_path / "ranges.yaml"
    shipped = config_directory() / "operating_envelope.yaml"
    ranges.write_text(f"extends: {shipped}\nrobots: panda\nranges:\n  speed: 0.2, 0.3 m/s\n")
    arguments = ("operating_envelope", "--quick", "--file", str(ranges))
    told = study_command(tmp_path, *arguments)
    (tmp_path / "operating_envelope").rename(tmp_path / "first")
    monkeypatch.setattr("impact_studies.envelope.tasks.plan_scenario", None)
    assert study_command(tmp_path, *arguments).split("Time:")[0] == told.split("Time:")[0]
    (tmp_path / "before").mkdir()
    (tmp_path / "first").rename(tmp_path / "before" / "operating_envelope")
    require_same_files(tmp_path / "before", tmp_path, "operating_envelope")
    with h5py.File(tmp_path / "operating_envelope" / "tasks.h5") as file:
        assert set(file["robot"].asstr()[:]) == {"panda"}
        assert np.all((file["speed"][:] >= 0.2) & (file["speed"][:] <= 0.3))
