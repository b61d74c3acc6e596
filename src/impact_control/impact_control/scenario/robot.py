"""The robot of a scenario: model, end-effector, and parameter set."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated

from impact_control.robots import SIDES, JointFriction, RobotDescription, load_robot
from impact_control.scenario.document import Node
from impact_control.scenario.fields import JOINTS, NOT_NEGATIVE, POSITIVE, Choice, Refusal, each_joint
from impact_control.scenario.validation import build
from impact_control.util.errors import ScenarioError
from impact_control.util.types import Vector

_ROBOT_ERRORS = {
    "robot": "model",
    "end_effector": "end_effector",
    "transmission.reduced_motor_inertia.": "motor_inertia",
}
"""Keys in the errors of `load_robot`, and the scenario's entries they are about."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Friction:
    """Friction of the joints, Gaz et al. 2019, see `robots.JointFriction`."""

    amplitude: Annotated[Vector, each_joint("Nm", NOT_NEGATIVE), "phi_1"]
    slope: Annotated[Vector, each_joint("s/rad", POSITIVE), "phi_2"]
    offset: Annotated[Vector, each_joint("rad/s"), "phi_3"]
    side: Annotated[
        str,
        Choice(SIDES),
        "of the transmission, on which it acts; on the motor the torque loop reduces it by B_theta / B_rho",
        SIDES[0],
    ]
    deviation: Annotated[
        Vector | None,
        each_joint("", NOT_NEGATIVE),
        "standard deviation of phi_1 as a part of it; when left out, that in the data of the robot",
        None,
    ]


@dataclass(frozen=True, eq=False, kw_only=True)
class Robot:
    """Which arm, tool and parameter set."""

    model: Annotated[str, "robot model in `impact_control.robots`, or a .yaml file relative to this one"]
    end_effector: Annotated[str, "end-effector of that model, or a .yaml file relative to this one"]
    motor_inertia: Annotated[str, "named set of reduced motor inertias B_theta"]
    gravity_compensated_by_robot: Annotated[bool, "the commanded torque is without gravity, as on a Franka"]
    require_guard: Annotated[bool, "behind ros2_control, the effort controller has to be that of impact_guard", False]
    joint_friction: Annotated[
        Friction | None, "friction of the joints instead of that of the model, for controller and simulator", "none"
    ]

    def check(self) -> None:
        """Require names that the robot's data files know, and a robot that carries its own weight."""
        if not self.gravity_compensated_by_robot:
            words = "true: a robot side that does not compensate gravity is not supported yet"
            raise Refusal("gravity_compensated_by_robot", False, words)
        try:
            _robot(self.model, self.end_effector, self.motor_inertia)
        except ScenarioError as error:
            for part, key in _ROBOT_ERRORS.items():
                if error.key.startswith(part):
                    raise Refusal(key, getattr(self, key), error.allowed) from None
            raise


def joint_sizes(document: Node) -> dict[str, int]:
    """Return the sizes that the robot of a document determines; none without a robot. Raises ScenarioError."""
    if "robot" not in document.value:
        return {}
    section = document.value["robot"]
    if section.is_mapping:  # its arrays are read once their size is known
        section = Node({key: node for key, node in section.value.items() if key != "joint_friction"}, section.origin)
    return {JOINTS: len(robot_of(build(Robot, section, {}, "robot")).joint_names)}


def robot_of(robot: Robot) -> RobotDescription:
    """Return the robot of this section, with its base at the origin of A. Raises ScenarioError."""
    description = _robot(robot.model, robot.end_effector, robot.motor_inertia)
    own = robot.joint_friction
    if own is None:
        return description
    known = description.deviation
    if own.deviation is not None:
        known = dataclasses.replace(known, joint_friction=own.deviation)
    friction = JointFriction(own.amplitude, own.slope, own.offset, own.side == SIDES[1])
    return dataclasses.replace(description, friction=friction, deviation=known)


@lru_cache(maxsize=16)
def _robot(model: str, end_effector: str, motor_inertia: str) -> RobotDescription:
    return load_robot(model, end_effector, motor_inertia)
