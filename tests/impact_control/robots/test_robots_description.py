"""Robot data files: what is loaded, where numbers come from, and what a mistake in a file says."""

from __future__ import annotations

import dataclasses
import shutil

import numpy as np
import pinocchio as pin
import pytest

from impact_control.robots import (
    CONTACT_FRAME,
    Dynamics,
    EndEffector,
    JointFriction,
    JointLimits,
    SensorNoise,
    TorqueLoop,
    Transmission,
    known_names,
    load_robot,
)
from impact_control.robots.data_file import DATA_DIRECTORY
from impact_control.util.errors import InvalidInputError, ScenarioError

ROBOT = load_robot()


def test_every_array_is_a_read_only_float64_copy():
    vectors = 0
    for part in (ROBOT.limits, ROBOT.transmission, ROBOT.friction, ROBOT.noise):
        for field in dataclasses.fields(part):
            array = getattr(part, field.name)
            if field.name == "on_motor":
                continue
            assert array.shape == (7,) and array.dtype == np.float64
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1.0
            vectors += 1
    assert vectors == 5 + 4 + 4 + 5
    given = np.ones(7)
    loop = SensorNoise(given, given, given, given, given)
    given[0] = 5.0
    assert loop.position[0] == 1.0


def test_limits_are_those_franka_publishes():
    # Robot and interface specifications, Limits for Panda.
    limits = ROBOT.limits
    upper = [2.8973, 1.7628, 2.8973, -0.0698, 2.8973, 3.7525, 2.8973]
    lower = [-2.8973, -1.7628, -2.8973, -3.0718, -2.8973, -0.0175, -2.8973]
    np.testing.assert_array_equal(limits.position_upper, upper)
    np.testing.assert_array_equal(limits.position_lower, lower)
    np.testing.assert_array_equal(limits.velocity, [2.175] * 4 + [2.61] * 3)
    np.testing.assert_array_equal(limits.torque, [87.0] * 4 + [12.0] * 3)
    np.testing.assert_array_equal(limits.torque_rate, [1000.0] * 7)


def test_the_fr3_has_its_own_limits_and_inertias_on_the_kinematics_of_the_panda():
    # Robot and interface specifications, Limits for Franka Research 3.
    fr3, limits = load_robot("fr3"), load_robot("fr3").limits
    assert fr3.joint_names == tuple(f"fr3_joint{i}" for i in range(1, 8))
    np.testing.assert_array_equal(limits.position_lower, [-2.7437, -1.7837, -2.9007, -3.0421, -2.8065, 0.5445, -3.0159])
    np.testing.assert_array_equal(limits.position_upper, [2.7437, 1.7837, 2.9007, -0.1518, 2.8065, 4.5169, 3.0159])
    np.testing.assert_array_equal(limits.velocity, [2.62] * 4 + [5.26, 4.18, 5.26])
    np.testing.assert_array_equal(limits.torque, [87.0] * 4 + [12.0] * 3)
    rng = np.random.default_rng(1)
    for _ in range(10):
        q = rng.uniform(limits.position_lower, limits.position_upper)
        contacts = []
        for robot in (fr3, ROBOT):
            data = robot.pinocchio_model.createData()
            pin.framesForwardKinematics(robot.pinocchio_model, data, q)
            contacts.append(data.oMf[robot.contact_frame_id])
        assert contacts[0].isApprox(contacts[1], 1e-12)
    for inertia in list(fr3.pinocchio_model.inertias)[1:]:
        moments = np.linalg.eigvalsh(inertia.inertia)
        # Of a body: positive, and none above the sum of the others.
        assert moments[0] > 0.0 and moments[2] <= moments[0] + moments[1]


