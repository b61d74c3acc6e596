"""Robot arms: model, dynamics, limits, transmission, reflected inertia, inverse kinematics."""

from impact_control.robots.contact_point import contact_jacobians, contact_point_jacobian, lowest_points
from impact_control.robots.description import CONTACT_FRAME, Cover, EndEffector, RobotDescription
from impact_control.robots.dynamics import Dynamics
from impact_control.robots.inverse_kinematics import UnreachablePoseError
from impact_control.robots.joints import JointFriction, JointLimits, SensorNoise, TorqueLoop, Transmission
from impact_control.robots.loading import SIDES, known_names, load_robot
from impact_control.robots.mounting import mounted_at, rotation_from_roll_pitch_yaw, stand_alike
from impact_control.robots.reflected_inertia import InertiaModel, reflected_motor_inertia
from impact_control.robots.scaled_robot import scaled_robot

__all__ = [
    "CONTACT_FRAME",
    "SIDES",
    "Cover",
    "Dynamics",
    "EndEffector",
    "InertiaModel",
    "JointFriction",
    "JointLimits",
    "RobotDescription",
    "SensorNoise",
    "TorqueLoop",
    "Transmission",
    "UnreachablePoseError",
    "contact_jacobians",
    "contact_point_jacobian",
    "known_names",
    "load_robot",
    "lowest_points",
    "mounted_at",
    "reflected_motor_inertia",
    "rotation_from_roll_pitch_yaw",
    "scaled_robot",
    "stand_alike",
]
