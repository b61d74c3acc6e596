"""Stage: arms, surfaces and boxes of a scenario, as expected and as they are, and the places of an arm in a frame."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pinocchio as pin

from impact_control.classification import external_force
from impact_control.robots import RobotDescription, contact_point_jacobian, lowest_points
from impact_control.robots.link_shapes import LinkFrames
from impact_control.scenario import ExpectedObject, Scene, Surface
from impact_control.util.types import Matrix, Vector
from impact_control.view.bodies import base_placement
from impact_control.view.frame import ArmFrame
from impact_control.view.signals import Signal

_SAME_PLACE, _SAME_DIRECTION = 1e-4, 1e-6
"""[m], [-] within which an actual surface or object counts as being where it was expected."""


@dataclass(frozen=True, eq=False)
class ShownArm:
    """An arm: its robot at its place, the configuration (n,) [rad] it is shown in before a sample has come.

    normal (3,): of the surface it is to touch, frame A, out of it.
    """

    robot: RobotDescription
    rest: Vector
    normal: Vector


@dataclass(frozen=True, eq=False)
class ShownSurface:
    """A plane, shown around `point` (3,) [m]; unit normal (3,), frame A. expected: only in the model of the robot."""

    point: Vector
    normal: Vector
    expected: bool


@dataclass(frozen=True, eq=False)
class ShownBox:
    """A box: edges (3,) [m], and its pose (7,) before one has come: centre [m], quaternion x, y, z, w, frame A.

    expected: only in the model of the robots; it does not move.
    """

    size: Vector
    pose: Vector
    expected: bool


@dataclass(frozen=True, eq=False)
class Stage:
    """World of a scenario, by name; the only arm has the name "". focus (3,) [m]: point the camera looks at."""

    title: str
    arms: Mapping[str, ShownArm]
    surfaces: tuple[ShownSurface, ...]
    boxes: Mapping[str, ShownBox]
    focus: Vector


def stage_of(scene: Scene, *, simulated: bool = True) -> Stage:
    """Return the stage of a scenario. simulated: whether the truth is known. Raises ScenarioError."""
    robots = scene.robots()
    expected = scene.expected_objects
    boxes = {name: _box(thing, False) for name, thing in expected.items()}
    if simulated:
        for name, thing in expected.items():
            there = scene.actual_objects.get(name)
            if there is None:
                boxes[name] = _box(thing, True)
            elif not _alike(there, thing):
                boxes |= {name: _box(there, False), f"{name} (expected)": _box(thing, True)}
    arms = {name: scene.arm(name) for name in scene.arm_names}
    bases = np.mean([base_placement(robot)[0] for robot in robots.values()], axis=0)
    if expected:
        place, height = np.mean([thing.centre for thing in expected.values()], axis=0), 0.1
    else:
        place, height = np.mean([arm.task.impact.position for arm in arms.values()], axis=0), 0.25
    surface, actual = scene.expected_surface, scene.actual_surface if simulated else None
    return Stage(
        title=scene.name,
        arms={
            name: ShownArm(robots[name], arm.task.home_configuration, arm.expected_environment.surface.normal)
            for name, arm in arms.items()
        },
        surfaces=() if surface is None else _surfaces(surface, actual, place),
        boxes=boxes,
        focus=0.5 * (bases + place) + np.array([0.0, 0.0, height]),
    )


def _surfaces(expected: Surface, actual: Surface | None, place: Vector) -> tuple[ShownSurface, ...]:
    """Return what is shown of a surface around a place (3,) [m]: the expected one only where it is elsewhere."""
    belief = ShownSurface(_onto(expected, place), expected.normal, True)
    if actual is None:
        return (belief,)
    truth = ShownSurface(_onto(actual, place), actual.normal, False)
    apart = abs(float(expected.normal @ (truth.point - belief.point)))
    turned = 1.0 - float(expected.normal @ actual.normal)
    return (truth,) if apart < _SAME_PLACE and turned < _SAME_DIRECTION else (truth, belief)


def _onto(surface: Surface, place: Vector) -> Vector:
    """Return the point (3,) [m] of a plane vertically above or below a place, the nearest one if it is upright."""
    gap = float(surface.normal @ (surface.point - place))
    if abs(surface.normal[2]) > 0.1:
        point: Vector = place + np.array([0.0, 0.0, gap / surface.normal[2]])
        return point
    nearest: Vector = place + gap * surface.normal
    return nearest


def _box(thing: ExpectedObject, expected: bool) -> ShownBox:
    turn = np.array([0.0, 0.0, np.sin(0.5 * thing.yaw), np.cos(0.5 * thing.yaw)])
    return ShownBox(thing.size, np.concatenate([thing.centre, turn]), expected)


def _alike(one: ExpectedObject, other: ExpectedObject) -> bool:
    apart = max(float(np.abs(one.centre - other.centre).max()), float(np.abs(one.size - other.size).max()))
    return apart < _SAME_PLACE and abs(one.yaw - other.yaw) < _SAME_PLACE


# ---------------------------------------------------------------------- places in a frame

LEAST_FORCE = 1.0
"""[N] below which no contact is shown; an estimate from the external torque has to be larger than its error."""

LEAST_ESTIMATE = 15.0
"""[N] the same for a force that is estimated: what the observer takes for external also comes from friction."""

_LONGEST_ARROW, _TYPICAL_FORCE = 0.45, 80.0
"""[m] an arrow never is longer than; [N] at which it has 63 % of that."""


@dataclass(frozen=True, eq=False)
class ArmPlacement:
    """Places in the world frame A.

    position (n + 1, 3) [m], rotation (n + 1, 3, 3): of link 0, the base, to n. points (p, 3) [m]: contact points that
    touch. arrow: start and end (2, 3) [m] of the contact force, None for none; force [N] its size; estimated: from the
    external torque, without ground truth.
    """

    position: Matrix
    rotation: Matrix
    points: Matrix
    arrow: Matrix | None
    force: float
    estimated: bool


class ArmPlacer:
    """Finds the places of one arm; a workspace."""

    def __init__(self, arm: ShownArm) -> None:
        """Make the workspace of an arm."""
        self._arm = arm
        self._frames = LinkFrames(arm.robot)
        self._contact = arm.robot.pinocchio_model.frames[arm.robot.contact_frame_id].placement
        self._base = base_placement(arm.robot)

    @property
    def base(self) -> Vector:
        """Position of the base (3,) [m]."""
        return self._base[0]

    def place(self, frame: ArmFrame) -> ArmPlacement:
        """Return where everything is in a frame; in the configuration of rest as long as none is known."""
        q = self._arm.rest if frame.position is None else frame.position
        self._frames.compute(q)
        base, turn = self._base
        touching, force = np.empty((0, 3)), None
        if frame.contact_force is not None or frame.residual is not None:
            force = self._force(frame)
            least = LEAST_ESTIMATE if frame.contact_force is None else LEAST_FORCE
            force = force if np.linalg.norm(force) >= least else None
        if force is not None:
            touching = self._touching(frame)
        return ArmPlacement(
            position=np.vstack([base, self._frames.position]),
            rotation=np.concatenate([turn[None], self._frames.rotation]),
            points=touching,
            arrow=None if force is None else force_arrow(touching.mean(axis=0), force),
            force=0.0 if force is None else float(np.linalg.norm(force)),
            estimated=frame.contact_force is None,
        )

    def way(self, positions: Signal, count: int) -> Matrix:
        """Return where the origin of E was (count, 3) [m] at as many of these configurations, evenly chosen."""
        if not len(positions.time):
            return np.empty((0, 3))
        model = self._arm.robot.pinocchio_model
        data = model.createData()
        way = []
        for row in np.unique(np.linspace(0, len(positions.time) - 1, count).astype(int)):
            pin.forwardKinematics(model, data, positions.value[row])
            way.append(pin.updateFramePlacement(model, data, self._arm.robot.contact_frame_id).translation.copy())
        return np.array(way)

    def _force(self, frame: ArmFrame) -> Vector:
        """Return the contact force (3,) [N] on the robot: the true one where it is known, else the estimated one."""
        if frame.contact_force is not None:
            return frame.contact_force
        jacobian = self._frames.jacobian[-1].copy()
        jacobian[:3] = contact_point_jacobian(jacobian, self._frames.rotation[-1] @ self._contact.translation)
        return external_force(jacobian, np.zeros_like(self._arm.rest) if frame.residual is None else frame.residual)

    def _touching(self, frame: ArmFrame) -> Matrix:
        """Return the contact points (p, 3) [m] on which a force acts; all where it is not known on which."""
        tool = self._arm.robot.end_effector
        turn = self._frames.rotation[-1]
        middle = self._frames.position[-1] + turn @ self._contact.translation
        offsets = lowest_points(tool.contact_points, tool.radius, turn @ self._contact.rotation, self._arm.normal)
        points: Matrix = middle + offsets
        forces = frame.point_forces
        if forces is not None and len(forces) == len(points) and np.any(forces > 0.0):
            points = points[forces > 0.0]
        return points


def force_arrow(point: Vector, force: Vector) -> Matrix:
    """Return start and end (2, 3) [m] of the arrow of a force (3,) [N] at a point (3,) [m]; long for large forces."""
    size = float(np.linalg.norm(force))
    length = _LONGEST_ARROW * (1.0 - np.exp(-size / _TYPICAL_FORCE))
    return np.array([point, point + length * force / size])