def test_published_sets_of_reduced_motor_inertia():
    rey_arias = load_robot(motor_inertia="rey_arias_2024").transmission
    np.testing.assert_allclose(rey_arias.reduced_motor_inertia, rey_arias.motor_inertia / 4.0, rtol=1e-12)
    van_steen = ROBOT.transmission
    # B_theta = B_rho / 3, rounded to three digits in the table.
    np.testing.assert_allclose(van_steen.reduced_motor_inertia, van_steen.motor_inertia / 3.0, atol=5e-4)
    np.testing.assert_array_equal(van_steen.motor_inertia, rey_arias.motor_inertia)


def test_defaults_are_those_the_file_names(own_robot):
    assert load_robot().end_effector.name == load_robot("panda", "sphere").end_effector.name == "sphere"
    own = own_robot("default_motor_inertia: van_steen_2024", "default_motor_inertia: rey_arias_2024")
    np.testing.assert_array_equal(
        own.transmission.reduced_motor_inertia,
        load_robot(motor_inertia="rey_arias_2024").transmission.reduced_motor_inertia,
    )
    with pytest.raises(ScenarioError, match="guessed"):
        own_robot("default_motor_inertia: rey_arias_2024", "default_motor_inertia: guessed")


def test_sphere_follows_from_its_geometry():
    density, rod_radius, rod_length, radius, centre = 2700.0, 0.010, 0.080, 0.020, 0.100
    rod = density * np.pi * rod_radius**2 * rod_length
    sphere = density * 4.0 / 3.0 * np.pi * radius**3
    com = (rod * rod_length / 2 + sphere * centre) / (rod + sphere)
    across = rod * (rod_radius**2 / 4 + rod_length**2 / 12 + (com - rod_length / 2) ** 2)
    across += sphere * (2 / 5 * radius**2 + (centre - com) ** 2)
    along = rod * rod_radius**2 / 2 + sphere * 2 / 5 * radius**2
    tool = ROBOT.end_effector
    assert tool.mass == pytest.approx(rod + sphere, rel=1e-6)
    np.testing.assert_allclose(tool.com, [0.0, 0.0, com], rtol=1e-6)
    np.testing.assert_allclose(tool.inertia, np.diag([across, across, along]), rtol=1e-6)
    assert tool.radius == radius
    np.testing.assert_array_equal(tool.contact_frame_offset, [0.0, 0.0, centre])


def test_model_carries_the_end_effector_on_the_flange():
    bare = pin.buildModelFromUrdf(str(DATA_DIRECTORY / "panda.urdf"))
    model, tool = ROBOT.pinocchio_model, ROBOT.end_effector
    assert pin.computeTotalMass(model) == pytest.approx(pin.computeTotalMass(bare) + tool.mass, rel=1e-12)
    frame = model.frames[ROBOT.contact_frame_id]
    flange = model.frames[model.getFrameId("panda_link8")]
    assert frame.name == CONTACT_FRAME
    np.testing.assert_allclose(frame.placement.rotation, flange.placement.rotation, atol=1e-12)
    np.testing.assert_allclose(
        frame.placement.translation,
        flange.placement.translation + flange.placement.rotation @ tool.contact_frame_offset,
        atol=1e-12,
    )
    np.testing.assert_array_equal(model.gravity.linear, ROBOT.gravity)
    assert ROBOT.joint_names == tuple(f"panda_joint{i}" for i in range(1, 8))
    np.testing.assert_array_equal(model.armature, np.zeros(7))


def test_friction_is_the_published_sigmoid():
    friction = ROBOT.friction
    for velocity in np.linspace(-2.0, 2.0, 21):
        dq = np.full(7, velocity)
        expected = friction.amplitude / (1.0 + np.exp(-friction.slope * (dq + friction.offset)))
        expected -= friction.amplitude / (1.0 + np.exp(-friction.slope * friction.offset))
        out = np.empty(7)
        assert friction.torque(dq, out) is out
        np.testing.assert_allclose(out, expected, atol=1e-14)
        assert np.all(out * velocity >= 0.0)
        np.testing.assert_array_equal(friction.torque(dq, dq), out)


