"""Others on the nearest equal task, in the environment that `make bench` sets up for them, in a process of their own.

TSID: inverse dynamics, pose of the hand and posture, with bounds of position, velocity, acceleration and torque.
pink: inverse kinematics, the same tasks, with bounds of position and velocity only.
MuJoCo: one step through the impact of a Panda with a sphere; and arms with rigid joints simulated for 1.5 s.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmark.course import HOMES, Course
from benchmark.figure import Pass, PeerFailedError
from impact_control.robots import load_robot
from impact_control.robots.data_file import DATA_DIRECTORY
from impact_control.util.errors import InvalidInputError

PEERS_PYTHON = Path(sys.prefix) / "peers" / "bin" / "python"
"""Interpreter of the environment of the peers."""

MEASUREMENTS = ("TSID", "pink", "MuJoCo, one step", "MuJoCo, planar arm", "MuJoCo, Panda")
"""Measurements of `peer_process`."""

NOT_SET_UP = "not installed: `make bench` sets up its environment"


class Peers:
    """The process in which the others are measured, from entering to leaving the context.

    Attribute: versions, of those that are installed, by name of the measurement.
    """

    def __init__(self, course: Course, python: Path = PEERS_PYTHON) -> None:
        """course: what they are to follow. python: where it does not exist, nobody is there to be measured."""
        self._course = course
        self._python = python
        self._missing = NOT_SET_UP
        self.versions: dict[str, str] = {}

    def __enter__(self) -> Peers:
        """Start the process, if there is an interpreter for it. When it fails, nobody is there to be measured."""
        if not self._python.exists():
            return self
        self._directory = tempfile.TemporaryDirectory()
        course = Path(self._directory.name) / "course.npz"
        write_course(course, self._course)
        script = Path(__file__).parent / "data" / "peer_process.py"
        self._errors = (Path(self._directory.name) / "errors").open("w+")
        # -I: neither this package nor what the user set for it is seen there.
        self._process = subprocess.Popen(
            [str(self._python), "-I", str(script), str(course), str(DATA_DIRECTORY)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        try:
            self.versions = json.loads(self._answer())
        except PeerFailedError as error:
            self._missing = str(error)
        return self

    def __exit__(self, *_: object) -> None:
        """End the process: it ends with its input."""
        if self._python.exists():
            self._process.communicate()
            self._errors.close()
            self._directory.cleanup()

    def measurement(self, name: str) -> Pass | str:
        """Return a pass of one of MEASUREMENTS, or why there is none. It raises PeerFailedError when the process ends.

        Raises InvalidInputError for any other name.
        """
        if name not in MEASUREMENTS:
            raise InvalidInputError("peer", name, f"one of {', '.join(map(repr, MEASUREMENTS))}")
        return partial(self._measure, name) if name in self.versions else self._missing

    def _measure(self, name: str) -> list[float]:
        """Return how long each sample, step or run took [s]. Raises PeerFailedError when the process ended."""
        # Of a process that has ended the answer tells why.
        with contextlib.suppress(BrokenPipeError):
            if (asking := self._process.stdin) is not None:
                asking.write(f"{name}\n")
                asking.flush()
        durations: list[float] = json.loads(self._answer())
        return durations

    def _answer(self) -> str:
        line = self._process.stdout.readline() if self._process.stdout is not None else ""
        # A process that ends may have said part of a line.
        if line.endswith("\n"):
            return line
        self._process.wait()
        self._errors.seek(0)
        last = self._errors.read().strip().splitlines()[-1:] or ["no reason given"]
        raise PeerFailedError(f"its process ended: {last[0]}")


def write_course(path: Path, course: Course) -> None:
    """Write for `peer_process` measured and desired values, the latter without the blending at the impact."""
    scenario, robot, reference = course.scenario, course.robot, course.reference
    row = reference.ante.new_sample()
    desired = []
    for time, *_ in course.samples:
        table = reference.ante if time < reference.nominal_impact_time else reference.post
        table.sample(time, row)
        desired.append((row.position.copy(), row.velocity.copy(), row.acceleration.copy()))
    position, velocity, acceleration = (np.array(values) for values in zip(*desired, strict=True))
    arms: dict[str, Any] = {}
    for name, home in HOMES.items():
        arm = load_robot(name)
        frame = arm.pinocchio_model.frames[arm.contact_frame_id]
        place = np.array(frame.placement.translation)
        arms |= {f"{name}_home": home, f"{name}_joint": frame.parentJoint, f"{name}_place": place}
        arms[f"{name}_radius"] = arm.end_effector.radius
    np.savez(
        path,
        period=scenario.control.period,
        q=[sample[1] for sample in course.samples],
        dq=[sample[2] for sample in course.samples],
        position=position,
        velocity=velocity,
        acceleration=acceleration,
        orientation=reference.geometry.orientation,
        posture=reference.impact_configuration,
        torque_limit=robot.limits.torque,
        acceleration_limit=scenario.control.max_joint_acceleration,
        gain=scenario.control.gains.position,
        impact_velocity=reference.ante_impact_velocity,
        **arms,
    )
