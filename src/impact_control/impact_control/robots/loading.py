"""Load a robot from its data files.

The robots stand in `data/<name>.yaml`, their end-effectors in `data/end_effectors/<name>.yaml`; each group of
numbers names its source there.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pinocchio as pin

from impact_control.robots.data_file import DATA_DIRECTORY, Section, read_data_file
from impact_control.robots.description import CONTACT_FRAME, Cover, EndEffector, RobotDescription
from impact_control.robots.joints import (
    JointFriction,
    JointLimits,
    ModelDeviation,
    SensorNoise,
    TorqueLoop,
    Transmission,
)
from impact_control.util.errors import ScenarioError

SIDES = ("link", "motor")
"""Sides of the transmission on which friction may act."""

LARGEST_URDF = 1024 * 1024
"""Bytes of a URDF that is read; those of arms have some tens of thousands."""


def load_robot(
    name_or_path: str | Path = "panda",
    end_effector: str | Path | None = None,
    motor_inertia: str | None = None,
) -> RobotDescription:
    """Return the robot of a data file with an end-effector mounted on its flange.

    name_or_path, end_effector: a name known to the package, or the path of a .yaml file of one's own.
    motor_inertia: which set of reduced motor inertias B_theta to take, a name in the robot's file.
    Without end_effector or motor_inertia the default that the robot's file names is taken.
    Raises ScenarioError naming file, key, value and what is allowed.
    """
    robot_file = _find(DATA_DIRECTORY, "robot", name_or_path)
    data = read_data_file(robot_file)
    default_tool, default_set = data.text("default_end_effector"), data.text("default_motor_inertia")
    tool_file = _find(DATA_DIRECTORY / "end_effectors", "end_effector", end_effector or default_tool)
    tool = _read_end_effector(tool_file)
    model, contact_frame_id = _build_model(data, robot_file.parent, tool)
    size = model.nv
    gravity = _group(data, "gravity")
    limits = _group(data, "limits")
    friction = _group(data, "joint_friction")
    loop = _group(data, "torque_loop")
    noise = _group(data, "sensor_noise")
    deviation = _group(data, "deviation")
    description = RobotDescription(
        name=data.text("name"),
        joint_names=tuple(model.names[1:]),
        limits=limits.build(
            JointLimits,
            position_lower=model.lowerPositionLimit,
            position_upper=model.upperPositionLimit,
            velocity=model.velocityLimit,
            torque=model.effortLimit,
            torque_rate=limits.vector("torque_rate", size),
        ),
        transmission=_read_transmission(_group(data, "transmission"), size, motor_inertia or default_set),
        friction=friction.build(
            JointFriction, **friction.vectors(size, "amplitude", "slope", "offset"), on_motor=_side(friction)
        ),
        torque_loop=loop.build(
            TorqueLoop,
            rate=loop.number("rate"),
            filter_cutoff=loop.number("filter_cutoff"),
        ),
        noise=noise.build(
            SensorNoise,
            **noise.vectors(size, "position", "velocity", "torque", "motor_position", "motor_velocity"),
        ),
        deviation=deviation.build(
            ModelDeviation,
            link_inertia=deviation.number("link_inertia"),
            reduced_motor_inertia=deviation.number("reduced_motor_inertia"),
            joint_friction=deviation.vector("joint_friction", size),
        ),
        end_effector=tool,
        pinocchio_model=model,
        contact_frame_id=contact_frame_id,
        urdf=robot_file.parent / data.text("urdf"),
        gravity=gravity.vector("acceleration", 3),
    )
    model.gravity.linear = description.gravity
    for section in (gravity, limits, friction, loop, noise, deviation, data):
        section.finish()
    return description


def _side(friction: Section) -> bool:
    """Return whether friction acts on the motors. Raises ScenarioError."""
    side = friction.text("side")
    if side not in SIDES:
        raise friction.error("side", side, f"one of {', '.join(SIDES)}")
    return side == SIDES[1]


def known_names(directory: Path = DATA_DIRECTORY) -> list[str]:
    """Return the names of the data files in a directory: the robots that come with the package."""
    return sorted(path.stem for path in directory.glob("*.yaml"))


def _find(directory: Path, kind: str, name_or_path: str | Path) -> Path:
    path = Path(name_or_path)
    if path.suffix == ".yaml" and path.is_file():
        return path
    known = known_names(directory)
    if str(name_or_path) not in known:
        allowed = f"one of {', '.join(known)}, or the path of a .yaml file that exists"
        raise ScenarioError(str(directory), kind, str(name_or_path), allowed)
    return directory / f"{name_or_path}.yaml"


def _group(data: Section, name: str) -> Section:
    """Return the mapping at `name`, which has to say where its numbers come from."""
    section = data.section(name)
    section.text("source")
    return section


def _read_transmission(data: Section, size: int, motor_inertia: str) -> Transmission:
    sets = data.section("reduced_motor_inertia")
    if motor_inertia not in sets.names():
        raise sets.error(motor_inertia, motor_inertia, f"one of the sets {', '.join(sets.names())}")
    chosen = _group(sets, motor_inertia)
    transmission = data.build(
        Transmission,
        **data.vectors(size, "stiffness", "damping", "motor_inertia"),
        reduced_motor_inertia=chosen.vector("value", size),
    )
    chosen.finish()
    data.finish()
    return transmission


def _read_end_effector(path: Path) -> EndEffector:
    data = read_data_file(path)
    data.text("source")
    points = {"contact_points": data.matrix("contact_points", None, 3)} if "contact_points" in data.names() else {}
    tool = data.build(
        EndEffector,
        name=data.text("name"),
        radius=data.number("radius"),
        mass=data.number("mass"),
        com=data.vector("com", 3),
        inertia=data.matrix("inertia", 3, 3),
        contact_frame_offset=data.vector("contact_frame_offset", 3),
        cover=_read_cover(data),
        **points,
    )
    data.finish()
    return tool


def _read_cover(data: Section) -> Cover | None:
    if "cover" not in data.names():
        return None
    group = _group(data, "cover")
    numbers = {name: group.number(name) for name in ("stiffness", "damping", "exponent")}
    cover = group.build(Cover, **numbers)
    group.finish()
    return cover


def _build_model(data: Section, directory: Path, tool: EndEffector) -> tuple[pin.Model, int]:
    """Return the Pinocchio model of the arm with `tool` on its flange, and the id of the contact frame."""
    urdf = directory / data.text("urdf")
    if not urdf.is_file() or urdf.stat().st_size > LARGEST_URDF:
        raise data.error("urdf", str(urdf), f"a file beside this one, of at most {LARGEST_URDF} bytes")
    try:
        model = pin.buildModelFromUrdf(str(urdf))
    except (ValueError, RuntimeError) as error:
        raise data.error("urdf", str(urdf), f"a URDF that Pinocchio can read: {error}") from error
    if model.nv == 0 or model.nq != model.nv or model.nv != model.njoints - 1:
        raise data.error("urdf", str(urdf), "an arm of revolute or prismatic joints with limits")
    flange_name = data.text("flange")
    if not model.existFrame(flange_name):
        frames = ", ".join(frame.name for frame in model.frames)
        raise data.error("flange", flange_name, f"one of the frames {frames}")
    flange_id = model.getFrameId(flange_name)
    flange = model.frames[flange_id]
    # Copied: appending frames may move the array that `flange` points into.
    joint, placement = int(flange.parentJoint), pin.SE3(flange.placement)
    model.appendBodyToJoint(joint, pin.Inertia(tool.mass, tool.com, tool.inertia), placement)
    contact = placement * pin.SE3(np.eye(3), tool.contact_frame_offset)
    frame = pin.Frame(CONTACT_FRAME, joint, flange_id, contact, pin.FrameType.OP_FRAME)
    return model, int(model.addFrame(frame))
