"""Free boxes, alone and between effectors: conservation, equilibrium, friction; two arms in one scene."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pinocchio as pin
import pytest

from impact_control.impacts import HuntCrossley, LinearSpring, Maxwell
from impact_control.robots import load_robot, mounted_at
from impact_control.simulation import Arm, Box, FlexibleJointPlant, PlantOptions, Pusher, ScenePlant, Surface
from impact_control.util.errors import InvalidInputError
from simulated_arms import HOMES, STEEL, energy, state_of, undamped, velocity_for

UP = np.array([0.0, 0.0, 1.0])
G = 9.81
CARTON = HuntCrossley(1e6, 1e6, 1.5)
"""A soft, lossy carton."""

WEIGHTLESS = np.zeros(3)


def table(law=STEEL, friction=0.3):
    return Surface(np.zeros(3), UP, law, friction)


def parcel(**changes):
    """Return a box of 1.3 kg, as the box of van Steen 2024, section V, on a table at height 0."""
    values = {"mass": 1.3, "size": [0.2, 0.3, 0.1], "law": CARTON, "friction": 0.5, "position": [0.0, 0.0, 0.05]}
    return Box(**(values | changes))


def rotation(box):
    x, y, z, w = box.orientation
    return pin.Quaternion(w, x, y, z).toRotationMatrix()


def kinetic_energy(scene, index=0):
    """Return the kinetic energy [J] of a box, body number `index`, of 1.3 kg."""
    box = scene.boxes[0]
    moments = scene.arrays.bodies[index].moments
    return 0.5 * 1.3 * box.velocity @ box.velocity + 0.5 * moments @ box.angular_velocity**2


def run(scene, samples):
    """Step a scene without arms, and return it."""
    for _ in range(samples):
        scene.step(())
    return scene


# ---------------------------------------------------------------------- alone


def test_falls_freely():
    start = {"position": [0.1, 0.2, 2.0], "velocity": [0.3, -0.1, 0.4], "angular_velocity": [1.0, 0.0, 0.0]}
    scene = run(ScenePlant(boxes=[parcel(**start)], surfaces=[table()]), 300)
    box, t = scene.boxes[0], 0.3
    np.testing.assert_allclose(box.position, [0.1 + 0.3 * t, 0.2 - 0.1 * t, 2.0 + 0.4 * t - 0.5 * G * t**2], atol=1e-12)
    np.testing.assert_allclose(box.velocity, [0.3, -0.1, 0.4 - G * t], atol=1e-12)
    # About a principal axis it turns at a constant rate.
    np.testing.assert_allclose(box.orientation, [math.sin(t / 2), 0.0, 0.0, math.cos(t / 2)], atol=1e-12)


def test_turns_freely_with_three_different_moments():
    """About the middle axis, which is unstable: energy and angular momentum in the world stay; and it does tumble."""
    moments = np.array([0.01, 0.02, 0.028])
    box = parcel(inertia=moments, angular_velocity=[1e-3, 8.0, 1e-3])
    scene = ScenePlant(boxes=[box], gravity=WEIGHTLESS)
    simulated = scene.boxes[0]
    start = rotation(simulated) @ (moments * simulated.angular_velocity)
    energies, rates = [], []
    for _ in range(4000):
        scene.step(())
        rates.append(simulated.angular_velocity.copy())
        energies.append(0.5 * moments @ rates[-1] ** 2)
    assert np.ptp(energies) < 1e-9 * energies[0]
    np.testing.assert_allclose(
        rotation(simulated) @ (moments * simulated.angular_velocity), start, atol=1e-8 * np.linalg.norm(start)
    )
    assert min(np.array(rates)[:, 1]) < -7.9
    assert np.linalg.norm(simulated.orientation) == pytest.approx(1.0, abs=1e-14)


def test_precesses_as_a_symmetric_body_does():
    """Euler: with I_1 = I_2 the transverse rate turns about axis 3 at (I_3 - I_1) / I_1 omega_3 in axes of the box."""
    moments = np.array([0.02, 0.02, 0.03])
    scene = ScenePlant(boxes=[parcel(inertia=moments, angular_velocity=[1.0, 0.0, 6.0])], gravity=WEIGHTLESS)
    run(scene, 500)
    angle = (0.03 - 0.02) / 0.02 * 6.0 * 0.5
    np.testing.assert_allclose(scene.boxes[0].angular_velocity, [math.cos(angle), math.sin(angle), 6.0], atol=1e-9)


def test_a_wrench_from_outside_moves_and_turns_it():
    scene = ScenePlant(boxes=[parcel()], gravity=WEIGHTLESS)
    box = scene.boxes[0]
    box.external_wrench[:] = [2.6, 0.0, 0.0, 0.0, 0.0, 0.1]
    run(scene, 200)
    inertia = 1.3 / 12.0 * (0.2**2 + 0.3**2)
    np.testing.assert_allclose(box.velocity, [2.6 / 1.3 * 0.2, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(box.angular_velocity, [0.0, 0.0, 0.1 / inertia * 0.2], rtol=1e-12)


# ---------------------------------------------------------------------- on a table


@pytest.mark.parametrize("tilt", [0.0, 1.0])
def test_stays_at_rest_on_the_table_and_weighs_what_it_weighs(tilt):
    """Turned about the vertical by `tilt`, so that nothing lines up."""
    orientation = [0.0, 0.0, math.sin(tilt / 2), math.cos(tilt / 2)]
    scene = ScenePlant(boxes=[parcel(orientation=orientation)], surfaces=[table()])
    box = scene.boxes[0]
    run(scene, 1000)
    np.testing.assert_allclose(box.position, [0.0, 0.0, 0.05], atol=2e-6)
    np.testing.assert_allclose(box.orientation, orientation, atol=1e-9)
    assert np.linalg.norm(box.velocity) < 1e-9
    np.testing.assert_allclose(box.contact_force, [0.0, 0.0, 1.3 * G], atol=1e-6)
    np.testing.assert_allclose(box.normal_forces[box.normal_forces > 0.0], 1.3 * G / 4, rtol=1e-6)
    # Hertz: each corner carries a quarter of the weight at depth (m g / 4 k)^(2/3).
    assert -box.gap == pytest.approx((1.3 * G / 4 / 3.2e9) ** (2.0 / 3.0), rel=1e-6)


def test_dropped_on_a_corner_it_comes_to_rest_on_a_face():
    turn = pin.Quaternion(pin.rpy.rpyToMatrix(0.3, 0.2, 0.5)).coeffs()
    box = parcel(position=[0.0, 0.0, 0.25], orientation=turn)
    scene = ScenePlant(boxes=[box], surfaces=[table(CARTON)])
    simulated = scene.boxes[0]
    highest = 1.3 * G * 0.25
    for _ in range(30):
        run(scene, 100)
        now = 1.3 * G * simulated.position[2] + kinetic_energy(scene)
        now += sum(CARTON.stored_energy(-gap) for gap in simulated.gaps)
        assert now < highest + 1e-6
        highest = now
    assert np.linalg.norm(simulated.velocity) < 1e-3
    down = np.abs(rotation(simulated)[2])
    assert down.max() > 1.0 - 1e-4
    assert simulated.normal_force == pytest.approx(1.3 * G, rel=1e-2)


def test_slides_with_the_friction_of_the_table():
    """Pushed at 1 m/s it slows down by mu g; the smoothing is lost in the speed."""
    scene = ScenePlant(
        boxes=[parcel(velocity=[1.0, 0.0, 0.0], size=[0.4, 0.4, 0.02], position=[0, 0, 0.01])], surfaces=[table()]
    )
    box = scene.boxes[0]
    run(scene, 100)
    before = box.velocity[0]
    run(scene, 150)
    assert (before - box.velocity[0]) / 0.15 == pytest.approx(0.3 * G, rel=1e-3)
    assert box.contact_force[0] == pytest.approx(-0.3 * 1.3 * G, rel=1e-3)


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_creeps_under_a_load_below_the_friction(share):
    """F = mu m g tanh(v / v_s): the regularised friction gives way at v_s artanh(F / mu m g)."""
    scene = ScenePlant(boxes=[parcel()], surfaces=[table()])
    box = scene.boxes[0]
    box.external_wrench[0] = share * 0.3 * 1.3 * G
    # Where the load acts, at table height, so that it does not tilt: a torque about the centre.
    box.external_wrench[4] = -0.05 * box.external_wrench[0]
    run(scene, 300)
    assert box.velocity[0] == pytest.approx(2e-3 * math.atanh(share), rel=1e-3)


@pytest.mark.parametrize(("size", "tips"), [((0.1, 0.1, 0.1), False), ((0.04, 0.1, 0.16), True)])
def test_a_pushed_box_slides_or_tips(size, tips):
    """Pushed at height h against mu m g it tips when mu h > width / 2: 0.3 0.05 < 0.05, but 0.3 0.14 > 0.02."""
    height = 0.05 if not tips else 0.14
    box = parcel(size=size, position=[0.0, 0.0, size[2] / 2], friction=0.0, law=STEEL)
    pusher = Pusher([-size[0] / 2 - 0.0201, 0.0, height], 0.02, [0.05, 0.0, 0.0])
    scene = run(ScenePlant(boxes=[box], pushers=[pusher], surfaces=[table()]), 400)
    simulated = scene.boxes[0]
    leaning = math.acos(min(1.0, rotation(simulated)[2, 2]))
    if tips:
        assert leaning > 0.05
    else:
        assert leaning < 1e-3
        assert simulated.velocity[0] == pytest.approx(0.05, rel=1e-2)
        assert scene.pushers[0].contact_force[0] == pytest.approx(-0.3 * 1.3 * G, rel=1e-2)


# ---------------------------------------------------------------------- struck and held


def test_an_elastic_blow_off_the_centre():
    """Newton's law with e = 1 against an effector that does not give way: v_n^+ = 2 V; impulse and spin by hand."""
    box = parcel(law=LinearSpring(1e8), friction=0.0, position=np.zeros(3))
    pusher = Pusher([-0.1 - 0.0201, 0.1, 0.02], 0.02, [0.5, 0.0, 0.0])
    options = PlantOptions(step_safety=0.1)
    scene = run(ScenePlant(boxes=[box], pushers=[pusher], gravity=WEIGHTLESS, options=options), 3)
    simulated = scene.boxes[0]
    assert simulated.first_contact_time == pytest.approx(1e-4 / 0.5, abs=1e-6)
    assert simulated.normal_force == 0.0
    moments = 1.3 / 12.0 * np.array([0.3**2 + 0.1**2, 0.2**2 + 0.1**2, 0.2**2 + 0.3**2])
    arm = np.cross([-0.1, 0.1, 0.02], [1.0, 0.0, 0.0])
    impulse = 2.0 * 0.5 / (1.0 / 1.3 + arm @ (arm / moments))
    np.testing.assert_allclose(simulated.velocity, [impulse / 1.3, 0.0, 0.0], atol=1e-3 * impulse)
    spin = rotation(simulated) @ (moments * simulated.angular_velocity)
    np.testing.assert_allclose(spin, arm * impulse, atol=1e-3 * impulse * np.linalg.norm(arm))
    # The work of the effector, V times the impulse along V, is the kinetic energy: no rounding by a turning normal.
    assert kinetic_energy(scene, 1) == pytest.approx(0.5 * 1.3 * simulated.velocity[0], rel=5e-5)


