"""Impacts in MuJoCo: soft contacts with convex friction, integrated until the impact is over."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from impact_control.util.errors import MissingExtraError
from impact_control.util.types import Vector
from impact_studies.engines.cases import EngineCase

TIME_STEP = 1e-7
"""[s]"""

DAMPING_ONLY = (-1e-6, -1e6)
"""solref: stiffness [1/s^2] and damping [1/s], negated; next to no spring, so that nothing is given back."""

CRITICALLY_DAMPED = (1e-5, 1.0)
"""solref: time constant [s] and damping ratio. The ratio is MuJoCo's default, the time constant is 0.02 s there."""

CRITICAL_RESTITUTION = math.exp(-2.0)
"""x = v t exp(-w t), critically damped, is pushed until w t = 2, when it leaves at v exp(-2); no contact pulls."""

_IMPEDANCE = 0.9999
"""The largest that MuJoCo takes: the part of the desired acceleration that the contact brings about."""


def impact(case: EngineCase, solref: tuple[float, float]) -> dict[str, Vector]:
    """Return the velocities after the impact by body, see `EngineCase`. Raises MissingExtraError.

    solref: of all contacts, see MuJoCo's documentation of solver parameters.
    """
    try:
        import mujoco
    except ImportError as error:
        raise MissingExtraError("MuJoCo is not installed: `make extras` installs it") from error
    model = mujoco.MjModel.from_xml_string(case.mjcf)
    model.opt.timestep = TIME_STEP
    model.opt.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    model.opt.tolerance, model.opt.iterations = 1e-15, 200
    model.geom_solref[:] = solref
    model.geom_solimp[:, :3] = _IMPEDANCE, _IMPEDANCE, 1e-9
    data = mujoco.MjData(model)
    for joint, position in case.positions.items():
        data.joint(joint).qpos = position
    before = {name: body.velocity for name, body in case.bodies.items()}
    places = {name: _degrees(model, name, case.joints.get(name, ())) for name in before}
    for name, velocity in before.items():
        data.qvel[places[name]] = velocity
    # Both decay with a time constant of at most 1e-5 s.
    mujoco.mj_step(model, data, nstep=round(2e-4 / TIME_STEP))
    return {name: data.qvel[place].copy() for name, place in places.items()}


def _degrees(model: Any, body: str, joints: tuple[str, ...]) -> NDArray[np.intp]:
    """Return where the degrees of freedom of a body lie in the velocity of the model."""
    if joints:
        return np.array([model.joint(joint).dofadr[0] for joint in joints], dtype=np.intp)
    start = int(model.body(body).dofadr[0])
    return np.arange(start, start + 6, dtype=np.intp)