def test_friction_saturates_without_overflow():
    with np.errstate(all="raise"):
        fast = ROBOT.friction.torque(np.full(7, 1e6), np.empty(7))
        back = ROBOT.friction.torque(np.full(7, -1e6), np.empty(7))
    np.testing.assert_allclose(fast - back, ROBOT.friction.amplitude, rtol=1e-12)


def test_unknown_names_list_the_known_ones():
    with pytest.raises(ScenarioError, match="panda"):
        load_robot("kuka")
    with pytest.raises(ScenarioError, match="sphere"):
        load_robot("panda", "hammer")
    with pytest.raises(ScenarioError, match="van_steen_2024, rey_arias_2024") as caught:
        load_robot(motor_inertia="guessed")
    assert caught.value.key == "transmission.reduced_motor_inertia.guessed"
    assert known_names() == ["fr3", "panda", "planar_rrr"]


@pytest.fixture
def own_robot(tmp_path):
    """A copy of the data files, and a function that edits and loads it."""
    shutil.copytree(DATA_DIRECTORY, tmp_path, dirs_exist_ok=True)

    def edit(old: str, new: str, file: str = "panda.yaml"):
        path = tmp_path / file
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))
        return load_robot(tmp_path / "panda.yaml", tmp_path / "end_effectors" / "sphere.yaml")

    return edit


def test_a_file_of_ones_own_is_loaded(own_robot):
    assert own_robot("name: panda", "name: mine").name == "mine"


def test_gravity_of_the_file_reaches_the_model(own_robot):
    hanging = own_robot("acceleration: [0.0, 0.0, -9.81]", "acceleration: [0.0, 0.0, 9.8]")
    np.testing.assert_array_equal(hanging.gravity, [0.0, 0.0, 9.8])
    upright, turned = Dynamics(ROBOT), Dynamics(hanging)
    for dynamics in (upright, turned):
        dynamics.compute(np.full(7, -0.5), np.zeros(7))
    np.testing.assert_allclose(turned.gravity, upright.gravity * (-9.8 / 9.81), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ("name: panda", "title: panda", "name"),
        ("name: panda", "name: ''", "name"),
        ("name: panda", "name: panda\ncolour: white", "colour"),
        ("urdf: panda.urdf", "urdf: other.urdf", "urdf"),
        ("default_end_effector: sphere", "default_end_effector: ''", "default_end_effector"),
        ("flange: panda_link8", "flange: panda_link9", "flange"),
        ("source: Rey Arias 2024, section III", "remark: none", "torque_loop.source"),
        ("rate: 4000.0", "rate: fast", "torque_loop.rate"),
        ("rate: 4000.0", "rate: -1.0", "torque_loop.rate"),
        ("rate: 4000.0", "rate: .inf", "torque_loop.rate"),
        ("rate: 4000.0", "rate: true", "torque_loop.rate"),
        ("rate: 4000.0", f"rate: 1{400 * '0'}", "torque_loop.rate"),
        ("rate: 4000.0", "rate: !!bool x", "(whole file)"),
        ("damping: [15.0, 15.0,", "damping: [15.0,", "transmission.damping"),
        ("damping: [15.0, 15.0,", "damping: [-15.0, 15.0,", "transmission.damping"),
        ("damping: [15.0, 15.0,", "damping: [.nan, 15.0,", "transmission.damping"),
        ("motor_inertia: [0.6,", "motor_inertia: [0.1,", "transmission.reduced_motor_inertia"),
        ("torque_rate: 1000.0", "torque_rate: 0.0", "limits.torque_rate"),
        ("position: 7.5e-4", "position: -7.5e-4", "sensor_noise.position"),
        ("torque: 0.05", "torque: 0.05\n  current: 0.1", "sensor_noise.current"),
        ("slope: [5.1181,", "slope: [0.0,", "joint_friction.slope"),
        ("acceleration: [0.0, 0.0, -9.81]", "acceleration: [0.0, -9.81]", "gravity.acceleration"),
        ("name: panda", "name: [", "(whole file)"),
    ],
)
def test_mistakes_in_a_robot_file_are_named(own_robot, old, new, key):
    with pytest.raises(ScenarioError) as caught:
        own_robot(old, new)
    assert caught.value.key == key
    assert caught.value.file.endswith("panda.yaml")
    assert caught.value.allowed


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ("radius: 0.020  ", "radius: -0.020  ", "radius"),
        ("mass: 0.158336270", "mass: 0.0", "mass"),
        ("com: [0.0, 0.0, ", "com: [0.0, ", "com"),
        ("- [1.919585e-4, 0.0, 0.0]", "- [1.919585e-4, 0.1, 0.0]", "inertia"),
        ("- [1.919585e-4, 0.0, 0.0]", "- [1.919585e-2, 0.0, 0.0]", "inertia"),
        ("- [1.919585e-4, 0.0, 0.0]", "- [1.919585e-4, 0.0]", "inertia"),
        ("name: sphere", "shape: sphere", "name"),
        ("name: sphere", "name: sphere\ncontact_points: []", "contact_points"),
        ("name: sphere", "name: sphere\ncontact_points: [[0.0, 0.0]]", "contact_points"),
    ],
)
def test_mistakes_in_an_end_effector_file_are_named(own_robot, old, new, key):
    with pytest.raises(ScenarioError) as caught:
        own_robot(old, new, "end_effectors/sphere.yaml")
    assert caught.value.key == key
    assert caught.value.file.endswith("sphere.yaml")


