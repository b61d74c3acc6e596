"""The rigid-body terms against methods that share no code with them: DH frames, link sums, differences."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_control.robots import (
    Dynamics,
    InertiaModel,
    contact_point_jacobian,
    load_robot,
    reflected_motor_inertia,
)
from impact_control.robots.data_file import DATA_DIRECTORY
from impact_control.util.errors import InvalidInputError

ROBOT = load_robot()
LIMITS = ROBOT.limits
# Denavit-Hartenberg parameters, Craig's convention, as published by Franka; the last row is the flange.
DH_A = [0.0, 0.0, 0.0, 0.0825, -0.0825, 0.0, 0.088, 0.0]
DH_D = [0.333, 0.0, 0.316, 0.0, 0.384, 0.0, 0.0, 0.107]
DH_ALPHA = np.array([0.0, -1.0, 1.0, 1.0, -1.0, 1.0, 1.0, 0.0]) * np.pi / 2

unit = st.floats(-1.0, 1.0, allow_nan=False)
sevens = st.lists(unit, min_size=7, max_size=7).map(np.array)
configurations = sevens.map(
    lambda x: (
        0.5 * (LIMITS.position_lower + LIMITS.position_upper)
        + 0.5 * x * (LIMITS.position_upper - LIMITS.position_lower)
    )
)
velocities = sevens.map(lambda x: x * LIMITS.velocity)
Body = tuple[int, float, np.ndarray, np.ndarray]
quick = settings(deadline=None, max_examples=30)


def dynamics_at(q: np.ndarray, dq: np.ndarray | None = None) -> Dynamics:
    dynamics = Dynamics(ROBOT)
    dynamics.compute(q, np.zeros(7) if dq is None else dq)
    return dynamics


def dh_frames(q: np.ndarray) -> list[np.ndarray]:
    """Homogeneous transforms of links 1..7 and the flange in the base."""
    frames = []
    transform = np.eye(4)
    for a, d, alpha, theta in zip(DH_A, DH_D, DH_ALPHA, np.append(q, 0.0), strict=True):
        ca, sa, ct, st_ = np.cos(alpha), np.sin(alpha), np.cos(theta), np.sin(theta)
        step = np.array(
            [
                [ct, -st_, 0.0, a],
                [st_ * ca, ct * ca, -sa, -d * sa],
                [st_ * sa, ct * sa, ca, d * ca],
                [0.0, 0.0, 0.0, 1.0],
            ]
        )
        transform = transform @ step
        frames.append(transform)
    return frames


def read_bodies() -> list[Body]:
    """(index into dh_frames, mass, centre of mass, inertia about it) of the links and the tool."""
    found = []
    root = ElementTree.parse(DATA_DIRECTORY / "panda.urdf").getroot()
    for number in range(1, 8):
        inertial = root.find(f"link[@name='panda_link{number}']/inertial")
        entry = {name: float(value) for name, value in inertial.find("inertia").attrib.items()}
        tensor = np.array(
            [
                [entry["ixx"], entry["ixy"], entry["ixz"]],
                [entry["ixy"], entry["iyy"], entry["iyz"]],
                [entry["ixz"], entry["iyz"], entry["izz"]],
            ]
        )
        com = np.array(inertial.find("origin").attrib["xyz"].split(), dtype=float)
        found.append((number - 1, float(inertial.find("mass").attrib["value"]), com, tensor))
    tool = ROBOT.end_effector
    found.append((7, tool.mass, np.array(tool.com), np.array(tool.inertia)))
    return found


BODIES = read_bodies()


def mass_matrix_by_links(q: np.ndarray, bodies: list[Body] = BODIES) -> np.ndarray:
    """Sum of m Jv^T Jv + Jw^T I Jw, with geometric Jacobians from the DH frames."""
    frames = dh_frames(q)
    total = np.zeros((7, 7))
    for index, mass, com, tensor in bodies:
        frame = frames[index]
        centre = frame[:3, :3] @ com + frame[:3, 3]
        linear, angular = np.zeros((3, 7)), np.zeros((3, 7))
        for joint in range(min(index + 1, 7)):
            axis = frames[joint][:3, 2]
            linear[:, joint] = np.cross(axis, centre - frames[joint][:3, 3])
            angular[:, joint] = axis
        inertia = frame[:3, :3] @ tensor @ frame[:3, :3].T
        total += mass * linear.T @ linear + angular.T @ inertia @ angular
    return total


def potential_energy(q: np.ndarray, bodies: list[Body] = BODIES) -> float:
    frames = dh_frames(q)
    return sum(
        -mass * ROBOT.gravity @ (frames[index][:3, :3] @ com + frames[index][:3, 3]) for index, mass, com, _ in bodies
    )


def gradient(function, q: np.ndarray, step: float = 1e-5) -> np.ndarray:
    """Central differences; the derivative stands in the last axis."""
    columns = []
    for joint in range(q.size):
        shift = np.zeros(q.size)
        shift[joint] = step
        columns.append((np.asarray(function(q + shift)) - np.asarray(function(q - shift))) / (2 * step))
    return np.stack(columns, axis=-1)


@quick
@given(configurations)
def test_pose_follows_the_published_dh_parameters(q):
    dynamics = dynamics_at(q)
    flange = dh_frames(q)[7]
    np.testing.assert_allclose(dynamics.rotation, flange[:3, :3], atol=1e-12)
    expected = flange[:3, 3] + flange[:3, :3] @ [0.0, 0.0, 0.10]
    np.testing.assert_allclose(dynamics.position, expected, atol=1e-12)


@quick
@given(configurations, velocities)
def test_jacobian_and_twist_are_derivatives_of_the_pose(q, dq):
    dynamics = dynamics_at(q, dq)
    linear = gradient(lambda x: dynamics_at(x).position.copy(), q)
    turning = gradient(lambda x: dynamics_at(x).rotation.copy(), q)
    np.testing.assert_allclose(dynamics.jacobian[:3], linear, atol=1e-8)
    for joint in range(7):
        spin = turning[:, :, joint] @ dynamics.rotation.T
        np.testing.assert_allclose(dynamics.jacobian[3:, joint], [spin[2, 1], spin[0, 2], spin[1, 0]], atol=1e-8)
    np.testing.assert_allclose(dynamics.twist, dynamics.jacobian @ dq, atol=1e-12)


@quick
@given(configurations, velocities)
def test_the_motion_of_the_frame_is_what_pinocchio_says(q, dq):
    model, frame, mixed = ROBOT.pinocchio_model, ROBOT.contact_frame_id, pin.LOCAL_WORLD_ALIGNED
    data = model.createData()
    pin.computeJointJacobians(model, data, q)
    pin.forwardKinematics(model, data, q, dq, np.zeros(7))
    pin.updateFramePlacements(model, data)
    dynamics = dynamics_at(q, dq)
    np.testing.assert_allclose(dynamics.jacobian, pin.getFrameJacobian(model, data, frame, mixed), atol=1e-13)
    np.testing.assert_allclose(dynamics.twist, pin.getFrameVelocity(model, data, frame, mixed).vector, atol=1e-12)
    acceleration = pin.getFrameClassicalAcceleration(model, data, frame, mixed).vector
    np.testing.assert_allclose(dynamics.jacobian_rate_velocity, acceleration, atol=1e-11)


@quick
@given(configurations)
def test_mass_matrix_is_the_sum_over_the_links(q):
    mass_matrix = dynamics_at(q).mass_matrix
    np.testing.assert_allclose(mass_matrix, mass_matrix_by_links(q), atol=1e-12)
    np.testing.assert_array_equal(mass_matrix, mass_matrix.T)
    assert np.linalg.eigvalsh(mass_matrix)[0] > 0.0


@quick
@given(configurations)
def test_gravity_is_the_gradient_of_the_potential_energy(q):
    np.testing.assert_allclose(dynamics_at(q).gravity, gradient(potential_energy, q), atol=1e-6)


@quick
@given(configurations, velocities)
def test_coriolis_torques_follow_from_the_kinetic_energy(q, dq):
    dynamics = dynamics_at(q, dq)
    dynamics.compute_momentum_terms()
    slope = gradient(mass_matrix_by_links, q)
    mass_matrix_rate = slope @ dq
    energy_gradient = 0.5 * np.einsum("i,ijk,j->k", dq, slope, dq)
    # Lagrange: C dq = dM dq - grad T, and dM = C + C^T with Christoffel symbols, so C^T dq = grad T.
    np.testing.assert_allclose(dynamics.coriolis, mass_matrix_rate @ dq - energy_gradient, atol=1e-7)
    np.testing.assert_allclose(dynamics.coriolis_transposed_velocity, energy_gradient, atol=1e-7)
    np.testing.assert_allclose(dynamics.nonlinear, dynamics.coriolis + dynamics.gravity, atol=1e-12)


def test_link_inertias_agree_with_the_model_published_by_gaz_et_al():
    # Values of the authors' own closed-form model (FrankaEmikaPandaDynModel, MassMatrix and GravityVector).
    # It uses the identified coefficients, ours the feasible link parameters they retrieved from them: the two
    # agree to the accuracy of the retrieval, not to rounding.
    q = np.array([0.1, -0.5, 0.2, -2.1, 0.3, 1.8, 0.6])
    gravity = [0.0, -9.441919, -2.863927, 18.721205, 0.743436, 1.736523, -0.016462]
    diagonal = [0.600428, 1.769958, 1.097136, 0.802957, 0.008205, 0.026548, 0.001272]
    arm = BODIES[:7]
    np.testing.assert_allclose(gradient(lambda x: potential_energy(x, arm), q), gravity, atol=0.1)
    np.testing.assert_allclose(np.diag(mass_matrix_by_links(q, arm)), diagonal, atol=0.03)


def test_urdf_gives_the_torques_of_example_robot_data():
    # Inverse dynamics of the bare arm from the URDF of example-robot-data 6.0.0; tests/extras compares both
    # as a whole. Every inertial number but those of link 0 and most of link 1 has a part in it.
    model = pin.buildModelFromUrdf(str(DATA_DIRECTORY / "panda.urdf"))
    q = np.array([0.1, -0.5, 0.2, -2.1, 0.3, 1.8, 0.6])
    dq, ddq = np.linspace(-1.0, 1.0, 7), np.array([1.0, -2.0, 3.0, -4.0, 5.0, -6.0, 7.0])
    torque = [
        3.6673913108,
        -11.534516167,
        2.7788875417,
        16.706202646,
        0.66314332800,
        1.1281032511,
        -0.0014138758988,
    ]
    np.testing.assert_allclose(pin.rnea(model, model.createData(), q, dq, ddq), torque, atol=2e-9)


def test_results_are_overwritten_in_place():
    dynamics = Dynamics(ROBOT)
    names = [name for name, value in vars(dynamics).items() if isinstance(value, np.ndarray)]
    before = {name: getattr(dynamics, name) for name in names}
    q, dq = np.array([0.1, -0.5, 0.2, -2.1, 0.3, 1.8, 0.6]), np.linspace(-1.0, 1.0, 7)
    dynamics.compute(q, dq)
    dynamics.compute_momentum_terms()
    fresh = dynamics_at(q, dq)
    fresh.compute_momentum_terms()
    for name in names:
        assert getattr(dynamics, name) is before[name]
        np.testing.assert_array_equal(before[name], getattr(fresh, name))


def test_momentum_terms_do_not_disturb_the_rest():
    q, dq = np.array([0.1, -0.5, 0.2, -2.1, 0.3, 1.8, 0.6]), np.linspace(-1.0, 1.0, 7)
    dynamics = dynamics_at(q, dq)
    names = ["mass_matrix", "nonlinear", "gravity", "coriolis", "jacobian", "position", "rotation", "twist"]
    before = {name: getattr(dynamics, name).copy() for name in names}
    dynamics.compute_momentum_terms()
    for name in names:
        np.testing.assert_array_equal(getattr(dynamics, name), before[name])


def test_two_workspaces_do_not_share_state():
    first, second = dynamics_at(np.zeros(7)), dynamics_at(np.full(7, -0.5))
    assert not np.allclose(first.position, second.position)
    assert not np.allclose(first.mass_matrix, second.mass_matrix)


@pytest.mark.parametrize(
    ("model", "value", "diagonal"),
    [
        (InertiaModel.LINKS, 0, np.zeros(7)),
        (InertiaModel.REDUCED_MOTORS, 1, np.array([0.2, 0.2, 0.15, 0.15, 0.067, 0.067, 0.067])),
        (InertiaModel.MOTORS, 2, np.array([0.6, 0.6, 0.45, 0.45, 0.2, 0.2, 0.2])),
    ],
)
def test_inertia_models_add_the_motors(model, value, diagonal):
    assert model == value
    dynamics = dynamics_at(np.full(7, -0.5))
    expected = dynamics.mass_matrix + np.diag(diagonal)
    np.testing.assert_allclose(dynamics.inertia(model), expected, atol=1e-15)
    out = np.empty((7, 7))
    assert dynamics.inertia(model, out) is out
    np.testing.assert_allclose(out, expected, atol=1e-15)
    assert not np.shares_memory(dynamics.inertia(model), dynamics.mass_matrix)


def test_unknown_inertia_model_is_refused():
    with pytest.raises(InvalidInputError, match="REDUCED_MOTORS"):
        reflected_motor_inertia(ROBOT.transmission, 3)


@quick
@given(configurations, st.lists(unit, min_size=3, max_size=3).map(np.array))
def test_contact_point_jacobian_moves_a_point_of_the_body(q, offset):
    dynamics = dynamics_at(q)
    in_body = dynamics.rotation.T @ offset

    def point(x):
        moved = dynamics_at(x)
        return moved.position + moved.rotation @ in_body

    np.testing.assert_allclose(contact_point_jacobian(dynamics.jacobian, offset), gradient(point, q), atol=1e-8)