def squeezed(friction=0.5, force=20.0, slip_scale=2e-3, lift=0.0, options=None):
    """Return a box held by two pushers through springs of 1e4 N/m, each pressing with about `force` [N]."""
    law = HuntCrossley(1e4, 1e4, 1.0)
    box = parcel(law=law, friction=friction, slip_scale=slip_scale, position=np.zeros(3))
    points = np.array([[0.0, -0.02, 0.0], [0.0, 0.02, 0.0], [0.0, 0.0, 0.02], [0.0, 0.0, -0.02]])
    pushers = [Pusher([side * (0.1 + 0.01), 0.0, 0.0], 0.01, points=points) for side in (-1.0, 1.0)]
    scene = ScenePlant(boxes=[box], pushers=pushers, options=options)
    for pusher, side in zip(scene.pushers, (-1.0, 1.0), strict=True):
        pusher.position[0] -= side * force / 4 / 1e4
        pusher.velocity[2] = lift
    return scene


@pytest.mark.parametrize("slip_scale", [2e-3, 2e-4])
def test_held_between_two_effectors_it_creeps_down_at_the_stated_speed(slip_scale):
    """m g = 2 mu f tanh(v / v_s): with 20 N and mu 0.9, 35 % of the load that slips, at 0.37 v_s."""
    scene = squeezed(friction=0.9, slip_scale=slip_scale)
    run(scene, 100)
    box = scene.boxes[0]
    pressed = scene.pushers[0].normal_force
    assert pressed == pytest.approx(20.0, rel=1e-3)
    speed = slip_scale * math.atanh(1.3 * G / (2 * 0.9 * pressed))
    np.testing.assert_allclose(box.velocity, [0.0, 0.0, -speed], atol=2e-3 * speed)
    np.testing.assert_allclose(box.contact_force, [0.0, 0.0, 1.3 * G], rtol=1e-3, atol=1e-3)


