"""The planned impact of tasks anywhere in the workspace: Coulomb's law, a second method, and Rey Arias 2024 (16)."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

from impact_control.impacts import FrictionLaw, ImpactPrediction, SlipOutcome, predict_post_impact_velocity
from impact_control.references import (
    ImpactGeometry,
    UnreachableReferenceError,
    build_reference,
    impact_geometry,
    task_jacobian,
)
from impact_control.robots import Dynamics, InertiaModel, RobotDescription, contact_point_jacobian
from impact_control.robots.inverse_kinematics import solve
from impact_control.scenario import robot_of
from random_tasks import random_task

MODELS = ("panda", "fr3")
DRAWS = 200
COMPLIANT_DRAWS = 40


@dataclass(frozen=True, eq=False)
class PlannedImpact:
    """Input of the impact map at the planned impact of a task."""

    inertia: np.ndarray
    jacobian: np.ndarray
    normal: np.ndarray
    velocity: np.ndarray
    friction: float

    def predict(self, **changes) -> ImpactPrediction:
        arguments = {"friction": self.friction} | changes
        return predict_post_impact_velocity(self.inertia, self.jacobian, self.normal, self.velocity, **arguments)

    def along_surface(self, vector: np.ndarray) -> np.ndarray:
        return vector - (self.normal @ vector) * self.normal


@functools.cache
def planned_impact(seed: int, model: str, **fixed: float) -> PlannedImpact:
    """Return a random impact without planning the way to it, which takes a hundred times as long."""
    task = random_task(seed, model, **fixed)
    robot = robot_of(task.robot)
    geometry = impact_geometry(task, robot)
    posture, home = task.task.posture, task.task.home_configuration
    q = solve(robot, geometry.impact_position, geometry.orientation, posture, home)
    return impact_at(q, geometry, robot, task.expected_environment.surface.friction)


def impact_at(q: np.ndarray, geometry: ImpactGeometry, robot: RobotDescription, friction: float) -> PlannedImpact:
    dynamics = Dynamics(robot)
    dynamics.compute(q, np.zeros(7))
    velocity = np.linalg.solve(task_jacobian(dynamics.jacobian), np.append(geometry.approach_velocity, np.zeros(4)))
    jacobian = contact_point_jacobian(dynamics.jacobian, geometry.contact_offset)
    return PlannedImpact(dynamics.inertia(InertiaModel.REDUCED_MOTORS), jacobian, geometry.normal, velocity, friction)


@pytest.mark.parametrize("model", MODELS)
def test_no_planned_impact_gains_energy_leaves_the_cone_or_opens(model):
    outcomes = set()
    for seed in range(DRAWS):
        impact = planned_impact(seed, model)
        result = impact.predict()
        before, after = (0.5 * v @ impact.inertia @ v for v in (impact.velocity, result.velocity))
        assert after <= before * (1.0 + 1e-12)
        assert after - before == pytest.approx(result.kinetic_energy_change, abs=1e-9 * before)
        speed = np.linalg.norm(result.contact_velocity_before)
        assert abs(impact.normal @ result.contact_velocity_after) < 1e-9 * speed
        rubbing = np.linalg.norm(impact.along_surface(result.impulse))
        assert rubbing <= (impact.friction + 1e-9) * result.normal_impulse
        slip = impact.along_surface(result.contact_velocity_after)
        if result.slip is SlipOutcome.STICKS:
            assert np.linalg.norm(slip) < 1e-8 * speed
        else:
            assert (slip @ result.slip_direction < 0.0) == (result.slip is SlipOutcome.REVERSES)
            assert np.linalg.norm(slip) > 1e-8 * speed
        outcomes.add(result.slip)
    assert outcomes == set(SlipOutcome)


def compliant_contact(impact: PlannedImpact, restitution: float) -> np.ndarray:
    """The joint velocity (n,) [rad/s] after a contact of 10^10 N/m^1.5, by integration of all joints over time.

    Hunt and Crossley's force closes the contact, a spring that gives e^2 of its work back opens it; friction is
    regularised at 10^-4 of the speed. State: depth [m], work of the normal force on it [J], joint velocity.
    """
    normal, slow = impact.normal, 1e-4 * np.linalg.norm(impact.jacobian @ impact.velocity)
    response = np.linalg.solve(impact.inertia, impact.jacobian.T)

    def run(state, force, end):
        def rates(_, y):
            contact = impact.jacobian @ y[2:]
            slip, closing = impact.along_surface(contact), -normal @ contact
            pressed = force(y[0], closing)
            rubbing = impact.friction * slip / np.hypot(slow, np.linalg.norm(slip))
            return np.concatenate([[closing, pressed * closing], response @ (pressed * (normal - rubbing))])

        end.terminal = True
        found = solve_ivp(rates, (0.0, 0.1), state, method="LSODA", rtol=1e-8, atol=1e-11, events=end)
        assert found.status == 1
        return found.y[:, -1]

    def spring(depth, closing):
        return 1e10 * max(depth, 0.0) ** 1.5 * (1.0 + 0.1 * closing)

    def closed(_, y):
        return normal @ impact.jacobian @ y[2:]

    closed.direction = 1.0
    state = run(np.concatenate([[0.0, 0.0], impact.velocity]), spring, closed)
    if restitution > 0.0:
        deepest, work = state[:2]
        largest = spring(deepest, 0.0)
        way = 2.5 * restitution**2 * work / largest

        def back(depth, _):
            return largest * max((depth - deepest) / way + 1.0, 0.0) ** 1.5

        def opened(_, y):
            # The force vanishes with a power of the way left: nearly all of the work is done before its end.
            return (y[0] - deepest) / way + 1.0 - 1e-4

        state = run(state, back, opened)
    return state[2:]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("restitution", [0.0, 0.6])
def test_the_map_is_the_limit_of_a_stiff_compliant_contact(model, restitution):
    errors = []
    for seed in range(COMPLIANT_DRAWS):
        impact = planned_impact(seed, model)
        mapped = impact.predict(restitution=restitution).velocity
        jump = np.linalg.norm(mapped - impact.velocity)
        errors.append(np.linalg.norm(compliant_contact(impact, restitution) - mapped) / jump)
    assert max(errors) < 1e-3


@pytest.mark.parametrize("model", MODELS)
def test_vanishing_friction_is_no_friction(model):
    for seed in range(DRAWS):
        impact = planned_impact(seed, model)
        smooth = impact.predict(friction=0.0).velocity
        jump = np.linalg.norm(smooth - impact.velocity)
        errors = [np.linalg.norm(impact.predict(friction=mu).velocity - smooth) / jump for mu in (1e-4, 1e-5)]
        assert errors[0] < 1e-3
        assert errors[1] < 0.11 * errors[0] + 1e-8


@pytest.mark.parametrize("model", MODELS)
def test_a_slip_that_hardly_turns_is_rey_arias(model):
    """The friction of (16) has the direction before the impact: it errs by no more than the slip turns."""
    compared = 0
    for seed in range(DRAWS):
        impact = planned_impact(seed, model)
        result = impact.predict()
        slip = impact.along_surface(result.contact_velocity_after)
        turn = np.arccos(np.clip(slip @ result.slip_direction / max(np.linalg.norm(slip), 1e-300), -1.0, 1.0))
        if result.slip is SlipOutcome.SLIPS and turn < 0.5:
            printed = impact.predict(law=FrictionLaw.FIXED_DIRECTION)
            difference = np.linalg.norm(printed.impulse - result.impulse) / np.linalg.norm(result.impulse)
            assert difference <= 1.5 * impact.friction * turn + 1e-9
            compared += 1
    assert compared > 10


@pytest.mark.parametrize("model", MODELS)
def test_a_slip_that_keeps_its_direction_is_rey_arias(model):
    """Along the direction in which normal and friction impulse together only slow the slip down, or speed it up."""
    friction = 0.3
    for seed in range(DRAWS):
        impact = replace(planned_impact(seed, model), friction=friction)
        n, J = impact.normal, impact.jacobian
        mobility = J @ np.linalg.solve(impact.inertia, J.T)
        first = impact.along_surface(np.eye(3)[np.argmin(np.abs(n))])
        first /= np.linalg.norm(first)
        second = np.cross(n, first)

        def slipping(angle, first=first, second=second):
            return np.cos(angle) * first + np.sin(angle) * second

        def turning(angle, n=n, mobility=mobility):
            slip = slipping(angle)
            return np.cross(n, slip) @ mobility @ (n - friction * slip)

        angles = np.linspace(0.0, 2.0 * np.pi, 61)
        signs = np.sign([turning(angle) for angle in angles])
        change = np.flatnonzero(np.diff(signs))[0]
        straight = slipping(brentq(turning, angles[change], angles[change + 1], xtol=1e-15))
        slow_down = straight @ mobility @ (n - friction * straight) / (n @ mobility @ (n - friction * straight))
        speed = 0.2 * max(0.0, -slow_down) + 0.1  # more than the impact takes
        before = replace(impact, velocity=np.linalg.pinv(J) @ (speed * straight - 0.2 * n))
        exact, printed = (before.predict(law=law) for law in (FrictionLaw.COULOMB, FrictionLaw.FIXED_DIRECTION))
        assert exact.slip is SlipOutcome.SLIPS
        np.testing.assert_allclose(exact.velocity, printed.velocity, atol=1e-7 * np.linalg.norm(before.velocity))


@pytest.mark.parametrize("model", MODELS)
def test_references_go_on_from_every_outcome(model):
    """The reference after the impact starts with the predicted motion: from rest along the surface where it sticks."""
    planned = dict.fromkeys(SlipOutcome, 0)
    for seed in range(60):
        task = random_task(seed, model)
        robot = robot_of(task.robot)
        try:
            reference = build_reference(task, robot)
        except UnreachableReferenceError:
            continue
        planned[reference.slip] += 1
        friction = task.expected_environment.surface.friction
        impact = impact_at(reference.impact_configuration, reference.geometry, robot, friction)
        result = impact.predict()
        assert reference.slip is result.slip
        np.testing.assert_allclose(reference.post_impact_velocity, result.velocity, atol=1e-6)
        sample = reference.post.new_sample()
        reference.post.sample(reference.nominal_impact_time, sample)
        contact = impact.jacobian @ sample.joint_velocity
        np.testing.assert_allclose(contact, result.contact_velocity_after, atol=2e-3)
        if reference.slip is SlipOutcome.STICKS:
            assert np.linalg.norm(contact) < 2e-3
    assert min(planned.values()) > 3
