"""The compiled rigid-body terms against Pinocchio's, for arms of different size, base and kind of joint."""

from __future__ import annotations

import dataclasses
from functools import cache

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_control.robots import contact_point_jacobian, load_robot, mounted_at
from impact_control.simulation.chain_dynamics import (
    chain_terms,
    point_bias_acceleration,
    point_jacobian,
    point_velocity,
    serial_chain,
    update_chain,
)
from impact_control.util.errors import InvalidInputError

TURNED = pin.rpy.rpyToMatrix(0.3, -0.5, 1.1)


def with_model(model):
    """Return a planar arm whose model is another one, with its contact frame last."""
    return dataclasses.replace(load_robot("planar_rrr"), pinocchio_model=model, contact_frame_id=model.nframes - 1)


def sliding_model():
    """Return a model with a joint that slides between two that turn, all placed askew."""
    model = pin.Model()
    parent = 0
    random = np.random.default_rng(5)
    for i, joint in enumerate((pin.JointModelRY(), pin.JointModelPX(), pin.JointModelRZ())):
        parent = model.addJoint(parent, joint, pin.SE3.Identity(), f"joint{i}")
        model.jointPlacements[parent] = pin.SE3(
            pin.rpy.rpyToMatrix(*random.uniform(-1.0, 1.0, 3)), random.uniform(-0.3, 0.3, 3)
        )
        body = pin.Inertia(random.uniform(1.0, 3.0), random.uniform(-0.1, 0.1, 3), np.diag([0.02, 0.03, 0.04]))
        model.appendBodyToJoint(parent, body, pin.SE3.Identity())
    model.addFrame(pin.Frame("E", parent, pin.SE3(TURNED, np.array([0.1, -0.2, 0.3])), pin.FrameType.OP_FRAME))
    return model


@cache
def arm(name):
    return {
        "panda": lambda: load_robot("panda", "plate"),
        "planar": lambda: load_robot("planar_rrr"),
        "mounted": lambda: mounted_at(load_robot(), np.array([0.4, -0.3, 0.8]), TURNED),
        "sliding": lambda: with_model(sliding_model()),
    }[name]()


number = st.floats(-2.0, 2.0)


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from(["panda", "planar", "mounted", "sliding"]),
    st.lists(number, min_size=7, max_size=7),
    st.lists(number, min_size=7, max_size=7),
    st.tuples(number, number, number),
)
def test_terms_are_those_of_pinocchio(name, q, dq, offset):
    robot = arm(name)
    n = robot.pinocchio_model.nv
    q, dq, offset = np.array(q[:n]), np.array(dq[:n]), np.array(offset)
    model = robot.pinocchio_model
    terms = chain_terms(n)
    update_chain(serial_chain(robot), q, dq, terms)
    data = model.createData()
    mass = pin.crba(model, data, q)
    mass = np.triu(mass) + np.triu(mass, 1).T
    h, g = pin.nonLinearEffects(model, data, q, dq), pin.computeGeneralizedGravity(model, model.createData(), q)
    np.testing.assert_allclose(terms.mass_matrix, mass, atol=1e-12 * np.abs(mass).max())
    np.testing.assert_allclose(terms.nonlinear, h, atol=1e-12 * max(1.0, np.abs(h).max()))
    np.testing.assert_allclose(terms.gravity, g, atol=1e-12 * max(1.0, np.abs(g).max()))
    pin.forwardKinematics(model, data, q, dq, np.zeros(n))
    pin.computeJointJacobians(model, data)
    pin.updateFramePlacements(model, data)
    frame = robot.contact_frame_id
    placement = data.oMf[frame]
    np.testing.assert_allclose(terms.position, placement.translation, atol=1e-12)
    np.testing.assert_allclose(terms.rotation, placement.rotation, atol=1e-12)
    # A point fixed to the last link: velocity, and the acceleration it has without joint accelerations.
    jacobian = pin.getFrameJacobian(model, data, frame, pin.LOCAL_WORLD_ALIGNED)
    rows = np.empty((3, n))
    point = tuple(placement.translation + offset)
    point_jacobian(terms, point, rows)
    expected = contact_point_jacobian(jacobian, offset)
    np.testing.assert_allclose(rows, expected, atol=1e-12)
    np.testing.assert_allclose(point_velocity(terms, point), expected @ dq, atol=1e-11)
    moving = pin.getFrameClassicalAcceleration(model, data, frame, pin.LOCAL_WORLD_ALIGNED)
    spin = jacobian[3:] @ dq
    at_point = moving.linear + np.cross(moving.angular, offset) + np.cross(spin, np.cross(spin, offset))
    np.testing.assert_allclose(
        point_bias_acceleration(terms, point), at_point, atol=1e-11 * max(1.0, np.abs(at_point).max())
    )


def test_what_is_no_chain_is_refused():
    branched = sliding_model()
    joint = branched.addJoint(1, pin.JointModelRX(), pin.SE3.Identity(), "branch")
    branched.addFrame(pin.Frame("F", joint, pin.SE3.Identity(), pin.FrameType.OP_FRAME))
    with pytest.raises(InvalidInputError, match="serial chain"):
        serial_chain(with_model(branched))
    inner = sliding_model()
    inner.addFrame(pin.Frame("F", 1, pin.SE3.Identity(), pin.FrameType.OP_FRAME))
    with pytest.raises(InvalidInputError, match="last link"):
        serial_chain(with_model(inner))
    screw = pin.Model()
    parent = screw.addJoint(0, pin.JointModelHX(0.1), pin.SE3.Identity(), "screw")
    screw.appendBodyToJoint(parent, pin.Inertia.Random(), pin.SE3.Identity())
    screw.addFrame(pin.Frame("E", parent, pin.SE3.Identity(), pin.FrameType.OP_FRAME))
    with pytest.raises(InvalidInputError, match="revolute or a prismatic"):
        serial_chain(with_model(screw))