def test_is_lifted_by_friction_and_falls_without_enough():
    lifted = squeezed(friction=0.9, lift=0.1)
    run(lifted, 200)
    start = lifted.boxes[0].position[2]
    run(lifted, 100)
    creep = 2e-3 * math.atanh(1.3 * G / (2 * 0.9 * 20.0))
    assert (lifted.boxes[0].position[2] - start) / 0.1 == pytest.approx(0.1 - creep, rel=1e-3)
    slipping = squeezed(friction=0.2)
    run(slipping, 100)
    # 2 mu f = 8 N of 12.75 N: it falls with the rest.
    assert slipping.boxes[0].velocity[2] == pytest.approx(-(G - 2 * 0.2 * 20.0 / 1.3) * 0.1, rel=1e-2)


@pytest.mark.parametrize("force", [60.0, 300.0])
def test_stiff_friction_is_gone_through_in_few_steps_to_the_same_motion(force):
    """A box that is jerked up and sideways between two effectors, against the classical scheme, which friction rules.

    Its rate is 2 n mu f / v_s times what answers at the contacts; with steps of 1 us the classical scheme is stable.
    """

    def lifted(options):
        scene = squeezed(friction=0.9, force=force, lift=0.1, options=options)
        moved = []
        for k in range(60):
            for pusher in scene.pushers:
                pusher.velocity[1] = 0.05 * math.sin(0.2 * k)
            scene.step(())
            moved.append([*scene.boxes[0].velocity, *0.1 * scene.boxes[0].angular_velocity])
        return scene, np.array(moved)

    few, coarse = lifted(PlantOptions(stiff_friction=4.0))
    many, fine = lifted(PlantOptions(largest_step=1e-6))
    assert np.abs(coarse - fine).max() < 1e-3 * np.abs(fine).max()
    np.testing.assert_allclose(few.boxes[0].position, many.boxes[0].position, atol=1e-6)
    assert few.integration_steps == 60 * 20, "the largest step, 50 us"


