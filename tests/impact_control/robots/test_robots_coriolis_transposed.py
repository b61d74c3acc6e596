"""C^T dq in O(n) against the gradient of the kinetic energy, on trees of revolute and prismatic joints."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_control.observation import MomentumObserver
from impact_control.robots import Dynamics, load_robot
from impact_control.robots.dynamics import body_rows, coriolis_transposed_velocity, joint_motions


def random_model(random: np.random.Generator, joints: int) -> pin.Model:
    """A tree with random placements, inertias, and kinds of joints, numbered branch by branch as Pinocchio wants it."""
    model = pin.Model()
    kinds = [pin.JointModelRX, pin.JointModelRZ, pin.JointModelPY, pin.JointModelPX]
    branch = [0]
    for k in range(joints):
        del branch[int(random.integers(1, len(branch) + 1)) :]
        parent = branch[-1]
        axis = random.normal(size=3)
        axis /= np.linalg.norm(axis)
        kind = kinds[random.integers(4)]() if random.random() < 0.7 else pin.JointModelRevoluteUnaligned(axis)
        joint = model.addJoint(parent, kind, pin.SE3.Random(), f"joint{k}")
        model.appendBodyToJoint(joint, pin.Inertia.Random(), pin.SE3.Identity())
        branch.append(joint)
    return model


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10000), st.integers(1, 9))
def test_is_the_gradient_of_the_kinetic_energy(seed, joints):
    pin.seed(seed)
    random = np.random.default_rng(seed)
    model = random_model(random, joints)
    data, reference = model.createData(), model.createData()
    motions = joint_motions(model, data)
    twists, momenta = body_rows(data.v), body_rows(data.h)
    for _ in range(2):
        q, dq = random.normal(size=(2, joints))
        pin.forwardKinematics(model, data, q, dq)
        pin.computeCentroidalMomentum(model, data)
        out = np.empty(joints)
        coriolis_transposed_velocity(motions, twists, momenta, out)
        # dM = C + C^T, and by Lagrange C dq = dM dq - grad T; so C^T dq = grad T, whichever C.
        step = 1e-5
        gradient = np.zeros(joints)
        for i, shift in enumerate(step * np.eye(joints)):
            energies = [pin.computeKineticEnergy(model, reference, q + sign * shift, dq) for sign in (1.0, -1.0)]
            gradient[i] = (energies[0] - energies[1]) / (2.0 * step)
        size = 1.0 + pin.computeKineticEnergy(model, reference, q, dq)
        np.testing.assert_allclose(out, gradient, atol=1e-7 * size)
        python_form = getattr(coriolis_transposed_velocity, "py_func", coriolis_transposed_velocity)
        again = np.empty(joints)
        python_form(motions, twists, momenta, again)
        np.testing.assert_allclose(again, out, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("gain", [10.0, 30.0, 200.0])
def test_a_step_of_external_torque_on_a_moving_panda_follows_the_filter(gain):
    """Unit step at every joint, arm integrated by Pinocchio's forward dynamics; within 1 % at 1 kHz."""
    robot = load_robot()
    dynamics, model = Dynamics(robot), robot.pinocchio_model
    data = model.createData()
    q = np.array([0.1, -0.5, 0.2, -2.1, 0.3, 1.8, 0.6])
    dq = np.array([0.8, -0.6, 0.7, 0.9, -1.0, 0.5, -0.8])
    observer = MomentumObserver(np.full(7, gain), np.zeros(7))
    substeps, period, start = 4, 1e-3, 0.02
    worst = 0.0
    for k in range(151):
        time = k * period
        dynamics.compute(q, dq)
        dynamics.compute_momentum_terms()
        # The weight and damping are what the joints hold, so that the arm moves but does not run away.
        torque = dynamics.gravity - 2.0 * dq
        residual = observer.observe(
            dynamics.mass_matrix, dq, torque, dynamics.coriolis_transposed_velocity, dynamics.gravity, time
        )
        external = 1.0 if k >= round(start / period) else 0.0
        exact = 1.0 - np.exp(-gain * max(time - start, 0.0))
        worst = max(worst, float(np.abs(residual - exact).max()))

        def acceleration(position, velocity, push=external):
            drive = pin.computeGeneralizedGravity(model, data, position).copy() - 2.0 * velocity + push
            return pin.aba(model, data, position, velocity, drive).copy()

        for _ in range(substeps):
            h = period / substeps
            a1 = acceleration(q, dq)
            a2 = acceleration(q + h / 2 * dq, dq + h / 2 * a1)
            a3 = acceleration(q + h / 2 * dq + h * h / 4 * a1, dq + h / 2 * a2)
            a4 = acceleration(q + h * dq + h * h / 2 * a2, dq + h * a3)
            q = q + h * dq + h * h / 6 * (a1 + a2 + a3)
            dq = dq + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
    assert worst < 0.01
    assert exact > 0.7 and np.abs(dq).max() > 0.1
