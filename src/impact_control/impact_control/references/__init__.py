"""References: quintics through via points, and the overlapping ante- and post-impact references of a task."""

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
from impact_control.references.impact_task import ImpactReference, build_reference
from impact_control.references.joint_space import UnreachableReferenceError
from impact_control.references.quintic import PiecewiseQuintic, ViaPoint
from impact_control.references.table import ReferenceColumns, ReferenceTable

__all__ = [
    "ImpactGeometry",
    "ImpactMap",
    "ImpactReference",
    "PiecewiseQuintic",
    "PredictedImpact",
    "ReferenceColumns",
    "ReferenceTable",
    "SimultaneousImpact",
    "UnreachableReferenceError",
    "ViaPoint",
    "build_reference",
    "impact_geometry",
    "initial_configuration",
    "rigid_impact_map",
    "rotation_from_roll_pitch_yaw",
    "simultaneous_impact",
]
