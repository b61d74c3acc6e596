"""Times TSID and pink on the course of our own control step, in an environment of their own, without impact_control.

Usage: python peer_process.py COURSE.npz ROBOT.urdf. Prints JSON: {name: [duration of each sample in s]}.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np
import pink
import pinocchio as pin
import tsid.tsid_pywrap as tsid
from pink.limits import ConfigurationLimit, VelocityLimit
from pink.tasks import FrameTask, PostureTask

FRAME = "contact"

POSTURE_WEIGHT = 1e-3


class Course:
    """What our controller saw and wanted, sample by sample; written by `peers.write_course`."""

    def __init__(self, path: str) -> None:
        data = np.load(path)
        self.period = float(data["period"])
        self.q, self.dq = data["q"], data["dq"]
        self.position, self.velocity, self.acceleration = data["position"], data["velocity"], data["acceleration"]
        self.orientation = data["orientation"]
        self.posture = data["posture"]
        self.torque_limit, self.acceleration_limit = data["torque_limit"], data["acceleration_limit"]
        self.gain, self.damping = float(data["gain"]), 2.0 * np.sqrt(float(data["gain"]))
        self.joint, self.place = int(data["joint"]), data["place"]

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
    wanted, rest = tsid.TrajectorySample(12, 6), tsid.TrajectorySample(model.nq)
    value, rate, change, zero = np.zeros(12), np.zeros(6), np.zeros(6), np.zeros(model.nv)
    value[3:] = course.orientation.flatten(order="F")
    durations = []
    for k in range(len(course.q)):
        start = time.perf_counter()
        value[:3], rate[:3], change[:3] = course.position[k], course.velocity[k], course.acceleration[k]
        wanted.value(value)
        wanted.derivative(rate)
        wanted.second_derivative(change)
        pose.setReference(wanted)
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


def main() -> None:
    """Measure both, TSID first."""
    samples, urdf = sys.argv[1:]
    course = Course(samples)
    model = course.model(urdf)
    print(json.dumps({"TSID": time_tsid(course, model), "pink": time_pink(course, model)}))


if __name__ == "__main__":
    main()
