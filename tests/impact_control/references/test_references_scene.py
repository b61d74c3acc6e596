"""The impact of a whole scene and the references made with it: balances, symmetry, limits of the mass, a plant."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_control.impacts import ContactMode, ExponentialHuntCrossley, SlipOutcome
from impact_control.references import build_references, plan_approach, predict_object_impact
from impact_control.robots import Dynamics, InertiaModel, contact_jacobians
from impact_control.scenario import load_scenario
from impact_control.simulation import Arm, Box, PlantOptions, ScenePlant

HALF_TURN = np.diag([-1.0, -1.0, 1.0])


@functools.cache
def approached(name):
    scene = load_scenario(name)
    robots = scene.robots()
    return scene, robots, {arm: plan_approach(scene.arm(arm), robots[arm]) for arm in scene.arms}


def predict(name, overrides=(), model=None):
    scene, robots, approaches = approached(name)
    return predict_object_impact(scene.with_overrides(dict(overrides)), robots, approaches, model)


@pytest.mark.parametrize("name", ["push_juice_1", "push_catfood_2", "grab_parcel_1", "grab_juice_2"])
@pytest.mark.parametrize("model", list(InertiaModel))
def test_momentum_and_energy_balance(name, model):
    """What the arms lose is what object and table get; the arms' own equations and the energy hold."""
    scene, robots, approaches = approached(name)
    impact = predict(name, model=model)
    box = scene.expected_environment.objects["box"]
    given = -sum(arm.impulse for arm in impact.arms.values())
    np.testing.assert_allclose(box.mass * impact.objects["box"][:3], given + impact.table_impulse, atol=1e-9)
    assert impact.table_impulse[2] >= -1e-12
    assert impact.kinetic_energy_change < 0.0
    after = 0.5 * box.mass * impact.objects["box"][:3] @ impact.objects["box"][:3]
    before = 0.0
    for arm, predicted in impact.arms.items():
        dynamics = Dynamics(robots[arm])
        dynamics.compute(approaches[arm].impact_configuration, predicted.joint_velocity)
        inertia = dynamics.inertia(model)
        np.testing.assert_allclose(dynamics.twist[:3], predicted.velocity, atol=1e-12)
        after += 0.5 * predicted.joint_velocity @ inertia @ predicted.joint_velocity
        start = approaches[arm].ante_impact_velocity
        before += 0.5 * start @ inertia @ start
    spin = impact.objects["box"][3:]
    squares = box.size**2
    after += 0.5 * spin @ (box.mass / 12.0 * (squares.sum() - squares) * spin)
    assert after - before == pytest.approx(impact.kinetic_energy_change, rel=1e-9)


@pytest.mark.parametrize("name", ["grab_parcel_1", "grab_juice_3"])
def test_a_symmetric_grab_gives_symmetric_jumps(name):
    impact = predict(name)
    left, right = impact.arms["left"], impact.arms["right"]
    np.testing.assert_allclose(HALF_TURN @ left.velocity, right.velocity, atol=1e-9)
    np.testing.assert_allclose(HALF_TURN @ left.angular_velocity, right.angular_velocity, atol=1e-8)
    np.testing.assert_allclose(left.joint_velocity, right.joint_velocity, atol=1e-8)
    np.testing.assert_allclose(impact.objects["box"][:2], 0.0, atol=1e-9)
    assert 0.0 < impact.objects["box"][2] < 0.4


@pytest.mark.parametrize("name", ["push_parcel_1", "push_parcel_3"])
def test_an_object_without_mass_does_not_stop_the_arm(name):
    impact = predict(name, {"expected_environment.objects.box.mass": "1e-6 kg"}.items())
    np.testing.assert_allclose(impact.arms["left"].velocity, [0.0, -0.5, 0.0], atol=1e-5)
    np.testing.assert_allclose(impact.objects["box"][:3], impact.arms["left"].velocity, atol=1e-5)