def test_a_bare_flange_adds_nothing_to_the_arm(tmp_path):
    flange = tmp_path / "bare.yaml"
    zero = "[0.0, 0.0, 0.0]"
    flange.write_text(
        f"name: bare\nsource: none\nradius: 0.0\nmass: 0.0\ncom: {zero}\ninertia: [{zero}, {zero}, {zero}]\n"
        f"contact_frame_offset: {zero}\n"
    )
    model = load_robot("panda", flange).pinocchio_model
    bare = pin.buildModelFromUrdf(str(DATA_DIRECTORY / "panda.urdf"))
    q = np.linspace(-1.0, 1.0, 7)
    np.testing.assert_array_equal(pin.crba(model, model.createData(), q), pin.crba(bare, bare.createData(), q))


def test_a_broken_urdf_is_refused(own_robot):
    with pytest.raises(ScenarioError, match="URDF"):
        own_robot("<robot", "<robt", "panda.urdf")


def test_continuous_joints_are_refused(own_robot):
    with pytest.raises(ScenarioError, match="with limits"):
        own_robot('type="revolute"', 'type="continuous"', "panda.urdf")


ONES = np.ones(3)


@pytest.mark.parametrize(
    ("build", "name"),
    [
        (lambda: JointLimits(ONES, ONES, ONES, ONES, ONES), "position_lower"),
        (lambda: JointLimits(-ONES, ONES, 0 * ONES, ONES, ONES), "velocity"),
        (lambda: JointLimits(-ONES, ONES, ONES, ONES, np.ones(2)), "torque_rate"),
        (lambda: Transmission(ONES, ONES, ONES, 2 * ONES), "reduced_motor_inertia"),
        (lambda: Transmission(ONES, -ONES, ONES, ONES), "damping"),
        (lambda: JointFriction(-ONES, ONES, ONES), "amplitude"),
        (lambda: TorqueLoop(4000.0, float("nan")), "filter_cutoff"),
        (lambda: SensorNoise(ONES, ONES, ONES, ONES, np.full(3, np.nan)), "motor_velocity"),
        (lambda: EndEffector("ball", 0.02, 1.0, ONES, -np.eye(3), ONES), "inertia"),
        (lambda: EndEffector("ball", 0.02, 1.0, np.ones(2), np.eye(3), ONES), "com"),
    ],
)
def test_parts_refuse_values_without_meaning(build, name):
    with pytest.raises(InvalidInputError) as caught:
        build()
    assert caught.value.name == name
