"""The reference-spreading law: modes, blending, task errors, force, faults."""

from __future__ import annotations

import gc
import math
import re
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from impact_control.control import (
    Event,
    Fault,
    Mode,
    QPStatus,
    ReferenceSpreadingController,
    fault_damping,
)
from impact_control.control.contact_force import ContactForce
from impact_control.control.controller import QP_FAILURES
from impact_control.references import build_reference
from impact_control.robots import Dynamics, load_robot
from impact_control.scenario import Feedback, ImpactStrategy, Interim, InterimEnd, InterimReference, load_scenario
from impact_control.util.errors import InvalidInputError

SCENARIO = load_scenario("tabletop")
ROBOT = load_robot()
REFERENCE = build_reference(SCENARIO, ROBOT)
CONTROL = SCENARIO.control
HOME = SCENARIO.task.home_configuration
FORCE = ContactForce.of(SCENARIO, REFERENCE)
STILL = np.zeros(7)
UP = np.array([0.0, 0.0, 1.0])
RETREAT = SCENARIO.reaction.pull_back
LED = SCENARIO.reaction.admittance
MESSAGES = Path(__file__).parents[3] / "src" / "impact_msgs" / "msg"


def on_reference(table, time):
    """Return q, dq of a reference at `time`."""
    sample = table.new_sample()
    table.sample(time, sample)
    return sample.joint_position.copy(), sample.joint_velocity.copy()


class Bench:
    """A controller with its dynamics, fed by hand."""

    def __init__(self, control=CONTROL):
        self.controller = ReferenceSpreadingController(ROBOT, control, HOME)
        self.dynamics = Dynamics(ROBOT)
        self.controller.prepare_reactions(UP, RETREAT, LED)
        self.controller.reset()

    def update(self, time, q, dq):
        self.dynamics.compute(q, dq)
        self.controller.compute_torque(self.dynamics, time, q, dq, STILL)
        return self.controller


def settled(time, q, dq, mode_steps=lambda c: None, table=REFERENCE.ante, samples=200, control=CONTROL):
    """Return a controller that has been given the same state until the torque rate no longer limits it."""
    bench = Bench(control)
    bench.controller.start(REFERENCE, FORCE, 0.0)
    mode_steps(bench.controller)
    for _ in range(samples):
        bench.update(time, q, dq)
    return bench


def test_goes_ante_interim_post_in_order():
    bench = Bench()
    q, dq = on_reference(REFERENCE.ante, 1.0)
    c = bench.controller
    assert bench.update(0.0, q, STILL).mode is Mode.IDLE
    c.start(REFERENCE, FORCE, 0.5)
    assert bench.update(1.499, q, dq).mode is Mode.ANTE
    assert c.impact(1.5)
    assert not c.impact(1.501)
    assert bench.update(1.5, q, dq).mode is Mode.INTERIM
    assert c.gamma == 0.0
    half = 1.5 + 0.5 * CONTROL.interim_duration
    assert bench.update(half, q, dq).gamma == pytest.approx(0.5)
    assert bench.update(1.5 + CONTROL.interim_duration, q, dq).mode is Mode.POST
    assert c.gamma == 1.0
    assert c.task_time == pytest.approx(1.0 + CONTROL.interim_duration)


def test_on_the_ante_reference_it_asks_for_the_reference_acceleration():
    """No feedback: the acceleration of the task is that of the reference, van Steen 2024 (15)-(17)."""
    time = 0.8
    q, dq = on_reference(REFERENCE.ante, time)
    bench = settled(time, q, dq)
    c = bench.controller
    assert np.linalg.norm(c.position_error) < 1e-6
    assert np.linalg.norm(c.velocity_error) < 1e-5
    assert np.linalg.norm(c.orientation_error) < 1e-6
    achieved = bench.dynamics.jacobian @ c.qp.acceleration + bench.dynamics.jacobian_rate_velocity
    np.testing.assert_allclose(achieved[:3], c.ante.acceleration, atol=1e-3)
    np.testing.assert_allclose(achieved[3:], 0.0, atol=1e-3)
    assert not c.force.any()


