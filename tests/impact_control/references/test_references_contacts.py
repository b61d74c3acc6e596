"""References of end-effectors with several contact points: they meet the surface at once and stay on it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from impact_control.control import ContactForce
from impact_control.impacts import SlipOutcome, predict_post_impact_velocity, slip_of_contacts
from impact_control.references import build_reference, impact_geometry, rigid_impact_map, simultaneous_impact
from impact_control.robots import Dynamics, InertiaModel, RobotDescription, contact_jacobians, load_robot
from impact_control.scenario import load_scenario
from impact_control.util.errors import InvalidInputError

UP = np.array([0.0, 0.0, 1.0])

VARIANTS = {
    "edge along the heading": ("tabletop_edge", {}),
    "edge across the heading": ("tabletop_edge", {"task.impact.orientation": "180, 0, -90 deg"}),
    "edge straight down, frictionless": (
        "tabletop_edge",
        {"task.impact.approach_angle": "90 deg", "expected_environment.surface.friction": 0.0},
    ),
    "edge on a rising surface": (
        "tabletop_edge",
        {
            "task.impact.orientation": "180, -10, 0 deg",
            "expected_environment.surface.normal": [-np.sin(np.pi / 18), 0.0, np.cos(np.pi / 18)],
        },
    ),
    "plate": ("tabletop_plate", {}),
    "plate that would rebound": (
        "tabletop_plate",
        {"task.impact.orientation": "180, 0, 0 deg", "expected_environment.surface.friction": 0.0},
    ),
}


@dataclass(frozen=True)
class Planned:
    robot: RobotDescription
    scenario: object
    reference: object

    def heights(self, position, rotation):
        """Heights (n_c,) [m] of the lowest points of the contact spheres over the expected surface."""
        tool, surface = self.robot.end_effector, self.scenario.expected_environment.surface
        centres = position + tool.contact_points @ rotation.T
        return (centres - surface.point) @ surface.normal - tool.radius


@pytest.fixture(scope="module", params=list(VARIANTS))
def planned(request):
    name, overrides = VARIANTS[request.param]
    scenario = load_scenario(name).with_overrides(overrides)
    robot = load_robot("panda", scenario.robot.end_effector)
    return Planned(robot, scenario, build_reference(scenario, robot))


def at_impact(planned, table):
    sample = table.new_sample()
    table.sample(planned.reference.nominal_impact_time, sample)
    return sample


def test_all_contact_points_reach_the_surface_at_the_nominal_time(planned):
    geometry, impact = planned.reference.geometry, planned.scenario.task.impact
    sample = at_impact(planned, planned.reference.ante)
    np.testing.assert_allclose(planned.heights(sample.position, geometry.orientation), 0.0, atol=1e-6)
    middle = (sample.position + geometry.contact_offsets).mean(axis=0)
    np.testing.assert_allclose(middle, impact.position, atol=1e-6)
    before = planned.reference.ante.columns
    early = planned.reference.ante.times < impact.time - 1e-3
    assert all(planned.heights(p, geometry.orientation).min() > 0.0 for p in before.position[early][::20])


def test_the_orientation_is_kept_before_the_impact(planned):
    columns = planned.reference.ante.columns
    np.testing.assert_array_equal(columns.orientation, 0.0)
    dynamics = Dynamics(planned.robot)
    for q in columns.joint_position[::50]:
        dynamics.compute(q, np.zeros(7))
        np.testing.assert_allclose(dynamics.rotation, planned.reference.geometry.orientation, atol=1e-7)


def test_all_contacts_rest_after_the_impact_and_energy_is_lost(planned):
    reference = planned.reference
    dynamics = Dynamics(planned.robot)
    dynamics.compute(reference.impact_configuration, reference.post_impact_velocity)
    jacobians = contact_jacobians(dynamics.jacobian, reference.geometry.contact_offsets)
    normal = planned.scenario.expected_environment.surface.normal
    assert (normal @ (jacobians @ reference.ante_impact_velocity).T < -0.05).all()
    np.testing.assert_allclose(normal @ (jacobians @ reference.post_impact_velocity).T, 0.0, atol=1e-9)
    inertia = dynamics.inertia(InertiaModel.REDUCED_MOTORS)
    before, after = reference.ante_impact_velocity, reference.post_impact_velocity
    assert after @ inertia @ after < 0.99 * (before @ inertia @ before)
    assert reference.normal_impulse > 0.0


def test_the_contacts_stay_on_the_surface_afterwards(planned):
    """To second order of the rotation: an edge that turns about a fixed axis leaves the surface by r phi^2 / 2."""
    columns = planned.reference.post.columns
    reach = np.linalg.norm(planned.robot.end_effector.contact_points, axis=1).max()
    for k in range(0, len(columns.position), 10):
        rotation = pin.exp3(columns.orientation[k]) @ planned.reference.geometry.orientation
        bound = 0.5 * reach * (columns.orientation[k] @ columns.orientation[k]) + 1e-9
        assert np.abs(planned.heights(columns.position[k], rotation)).max() <= bound
    assert np.abs(columns.orientation).max() < 0.1


def test_the_contacts_share_the_force(planned):
    """The wrench at E is that of equal forces at all contacts."""
    force = ContactForce.of(planned.scenario, planned.reference)
    geometry = planned.reference.geometry
    sliding = 0.1 * geometry.heading
    wrench = np.zeros(6)
    force.press(1.0, sliding, np.eye(6), wrench, np.zeros(6))
    each = wrench[:3] / len(geometry.contact_offsets)
    assert -wrench[:3] @ geometry.normal == pytest.approx(planned.scenario.task.post.force)
    np.testing.assert_allclose(wrench[3:], np.cross(geometry.contact_offsets, each).sum(axis=0), atol=1e-12)


@pytest.mark.parametrize(("tool", "orientation"), [("edge", "180, 0.1, 0 deg"), ("plate", "180.1, 0, -45 deg")])
def test_a_tool_that_would_not_meet_the_surface_at_once_is_refused(tool, orientation):
    scenario = load_scenario(f"tabletop_{tool}").with_overrides({"task.impact.orientation": orientation})
    with pytest.raises(InvalidInputError) as caught:
        impact_geometry(scenario, load_robot("panda", tool))
    assert caught.value.name == "task.impact.orientation"
    assert "all contact points at once" in caught.value.allowed


def test_an_edge_may_turn_about_itself_and_a_sphere_at_all():
    for tool, orientation in (("edge", "160, 0, 0 deg"), ("sphere", "170, 20, 30 deg")):
        scenario = load_scenario("tabletop").with_overrides(
            {"robot.end_effector": tool, "task.impact.orientation": orientation}
        )
        geometry = impact_geometry(scenario, load_robot("panda", tool))
        np.testing.assert_allclose(geometry.contact_offset, [0.0, 0.0, -0.02], atol=1e-12)


def test_the_impact_map_of_one_contact_is_not_asked_for_several():
    scenario, robot = load_scenario("tabletop_edge"), load_robot("panda", "edge")

    def never(*_):
        raise AssertionError("asked")

    assert build_reference(scenario, robot, never).normal_impulse > 0.0


def random_impact(seed, contacts):
    """A system of 7 degrees of freedom with a few contacts, all of them approaching."""
    random = np.random.default_rng(seed)
    root = random.normal(size=(7, 7))
    inertia = root @ root.T + 0.1 * np.eye(7)
    jacobians = random.normal(size=(contacts, 3, 7))
    rows = jacobians[:, 2]
    velocity = -np.linalg.lstsq(rows, random.uniform(0.05, 1.0, contacts), rcond=None)[0]
    return inertia, jacobians, velocity


systems = st.integers(0, 2**32 - 1)
quick = settings(deadline=None, max_examples=40)


@quick
@given(systems, st.integers(2, 5), st.floats(0.0, 1.0))
def test_contacts_rest_and_energy_never_grows(seed, contacts, friction):
    inertia, jacobians, velocity = random_impact(seed, contacts)
    after = simultaneous_impact(inertia, jacobians, UP, velocity, friction)
    scale = np.abs(jacobians).max() * np.abs(velocity).max()
    np.testing.assert_allclose(jacobians[:, 2] @ after.velocity, 0.0, atol=1e-7 * scale)
    assert after.velocity @ inertia @ after.velocity <= (velocity @ inertia @ velocity) * (1.0 + 1e-9)
    assert after.normal_impulse > 0.0


@quick
@given(systems, st.integers(2, 4))
def test_without_friction_it_is_the_impact_that_holds_all_contacts(seed, contacts):
    """Proper 2021 (2.51), solved as one linear system: with it the order in which contacts come to rest drops out."""
    inertia, jacobians, velocity = random_impact(seed, contacts)
    rows = jacobians[:, 2]
    system = np.block([[inertia, -rows.T], [rows, np.zeros((contacts, contacts))]])
    held = np.linalg.solve(system, np.concatenate([inertia @ velocity, np.zeros(contacts)]))[:7]
    after = simultaneous_impact(inertia, jacobians, UP, velocity, 0.0)
    scale = np.linalg.cond(system) * np.abs(velocity).max()
    np.testing.assert_allclose(after.velocity, held, atol=1e-12 * scale + 1e-7 * np.abs(velocity).max())


@quick
@given(systems, st.integers(2, 4), st.sampled_from([0.0, 0.1]))
def test_contacts_at_one_place_are_one_contact(seed, contacts, friction):
    inertia, jacobians, velocity = random_impact(seed, 1)
    # A slip that friction does not turn round: there both maps are the same law.
    jacobians[0, :2] = 0.0
    jacobians[0, 0, 0] = 10.0
    velocity = velocity + np.linalg.lstsq(jacobians[0], [50.0, 0.0, 0.0], rcond=None)[0]
    one = predict_post_impact_velocity(inertia, jacobians[0], UP, velocity, friction)
    assume(jacobians[0, 0] @ one.velocity > 0.0)
    same = np.repeat(jacobians, contacts, axis=0)
    several = simultaneous_impact(inertia, same, UP, velocity, friction)
    scale = np.abs(velocity).max()
    np.testing.assert_allclose(several.velocity, one.velocity, atol=1e-7 * scale)
    assert several.normal_impulse == pytest.approx(one.normal_impulse, rel=1e-6)
    assert several.slip is one.slip is SlipOutcome.SLIPS


def test_slip_of_several_contacts_is_that_of_the_one_which_turns_around():
    before = np.array([[0.1, 0.0, -0.2], [0.0, 0.1, -0.2]])
    still = np.zeros((2, 3))
    assert slip_of_contacts(before, still + 1e-12, UP) is SlipOutcome.STICKS
    assert slip_of_contacts(before, still + 0.3 * UP, UP) is SlipOutcome.STICKS  # opens, without a slip
    assert slip_of_contacts(before, 0.5 * before, UP) is SlipOutcome.SLIPS
    assert slip_of_contacts(before, still + np.array([0.01, -0.01, 0.0]), UP) is SlipOutcome.REVERSES


def test_the_map_of_a_robot_takes_one_offset_or_several():
    robot = load_robot("panda", "edge")
    reference = build_reference(load_scenario("tabletop_edge"), robot)
    q, dq = reference.impact_configuration, reference.ante_impact_velocity
    offset = np.array([0.0, 0.0, -0.02])
    predict = rigid_impact_map(robot)
    alone = predict(q, dq, offset, UP, 0.1)
    np.testing.assert_array_equal(alone.velocity, predict(q, dq, offset[None], UP, 0.1).velocity)
    edge = predict(q, dq, reference.geometry.contact_offsets, UP, 0.1)
    np.testing.assert_allclose(edge.velocity, reference.post_impact_velocity, atol=1e-12)
    assert np.abs(edge.velocity - alone.velocity).max() > 0.01
