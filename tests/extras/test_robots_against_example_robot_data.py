"""Our Panda against the URDF of Pinocchio's example-robot-data, which holds the same identified inertias.

That package takes several 100 MB: `make extras` installs it, and `pytest tests/extras` then runs this. The
normal run leaves this directory out. Without the package the test fails, it does not skip.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from importlib import metadata

import numpy as np
import pinocchio as pin
import pytest

from impact_control.robots.data_file import DATA_DIRECTORY


@pytest.fixture(scope="module")
def models() -> tuple[pin.Model, pin.Model]:
    """Ours and theirs, both cut to the arm with its flange."""
    files = metadata.files("example-robot-data") or []
    path = next(file for file in files if file.as_posix().endswith("panda_description/urdf/panda.urdf"))
    root = ElementTree.parse(str(path.locate())).getroot()
    kept = {f"panda_link{i}" for i in range(9)} | {f"panda_joint{i}" for i in range(1, 9)}
    for element in list(root):
        if element.tag in ("link", "joint") and element.get("name") not in kept:
            root.remove(element)
    theirs = pin.buildModelFromXML(ElementTree.tostring(root, encoding="unicode"))
    return pin.buildModelFromUrdf(str(DATA_DIRECTORY / "panda.urdf")), theirs


def test_limits_agree(models):
    ours, theirs = models
    for name in ("lowerPositionLimit", "upperPositionLimit", "velocityLimit", "effortLimit"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))


def test_frames_and_dynamics_agree(models):
    ours, theirs = models
    our_data, their_data = ours.createData(), theirs.createData()
    random = np.random.default_rng(0)
    for _ in range(100):
        q = random.uniform(ours.lowerPositionLimit, ours.upperPositionLimit)
        dq, ddq = random.normal(size=(2, 7))
        for compute in (pin.crba, pin.computeGeneralizedGravity):
            np.testing.assert_allclose(compute(ours, our_data, q), compute(theirs, their_data, q), atol=1e-12)
        np.testing.assert_allclose(
            pin.rnea(ours, our_data, q, dq, ddq), pin.rnea(theirs, their_data, q, dq, ddq), atol=1e-12
        )
        pin.framesForwardKinematics(ours, our_data, q)
        pin.framesForwardKinematics(theirs, their_data, q)
        for number in range(9):
            name = f"panda_link{number}"
            np.testing.assert_allclose(
                our_data.oMf[ours.getFrameId(name)].homogeneous,
                their_data.oMf[theirs.getFrameId(name)].homogeneous,
                atol=1e-12,
            )