@pytest.mark.parametrize("axis", range(3))
def test_orientation_feedback_turns_back(axis):
    """The sign of (16): the demanded angular acceleration is along the rotation that leads to R_d."""
    time = 0.2
    q, _ = on_reference(REFERENCE.ante, 0.0)
    bench = Bench()
    dynamics = bench.dynamics
    dynamics.compute(q, STILL)
    turn = np.zeros(6)
    turn[3 + axis] = 1e-3
    q_turned = q + np.linalg.lstsq(dynamics.jacobian, turn)[0]
    bench = settled(time, q_turned, STILL)
    c = bench.controller
    assert c.orientation_error[axis] == pytest.approx(-1e-3, abs=2e-5)
    angular = (bench.dynamics.jacobian @ c.qp.acceleration)[3:]
    wanted = CONTROL.gains.orientation * c.orientation_error
    np.testing.assert_allclose(angular, wanted, atol=2e-2 * CONTROL.gains.orientation * 1e-3)


def test_orientation_error_is_the_rotation_to_the_reference():
    """R_ref = exp(e) R, in world axes."""
    q = REFERENCE.initial_configuration + 0.05
    bench = settled(0.1, q, STILL, samples=1)
    rotation = pin.exp3(bench.controller.orientation_error) @ bench.dynamics.rotation
    np.testing.assert_allclose(rotation, REFERENCE.geometry.orientation, atol=1e-9)


def test_interim_mode_takes_velocity_feedback_out_and_blends_it_in():
    """Van Steen 2024 (23), (24): with gamma 0 the demand does not depend on the velocity error."""
    time = 1.0
    q, dq = on_reference(REFERENCE.post, time)
    wrong = dq + 0.05

    def acceleration(gamma):
        def steps(c):
            c.impact(time - gamma * CONTROL.interim_duration)

        bench = settled(time, q, wrong, steps, samples=60)
        dynamics, qp = bench.dynamics, bench.controller.qp
        achieved = dynamics.jacobian @ qp.acceleration + dynamics.jacobian_rate_velocity
        return achieved[:3] - bench.controller.post.acceleration, bench

    none, bench = acceleration(0.0)
    np.testing.assert_allclose(none, 0.0, atol=2e-2)
    half, _ = acceleration(0.5)
    expected = math.sqrt(CONTROL.gains.position) * bench.controller.velocity_error
    assert np.linalg.norm(expected) > 0.5
    np.testing.assert_allclose(half, expected, atol=0.05 * np.linalg.norm(expected))


JOINT_SPACE = replace(CONTROL, feedback=Feedback.JOINT_SPACE)


def demand(control, impact, time, q, dq):
    """The joint acceleration asked for at `time` after an impact."""
    bench = settled(time, q, dq, lambda c: c.impact(impact), samples=60, control=control)
    assert not bench.controller.qp.limited
    return bench.controller.qp.acceleration


@pytest.mark.parametrize("gamma", [0.0, 0.5, 1.0])
def test_in_joint_space_the_demand_is_that_of_the_configuration_task(gamma):
    """Proper 2021 (2.67), (2.68) with K_d gamma: with gamma 0 nothing of the velocity is left."""
    time, gain = 1.0, CONTROL.gains.joint
    q, dq = on_reference(REFERENCE.post, time)
    away, wrong = q + 1e-3, dq + 0.02
    sample = REFERENCE.post.new_sample()
    REFERENCE.post.sample(time, sample)
    found = demand(JOINT_SPACE, time - gamma * CONTROL.interim_duration, time, away, wrong)
    wanted = sample.joint_acceleration + gain * (q - away) + gamma * 2.0 * math.sqrt(gain) * (dq - wrong)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4 * np.abs(wanted).max())


def test_on_the_reference_both_forms_of_the_feedback_ask_for_the_same():
    time = 1.3
    q, dq = on_reference(REFERENCE.post, time)
    in_task, in_joints = (demand(p, 1.0, time, q, dq) for p in (CONTROL, JOINT_SPACE))
    np.testing.assert_allclose(in_joints, in_task, atol=2e-3 * max(1.0, np.abs(in_task).max()))


def test_in_joint_space_the_errors_of_the_task_are_reported_all_the_same():
    q = REFERENCE.initial_configuration + 0.02
    plain, joints = settled(0.1, q, STILL, samples=1), settled(0.1, q, STILL, samples=1, control=JOINT_SPACE)
    for name in ("position_error", "velocity_error", "orientation_error"):
        np.testing.assert_allclose(getattr(joints.controller, name), getattr(plain.controller, name))
    assert np.linalg.norm(joints.controller.position_error) > 1e-3


