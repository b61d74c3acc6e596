"""Proper's assembly against van Steen's, and its contacts against the rigid constrained dynamics."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_control.control import AccelerationQP, Limit, QPStatus
from impact_control.control.constraints import ContactConstraint, LimitStack
from impact_control.control.contact_qp import ContactQP
from impact_control.control.tasks import JointTask, TaskStack
from impact_control.robots import Dynamics, load_robot

ROBOT = load_robot()
LIMITS = ROBOT.limits
PERIOD = 1e-3
ACCELERATION = np.array([15.0, 7.5, 10.0, 12.5, 15.0, 20.0, 20.0])
HOME = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
UP = np.array([0.0, 0.0, 1.0])
STILL = np.zeros(7)


def dynamics_at(robot, q, dq):
    dynamics = Dynamics(robot)
    dynamics.update(q, dq)
    return dynamics


def tasks_for(dynamics, wanted, weight=1.0):
    """A stack that asks for the joint acceleration `wanted`."""
    task = JointTask(100.0, weight, 7)
    task.follow(dynamics.q, dynamics.dq, wanted)
    stack = TaskStack((task,), 7)
    stack.write(dynamics, 1.0)
    return stack


def limits_of(robot):
    return LimitStack.of_robot(robot, PERIOD, ACCELERATION)


def both(dynamics, stack, samples):
    """Van Steen's and Proper's answer after some samples of the same state."""
    ours, theirs = AccelerationQP(ROBOT, PERIOD, ACCELERATION, np.full(7, 10.0)), ContactQP(ROBOT, limits_of(ROBOT))
    for _ in range(samples):
        ours.solve(dynamics, stack.matrix, stack.target, stack.weights, dynamics.coriolis, STILL)
        theirs.solve(dynamics, stack, dynamics.coriolis, np.zeros(0))
    return ours, theirs


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.1, 5.0, 60.0]), st.sampled_from([1, 4]))
def test_without_contacts_both_assemblies_are_the_same_problem(seed, size, samples):
    """Same acceleration and torque; with large targets limits of torque rate, torque or acceleration hold."""
    random = np.random.default_rng(seed)
    dynamics = dynamics_at(ROBOT, HOME + random.uniform(-0.3, 0.3, 7), random.uniform(-0.5, 0.5, 7))
    stack = tasks_for(dynamics, random.uniform(-size, size, 7))
    ours, theirs = both(dynamics, stack, samples)
    assert theirs.status is ours.status is QPStatus.SOLVED
    np.testing.assert_allclose(theirs.acceleration, ours.acceleration, atol=1e-6 * max(1.0, size))
    np.testing.assert_allclose(theirs.torque, ours.torque, atol=1e-6 * max(1.0, np.abs(ours.torque).max()))


def test_an_open_contact_changes_nothing():
    dynamics = dynamics_at(ROBOT, HOME, np.full(7, 0.1))
    stack = tasks_for(dynamics, np.linspace(-0.5, 0.5, 7))
    contact = ContactConstraint(UP, ROBOT.end_effector.contact_points[0])
    free, touching = ContactQP(ROBOT, limits_of(ROBOT)), ContactQP(ROBOT, limits_of(ROBOT), [contact])
    free.solve(dynamics, stack, dynamics.coriolis, np.zeros(0))
    touching.solve(dynamics, stack, dynamics.coriolis, np.array([25.0]))
    np.testing.assert_allclose(touching.acceleration, free.acceleration, atol=1e-7)
    assert touching.force[0] == pytest.approx(0.0, abs=1e-7)


def closed(robot, weight=1.0):
    contacts = [ContactConstraint(UP, centre) for centre in robot.end_effector.contact_points]
    for contact in contacts:
        contact.closed = True
    return ContactQP(robot, limits_of(robot), contacts, weight)


def rows_of(qp, dynamics):
    rows = np.zeros((len(qp.contacts), 7))
    rights = np.array([contact.write(dynamics, row) for contact, row in zip(qp.contacts, rows, strict=True)])
    return rows, rights


@pytest.mark.parametrize("end_effector", ["sphere", "edge"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_contact_force_is_that_of_the_rigid_constrained_dynamics(end_effector, seed):
    """Proper 2021 (2.59), solved directly for the torque that is commanded."""
    robot, random = load_robot("panda", end_effector), np.random.default_rng(seed)
    dynamics = dynamics_at(robot, HOME, random.uniform(-0.3, 0.3, 7))
    qp = closed(robot)
    wished = np.full(len(qp.contacts), 30.0 / len(qp.contacts))
    stack = tasks_for(dynamics, random.uniform(-1.0, 1.0, 7))
    for _ in range(40):
        qp.solve(dynamics, stack, dynamics.coriolis, wished)
    assert qp.status is QPStatus.SOLVED
    rows, rights = rows_of(qp, dynamics)
    count = len(rights)
    system = np.block([[qp.inertia, -rows.T], [rows, np.zeros((count, count))]])
    exact = np.linalg.solve(system, np.concatenate([qp.torque - dynamics.coriolis, rights]))
    np.testing.assert_allclose(qp.acceleration, exact[:7], atol=1e-5 * np.abs(exact[:7]).max())
    np.testing.assert_allclose(qp.force, exact[7:], rtol=1e-5)
    assert (qp.force > 0.0).all()


@pytest.mark.parametrize("end_effector", ["sphere", "edge"])
def test_where_no_limit_holds_it_is_the_solution_of_the_conditions_of_optimality(end_effector):
    """The tasks as near as a contact allows, by their own linear system; the wished force exactly."""
    robot = load_robot("panda", end_effector)
    dynamics = dynamics_at(robot, HOME, np.linspace(-0.2, 0.2, 7))
    qp = closed(robot)
    wished = np.full(len(qp.contacts), 20.0 / len(qp.contacts))
    wanted = np.linspace(0.6, -0.4, 7)
    stack = tasks_for(dynamics, wanted)
    for _ in range(60):
        qp.solve(dynamics, stack, dynamics.coriolis, wished)
    rows, rights = rows_of(qp, dynamics)
    count = len(rights)
    system = np.block([[np.eye(7), rows.T], [rows, np.zeros((count, count))]])
    exact = np.linalg.solve(system, np.concatenate([wanted, rights]))[:7]
    np.testing.assert_allclose(qp.acceleration, exact, atol=1e-5)
    np.testing.assert_allclose(qp.force, wished, rtol=1e-6)


def test_a_surface_does_not_pull():
    """A wish to draw the surface along is answered by no force at all."""
    robot = load_robot("panda", "edge")
    dynamics = dynamics_at(robot, HOME, STILL)
    qp = closed(robot)
    qp.solve(dynamics, tasks_for(dynamics, STILL), dynamics.coriolis, np.full(len(qp.contacts), -15.0))
    assert (qp.force >= -1e-9).all()
    np.testing.assert_allclose(qp.force, 0.0, atol=1e-6)


def test_commands_stay_inside_torque_and_rate_limits_when_nothing_can_be_solved():
    dynamics = dynamics_at(ROBOT, HOME, STILL)
    qp = ContactQP(ROBOT, limits_of(ROBOT))
    for _ in range(10):
        qp.solve(dynamics, tasks_for(dynamics, np.full(7, 1e3)), dynamics.coriolis, np.zeros(0))
    before = qp.torque.copy()
    qp.solve(dynamics, tasks_for(dynamics, np.full(7, np.nan)), dynamics.coriolis, np.zeros(0))
    assert qp.status is QPStatus.FAILED
    assert (np.abs(qp.torque - before) <= LIMITS.torque_rate * PERIOD * (1.0 + 1e-9)).all()
    assert (np.abs(qp.torque) <= np.abs(before)).all()


def test_what_was_relaxed_is_named():
    q, dq = HOME.copy(), STILL.copy()
    q[1], dq[1] = LIMITS.position_upper[1] - 0.001, 1.5
    dynamics = dynamics_at(ROBOT, q, dq)
    qp = ContactQP(ROBOT, limits_of(ROBOT))
    qp.solve(dynamics, tasks_for(dynamics, STILL), dynamics.coriolis, np.zeros(0))
    assert Limit.POSITION in qp.relaxed