def test_edges_and_corners_are_there_too():
    """A sphere that meets an edge at 45 degrees pushes along the diagonal; a corner along the space diagonal."""
    for axes in ([0, 2], [0, 1, 2]):
        outward = np.zeros(3)
        outward[axes] = 1.0 / math.sqrt(len(axes))
        box = parcel(position=np.zeros(3), size=[0.2, 0.2, 0.2], friction=0.0)
        place = 0.1 * np.sign(outward) + (0.02 + 1e-4) * outward
        scene = ScenePlant(boxes=[box], pushers=[Pusher(place, 0.02, -0.2 * outward)], gravity=WEIGHTLESS)
        run(scene, 3)
        force = scene.boxes[0].contact_force
        np.testing.assert_allclose(force / np.linalg.norm(force), -outward, atol=1e-3)
        assert scene.boxes[0].first_contact_time == pytest.approx(1e-4 / 0.2, rel=1e-3)


def test_halving_the_steps_changes_a_struck_box_little():
    def velocities(options):
        box = parcel()
        pusher = Pusher([-0.1 - 0.0205, 0.05, 0.06], 0.02, [0.7, 0.0, 0.0])
        scene = ScenePlant(boxes=[box], pushers=[pusher], surfaces=[table()], options=options)
        run(scene, 20)
        return np.concatenate([scene.boxes[0].velocity, 0.1 * scene.boxes[0].angular_velocity])

    coarse = velocities(PlantOptions())
    fine = velocities(PlantOptions(largest_step=2.5e-5, step_safety=0.5))
    assert np.abs(fine).max() > 0.3
    assert np.abs(coarse - fine).max() < 1e-3 * np.abs(fine).max()