def test_plain_tracking_presses_and_slides_from_the_nominal_time_on():
    bench = Bench(replace(CONTROL, impact_strategy=ImpactStrategy.PLAIN_TRACKING))
    c = bench.controller
    c.start(REFERENCE, FORCE, 0.0)
    q, dq = on_reference(REFERENCE.ante, 0.98)
    assert not c.impact(0.979)
    assert bench.update(0.98, q, dq).mode is Mode.ANTE
    assert c.desired is c.ante and c.expected is c.post
    assert not c.pressing
    assert bench.update(REFERENCE.nominal_impact_time, q, dq).mode is Mode.POST
    assert c.desired is c.post
    assert c.pressing
    assert c.gamma == 1.0


def test_until_the_contact_is_closed_the_approach_goes_on_without_force():
    """Proper 2021 (3.11) and the zeros of (3.14)."""
    interim = Interim(until=InterimEnd.CONTACT_COMPLETION, reference=InterimReference.ANTE)
    bench = Bench(replace(CONTROL, interim=interim))
    c = bench.controller
    c.start(REFERENCE, FORCE, 0.0)
    q, dq = on_reference(REFERENCE.ante, 1.0)
    c.impact(1.0)
    for time in (1.0, 1.05):
        assert bench.update(time, q, dq).mode is Mode.INTERIM
        assert (c.gamma, c.desired, c.expected) == (0.0, c.ante, c.post)
        assert not c.pressing and not c.force.any()
    c.contact_closed(1.06)
    assert bench.update(1.06 + 0.5 * CONTROL.interim_duration, q, dq).gamma == pytest.approx(0.5)
    assert c.desired is c.post
    assert c.pressing


def test_a_missing_impact_is_a_stop_from_the_state_at_its_time_out():
    bench = Bench(replace(CONTROL, missing_impact_timeout=0.1))
    c = bench.controller
    c.start(REFERENCE, FORCE, 0.0)
    time = REFERENCE.nominal_impact_time + 0.1
    q, dq = on_reference(REFERENCE.ante, time - 1e-3)
    assert bench.update(time - 1e-3, q, dq).mode is Mode.ANTE
    for k in range(60):
        assert bench.update(time + k * 1e-9, q, dq).mode is Mode.STOPPED
    wanted = np.clip(-CONTROL.stop_damping * dq, -CONTROL.max_joint_acceleration, CONTROL.max_joint_acceleration)
    np.testing.assert_allclose(c.qp.acceleration, wanted, atol=1e-2)


def test_pressing_adds_the_torque_of_the_force():
    """(26), (27): on the post reference the demand beyond its motion is J^T f."""
    time = 2.4
    q, dq = on_reference(REFERENCE.post, time)
    bench = settled(time, q, dq, lambda c: c.impact(1.0))
    c = bench.controller
    assert c.mode is Mode.POST
    wrench, expected = np.zeros(6), np.zeros(7)
    FORCE.press(1.0, c.post.velocity, bench.dynamics.jacobian, wrench, expected)
    np.testing.assert_allclose(c.force, wrench[:3])
    np.testing.assert_allclose(expected, bench.dynamics.jacobian.T @ wrench)
    friction = ROBOT.friction.torque(dq, np.zeros(7)) * CONTROL.friction_compensation
    np.testing.assert_allclose(c.torque - friction - bench.dynamics.coriolis, expected, atol=2e-2)
    assert c.force @ REFERENCE.geometry.normal == pytest.approx(-SCENARIO.task.post.force)


def test_force_carries_the_friction_of_sliding_and_the_moment_about_the_centre():
    normal = np.array([0.0, 0.0, 1.0])
    force = ContactForce(30.0, 0.3, normal, -0.02 * normal)
    resting, sliding, torque = np.zeros(6), np.zeros(6), np.zeros(6)
    force.press(1.0, np.zeros(3), np.eye(6), resting, torque)
    np.testing.assert_allclose(resting, [0.0, 0.0, -30.0, 0.0, 0.0, 0.0])
    force.press(0.5, np.array([0.1, 0.0, 0.0]), np.eye(6), sliding, torque)
    np.testing.assert_allclose(sliding[:3], [4.5, 0.0, -15.0], atol=1e-9)
    np.testing.assert_allclose(sliding[3:], np.cross(force.offset, sliding[:3]), atol=1e-12)
    np.testing.assert_allclose(torque, sliding)