def test_an_object_without_end_holds_the_contacts_of_the_arm_like_a_wall():
    """Against the projection onto what a plate that is held at all of its points leaves to the arm."""
    _, robots, approaches = approached("push_parcel_1")
    impact = predict("push_parcel_1", {"expected_environment.objects.box.mass": "1e9 kg"}.items())
    approach = approaches["left"]
    dynamics = Dynamics(robots["left"])
    dynamics.compute(approach.impact_configuration, approach.ante_impact_velocity)
    rows = np.vstack(contact_jacobians(dynamics.jacobian, approach.geometry.contact_offsets))
    response = np.linalg.solve(dynamics.inertia(InertiaModel.REDUCED_MOTORS), rows.T)
    before = approach.ante_impact_velocity
    held = before - response @ np.linalg.pinv(rows @ response, rcond=1e-9) @ rows @ before
    assert ContactMode.SLIPS not in impact.arms["left"].modes
    np.testing.assert_allclose(impact.objects["box"][:3], 0.0, atol=1e-8)
    np.testing.assert_allclose(impact.arms["left"].joint_velocity, held, atol=1e-6)


@pytest.mark.parametrize("name", ["grab_juice_1", "push_juice_2"])
def test_after_the_impact_the_plates_lie_on_the_object(name):
    """No contact point of an arm moves against the object where it does not slip."""
    scene, _, approaches = approached(name)
    impact = predict(name)
    box, after = scene.expected_environment.objects["box"], impact.objects["box"]
    for arm, predicted in impact.arms.items():
        geometry = approaches[arm].geometry
        assert ContactMode.SLIPS not in predicted.modes
        assert predicted.slip is SlipOutcome.STICKS
        for offset in geometry.contact_offsets:
            lever = geometry.impact_position + offset - box.centre
            own = predicted.velocity + np.cross(predicted.angular_velocity, offset)
            np.testing.assert_allclose(own, after[:3] + np.cross(after[3:], lever), atol=1e-6)


@settings(deadline=None, max_examples=40)
@given(
    mass=st.floats(0.05, 20.0),
    friction=st.floats(0.0, 1.5),
    table=st.floats(0.0, 1.0),
    name=st.sampled_from(["push_parcel_1", "push_juice_2", "grab_catfood_1", "grab_juice_3"]),
)
def test_any_object_keeps_momentum_loses_energy_and_stays_over_the_table(mass, friction, table, name):
    box = "expected_environment.objects.box"
    overrides = {
        f"{box}.mass": f"{mass} kg",
        f"{box}.friction": friction,
        "expected_environment.surface.friction": table,
    }
    impact = predict(name, overrides.items())
    given_away = -sum(arm.impulse for arm in impact.arms.values())
    after = impact.objects["box"]
    scale = mass * 0.7
    np.testing.assert_allclose(mass * after[:3], given_away + impact.table_impulse, atol=1e-9 * max(1.0, scale))
    assert impact.kinetic_energy_change < 0.0
    size = approached(name)[0].expected_environment.objects["box"].size
    for x, y in ((-1, -1), (-1, 1), (1, -1), (1, 1)):
        corner = after[:3] + np.cross(after[3:], 0.5 * size * [x, y, -1.0])
        assert corner[2] >= -1e-7
    for arm, predicted in impact.arms.items():
        normal = approached(name)[2][arm].geometry.normal
        if {*predicted.modes} != {ContactMode.SEPARATES}:
            lever = approached(name)[2][arm].geometry.impact_position - approached(name)[0].arm(arm).target.box.centre
            met = after[:3] + np.cross(after[3:], lever)
            assert normal @ predicted.velocity == pytest.approx(normal @ met, abs=1e-6)


def test_without_friction_a_grab_lifts_nothing():
    impact = predict("grab_parcel_1", {"expected_environment.objects.box.friction": 0.0}.items())
    assert impact.objects["box"][2] == pytest.approx(0.0, abs=1e-9)
    # The arms stop along y and, turned by nothing but their own coupling, go on upwards.
    assert all(abs(arm.velocity[1]) < 1e-6 and arm.velocity[2] > 0.3 for arm in impact.arms.values())
    assert all(abs(arm.impulse[2]) < 1e-9 for arm in impact.arms.values())


