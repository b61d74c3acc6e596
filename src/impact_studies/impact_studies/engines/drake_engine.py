"""Impacts in Drake: point contact in discrete time, with its convex solver SAP and with the lagged one."""

from __future__ import annotations

from dataclasses import dataclass
from logging import ERROR, getLogger
from typing import Any

import numpy as np
from numpy.typing import NDArray

from impact_control.util.errors import MissingExtraError
from impact_control.util.types import Vector
from impact_studies.engines.cases import EngineCase


@dataclass(frozen=True)
class DrakeContact:
    """Contact settings of Drake.

    approximation: "sap" or "lagged", see its DiscreteContactApproximation.
    stiffness: [N/m]. dissipation: of Hunt and Crossley [s/m], of "lagged" only. near_rigid_threshold: of "sap" only:
        from which stiffness on it regularises, as part of the period that a time step can resolve.
    time_step: [s]; steps: so many are made.
    """

    approximation: str
    stiffness: float
    dissipation: float
    near_rigid_threshold: float
    time_step: float
    steps: int


RIGID_SAP = DrakeContact("sap", 1e12, 0.0, 0.02, 1e-6, 30)
"""Close to rigid: the impact is over after the first step."""

DEFAULT_SAP = DrakeContact("sap", 1e12, 0.0, 1.0, 1e-6, 30)
"""With Drake's default regularisation."""

STIFF_LAGGED = DrakeContact("lagged", 1e8, 1e4, 1.0, 1e-6, 500)
"""Contact that the time step resolves; Hunt and Crossley's law lets it go at 1/dissipation = 1e-4 m/s."""

_RELAXATION_TIME = 0.01
_STICTION_TOLERANCE = 1e-5


def impact(case: EngineCase, contact: DrakeContact) -> dict[str, Vector]:
    """Return the velocities after the impact by body, see `EngineCase`. Raises MissingExtraError."""
    try:
        from pydrake.geometry import SceneGraphConfig
        from pydrake.multibody.parsing import Parser
        from pydrake.multibody.plant import AddMultibodyPlant, MultibodyPlantConfig
        from pydrake.systems.analysis import Simulator
        from pydrake.systems.framework import DiagramBuilder
    except ImportError as error:
        raise MissingExtraError("Drake is not installed: `make extras` installs it") from error
    # It warns that the floor would not touch deformable bodies. There are none.
    getLogger("drake").setLevel(ERROR)
    builder = DiagramBuilder()
    config = MultibodyPlantConfig(
        time_step=contact.time_step,
        discrete_contact_approximation=contact.approximation,
        contact_model="point",
        sap_near_rigid_threshold=contact.near_rigid_threshold,
        stiction_tolerance=_STICTION_TOLERANCE,
    )
    plant, scene = AddMultibodyPlant(config, builder)
    geometry = SceneGraphConfig()
    geometry.default_proximity_properties.point_stiffness = contact.stiffness
    geometry.default_proximity_properties.relaxation_time = _RELAXATION_TIME
    geometry.default_proximity_properties.hunt_crossley_dissipation = contact.dissipation
    scene.set_config(geometry)
    Parser(plant).AddModelsFromString(case.mjcf, "xml")
    plant.mutable_gravity_field().set_gravity_vector(np.zeros(3))
    plant.Finalize()
    simulator = Simulator(builder.Build())
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    q, v = plant.GetPositions(context), plant.GetVelocities(context)
    for joint, position in case.positions.items():
        q[plant.GetJointByName(joint).position_start()] = position
    places = {name: _degrees(plant, name, case.joints.get(name, ())) for name in case.bodies}
    for name, body in case.bodies.items():
        v[places[name]] = body.velocity
    plant.SetPositions(context, q)
    plant.SetVelocities(context, v)
    simulator.AdvanceTo(contact.steps * contact.time_step)
    after = plant.GetVelocities(context)
    return {name: after[place] for name, place in places.items()}


def _degrees(plant: Any, body: str, joints: tuple[str, ...]) -> NDArray[np.intp]:
    """Return where the degrees of freedom of a body lie in the velocity of the plant."""
    if joints:
        return np.array([plant.GetJointByName(joint).velocity_start() for joint in joints], dtype=np.intp)
    start = plant.GetBodyByName(body).floating_velocities_start_in_v()
    # Drake has the angular velocity first.
    return np.arange(start, start + 6, dtype=np.intp)[[3, 4, 5, 0, 1, 2]]
