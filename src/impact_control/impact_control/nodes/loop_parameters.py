"""Parameters of the loop: what they mean, and which of them may change while it runs."""

from __future__ import annotations

from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor
from rclpy.node import Node

from impact_control.scenario import Scenario

MODEL = ("scenario", "arm", "partners")
"""What the node is built from: fixed from its configuration to its clean-up."""

GAINS = ("position", "orientation", "posture")
"""Gains k of the tasks, van Steen 2024 (15)-(17), that may change at any time."""

LARGEST_GAIN = 2500.0
"""[1/s^2] With it a task answers with 50 rad/s, a twentieth of the rate of the loop."""


def declare(node: Node, *, detect: bool, classify: bool, control: bool) -> None:
    """Declare all parameters. detect, classify, control: what the node does unless told otherwise."""
    describe = ParameterDescriptor
    node.declare_parameter("scenario", "tabletop", describe(description="name or path of the scenario file"))
    node.declare_parameter("detect", detect, describe(description="run observer and detector here", read_only=True))
    node.declare_parameter("classify", classify, describe(description="run the classifier here", read_only=True))
    node.declare_parameter("control", control, describe(description="run the controller here", read_only=True))
    node.declare_parameter(
        "state_patience",
        0.2,
        describe(
            description="seconds of wall time without a joint state after which a running task ends in a fault; "
            "0: no limit, for lockstep",
            floating_point_range=_from_zero(10.0),
        ),
    )
    node.declare_parameter(
        "supervisor_patience",
        0.0,
        describe(
            description="seconds of wall time without a sign of life of the supervisor, or without one that watches, "
            "after which a task ends in a fault; 0: there is none",
            floating_point_range=_from_zero(10.0),
        ),
    )
    node.declare_parameter(
        "robot_patience",
        10.0,
        describe(
            description="seconds that the publisher of the joint states may take to be found at activation",
            floating_point_range=_from_zero(60.0),
        ),
    )
    node.declare_parameter(
        "arm", "", describe(description="which arm of a scene this node controls; empty for one-arm scenarios")
    )
    node.declare_parameter(
        "partners",
        "",
        describe(description="namespaces beside this one, separated by commas, of the other arms at the object"),
    )
    node.declare_parameter("gains.position", 0.0, _gain("position of the end-effector"))
    node.declare_parameter("gains.orientation", 0.0, _gain("orientation of the end-effector"))
    node.declare_parameter("gains.posture", 0.0, _gain("posture of joint 1"))


def gains(node: Node, scenario: Scenario) -> dict[str, float]:
    """Return the gains [1/s^2] by name: those of the parameters, where these are 0 those of the scenario."""
    return {
        name: float(node.get_parameter(f"gains.{name}").value) or getattr(scenario.control.gains, name)
        for name in GAINS
    }


def _from_zero(highest: float) -> list[FloatingPointRange]:
    return [FloatingPointRange(from_value=0.0, to_value=highest)]


def _gain(what: str) -> ParameterDescriptor:
    return ParameterDescriptor(
        description=f"feedback gain k [1/s^2] of the {what}, also in a running task; 0: the scenario's",
        floating_point_range=_from_zero(LARGEST_GAIN),
    )
