"""The budget of a plan: its numbers by a second method, what of the references counts, and that refusals are true."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from impact_control.control import QPStatus
from impact_control.pipeline import Pipeline
from impact_control.planning import ANTE, POST, InfeasibleTaskError, Quantity, budget_of, draft_plan, plan_scenario
from impact_control.planning.budget import largest_share
from impact_control.references import COARSE, FINE, UnreachableReferenceError
from impact_control.scenario import load_scenario, robot_of
from impact_control.simulation import build_world

TABLETOP = load_scenario("tabletop")
ROBOT = robot_of(TABLETOP.robot)


def draft(**overrides):
    """A plan of the tabletop that nobody has checked."""
    changes = {key.replace("__", "."): value for key, value in overrides.items()}
    return draft_plan(TABLETOP.with_overrides(changes)).arms[""]


def use(budget, quantity, reference):
    [found] = [one for one in budget.uses if (one.quantity, one.reference) == (quantity, reference)]
    return found


def place(x, z):
    point = f"{x}, 0.0, {z} m"
    return {"task__impact__position": point, "expected_environment__surface__point": point}


def columns_of(plan, reference):
    return (plan.reference.ante if reference == ANTE else plan.reference.post).columns


@pytest.mark.parametrize(
    ("reference", "begin", "end"), [(ANTE, 0.0, 1.5), (POST, 0.97, 2.0)], ids=["before the impact", "after it"]
)
def test_motion_and_torque_by_a_second_method(reference, begin, end):
    """Finite differences of the joint positions, and inverse dynamics with the force as an external one."""
    plan = draft(task__impact__speed="0.35 m/s")
    budget, columns, limits = budget_of(plan), columns_of(plan, reference), ROBOT.limits
    q, h = columns.joint_position, 1e-3
    dq, ddq = (q[2:] - q[:-2]) / (2.0 * h), (q[2:] - 2.0 * q[1:-1] + q[:-2]) / h**2
    rows = np.arange(round(begin / h), round(end / h))
    most = TABLETOP.control.max_joint_acceleration
    assert use(budget, Quantity.ACCELERATION, reference).share == pytest.approx(
        np.max(np.abs(ddq[rows - 1]) / most), rel=0.03
    )
    ahead = np.maximum(np.abs(dq), np.abs(dq + 0.06 * ddq)) / limits.velocity
    assert use(budget, Quantity.VELOCITY, reference).share == pytest.approx(np.max(ahead[rows - 1]), rel=0.01)
    model, data, torques = ROBOT.pinocchio_model, ROBOT.pinocchio_model.createData(), []
    normal = plan.reference.geometry.normal
    for k in rows:
        motor = pin.rnea(model, data, q[k], dq[k - 1], ddq[k - 1])
        motor = motor + ROBOT.transmission.reduced_motor_inertia * ddq[k - 1]
        motor = motor + ROBOT.friction.torque(dq[k - 1].copy(), np.zeros(7))
        if reference == POST:
            way = columns.velocity[k]
            speed = np.linalg.norm(way)
            sliding = 0.1 * np.tanh(speed / 5e-3) * way / speed if speed > 1e-9 else np.zeros(3)
            pin.framesForwardKinematics(model, data, q[k])
            at = pin.computeFrameJacobian(model, data, q[k], ROBOT.contact_frame_id, pin.LOCAL_WORLD_ALIGNED)
            point = at[:3] + pin.skew(ROBOT.end_effector.radius * normal) @ at[3:]
            motor = motor + point.T @ (30.0 * (sliding - normal))
        torques.append(motor)
    command = torques - np.array([pin.computeGeneralizedGravity(model, data, q[k]) for k in rows])
    shares = np.maximum(np.abs(torques), np.abs(command)) / limits.torque
    found = use(budget, Quantity.TORQUE, reference)
    assert found.share == pytest.approx(shares.max(), rel=0.01)
    assert found.joint == ROBOT.joint_names[int(np.argmax(shares.max(axis=0)))]
    rate = np.abs(command[10:] - command[:-10]).max() / (10 * h) / 1000.0
    assert use(budget, Quantity.TORQUE_RATE, reference).share == pytest.approx(rate, rel=0.2)


def test_a_reference_too_fast_for_a_joint_is_refused_with_joint_and_time():
    with pytest.raises(InfeasibleTaskError) as caught:
        plan_scenario(draft(task__impact__speed="0.8 m/s", task__ante__distance="0.3 m").scenario)
    [found] = [v for v in caught.value.violations if (v.quantity, v.reference) == (Quantity.VELOCITY, ANTE)]
    assert found.joint == "panda_joint2"
    assert 0.5 < found.time < TABLETOP.task.impact.time
    assert found.allowed == "-2.175 to 2.175 rad/s"
    assert found.key == "task.impact.speed"
    assert str(found) in str(caught.value)
    for word in ("panda_joint2", f"{found.time:.3f} s", "-2.175 to 2.175 rad/s", "task.impact.speed"):
        assert word in str(found)
    first = caught.value.violations[0]
    assert (caught.value.joint, caught.value.time, caught.value.value) == (first.joint, first.time, first.value)


def test_a_reference_beyond_a_joint_limit_is_refused():
    with pytest.raises(UnreachableReferenceError) as caught:
        plan_scenario(draft(**place(0.25, 0.2)).scenario)
    assert caught.value.joint == "panda_joint4"
    assert caught.value.value < -3.0718
    assert "-3.0718 to -0.0698 rad" in str(caught.value)


@pytest.mark.parametrize(
    ("overrides", "quantity", "reference", "key"),
    [
        ({"task__post__force": "220 N"}, Quantity.TORQUE, POST, "task.post.force"),
        ({"task__impact__time": "0.3 s"}, Quantity.ACCELERATION, ANTE, "task.impact.speed"),
        ({"task__ante__extension_duration": "40 ms"}, Quantity.ACCELERATION, ANTE, "task.ante.extension_duration"),
        ({"task__post__duration": "0.2 s"}, Quantity.ACCELERATION, POST, "task.post.duration"),
        ({"task__post__settle_duration": "60 ms"}, Quantity.ACCELERATION, POST, "task.post.settle_duration"),
        ({"task__post__lead": "10 ms"}, Quantity.ACCELERATION, POST, "task.post.lead"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, dict) else str(getattr(value, "name", value)),
)
def test_each_limit_is_found_with_the_entry_that_drives_it(overrides, quantity, reference, key):
    violations = budget_of(draft(**overrides)).violations
    assert (quantity, reference, key) in {(one.quantity, one.reference, one.key) for one in violations}
    assert all(one.share > 1.0 for one in violations)


def test_only_what_can_be_followed_counts():
    """The post-impact reference swings in before the impact: it counts from the earliest impact that is expected on."""
    swinging = {"task__post__lead": "0.1 s", "task__impact__speed": "0.3 m/s", "task__impact__approach_angle": "40 deg"}
    late = budget_of(draft(**swinging, classification__time_error="5 ms"))
    early = budget_of(draft(**swinging, classification__time_error="60 ms"))
    found = [use(budget, Quantity.ACCELERATION, POST) for budget in (late, early)]
    assert found[0].share < 1.0 < found[1].share
    assert 0.94 <= found[1].time < 0.995


def test_plain_tracking_follows_each_reference_on_one_side_of_the_nominal_time():
    deep = {"task__ante__extension_duration": "30 ms"}
    assert budget_of(draft(**deep)).violations
    plain = budget_of(draft(**deep, control__impact_strategy="plain_tracking"))
    assert not plain.violations
    assert all(one.time <= 1.0 for one in plain.uses if one.reference == ANTE)
    assert all(one.time >= 1.0 for one in plain.uses if one.reference == POST)


def test_an_approach_that_is_stopped_soon_does_not_count_to_its_end():
    deep = {"task__ante__extension_depth": "0.24 m", "task__ante__extension_duration": "1.5 s"}
    whole, stopped = (budget_of(draft(**deep, control__missing_impact_timeout=time)) for time in ("10 s", "50 ms"))
    ends = [max(one.time for one in budget.uses if one.reference == ANTE) for budget in (whole, stopped)]
    assert ends[0] > 1.5
    assert ends[1] <= 1.051


def test_the_change_at_the_impact_and_the_force_are_told_by_themselves():
    """Their torques are bounded by the rate only, 1000 Nm/s: 30 N at the end of a lever of 0.5 m take 15 ms."""
    budget = budget_of(draft())
    assert budget.force.joint == "panda_joint2"
    assert budget.force.torque == pytest.approx(30.0 * 0.5, abs=1.0)
    assert budget.force.duration == pytest.approx(abs(budget.force.torque) / 1000.0)
    twice = budget_of(draft(task__post__force="60 N"))
    assert twice.force.torque == pytest.approx(2.0 * budget.force.torque)
    assert not budget_of(draft(task__post__force="0 N")).force.torque


@pytest.mark.parametrize(
    "overrides",
    [
        {"task__impact__time": "0.25 s", "task__post__lead": "0.2 s"},
        {"task__post__duration": "0.2 s", "task__post__settle_duration": "0.2 s"},
    ],
    ids=["too fast to the impact", "too fast after it"],
)
def test_a_refusal_is_true(overrides):
    """The controller that follows such a reference gets into the limit that is named, and about when it is named."""
    plan = draft(**overrides)
    named = budget_of(plan).violations[0]
    world = build_world(plan.scenario)
    plant, sensors, gate = world.single
    pipeline = Pipeline(plan.scenario, ROBOT)
    pipeline.reset()
    pipeline.start(plan.reference, plan.scenario, plan.force)
    joint, at_limit = ROBOT.joint_names.index(named.joint), []
    for k in range(round(2.0 / 1e-3)):
        sample = sensors.measure(plant)
        pipeline.tick(k * 1e-3, sample.position, sample.velocity, sample.torque)
        qp = pipeline.controller.qp
        if qp.status is not QPStatus.NOT_USED and abs(qp.acceleration[joint]) >= abs(named.limit) - 1e-6:
            at_limit.append(k * 1e-3)
        world.step([gate.select(plant.link_velocity, 1e-3)])
        gate.offer(pipeline.torque)
    assert min(abs(time - named.time) for time in at_limit) < 0.05


def test_an_arm_of_a_scene_is_named_with_its_own_entries():
    with pytest.raises(InfeasibleTaskError) as caught:
        plan_scenario(load_scenario("grab_parcel_1").with_overrides({"task.post.force": "900 N"}))
    assert caught.value.arm == "left"
    assert caught.value.violations[0].key == "task.post.force"
    assert str(caught.value).startswith("arm left: ")
    with pytest.raises(InfeasibleTaskError) as caught:
        plan_scenario(load_scenario("push_parcel_1").with_overrides({"task.impact.time": "0.2 s"}))
    assert caught.value.violations[0].key == "arms.left.impact.velocity"


def test_a_coarse_plan_uses_the_same_of_the_limits_of_motion():
    scenario = TABLETOP.with_overrides({"task.impact.speed": "0.4 m/s"})
    fine, coarse = (draft_plan(scenario, sampling=sampling).arms[""] for sampling in (FINE, COARSE))
    motion = (Quantity.POSITION, Quantity.VELOCITY, Quantity.ACCELERATION)
    shares = [[one.share for one in budget_of(plan).uses if one.quantity in motion] for plan in (fine, coarse)]
    np.testing.assert_allclose(shares[1], shares[0], rtol=0.01)
    assert largest_share(coarse, with_torque=False) == max(shares[1])
    assert largest_share(coarse, with_torque=True) == max(one.share for one in budget_of(coarse).uses)


def test_a_use_that_is_no_number_is_a_violation():
    [first, *_] = budget_of(draft()).uses
    assert not first.violated
    assert replace(first, share=float("nan")).violated


@pytest.mark.parametrize("name", ["tabletop", "tabletop_edge", "tabletop_plate", "tabletop_admittance"])
def test_what_comes_with_the_package_leaves_room(name):
    scenario = load_scenario(name)
    assert max(one.share for one in budget_of(plan_scenario(scenario).arms[""]).uses) < 0.7