def test_idle_holds_the_first_pose():
    bench = Bench()
    q = REFERENCE.initial_configuration
    bench.update(0.0, q, STILL)
    for k in range(1, 300):
        bench.update(k * 1e-3, q + 0.01, STILL)
    np.testing.assert_allclose(bench.controller.qp.acceleration, -0.01 * CONTROL.gains.joint, rtol=1e-3)


def test_stop_lets_the_velocity_decay():
    """The demand is the decay of the velocity at the moment of the stop, without a jump of position."""
    time = 0.9
    q, dq = on_reference(REFERENCE.ante, time)
    bench = Bench()
    bench.controller.start(REFERENCE, FORCE, 0.0)
    bench.update(time, q, dq)
    bench.controller.stop()
    bench.update(time, q, dq)
    assert bench.controller.mode is Mode.STOPPED
    for _ in range(100):
        bench.update(time, q, dq)
    wanted = np.clip(-CONTROL.stop_damping * dq, -CONTROL.max_joint_acceleration, CONTROL.max_joint_acceleration)
    np.testing.assert_allclose(bench.controller.qp.acceleration, wanted, atol=1e-2)


def test_torque_rate_is_limited_from_the_first_command_on():
    bench = Bench()
    bench.controller.start(REFERENCE, FORCE, 0.0)
    last, most = np.zeros(7), 0.0
    random = np.random.default_rng(1)
    for k in range(300):
        q = REFERENCE.initial_configuration + random.normal(0.0, 0.05, 7)
        bench.update(k * 1e-3, q, random.normal(0.0, 0.5, 7))
        assert (np.abs(bench.controller.torque - last) <= 1.0 + 1e-9).all()
        last = bench.controller.torque.copy()
        most = max(most, float(np.max(np.abs(last) / ROBOT.limits.torque)))
        assert bench.controller.peak_torque_share == pytest.approx(most)
    assert bench.controller.peak_torque_rate <= 1000.0 * (1.0 + 1e-9)


def test_the_torque_rate_of_damped_samples_is_counted_too():
    bench = Bench()
    c = bench.controller
    c.start(REFERENCE, FORCE, 0.0)
    bench.update(0.0, REFERENCE.initial_configuration, np.zeros(7))
    before, counted = c.torque.copy(), c.peak_torque_rate
    c.fail(Fault.STATE_NOT_FINITE)
    c.damp(np.full(7, 0.5))
    change = np.abs(c.torque - before).max() / CONTROL.period
    assert change > counted
    assert c.peak_torque_rate == pytest.approx(change)


@pytest.mark.parametrize("impact", [None, 0.55, 0.1])
def test_a_sample_of_the_loop_keeps_nothing(impact):
    """In ante, interim and post mode: not a byte a sample stays allocated."""
    bench = Bench()
    c = bench.controller
    c.start(REFERENCE, FORCE, 0.0)
    q, dq = on_reference(REFERENCE.post if impact else REFERENCE.ante, 0.6)
    if impact is not None:
        c.impact(impact)
    for _ in range(300):
        bench.update(0.599, q, dq)
    mode = c.mode
    assert mode is {None: Mode.ANTE, 0.55: Mode.INTERIM, 0.1: Mode.POST}[impact]
    tracemalloc.start()
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(2000):
        bench.update(0.599, q, dq)
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert c.mode is mode
    assert grown < 2000


def test_a_fault_damps_and_lasts_until_reset():
    bench = Bench()
    c = bench.controller
    c.start(REFERENCE, FORCE, 0.0)
    speed = np.full(7, 0.1)
    bench.update(0.0, REFERENCE.initial_configuration, speed)
    c.fail(Fault.STATE_NOT_FINITE)
    c.fail(Fault.INTERNAL)
    assert c.fault is Fault.STATE_NOT_FINITE
    for k in range(1, 100):
        bench.update(k * 1e-3, REFERENCE.initial_configuration, speed)
    np.testing.assert_allclose(c.torque, -fault_damping(CONTROL, ROBOT, HOME) * speed)
    c.stop()
    assert not c.impact(1.0)
    assert c.mode is Mode.FAULT
    c.reset()
    assert c.mode is Mode.IDLE
    assert c.fault is Fault.NONE
    assert not c.torque.any()


