"""References: quintics through via points, and the overlapping ante- and post-impact references of a task."""

from impact_control.references.approach import Approach, plan_approach
from impact_control.references.impact_geometry import (
    ImpactGeometry,
    impact_geometry,
    initial_configuration,
)
from impact_control.references.impact_map import (
    ImpactMap,
    PredictedImpact,
    SimultaneousImpact,
    link_impact_map,
    rigid_impact_map,
    simultaneous_impact,
)
from impact_control.references.impact_reference import ExpectedImpact, ImpactReference
from impact_control.references.impact_task import References, build_reference, build_references
from impact_control.references.joint_space import UnreachableReferenceError, task_jacobian
from impact_control.references.object_impact import ArmImpactPrediction, ObjectImpact, predict_object_impact
from impact_control.references.planning import COARSE, FINE, Sampling
from impact_control.references.quintic import PiecewiseQuintic, ViaPoint
from impact_control.references.table import ReferenceColumns, ReferenceTable

__all__ = [
    "COARSE",
    "FINE",
    "Approach",
    "ArmImpactPrediction",
    "ExpectedImpact",
    "ImpactGeometry",
    "ImpactMap",
    "ImpactReference",
    "ObjectImpact",
    "PiecewiseQuintic",
    "PredictedImpact",
    "ReferenceColumns",
    "ReferenceTable",
    "References",
    "Sampling",
    "SimultaneousImpact",
    "UnreachableReferenceError",
    "ViaPoint",
    "build_reference",
    "build_references",
    "impact_geometry",
    "initial_configuration",
    "link_impact_map",
    "plan_approach",
    "predict_object_impact",
    "rigid_impact_map",
    "simultaneous_impact",
    "task_jacobian",
]
