"""Proposals for tasks that are refused: they work, they are near, and there are some for nearly every task."""

from __future__ import annotations

import numpy as np
import pytest

from impact_control.planning import draft_plan, outlook_of, plan_scenario, proposals, proposals_text, propose
from impact_control.planning.assignment import assigned
from impact_control.scenario import load_scenario, scenario_from_text
from impact_control.util.errors import ImpactControlError
from random_tasks import TABLETOP, random_task

BOTH = ["panda", pytest.param("fr3", marks=pytest.mark.long)]


def draw(seed, robot, fastest):
    """A random task with friction of 0.05 to 0.5, a slide of at most 8 cm, and 5 to 45 N."""
    random = np.random.default_rng([seed, 1])
    speed, friction = random.uniform(0.05, fastest), random.uniform(0.05, 0.5)
    force, slide = random.uniform([5.0, 0.0], [45.0, 0.08])
    task = random_task(seed, robot, speed=speed, friction=friction)
    return task.with_overrides({"task.post.force": f"{force} N", "task.post.slide": f"{slide} m"})


def pasted(loaded, proposal):
    """The task with the lines of a proposal at the end of its file."""
    return scenario_from_text(f"{loaded.to_yaml()}\n{proposal}\n", "pasted.yaml")


def require_accepted(loaded, proposals):
    """Plan as before a task: a refusal would be raised."""
    for proposal in proposals:
        changed = pasted(loaded, proposal)
        plan_scenario(changed)


def changed_keys(outlook):
    return [set(proposal.changes) for proposal in outlook.proposals]


@pytest.mark.parametrize("robot", BOTH)
def test_random_tasks_are_rarely_refused(robot):
    """Three of thirty are a tenth."""
    outlooks = [outlook_of(draw(3000 + k, robot, fastest=0.4)) for k in range(30)]
    refused = [outlook for outlook in outlooks if not outlook.feasible]
    assert len(refused) <= 3
    assert all(outlook.proposals for outlook in refused)


@pytest.mark.parametrize("robot", BOTH)
def test_for_random_tasks_that_are_too_fast_there_are_proposals_that_are_accepted(robot):
    refused = 0
    for k in range(10):
        scenario = draw(4000 + k, robot, fastest=1.0)
        outlook = outlook_of(scenario)
        refused += not outlook.feasible
        assert outlook.feasible or outlook.proposals, str(outlook.refusals[0])
        require_accepted(scenario, outlook.proposals)
    assert refused >= 3


@pytest.mark.parametrize(
    ("overrides", "key"),
    [
        ({"task.impact.speed": "0.5 m/s"}, "task.impact.speed"),
        ({"task.post.force": "220 N"}, "task.post.force"),
        ({"task.post.settle_duration": "60 ms"}, "task.post.settle_duration"),
        ({"task.post.duration": "0.2 s"}, "task.post.duration"),
        ({"task.post.lead": "10 ms"}, "task.post.lead"),
        ({"task.impact.time": "0.3 s"}, "task.impact.time"),
        ({"task.ante.extension_duration": "40 ms"}, "task.ante.extension_duration"),
        ({"task.ante.distance": "0.7 m"}, "task.ante.distance"),
        ({"task.post.slide": "0.6 m"}, "task.post.slide"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_the_entry_that_is_wrong_is_among_what_is_proposed(overrides, key):
    scenario = TABLETOP.with_overrides(overrides)
    outlook = outlook_of(scenario)
    assert any(key in keys and keys <= {key, "task.duration"} for keys in changed_keys(outlook))
    require_accepted(scenario, outlook.proposals)


def test_the_entry_that_drives_the_violation_is_tried_first_and_no_long_search_follows(monkeypatch):
    """Without the end after a proposal there are 48 plans."""
    planned = []

    def counted(scene, **how):
        planned.append(scene)
        return draft_plan(scene, **how)

    monkeypatch.setattr(proposals, "draft_plan", counted)
    tardy = TABLETOP.with_overrides({"task.post.lead": "10 ms"})
    outlook_of(tardy)
    leads = [scene.arm().task.post.lead for scene in planned[:2]]
    assert leads[0] == tardy.arm().task.post.lead < leads[1]
    planned.clear()
    assert outlook_of(draw(4000, "panda", fastest=1.0).with_overrides({"task.impact.speed": "0.9 m/s"})).proposals
    assert len(planned) <= 30


def test_the_posture_is_proposed_where_the_arm_is_badly_bent():
    scenario = TABLETOP.with_overrides({"task.joint_1": "1.6 rad"})
    outlook = outlook_of(scenario)
    assert {"task.joint_1"} in changed_keys(outlook)
    require_accepted(scenario, outlook.proposals)


def test_a_proposal_is_near_the_limit():
    """A twentieth more of the change that is asked for, and it is refused again."""
    scenario = TABLETOP.with_overrides({"task.impact.speed": "0.7 m/s"})
    [speed] = [one.changes["task.impact.speed"] for one in outlook_of(scenario).proposals if len(one.changes) == 1]
    value = float(speed.removesuffix(" m/s"))
    faster = f"{value + 0.05 * (0.7 - value)} m/s"
    assert outlook_of(scenario.with_overrides({"task.impact.speed": speed})).feasible
    assert not outlook_of(scenario.with_overrides({"task.impact.speed": faster})).feasible


def test_two_entries_are_proposed_where_one_is_not_enough():
    scenario = TABLETOP.with_overrides({"task.joint_1": "1.6 rad", "task.post.force": "250 N"})
    outlook = outlook_of(scenario)
    [keys] = changed_keys(outlook)
    assert len(keys) == 2
    assert keys != {"task.impact.time", "task.duration"}
    require_accepted(scenario, outlook.proposals)


def test_for_what_cannot_be_done_at_all_nothing_is_proposed_after_no_more_than_a_hundred_plans(monkeypatch):
    point = "1.5, 0, 0.2 m"
    scenario = TABLETOP.with_overrides({"task.impact.position": point, "expected_environment.surface.point": point})
    plans = []

    def draft(scene, sampling):
        plans.append(sampling)
        return draft_plan(scene, sampling=sampling)

    monkeypatch.setattr("impact_control.planning.proposals.draft_plan", draft)
    outlook = outlook_of(scenario)
    assert not outlook.feasible
    assert outlook.proposals == ()
    assert 10 < len(plans) <= 100
    assert "no change" in proposals_text(outlook.proposals)


@pytest.mark.parametrize(
    ("name", "overrides", "key"),
    [
        ("push_parcel_1", {"task.impact.time": "0.2 s"}, "task.impact.time"),
        ("push_parcel_1", {"arms.left.impact.velocity": "0, -1.2, 0 m/s"}, "arms.left.impact.velocity"),
        ("grab_parcel_1", {"task.post.force": "900 N"}, "task.post.force"),
    ],
)
def test_scenes_have_proposals_with_their_own_entries(name, overrides, key):
    scene = load_scenario(name).with_overrides(overrides)
    outlook = outlook_of(scene)
    assert any(key in keys for keys in changed_keys(outlook))
    require_accepted(scene, outlook.proposals[:1])


def test_an_assignment_proposes_for_its_own_refusal(tmp_path):
    scenario = TABLETOP.with_overrides({"task.impact.speed": "0.5 m/s"})
    path = tmp_path / "fast.yaml"
    path.write_text(scenario.to_yaml())
    assignment = assigned(str(path))
    with pytest.raises(ImpactControlError) as caught:
        assignment.plan()
    assert assignment.proposals(caught.value) == propose(scenario, (caught.value,))
