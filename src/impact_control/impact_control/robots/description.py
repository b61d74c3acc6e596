"""What is known of a robot arm: model, limits, transmission, friction, sensors, end-effector.

The robots stand in `data/<name>.yaml`, their end-effectors in `data/end_effectors/<name>.yaml`; each group of
numbers names its source there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pinocchio as pin

from impact_control.compiled import compiled
from impact_control.errors import InvalidInputError, ScenarioError
from impact_control.robots.data_file import Section, read_data_file
from impact_control.types import Matrix, Vector

DATA_DIRECTORY = Path(__file__).parent / "data"
"""The data files that come with the package."""

CONTACT_FRAME = "contact"
"""Name of the contact frame E in the Pinocchio model."""


@dataclass(frozen=True, eq=False)
class JointLimits:
    """Limits of the joints, each (n,).

    position_lower, position_upper [rad]; velocity [rad/s], torque [Nm] and torque_rate [Nm/s] are
    magnitudes, all above 0. Raises InvalidInputError.
    """

    position_lower: Vector
    position_upper: Vector
    velocity: Vector
    torque: Vector
    torque_rate: Vector

    def __post_init__(self) -> None:
        _freeze_vectors(self, "position_lower", "position_upper", "velocity", "torque", "torque_rate")
        if not np.all(self.position_lower < self.position_upper):
            raise InvalidInputError("position_lower", self.position_lower, "below position_upper")
        _require_positive(self, "velocity", "torque", "torque_rate")


@dataclass(frozen=True, eq=False)
class Transmission:
    """Flexible joints and motors of Rey Arias 2024 (1)-(5), each (n,), the diagonals of the matrices.

    stiffness K [Nm/rad] and damping D [Nm s/rad] of the transmission; motor_inertia B_rho [kg m^2], after the
    gear; reduced_motor_inertia B_theta [kg m^2], what the low-level torque loop makes of it, above 0 and at
    most motor_inertia. Raises InvalidInputError.
    """

    stiffness: Vector
    damping: Vector
    motor_inertia: Vector
    reduced_motor_inertia: Vector

    def __post_init__(self) -> None:
        _freeze_vectors(self, "stiffness", "damping", "motor_inertia", "reduced_motor_inertia")
        _require_positive(self, "stiffness", "motor_inertia", "reduced_motor_inertia")
        _require_not_negative(self, "damping")
        if np.any(self.reduced_motor_inertia > self.motor_inertia):
            raise InvalidInputError(
                "reduced_motor_inertia",
                self.reduced_motor_inertia,
                "at most motor_inertia in every joint: the torque loop reduces it",
            )


@compiled
def _friction_torque(
    velocity: Vector, amplitude: Vector, slope: Vector, offset: Vector, at_rest: Vector, out: Vector
) -> None:
    """Write phi_1 / 2 (tanh(phi_2 (dq + phi_3) / 2) - tanh(phi_2 phi_3 / 2)) to out (n,)."""
    for i in range(out.shape[0]):
        out[i] = 0.5 * amplitude[i] * (math.tanh(0.5 * slope[i] * (velocity[i] + offset[i])) - at_rest[i])


@dataclass(frozen=True, eq=False)
class JointFriction:
    """Sigmoidal friction of the joints, Gaz et al. 2019, each (n,).

    amplitude phi_1 [Nm] at least 0, slope phi_2 [s/rad] above 0, offset phi_3 [rad/s].
    Raises InvalidInputError.
    """

    amplitude: Vector
    slope: Vector
    offset: Vector
    _at_rest: Vector = field(init=False, repr=False)

    def __post_init__(self) -> None:
        _freeze_vectors(self, "amplitude", "slope", "offset")
        _require_not_negative(self, "amplitude")
        _require_positive(self, "slope")
        object.__setattr__(self, "_at_rest", _read_only(np.tanh(0.5 * self.slope * self.offset)))

    def torque(self, velocity: Vector, out: Vector) -> Vector:
        """Write the friction torque at the joint velocity (n,) [rad/s] to out (n,) [Nm], and return it.

        tau_f = phi_1 / (1 + exp(-phi_2 (dq + phi_3))) - phi_1 / (1 + exp(-phi_2 phi_3)), zero at rest and of
        the sign of dq: it stands on the left side, M ddq + h + tau_f = tau. Evaluated as a difference of
        tanh, which is the same and does not overflow. Does not allocate; out may be velocity.
        """
        _friction_torque(velocity, self.amplitude, self.slope, self.offset, self._at_rest, out)
        return out


@dataclass(frozen=True)
class TorqueLoop:
    """Low-level torque loop: rate [Hz] and cut-off of the first-order filter on the measured torque [Hz].

    Rey Arias 2024, section III. Both above 0. Raises InvalidInputError.
    """

    rate: float
    filter_cutoff: float

    def __post_init__(self) -> None:
        for name in ("rate", "filter_cutoff"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value > 0.0):
                raise InvalidInputError(name, value, "a finite number above 0")


@dataclass(frozen=True, eq=False)
class SensorNoise:
    """Half-widths of the noise on each sample, each (n,) and at least 0; Proper 2021 (3.5).

    position and motor_position [rad], velocity and motor_velocity [rad/s], torque [Nm].
    Raises InvalidInputError.
    """

    position: Vector
    velocity: Vector
    torque: Vector
    motor_position: Vector
    motor_velocity: Vector

    def __post_init__(self) -> None:
        names = ("position", "velocity", "torque", "motor_position", "motor_velocity")
        _freeze_vectors(self, *names)
        _require_not_negative(self, *names)


def _one_point() -> Matrix:
    """Return the contact point of an end-effector that says nothing of it: the origin of E."""
    return np.zeros((1, 3))


@dataclass(frozen=True, eq=False)
class EndEffector:
    """Rigid body on the flange that touches with one or more small spheres. Raises InvalidInputError.

    A sphere has one contact point, an edge n_c in a row, a plate at least four: Proper 2021 (2.25), (2.27).

    Attributes:
        name: its name.
        radius: of the sphere around each contact point [m], at least 0 (0: the point itself touches).
        mass: [kg], above 0.
        com: centre of mass (3,) [m], in axes of the flange, from its origin.
        inertia: (3, 3) [kg m^2] about the centre of mass, axes of the flange.
        contact_frame_offset: origin of E (3,) [m], in axes of the flange, from its origin. E has the
            orientation of the flange.
        contact_points: (n_c, 3) [m], in axes of E, from its origin; default one point at the origin.
    """

    name: str
    radius: float
    mass: float
    com: Vector
    inertia: Matrix
    contact_frame_offset: Vector
    contact_points: Matrix = field(default_factory=_one_point)

    def __post_init__(self) -> None:
        if not (np.isfinite(self.radius) and self.radius >= 0.0):
            raise InvalidInputError("radius", self.radius, "a finite number of at least 0")
        if not (np.isfinite(self.mass) and self.mass > 0.0):
            raise InvalidInputError("mass", self.mass, "a finite number above 0")
        _freeze(self, (3,), "com", "contact_frame_offset")
        _freeze(self, (3, 3), "inertia")
        _freeze(self, (max(1, len(np.atleast_1d(self.contact_points))), 3), "contact_points")
        if not np.allclose(self.inertia, self.inertia.T, rtol=1e-9, atol=0.0):
            raise InvalidInputError("inertia", self.inertia, "a symmetric matrix")
        principal = np.linalg.eigvalsh(self.inertia)
        if principal[0] <= 0.0 or principal[2] > (1.0 + 1e-9) * (principal[0] + principal[1]):
            raise InvalidInputError(
                "inertia",
                self.inertia,
                f"principal moments above 0, none above the sum of the others; they are {principal}",
            )


@dataclass(frozen=True, eq=False)
class RobotDescription:
    """An arm with its end-effector, complete.

    Attributes:
        name: of the robot.
        joint_names: the n joints, in the order of every (n,) array.
        limits, transmission, friction, torque_loop, noise, end_effector: see their classes.
        pinocchio_model: pinocchio.Model with the end-effector's inertia and the frame CONTACT_FRAME. Links
            only: no motor inertia. Shared by all who use the description, not to be changed.
        contact_frame_id: id of the contact frame E in the model.
        gravity: acceleration (3,) [m/s^2], world frame A.
    """

    name: str
    joint_names: tuple[str, ...]
    limits: JointLimits
    transmission: Transmission
    friction: JointFriction
    torque_loop: TorqueLoop
    noise: SensorNoise
    end_effector: EndEffector
    pinocchio_model: pin.Model
    contact_frame_id: int
    gravity: Vector


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
            JointFriction,
            amplitude=friction.vector("amplitude", size),
            slope=friction.vector("slope", size),
            offset=friction.vector("offset", size),
        ),
        torque_loop=loop.build(
            TorqueLoop,
            rate=loop.number("rate"),
            filter_cutoff=loop.number("filter_cutoff"),
        ),
        noise=noise.build(
            SensorNoise,
            position=noise.vector("position", size),
            velocity=noise.vector("velocity", size),
            torque=noise.vector("torque", size),
            motor_position=noise.vector("motor_position", size),
            motor_velocity=noise.vector("motor_velocity", size),
        ),
        end_effector=tool,
        pinocchio_model=model,
        contact_frame_id=contact_frame_id,
        gravity=_read_only(gravity.vector("acceleration", 3)),
    )
    model.gravity.linear = description.gravity
    for section in (gravity, limits, friction, loop, noise, data):
        section.finish()
    return description


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
        stiffness=data.vector("stiffness", size),
        damping=data.vector("damping", size),
        motor_inertia=data.vector("motor_inertia", size),
        reduced_motor_inertia=chosen.vector("value", size),
    )
    chosen.finish()
    data.finish()
    return transmission


def _read_end_effector(path: Path) -> EndEffector:
    data = read_data_file(path)
    data.text("source")
    points = data.matrix("contact_points", None, 3) if "contact_points" in data.names() else _one_point()
    tool = data.build(
        EndEffector,
        name=data.text("name"),
        radius=data.number("radius"),
        mass=data.number("mass"),
        com=data.vector("com", 3),
        inertia=data.matrix("inertia", 3, 3),
        contact_frame_offset=data.vector("contact_frame_offset", 3),
        contact_points=points,
    )
    data.finish()
    return tool


def _build_model(data: Section, directory: Path, tool: EndEffector) -> tuple[pin.Model, int]:
    """Return the Pinocchio model of the arm with `tool` on its flange, and the id of the contact frame."""
    urdf = directory / data.text("urdf")
    if not urdf.is_file():
        raise data.error("urdf", str(urdf), "a file beside this one")
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


def _read_only(array: Vector) -> Vector:
    array.setflags(write=False)
    return array


def _freeze(instance: object, shape: tuple[int, ...], *names: str) -> None:
    """Replace the named attributes by read-only float64 copies of this shape."""
    for name in names:
        array = np.array(getattr(instance, name), dtype=np.float64)
        if array.shape != shape or not np.all(np.isfinite(array)):
            raise InvalidInputError(name, array, f"finite numbers of shape {shape}")
        object.__setattr__(instance, name, _read_only(array))


def _freeze_vectors(instance: object, *names: str) -> None:
    """Replace the named attributes by read-only float64 copies, all of the length of the first."""
    size = np.size(getattr(instance, names[0]))
    _freeze(instance, (size,), *names)


def _require_positive(instance: object, *names: str) -> None:
    for name in names:
        array = getattr(instance, name)
        if not np.all(array > 0.0):
            raise InvalidInputError(name, array, "above 0 in every joint")


def _require_not_negative(instance: object, *names: str) -> None:
    for name in names:
        array = getattr(instance, name)
        if not np.all(array >= 0.0):
            raise InvalidInputError(name, array, "at least 0 in every joint")