def test_a_fault_that_is_cleared_while_commands_are_sent_keeps_the_torque_rate():
    bench = Bench()
    c = bench.controller
    speed = np.array([0.5, -0.4, 0.3, 0.6, -0.5, 0.4, 0.3])
    c.fail(Fault.SUPERVISOR_STOP)
    for k in range(1, 100):
        bench.update(k * 1e-3, REFERENCE.initial_configuration, speed)
    last = c.torque.copy()
    step = ROBOT.limits.torque_rate * CONTROL.period * (1.0 + 1e-9)
    assert (np.abs(last) > step).any()
    c.clear_fault()
    assert (c.mode, c.fault) == (Mode.IDLE, Fault.NONE)
    bench.update(0.1, REFERENCE.initial_configuration, speed)
    assert (np.abs(c.torque - last) <= step).all()


def test_gives_up_after_repeated_failures_of_the_solver(monkeypatch):
    """The real solver cannot be made to fail with a finite state, so its answers are taken away.

    The state is far from the reference, where the torque-rate limit keeps the solver in use.
    """
    bench = Bench()
    c = bench.controller
    c.start(REFERENCE, FORCE, 0.0)
    monkeypatch.setattr(c.qp, "_within_limits", lambda _: None)
    monkeypatch.setattr(c.qp._elastic, "solve", lambda *_: None)
    away = REFERENCE.initial_configuration + 0.3
    for k in range(QP_FAILURES - 1):
        bench.update(k * 1e-3, away, np.full(7, 0.1))
        assert c.qp.status is QPStatus.FAILED
        assert c.mode is Mode.ANTE
    bench.update(0.1, away, np.full(7, 0.1))
    assert c.mode is Mode.FAULT
    assert c.fault is Fault.QP_FAILED
    assert (c.torque < 0.0).all()


@pytest.mark.parametrize(
    ("kind", "message", "prefix"), [(Mode, "ControllerReference", ""), (Fault, "ControllerStatus", "FAULT_")]
)
def test_modes_and_faults_have_the_numbers_of_the_messages(kind, message, prefix):
    text = (MESSAGES / f"{message}.msg").read_text()
    constants = {name: int(number) for name, number in re.findall(rf"^uint8 {prefix}([A-Z_]+) = (\d+)", text, re.M)}
    assert {member.name: int(member) for member in kind}.items() <= constants.items()


def in_mode(mode):
    """Return a bench that was led into a mode, and the time of its next sample."""
    bench = Bench()
    c = bench.controller
    q, dq = on_reference(REFERENCE.ante, 0.5)
    bench.update(0.0, q, STILL)
    if mode is not Mode.IDLE:
        c.start(REFERENCE, FORCE, -0.5)
        bench.update(0.001, q, dq)
    if mode in (Mode.INTERIM, Mode.POST):
        c.impact(0.001 if mode is Mode.POST else 0.21)
        bench.update(0.211, q, dq)
    elif mode is Mode.STOPPED:
        c.stop()
    elif mode is Mode.FAULT:
        c.fail(Fault.INTERNAL)
    elif mode is Mode.PULL_BACK:
        c.react(Event.PULL_BACK)
    elif mode is Mode.MOVE:
        c.move(REFERENCE.ante, -0.5)
    elif mode in (Mode.ADMITTANCE, Mode.RESUME):
        c.react(Event.YIELD_TO_ANTE)
        if mode is Mode.RESUME:
            bench.update(0.21, q, dq)
            c.react(Event.RESUME)
    bench.update(0.22, q, dq)
    assert c.mode is mode
    return bench, 0.221, q, dq


REACTIONS = {
    "stop": (lambda c: c.stop(), Mode.STOPPED),
    "pull back": (lambda c: c.react(Event.PULL_BACK), Mode.PULL_BACK),
    "admittance": (lambda c: c.react(Event.YIELD_TO_ANTE), Mode.ADMITTANCE),
}


@pytest.mark.parametrize("reaction", REACTIONS)
@pytest.mark.parametrize("mode", [m for m in Mode if m not in (Mode.IDLE, Mode.FAULT)])
def test_every_reaction_is_safe_from_any_mode(mode, reaction):
    """It begins at once, the torque does not jump, and arms at rest stay where they are."""
    bench, time, q, dq = in_mode(mode)
    act, wanted = REACTIONS[reaction]
    before = bench.controller.torque.copy()
    act(bench.controller)
    bench.update(time, q, dq)
    assert bench.controller.mode is wanted
    assert bench.controller.qp.status is QPStatus.SOLVED
    assert (np.abs(bench.controller.torque - before) <= ROBOT.limits.torque_rate * CONTROL.period * (1 + 1e-9)).all()
    assert not bench.controller.force.any()


