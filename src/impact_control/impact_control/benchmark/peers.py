"""Other controllers on the nearest equal task, in the environment that `make bench` sets up for them.

TSID: inverse dynamics, pose of the hand and posture, with bounds of position, velocity, acceleration and torque.
pink: inverse kinematics, the same tasks, with bounds of position and velocity only.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from impact_control.benchmark.figure import Figure, figure_of
from impact_control.errors import ImpactControlError
from impact_control.references import ImpactReference
from impact_control.robots import RobotDescription
from impact_control.robots.data_file import DATA_DIRECTORY
from impact_control.scenario import Scenario
from impact_control.types import Vector

PEERS_PYTHON = Path(sys.prefix) / "peers" / "bin" / "python"
"""Interpreter of the environment of TSID and pink."""


def peer_figures(
    scenario: Scenario,
    robot: RobotDescription,
    reference: ImpactReference,
    samples: Sequence[tuple[float, Vector, Vector, Vector]],
    python: Path = PEERS_PYTHON,
) -> list[Figure]:
    """Measure TSID and pink on these samples (time [s], position, velocity, torque).

    Returns nothing where there is no `python`. Raises ImpactControlError with the last line of what they said when
    they fail.
    """
    if not python.exists():
        return []
    with tempfile.TemporaryDirectory() as directory:
        course = Path(directory) / "course.npz"
        write_course(course, scenario, robot, reference, samples)
        script = Path(__file__).parent / "data" / "peer_process.py"
        # -I: neither this package nor what the user set for it is seen there.
        command = [str(python), "-I", str(script), str(course), str(DATA_DIRECTORY / f"{robot.name}.urdf")]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["no reason given"]
        raise ImpactControlError(f"TSID and pink: {last[0]}")
    durations = json.loads(done.stdout)
    return [figure_of(f"  the same by {name}", measured) for name, measured in durations.items()]


def write_course(
    path: Path,
    scenario: Scenario,
    robot: RobotDescription,
    reference: ImpactReference,
    samples: Sequence[tuple[float, Vector, Vector, Vector]],
) -> None:
    """Write for `peer_process` what was measured and wanted, the latter without the blending at the impact."""
    row = reference.ante.new_sample()
    wanted = []
    for time, *_ in samples:
        table = reference.ante if time < reference.nominal_impact_time else reference.post
        table.sample(time, row)
        wanted.append((row.position.copy(), row.velocity.copy(), row.acceleration.copy()))
    position, velocity, acceleration = (np.array(values) for values in zip(*wanted, strict=True))
    frame = robot.pinocchio_model.frames[robot.contact_frame_id]
    np.savez(
        path,
        period=scenario.control.period,
        q=[sample[1] for sample in samples],
        dq=[sample[2] for sample in samples],
        position=position,
        velocity=velocity,
        acceleration=acceleration,
        orientation=reference.geometry.orientation,
        posture=reference.impact_configuration,
        torque_limit=robot.limits.torque,
        acceleration_limit=scenario.control.max_joint_acceleration,
        gain=scenario.control.gains.position,
        joint=frame.parentJoint,
        place=np.array(frame.placement.translation),
    )