# ---------------------------------------------------------------------- arms


def test_a_scene_with_one_arm_is_the_plant():
    robot = load_robot()
    surface = Surface(np.array([0.0, 0.0, 0.1]), UP, STEEL, 0.3)
    plant = FlexibleJointPlant(robot, HOMES["panda"], surface)
    floating = parcel(position=[5.0, 0.0, 1.0])
    scene = ScenePlant([Arm(robot, HOMES["panda"])], boxes=[floating], surfaces=[surface], gravity=WEIGHTLESS)
    arm = scene.arms[0]
    for body in (plant, arm):
        body.link_velocity[:] = velocity_for(robot, (0.0, 0.0, -0.3))
        body.motor_velocity[:] = body.link_velocity
    for _ in range(100):
        plant.step(np.ones(7))
        scene.step([np.ones(7)])
    np.testing.assert_array_equal(arm.link_position, plant.link_position)
    np.testing.assert_array_equal(arm.gaps[: plant.gaps.size], plant.gaps)


def test_a_mounted_arm_moves_as_it_would_at_home():
    """Turned about the vertical and shifted nothing changes but the frame."""
    robot = load_robot("panda", "plate")
    turn = pin.rpy.rpyToMatrix(0.0, 0.0, 0.7)
    mounted = mounted_at(robot, [0.3, -0.2, 0.5], turn)
    q = HOMES["panda"]
    here, there = state_of(robot, q), state_of(mounted, q)
    np.testing.assert_allclose(there.position, turn @ here.position + [0.3, -0.2, 0.5], atol=1e-12)
    np.testing.assert_allclose(there.rotation, turn @ here.rotation, atol=1e-12)
    np.testing.assert_allclose(there.gravity, here.gravity, atol=1e-12)
    np.testing.assert_allclose(state_of(load_robot("panda", "plate"), q).position, here.position)
    # Hung from a wall it weighs in the other axes.
    wall = mounted_at(robot, np.zeros(3), pin.rpy.rpyToMatrix(math.pi / 2, 0.0, 0.0))
    model = robot.pinocchio_model.copy()
    model.gravity.linear = pin.rpy.rpyToMatrix(math.pi / 2, 0.0, 0.0).T @ robot.gravity
    np.testing.assert_allclose(
        state_of(wall, q).gravity, pin.computeGeneralizedGravity(model, model.createData(), q), atol=1e-12
    )


def test_a_base_that_is_no_rotation_is_refused():
    with pytest.raises(InvalidInputError, match="rotation"):
        mounted_at(load_robot(), np.zeros(3), 2.0 * np.eye(3))


def test_an_arm_that_strikes_a_box_loses_what_the_box_gains():
    """No gravity, no dissipation: arm and box together keep their energy, and the box has the impulse."""
    robot = undamped("planar_rrr")
    centre = state_of(robot, HOMES["planar_rrr"]).position
    box = parcel(law=LinearSpring(1e5), friction=0.0, position=centre + np.array([0.1203, 0.0, 0.0]))
    options = PlantOptions(joint_friction=False, torque_loop=False)
    scene = ScenePlant([Arm(robot, HOMES["planar_rrr"])], boxes=[box], options=options, gravity=WEIGHTLESS)
    arm, simulated = scene.arms[0], scene.boxes[0]
    arm.link_velocity[:] = velocity_for(robot, (0.3, 0.0, 0.0))
    arm.motor_velocity[:] = arm.link_velocity
    start = energy(arm)
    for _ in range(40):
        scene.step([np.zeros(3)])
    assert simulated.normal_force == 0.0
    assert kinetic_energy(scene, 1) > 0.05
    assert energy(arm) + kinetic_energy(scene, 1) == pytest.approx(start, rel=2e-4)


