"""Times others than ourselves, in an environment of their own, without impact_control: TSID, pink, MuJoCo.

Usage: python peer_process.py COURSE.npz DIRECTORY_OF_URDF_FILES. Prints, one line of JSON each, the version behind each
measurement, and for each name of a measurement that comes in the durations of one pass [s].
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import mujoco
import numpy as np
import pink
import pinocchio as pin
import tsid.tsid_pywrap as tsid
from pink.limits import ConfigurationLimit, VelocityLimit
from pink.tasks import FrameTask, PostureTask

FRAME = "contact"

POSTURE_WEIGHT = 1e-3

STEP = 1e-3
"""[s] of MuJoCo."""

STEPS = 300
"""In one pass."""


class Arm:
    """Configuration in which an arm waits above a plane, and the ball it has at a place of its last link."""

    def __init__(self, data: Any, name: str) -> None:
        self.home, self.place, self.radius = (data[f"{name}_{what}"] for what in ("home", "place", "radius"))


class Course:
    """Measured and desired values of our controller, sample by sample; written by `peers.write_course`."""

    def __init__(self, path: str) -> None:
        data = np.load(path)
        self.period = float(data["period"])
        self.q, self.dq = data["q"], data["dq"]
        self.position, self.velocity, self.acceleration = data["position"], data["velocity"], data["acceleration"]
        self.orientation = data["orientation"]
        self.posture = data["posture"]
        self.torque_limit, self.acceleration_limit = data["torque_limit"], data["acceleration_limit"]
        self.gain, self.damping = float(data["gain"]), 2.0 * np.sqrt(float(data["gain"]))
        self.impact_velocity = data["impact_velocity"]
        self.joint, self.place = int(data["panda_joint"]), data["panda_place"]
        self.arms = {name: Arm(data, name) for name in ("panda", "planar_rrr")}

    def model(self, urdf: str) -> pin.Model:
        """Return the robot with the frame that is controlled."""
        model = pin.buildModelFromUrdf(urdf)
        place = pin.SE3(np.eye(3), self.place)
        model.addFrame(pin.Frame(FRAME, self.joint, model.frames[-1].parentFrame, place, pin.FrameType.OP_FRAME))
        return model


def time_tsid(course: Course, model: pin.Model) -> list[float]:
    """Inverse dynamics: pose of the hand, posture, bounds of position, velocity, acceleration and torque."""
    robot = tsid.RobotWrapper(model, tsid.RootJointType.FIXED_BASE_SYSTEM, False)
    problem = tsid.InverseDynamicsFormulationAccForce("tsid", robot, False)
    pose = tsid.TaskSE3Equality("pose", robot, FRAME)
    pose.setKp(course.gain * np.ones(6))
    pose.setKd(course.damping * np.ones(6))
    pose.useLocalFrame(False)
    problem.addMotionTask(pose, 1.0, 1, 0.0)
    posture = tsid.TaskJointPosture("posture", robot)
    posture.setKp(course.gain * np.ones(model.nv))
    posture.setKd(course.damping * np.ones(model.nv))
    problem.addMotionTask(posture, POSTURE_WEIGHT, 1, 0.0)
    bounds = tsid.TaskJointPosVelAccBounds("bounds", robot, course.period)
    bounds.setPositionBounds(model.lowerPositionLimit, model.upperPositionLimit)
    bounds.setVelocityBounds(model.velocityLimit)
    bounds.setAccelerationBounds(course.acceleration_limit)
    problem.addMotionTask(bounds, 1.0, 0, 0.0)
    torque = tsid.TaskActuationBounds("torque", robot)
    torque.setBounds(-course.torque_limit, course.torque_limit)
    problem.addActuationTask(torque, 1.0, 0, 0.0)
    problem.computeProblemData(0.0, course.q[0], course.dq[0])
    solver = tsid.SolverHQuadProgFast("solver")
    solver.resize(problem.nVar, problem.nEq, problem.nIn)
    desired, rest = tsid.TrajectorySample(12, 6), tsid.TrajectorySample(model.nq)
    value, rate, change, zero = np.zeros(12), np.zeros(6), np.zeros(6), np.zeros(model.nv)
    value[3:] = course.orientation.flatten(order="F")
    durations = []
    for k in range(len(course.q)):
        start = time.perf_counter()
        value[:3], rate[:3], change[:3] = course.position[k], course.velocity[k], course.acceleration[k]
        desired.value(value)
        desired.derivative(rate)
        desired.second_derivative(change)
        pose.setReference(desired)
        rest.value(course.posture)
        rest.derivative(zero)
        rest.second_derivative(zero)
        posture.setReference(rest)
        solution = solver.solve(problem.computeProblemData(k * course.period, course.q[k], course.dq[k]))
        problem.getActuatorForces(solution)
        durations.append(time.perf_counter() - start)
        if solution.status != 0:
            raise SystemExit(f"TSID: status {solution.status} in sample {k}")
    return durations


def time_pink(course: Course, model: pin.Model) -> list[float]:
    """Inverse kinematics: pose of the hand, posture, bounds of position and velocity; no torques."""
    configuration = pink.Configuration(model, model.createData(), course.q[0])
    pose, posture = FrameTask(FRAME, position_cost=1.0, orientation_cost=1.0), PostureTask(cost=POSTURE_WEIGHT)
    posture.set_target(course.posture)
    limits = [ConfigurationLimit(model), VelocityLimit(model)]
    durations = []
    for q, position in zip(course.q, course.position, strict=True):
        start = time.perf_counter()
        configuration.update(q)
        pose.set_target(pin.SE3(course.orientation, position))
        pink.solve_ik(configuration, (pose, posture), course.period, solver="daqp", limits=limits)
        durations.append(time.perf_counter() - start)
    return durations


def simulated_arm(urdf: str, arm: Arm, q: np.ndarray, height: float) -> tuple[Any, Any]:
    """Return model and data of an arm at q in MuJoCo, the lowest place of its ball `height` [m] above a plane."""
    spec = mujoco.MjSpec.from_file(urdf)
    spec.compiler.balanceinertia = True
    spec.option.timestep, spec.option.gravity = STEP, [0.0, 0.0, 0.0]  # the arm holds itself
    spec.joints[-1].parent.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[arm.radius, 0.0, 0.0], pos=arm.place)
    model = spec.compile()
    data = mujoco.MjData(model)
    data.qpos = q
    mujoco.mj_forward(model, data)
    floor = [0.0, 0.0, data.geom_xpos[0][2] - arm.radius - height]
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[5.0, 5.0, 0.1], pos=floor)
    model = spec.compile()
    data = mujoco.MjData(model)
    data.qpos = q
    mujoco.mj_forward(model, data)
    return model, data


def time_step(course: Course, urdf: str) -> list[float]:
    """Steps of 1 ms of a Panda with rigid joints that touches the plane and moves into it."""
    model, data = simulated_arm(urdf, course.arms["panda"], course.posture, -1e-6)
    durations = []
    for _ in range(STEPS):
        start = time.perf_counter()
        data.qpos[:] = course.posture
        data.qvel[:] = course.impact_velocity
        mujoco.mj_step(model, data)
        durations.append(time.perf_counter() - start)
        if not data.ncon:
            raise SystemExit("MuJoCo: no contact")
    return durations


def time_run(arm: Arm, urdf: str) -> list[float]:
    """1.5 s of an arm with rigid joints that is pushed onto a plane 2 cm below."""
    model, data = simulated_arm(urdf, arm, arm.home, 0.02)
    jacobian = np.zeros((3, model.nv))
    mujoco.mj_jacBody(model, data, jacobian, None, model.nbody - 1)
    start = time.perf_counter()
    touched = 0
    for _ in range(round(1.5 / STEP)):
        data.qfrc_applied[:] = -5.0 * jacobian[2]
        mujoco.mj_step(model, data)
        touched += data.ncon
    duration = time.perf_counter() - start
    if not touched:
        raise SystemExit("MuJoCo: no contact")
    return [duration]


def main() -> None:
    """Print who is there; then, for each name that comes in, measure it."""
    samples, robots = sys.argv[1:]
    course = Course(samples)
    panda = f"{robots}/panda.urdf"
    model = course.model(panda)
    measurements: dict[str, tuple[str, Callable[[], list[float]]]] = {
        "TSID": ("tsid", lambda: time_tsid(course, model)),
        "pink": ("pin-pink", lambda: time_pink(course, model)),
        "MuJoCo, one step": ("mujoco", lambda: time_step(course, panda)),
        "MuJoCo, planar arm": ("mujoco", lambda: time_run(course.arms["planar_rrr"], f"{robots}/planar_rrr.urdf")),
        "MuJoCo, Panda": ("mujoco", lambda: time_run(course.arms["panda"], panda)),
    }
    print(json.dumps({name: version(package) for name, (package, _) in measurements.items()}), flush=True)
    for line in sys.stdin:
        print(json.dumps(measurements[line.strip()][1]()), flush=True)


if __name__ == "__main__":
    main()
