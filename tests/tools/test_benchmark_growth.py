"""The curves of the benchmark: arms of any number of joints are arms, and each curve has its places."""

from __future__ import annotations

import time

import numpy as np
import pytest

from benchmark import growth
from benchmark.chain import bent, chain, control, rest_at
from benchmark.course import Course
from benchmark.yardstick import durations_in_turns
from impact_control.control import QPStatus, ReferenceSpreadingController
from impact_control.control.contact_force import NO_FORCE
from impact_control.recording.bag import BagWriter
from impact_control.references import build_reference
from impact_control.robots import Dynamics, load_robot
from impact_control.scenario import load_scenario


@pytest.mark.parametrize("joints", [3, *(pytest.param(joints, marks=pytest.mark.long) for joints in (7, 14))])
def test_a_chain_stands_up_and_its_controller_holds_it(joints):
    robot, q = chain(joints), bent(joints)
    dynamics = Dynamics(robot)
    still = np.zeros(joints)
    dynamics.compute(still, still)
    np.testing.assert_allclose(dynamics.position, [0.0, 0.0, 0.2 * (joints + 1)], atol=1e-12)
    dynamics.compute(q, still)
    assert np.linalg.matrix_rank(dynamics.jacobian[:3]) == 3
    controller = ReferenceSpreadingController(robot, control(joints, 1e-3), q)
    controller.start(rest_at(robot, q), NO_FORCE, 0.0)
    controller.compute_torque(dynamics, 1e-3, q, still, still)
    assert controller.qp.status is QPStatus.SOLVED
    np.testing.assert_allclose(controller.torque, 0.0, atol=1e-9)


@pytest.fixture
def few_rounds(monkeypatch):
    monkeypatch.setattr(growth, "ROUNDS", 2)


def course():
    """Return a course without samples."""
    scenario, robot = load_scenario("tabletop"), load_robot()
    return Course(scenario, robot, build_reference(scenario, robot), ())


@pytest.mark.parametrize(
    "measure",
    [
        lambda: growth.grow_joints((3, 7)),
        lambda: growth.grow_contacts((1, 4)),
        pytest.param(lambda: growth.grow_windows(course(), (12, 40)), marks=pytest.mark.long),
        lambda: growth.grow_topics((1, 3)),
        lambda: growth.grow_workers((1,), 1),
    ],
)
def test_a_curve_has_a_cost_at_each_place(few_rounds, measure):
    curve = measure()
    for costs in curve.lines.values():
        assert len(costs) == len(curve.places)
        assert min(costs) > 0.0


def test_more_topics_cost_more(few_rounds):
    (costs,) = growth.grow_topics((1, 16)).lines.values()
    assert costs[1] > 4.0 * costs[0]


def test_what_the_bag_writer_does_every_200_samples_is_in_its_cost(few_rounds, monkeypatch):
    """20 ms of the processor then are 100 us a sample; adding its message takes a few."""

    def flush(bag):
        started = time.thread_time()
        while time.thread_time() < started + 20e-3:
            pass
        plain_flush(bag)

    plain_flush = BagWriter.flush
    monkeypatch.setattr(BagWriter, "flush", flush)
    (costs,) = growth.grow_topics((1,)).lines.values()
    assert costs[0] > 100.0


@pytest.mark.long
@pytest.mark.parametrize("work", [growth._completion, lambda window: growth._velocity_filter(window, np.zeros((1, 7)))])
def test_a_filter_that_looks_at_its_whole_window_costs_more_with_a_longer_one(work):
    short, long = durations_in_turns([work(12), work(4000)], 5).min(axis=0)
    assert long > 2.0 * short
