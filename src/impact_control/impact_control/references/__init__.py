"""References: quintics through via points, and the overlapping ante- and post-impact references of a task."""

from impact_control.references.approach import Approach, plan_approach
from impact_control.references.impact_geometry import (
    ImpactGeometry,
    impact_geometry,
    initial_configuration,
    rotation_from_roll_pitch_yaw,
)
from impact_control.references.impact_map import (
    ImpactMap,
    PredictedImpact,
    SimultaneousImpact,
    rigid_impact_map,
    simultaneous_impact,
)
from impact_control.references.impact_reference import ImpactReference
from impact_control.references.impact_task import build_reference
from impact_control.references.joint_space import UnreachableReferenceError, task_jacobian
from impact_control.references.quintic import PiecewiseQuintic, ViaPoint
from impact_control.references.scene_impact import ArmImpactPrediction, SceneImpact, predict_scene_impact
from impact_control.references.scene_reference import SceneReference, build_scene_reference, scene_robots
from impact_control.references.table import ReferenceColumns, ReferenceTable

__all__ = [
    "Approach",
    "ArmImpactPrediction",
    "ImpactGeometry",
    "ImpactMap",
    "ImpactReference",
    "PiecewiseQuintic",
    "PredictedImpact",
    "ReferenceColumns",
    "ReferenceTable",
    "SceneImpact",
    "SceneReference",
    "SimultaneousImpact",
    "UnreachableReferenceError",
    "ViaPoint",
    "build_reference",
    "build_scene_reference",
    "impact_geometry",
    "initial_configuration",
    "plan_approach",
    "predict_scene_impact",
    "rigid_impact_map",
    "rotation_from_roll_pitch_yaw",
    "scene_robots",
    "simultaneous_impact",
    "task_jacobian",
]