def test_two_arms_hold_a_box_between_them():
    """Each presses with 25 N through its torques and holds its posture; friction carries the box."""
    robot, q = load_robot("panda", "plate"), HOMES["panda"]
    there = state_of(robot, q)
    robots = []
    for side in (-1.0, 1.0):
        # The plates face each other along x, 1 um from the box.
        turn = np.array([[0.0, 0.0, -side], [0.0, 1.0, 0.0], [side, 0.0, 0.0]]) @ there.rotation.T
        place = np.array([side * (0.1 + 1e-6), 0.0, 0.8])
        robots.append(mounted_at(robot, place - turn @ there.position, turn))
    box = parcel(position=[0.0, 0.0, 0.8], size=[0.2, 0.3, 0.2])
    scene = ScenePlant([Arm(robot, q) for robot in robots], boxes=[box], options=PlantOptions(joint_friction=False))
    simulated = scene.boxes[0]
    for _ in range(600):
        torques = []
        for arm, side in zip(scene.arms, (-1.0, 1.0), strict=True):
            press = state_of(arm.robot, arm.link_position).jacobian[0] * -side * 25.0
            torques.append(press + 400.0 * (q - arm.link_position) - 20.0 * arm.link_velocity)
        scene.step(torques)
    # A part of the 25 N goes into the springs of the posture; the box hardly accelerates any more.
    forces = [arm.normal_force for arm in scene.arms]
    np.testing.assert_allclose(forces, 25.0, rtol=0.03)
    assert forces[0] == pytest.approx(forces[1], rel=0.01)
    np.testing.assert_allclose(simulated.contact_force, [0.0, 0.0, 1.3 * G], atol=0.01 * 1.3 * G)
    np.testing.assert_allclose(scene.arms[0].contact_force + scene.arms[1].contact_force, -simulated.contact_force)
    assert np.linalg.norm(simulated.position - box.position) < 0.01
    assert np.linalg.norm(simulated.velocity) < 5e-3


# ---------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("made", "change", "name"),
    [
        (parcel(), {"mass": 0.0}, "mass"),
        (parcel(), {"size": [0.1, 0.0, 0.1]}, "size"),
        (parcel(), {"friction": -0.1}, "friction"),
        (parcel(), {"slip_scale": math.nan}, "slip_scale"),
        (parcel(), {"orientation": [0.0, 0.0, 0.0, 2.0]}, "orientation"),
        (parcel(), {"inertia": [0.01, 0.01, 0.03]}, "inertia"),
        (parcel(), {"velocity": [0.0, math.inf, 0.0]}, "velocity"),
        (parcel(), {"position": [0.0, 0.0]}, "position"),
        (Pusher(UP, 0.02), {"position": [0.0, 0.0, math.nan]}, "position"),
        (Pusher(UP, 0.02), {"radius": -0.02}, "radius"),
        (Pusher(UP, 0.02), {"points": [1.0]}, "points"),
        (table(), {"slip_scale": 0.0}, "slip_scale"),
        (table(), {"friction": -0.1}, "friction"),
        (table(), {"law": Maxwell(1e5, 1e3)}, "without memory"),
        (table(), {"normal": 2.0 * UP}, "length 1"),
        (table(), {"point": np.array([0.0, math.nan, 0.0])}, "point"),
    ],
)
def test_what_cannot_be_is_refused(made, change, name):
    with pytest.raises(InvalidInputError, match=name):
        dataclasses.replace(made, **change)


def test_what_starts_inside_something_is_refused():
    with pytest.raises(InvalidInputError, match="box 0 is inside the surface"):
        ScenePlant(boxes=[parcel(position=[0.0, 0.0, 0.04])], surfaces=[table()])
    with pytest.raises(InvalidInputError, match="pusher 0 is inside box 0"):
        ScenePlant(boxes=[parcel()], pushers=[Pusher([0.05, 0.0, 0.05], 0.02)])


def test_arms_with_different_torque_loops_do_not_share_a_scene():
    robot, q = load_robot(), HOMES["panda"]
    slow = dataclasses.replace(robot, torque_loop=dataclasses.replace(robot.torque_loop, rate=2000.0))
    with pytest.raises(InvalidInputError, match="torque loop rates"):
        ScenePlant([Arm(robot, q), Arm(slow, q)])