@pytest.mark.parametrize("reaction", REACTIONS)
def test_a_fault_stays_a_fault_whatever_the_reaction(reaction):
    bench, time, q, dq = in_mode(Mode.FAULT)
    REACTIONS[reaction][0](bench.controller)
    bench.controller.react(Event.RESUME)
    bench.update(time, q, dq)
    assert bench.controller.mode is Mode.FAULT
    assert bench.controller.fault is Fault.INTERNAL


@pytest.mark.parametrize("reaction", REACTIONS)
def test_without_a_task_every_reaction_is_a_stop(reaction):
    bench, time, q, dq = in_mode(Mode.IDLE)
    REACTIONS[reaction][0](bench.controller)
    bench.update(time, q, dq)
    assert bench.controller.mode is Mode.STOPPED


def test_only_what_yields_can_resume():
    for mode in (Mode.ANTE, Mode.POST, Mode.STOPPED, Mode.PULL_BACK):
        bench, *_ = in_mode(mode)
        bench.controller.react(Event.RESUME)
        assert bench.controller.mode is mode


def test_yielding_without_torque_is_a_stop_and_with_it_asks_for_motion_along_it():
    q, _ = on_reference(REFERENCE.ante, 0.5)
    torque = np.array([0.0, 9.0, 0.0, -9.0, 0.0, 0.0, 0.0])
    accelerations = []
    for external in (np.zeros(7), torque):
        bench, time, *_ = in_mode(Mode.ANTE)
        bench.controller.react(Event.YIELD_TO_ANTE)
        for k in range(50):
            bench.dynamics.compute(q, STILL)
            bench.controller.compute_torque(bench.dynamics, time + k * 1e-3, q, STILL, external)
        accelerations.append(bench.controller.qp.acceleration.copy())
    np.testing.assert_allclose(accelerations[0], 0.0, atol=1e-3)
    assert accelerations[1][1] > 1.0
    assert accelerations[1][3] < -1.0
    np.testing.assert_allclose(accelerations[1][[0, 2, 4, 5, 6]], 0.0, atol=1e-3)


@pytest.mark.parametrize("where", [Mode.ANTE, Mode.POST])
def test_after_yielding_the_task_goes_on_where_it_was_to(where):
    bench, time, q, _ = in_mode(Mode.POST)
    bench.controller.react(Event[f"YIELD_TO_{where.name}"])
    bench.update(time, q, STILL)
    bench.controller.react(Event.RESUME)
    for k in range(1, 5000):
        bench.update(time + k * 1e-3, q, STILL)
        if bench.controller.mode is not Mode.RESUME:
            break
    assert bench.controller.mode is where


AWAY = REFERENCE.initial_configuration + 1e-3
OTHER_GAINS = {"position": 900.0, "orientation": 100.0, "posture": 49.0}


def test_changed_gains_are_those_of_a_controller_that_was_built_with_them():
    built = settled(0.2, AWAY, STILL, control=replace(CONTROL, gains=replace(CONTROL.gains, **OTHER_GAINS)))
    changed = settled(0.2, AWAY, STILL, lambda controller: controller.change_gains(**OTHER_GAINS))
    before = settled(0.2, AWAY, STILL)
    wanted = built.controller.qp.acceleration
    np.testing.assert_allclose(changed.controller.qp.acceleration, wanted, rtol=1e-9)
    assert np.abs(before.controller.qp.acceleration - wanted).max() > 0.1


@pytest.mark.parametrize("wrong", [0.0, -1.0, math.nan, math.inf])
@pytest.mark.parametrize("name", OTHER_GAINS)
def test_gains_that_mean_nothing_change_none(wrong, name):
    def change(controller):
        with pytest.raises(InvalidInputError, match="gain"):
            controller.change_gains(**OTHER_GAINS | {name: wrong})

    found = settled(0.2, AWAY, STILL, change).controller.qp.acceleration
    np.testing.assert_array_equal(found, settled(0.2, AWAY, STILL).controller.qp.acceleration)
