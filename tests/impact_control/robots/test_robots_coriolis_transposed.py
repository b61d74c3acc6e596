"""C^T dq in O(n) against the gradient of the kinetic energy, on trees of revolute and prismatic joints."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
from hypothesis import given, settings
from hypothesis import strategies as st

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