@pytest.mark.parametrize("name", ["push_juice_1", "grab_juice_1"])
def test_motors_that_are_felt_more_lose_less_to_the_object(name):
    axis = 1 if name.startswith("push") else 2
    speeds = [abs(predict(name, model=model).arms["left"].velocity[axis]) for model in InertiaModel]
    assert speeds[InertiaModel.LINKS] < speeds[InertiaModel.REDUCED_MOTORS] < speeds[InertiaModel.MOTORS]


@pytest.mark.parametrize("scale", [0.8, 1.0, 1.2])
@pytest.mark.parametrize("name", ["push_catfood_1", "grab_catfood_1"])
def test_references_jump_as_the_map_says(name, scale):
    scene, robots, _ = approached(name)
    scene = scene.with_overrides({"task.post.velocity_scale": scale})
    planned = build_references(scene, robots)
    sample = round(scene.impact_time / scene.control.period)
    for arm, reference in planned.arms.items():
        predicted = planned.impact.arms[arm]
        before, after = reference.ante.columns, reference.post.columns
        np.testing.assert_allclose(before.velocity[sample], scene.arms[arm].impact.velocity, atol=1e-9)
        np.testing.assert_allclose(after.velocity[sample], scale * predicted.velocity, atol=1e-9)
        np.testing.assert_allclose(after.posture[sample, 1], scale * predicted.joint_velocity[0], atol=1e-9)
        np.testing.assert_allclose(after.position[sample], before.position[sample], atol=1e-9)
        np.testing.assert_allclose(after.joint_position[sample], before.joint_position[sample], atol=1e-9)
        assert not after.orientation.any()
        end = after.position[-1] - after.position[sample]
        np.testing.assert_allclose(end, scene.task.post.displacement, atol=1e-9)


def test_an_object_that_is_pushed_by_the_plant_gets_the_predicted_momentum():
    """Plant A with free motors, before friction, gravity and feedback act: what both have together is as predicted.

    Elastic or not, contact and joints share the momentum p along the normal between arm, m_E = 1 / (n W n), and
    object: m_E v_E + m v_O stays what the map gives to (m_E + m) v+. Joints that oscillate are averaged over.
    """
    scene, robots, approaches = approached("push_catfood_1")
    approach, box = approaches["left"], scene.expected_environment.objects["box"]
    impact = predict_object_impact(scene, robots, approaches)
    robot = robots["left"]
    dynamics = Dynamics(robot)
    dynamics.compute(approach.impact_configuration, approach.ante_impact_velocity)
    normal = approach.geometry.normal
    row = normal @ dynamics.jacobian[:3]
    response = np.linalg.solve(dynamics.inertia(InertiaModel.REDUCED_MOTORS), row)
    felt = 1.0 / (row @ response)
    cover = robot.end_effector.cover
    plant = ScenePlant(
        [Arm(robot, approach.impact_configuration)],
        [
            Box(
                box.mass,
                box.size,
                ExponentialHuntCrossley(cover.stiffness, cover.damping, cover.exponent),
                0.8,
                box.centre - 1e-5 * normal,
            )
        ],
        options=PlantOptions(joint_friction=False),
        gravity=np.zeros(3),
    )
    plant.arms[0].link_velocity[:] = approach.ante_impact_velocity
    plant.arms[0].motor_velocity[:] = approach.ante_impact_velocity
    together = []
    for k in range(40):
        plant.step([np.zeros(7)])
        if k >= 10:
            dynamics.compute(plant.arms[0].link_position, plant.arms[0].link_velocity)
            velocity = felt * (normal @ dynamics.twist[:3]) + box.mass * (normal @ plant.boxes[0].velocity)
            together.append(velocity / (felt + box.mass))
    predicted = normal @ impact.arms["left"].velocity
    assert np.mean(together) == pytest.approx(predicted, rel=1e-3)
