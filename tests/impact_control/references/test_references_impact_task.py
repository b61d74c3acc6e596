"""References of an impact task: consistent with each other, with the impact map and with the arm."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio as pin
import pytest

from impact_control.impacts import SlipOutcome
from impact_control.references import (
    ImpactReference,
    ReferenceColumns,
    ReferenceTable,
    UnreachableReferenceError,
    build_reference,
    impact_geometry,
    initial_configuration,
    rigid_impact_map,
)
from impact_control.robots import (
    Dynamics,
    load_robot,
    rotation_from_roll_pitch_yaw,
)
from impact_control.scenario import Scenario, load_scenario
from impact_control.util.errors import InvalidInputError

ROBOT = load_robot()
TABLETOP = load_scenario("tabletop")


def tilted_surface(axis: list[float], angle: float) -> dict[str, Any]:
    """Turn the whole planned impact about the impact point: surface, heading and tool."""
    turn = pin.exp3(angle * np.array(axis))
    impact = TABLETOP.task.impact
    orientation = pin.rpy.matrixToRpy(turn @ rotation_from_roll_pitch_yaw(impact.orientation))
    return {
        "expected_environment.surface.normal": turn @ TABLETOP.expected_environment.surface.normal,
        "task.impact.heading": turn @ impact.heading,
        "task.impact.orientation": ", ".join(map(repr, map(float, orientation))) + " rad",
    }


VARIANTS: dict[str, dict[str, Any]] = {
    "tabletop": {},
    "frictionless, straight down": {
        "task.impact.approach_angle": "90 deg",
        "expected_environment.surface.friction": 0.0,
    },
    "sideways, between two samples": {
        "task.impact.heading": [0.0, 1.0, 0.0],
        "task.impact.time": "0.99953 s",
        "task.post.settle_duration": "0.37 s",
    },
    "elbow turned": {"task.joint_1": "0.4 rad"},
    "surface rising forwards": tilted_surface([0.0, 1.0, 0.0], -0.3),
    "surface falling to the side": tilted_surface([0.6, 0.8, 0.0], 0.25),
}


@dataclass(frozen=True)
class Planned:
    scenario: Scenario
    reference: ImpactReference


@pytest.fixture(scope="module", params=list(VARIANTS))
def planned(request: pytest.FixtureRequest) -> Planned:
    scenario = TABLETOP.with_overrides(VARIANTS[request.param])
    return Planned(scenario, build_reference(scenario, ROBOT))


def both(reference: ImpactReference) -> tuple[ReferenceTable, ReferenceTable]:
    return reference.ante, reference.post


def at_nominal_time(reference: ImpactReference) -> tuple[ReferenceColumns, ReferenceColumns]:
    samples = tuple(table.new_sample() for table in both(reference))
    for table, sample in zip(both(reference), samples, strict=True):
        table.sample(reference.nominal_impact_time, sample)
    return samples[0], samples[1]


def test_both_references_cover_the_task_on_the_control_grid(planned: Planned) -> None:
    for table in both(planned.reference):
        assert table.period == pytest.approx(planned.scenario.control.period)
        assert table.duration == pytest.approx(planned.scenario.task.duration)


def test_references_coincide_at_the_nominal_impact(planned: Planned) -> None:
    ante, post = at_nominal_time(planned.reference)
    contact = planned.scenario.task.impact.position
    normal = planned.scenario.expected_environment.surface.normal
    impact = contact + ROBOT.end_effector.radius * normal
    for sample in (ante, post):
        np.testing.assert_allclose(sample.position, impact, atol=5e-7)
        np.testing.assert_allclose(sample.joint_position, planned.reference.impact_configuration, atol=2e-6)
        np.testing.assert_allclose(sample.orientation, 0.0, atol=2e-6)
        assert sample.posture[0] == pytest.approx(planned.scenario.task.posture, abs=1e-6)


def test_approach_has_the_speed_and_the_angle_asked_for(planned: Planned) -> None:
    ante, _ = at_nominal_time(planned.reference)
    impact = planned.scenario.task.impact
    normal = planned.scenario.expected_environment.surface.normal
    along = impact.heading - (impact.heading @ normal) * normal
    assert np.linalg.norm(ante.velocity) == pytest.approx(impact.speed, abs=1e-5)
    assert -normal @ ante.velocity == pytest.approx(impact.speed * np.sin(impact.approach_angle), abs=1e-5)
    speed_along = along @ ante.velocity / np.linalg.norm(along)
    assert speed_along == pytest.approx(impact.speed * np.cos(impact.approach_angle), abs=1e-5)
    np.testing.assert_allclose(ante.joint_velocity, planned.reference.ante_impact_velocity, atol=1e-4)


def test_velocity_jumps_as_the_impact_map_says(planned: Planned) -> None:
    reference = planned.reference
    _, post = at_nominal_time(reference)
    surface = planned.scenario.expected_environment.surface
    predicted = rigid_impact_map(ROBOT)(
        reference.impact_configuration,
        reference.ante_impact_velocity,
        -ROBOT.end_effector.radius * surface.normal,
        surface.normal,
        surface.friction,
    )
    np.testing.assert_allclose(reference.post_impact_velocity, predicted.velocity, rtol=1e-12)
    assert reference.normal_impulse == pytest.approx(predicted.normal_impulse)
    assert reference.slip is predicted.slip
    dynamics = Dynamics(ROBOT)
    dynamics.compute(reference.impact_configuration, reference.post_impact_velocity)
    np.testing.assert_allclose(post.joint_velocity, reference.post_impact_velocity, atol=2e-3)
    np.testing.assert_allclose(post.velocity, dynamics.twist[:3], atol=2e-4)
    np.testing.assert_allclose(post.angular_velocity, dynamics.twist[3:], atol=2e-3)
    assert post.posture[1] == pytest.approx(reference.post_impact_velocity[0], abs=1e-4)


def test_post_reference_never_leaves_the_surface(planned: Planned) -> None:
    columns = planned.reference.post.columns
    normal = planned.scenario.expected_environment.surface.normal
    height = (columns.position - planned.scenario.task.impact.position) @ normal
    np.testing.assert_allclose(height, ROBOT.end_effector.radius, atol=1e-12)
    np.testing.assert_allclose(columns.velocity @ normal, 0.0, atol=1e-12)
    np.testing.assert_allclose(columns.acceleration @ normal, 0.0, atol=1e-11)


def test_post_reference_ends_at_rest_after_the_slide(planned: Planned) -> None:
    task, geometry = planned.scenario.task, planned.reference.geometry
    columns = planned.reference.post.columns
    slid = columns.position[-1] - geometry.impact_position
    np.testing.assert_allclose(slid, task.post.slide * geometry.heading, atol=1e-12)
    for name in ("orientation", "velocity", "angular_velocity", "acceleration", "joint_velocity"):
        np.testing.assert_allclose(getattr(columns, name)[-1], 0.0, atol=1e-12)
    np.testing.assert_allclose(columns.posture[-1], [task.posture, 0.0, 0.0], atol=1e-12)
    settled = planned.reference.post.times >= task.impact.time + task.post.settle_duration
    np.testing.assert_allclose(columns.orientation[settled], 0.0, atol=1e-12)


def test_ante_reference_starts_and_ends_at_rest_below_the_surface(planned: Planned) -> None:
    task, geometry = planned.scenario.task, planned.reference.geometry
    columns = planned.reference.ante.columns
    normal, radius = planned.scenario.expected_environment.surface.normal, ROBOT.end_effector.radius
    way = columns.position - task.impact.position
    assert way[-1] @ normal == pytest.approx(radius - task.ante.extension_depth, abs=1e-12)
    assert np.linalg.norm(columns.position[0] - geometry.impact_position) == pytest.approx(task.ante.distance)
    ended = planned.reference.ante.times > task.impact.time + task.ante.extension_duration
    for rows in (slice(0, 1), ended):
        for name in ("velocity", "acceleration", "joint_velocity", "joint_acceleration"):
            np.testing.assert_allclose(getattr(columns, name)[rows], 0.0, atol=1e-9)
    np.testing.assert_array_equal(columns.orientation, 0.0)
    assert np.all(np.diff(way @ normal) < 1e-12)


def test_ante_reference_is_straight(planned: Planned) -> None:
    columns, geometry = planned.reference.ante.columns, planned.reference.geometry
    direction = geometry.approach_velocity / np.linalg.norm(geometry.approach_velocity)
    across = (columns.position - geometry.impact_position) @ (np.eye(3) - np.outer(direction, direction))
    np.testing.assert_allclose(across, 0.0, atol=1e-12)


def test_post_reference_waits_before_its_lead(planned: Planned) -> None:
    task, table = planned.scenario.task, planned.reference.post
    waiting = table.times < task.impact.time - task.post.lead
    columns = table.columns
    np.testing.assert_array_equal(columns.data[waiting], np.tile(columns.data[0], (waiting.sum(), 1)))
    np.testing.assert_array_equal(columns.joint_velocity[waiting], 0.0)


def test_post_reference_comes_in_along_its_velocity_at_the_impact(planned: Planned) -> None:
    task, table = planned.scenario.task, planned.reference.post
    coming = (table.times > task.impact.time - task.post.lead) & (table.times < task.impact.time)
    dynamics = Dynamics(ROBOT)
    dynamics.compute(planned.reference.impact_configuration, planned.reference.post_impact_velocity)
    columns = table.columns
    rates = (columns.velocity, columns.angular_velocity, columns.posture[:, 1:2])
    finals = (dynamics.twist[:3], dynamics.twist[3:], planned.reference.post_impact_velocity[:1])
    for rate, end in zip(rates, finals, strict=True):
        share = rate[coming] @ end / (end @ end)
        assert np.all(np.diff(share) > 0.0)
        assert np.all((share > 0.0) & (share < 1.0))
        np.testing.assert_allclose(rate[coming], np.outer(share, end), atol=1e-9)


def test_columns_are_derivatives_of_each_other(planned: Planned) -> None:
    chains = [
        ("position", "velocity"),
        ("velocity", "acceleration"),
        ("orientation", "angular_velocity"),
        ("angular_velocity", "angular_acceleration"),
        ("joint_position", "joint_velocity"),
        ("joint_velocity", "joint_acceleration"),
    ]
    for table in both(planned.reference):
        posture = table.columns.posture
        pairs = [(getattr(table.columns, a), getattr(table.columns, b)) for a, b in chains]
        for value, rate in [*pairs, (posture[:, 0], posture[:, 1]), (posture[:, 1], posture[:, 2])]:
            central = (value[2:] - value[:-2]) / (2.0 * table.period)
            scale = np.max(np.abs(rate)) + 1e-6
            np.testing.assert_allclose(central, rate[1:-1], atol=0.02 * scale)
            assert np.max(np.abs(np.diff(rate, axis=0))) < 0.1 * scale


def test_joint_motion_realises_the_task_motion(planned: Planned) -> None:
    dynamics = Dynamics(ROBOT)
    desired = rotation_from_roll_pitch_yaw(planned.scenario.task.impact.orientation)
    for table in both(planned.reference):
        columns = table.columns
        for k in range(0, table.times.size, 7):
            dynamics.compute(columns.joint_position[k], columns.joint_velocity[k])
            np.testing.assert_allclose(dynamics.position, columns.position[k], atol=1e-7)
            rotation = pin.exp3(columns.orientation[k]) @ desired
            np.testing.assert_allclose(dynamics.rotation, rotation, atol=1e-7)
            twist = np.concatenate([columns.velocity[k], columns.angular_velocity[k]])
            np.testing.assert_allclose(dynamics.twist, twist, atol=2e-5)
            acceleration = dynamics.jacobian @ columns.joint_acceleration[k] + dynamics.jacobian_rate_velocity
            wanted = np.concatenate([columns.acceleration[k], columns.angular_acceleration[k]])
            np.testing.assert_allclose(acceleration, wanted, atol=2e-2)
            assert columns.joint_position[k, 0] == pytest.approx(columns.posture[k, 0], abs=1e-7)


def test_task_starts_in_the_initial_configuration(planned: Planned) -> None:
    start = initial_configuration(planned.scenario, ROBOT)
    np.testing.assert_array_equal(planned.reference.initial_configuration, start)
    np.testing.assert_allclose(planned.reference.ante.columns.joint_position[0], start, atol=1e-8)
    assert start[0] == pytest.approx(planned.scenario.task.posture, abs=1e-8)


def test_shipped_scenarios_keep_away_from_limits_and_singularities() -> None:
    reference = build_reference(TABLETOP, ROBOT)
    dynamics = Dynamics(ROBOT)
    limits = ROBOT.limits
    for table in both(reference):
        q = table.columns.joint_position
        assert np.min(np.minimum(q - limits.position_lower, limits.position_upper - q)) > 0.3
        assert np.all(np.abs(table.columns.joint_velocity) < 0.6 * limits.velocity)
        assert np.max(np.abs(table.columns.orientation)) < 0.1
        for k in range(0, len(q), 100):
            dynamics.compute(q[k], np.zeros(7))
            assert np.linalg.svd(dynamics.jacobian, compute_uv=False)[-1] > 0.05


def test_a_given_impact_map_is_used_and_asked_with_the_contact_point() -> None:
    asked: list[tuple[Any, ...]] = []

    def sticking(q: Any, dq: Any, offset: Any, normal: Any, friction: float) -> Any:
        asked.append((q, dq, offset, normal, friction))
        return Prediction(np.zeros(7), 1.25, SlipOutcome.STICKS)

    reference = build_reference(TABLETOP, ROBOT, sticking)
    [(q, _, offset, normal, friction)] = asked
    np.testing.assert_array_equal(q, reference.impact_configuration)
    np.testing.assert_allclose(offset, [0.0, 0.0, -ROBOT.end_effector.radius])
    np.testing.assert_array_equal(normal, [0.0, 0.0, 1.0])
    assert friction == TABLETOP.expected_environment.surface.friction
    assert reference.normal_impulse == 1.25
    assert reference.slip is SlipOutcome.STICKS
    np.testing.assert_array_equal(reference.post_impact_velocity, np.zeros(7))
    np.testing.assert_array_equal(reference.post.columns.orientation, 0.0)


@dataclass(frozen=True)
class Prediction:
    velocity: Any
    normal_impulse: float
    slip: SlipOutcome


@pytest.mark.parametrize(
    "after",
    [np.full(7, np.nan), np.zeros(6), np.array([0.0, -0.1, 0.0, 0.0, 0.0, 0.0, 0.0])],
)
def test_impact_maps_that_do_not_keep_the_contact_are_refused(after: np.ndarray) -> None:
    with pytest.raises(InvalidInputError) as caught:
        build_reference(TABLETOP, ROBOT, lambda *_: Prediction(after, 1.0, SlipOutcome.SLIPS))
    assert caught.value.name.startswith("predicted post-impact velocity")


def place(x: float, z: float) -> dict[str, Any]:
    point = f"{x}, 0.0, {z} m"
    return {"task.impact.position": point, "expected_environment.surface.point": point}


def test_a_start_out_of_reach_is_refused() -> None:
    for x, z in ((1.2, 0.2), (0.5, 1.4)):
        with pytest.raises(UnreachableReferenceError) as caught:
            build_reference(TABLETOP.with_overrides(place(x, z)), ROBOT)
        assert (caught.value.time, caught.value.joint) == (0.0, None)
        assert "workspace" in str(caught.value)


def test_a_slide_out_of_reach_is_refused_with_its_time() -> None:
    far = TABLETOP.with_overrides({"task.post.slide": "0.6 m"})
    with pytest.raises(UnreachableReferenceError) as caught:
        build_reference(far, ROBOT)
    assert caught.value.time > TABLETOP.task.impact.time


def test_geometry_turns_with_the_surface() -> None:
    flat = impact_geometry(TABLETOP, ROBOT)
    turn = pin.exp3(np.array([0.0, -0.3, 0.0]))
    turned = impact_geometry(TABLETOP.with_overrides(tilted_surface([0.0, 1.0, 0.0], -0.3)), ROBOT)
    for name in ("normal", "heading", "contact_offset", "approach_velocity", "orientation"):
        np.testing.assert_allclose(getattr(turned, name), turn @ getattr(flat, name), atol=1e-9)
    for name in ("start_position", "impact_position", "rest_position"):
        from_contact = turn @ (getattr(flat, name) - flat.contact_point)
        np.testing.assert_allclose(getattr(turned, name) - turned.contact_point, from_contact, atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_roll_pitch_yaw_agrees_with_pinocchio(seed: int) -> None:
    angles = np.random.default_rng(seed).uniform(-3.0, 3.0, 3)
    np.testing.assert_allclose(rotation_from_roll_pitch_yaw(angles), pin.rpy.rpyToMatrix(*angles), atol=1e-14)
