"""A made-up run, serialised by an independent library, for the tests of the recording package."""

from __future__ import annotations

import functools
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from mcap_ros2._dynamic import serialize_dynamic

from impact_control.recording.bag import BagWriter, OfferedQos
from impact_control.recording.messages import message_definition
from impact_control.util.types import Matrix, Vector

IMPACT_MSGS = Path(__file__).parents[2] / "src" / "impact_msgs" / "msg"
EPOCH_NS = 1_700_000_000_123_456_789
JOINTS = tuple(f"fr3_joint{i}" for i in range(1, 8))
TORQUE_LIMITS = np.array([87.0] * 4 + [12.0] * 3)

STANDARD_MESSAGES = {
    "builtin_interfaces/Time": "int32 sec\nuint32 nanosec\n",
    "builtin_interfaces/Duration": "int32 sec\nuint32 nanosec\n",
    "std_msgs/Header": "# stamped\nbuiltin_interfaces/Time stamp\n\nstring frame_id\n",
    "std_msgs/String": "string data\n",
    "std_msgs/Empty": "",
    "std_msgs/MultiArrayDimension": "string label   # of the dimension\nuint32 size\nuint32 stride\n",
    "std_msgs/MultiArrayLayout": "MultiArrayDimension[] dim\nuint32 data_offset\n",
    "std_msgs/Float64MultiArray": "MultiArrayLayout  layout\nfloat64[]         data\n",
    "geometry_msgs/Point": "float64 x\nfloat64 y\nfloat64 z\n",
    "geometry_msgs/Vector3": "float64 x\nfloat64 y\nfloat64 z\n",
    "geometry_msgs/Quaternion": "float64 x 0\nfloat64 y 0\nfloat64 z 0\nfloat64 w 1\n",
    "geometry_msgs/Transform": "Vector3 translation\nQuaternion rotation\n",
    "geometry_msgs/TransformStamped": "std_msgs/Header header\nstring child_frame_id\nTransform transform\n",
    "sensor_msgs/JointState": (
        "std_msgs/Header header\nstring[] name\nfloat64[] position\nfloat64[] velocity\nfloat64[] effort\n"
    ),
}

TYPES = {
    "/arm/joint_states": "sensor_msgs/msg/JointState",
    "/arm/effort_controller/commands": "std_msgs/msg/Float64MultiArray",
    "/arm/impact/external_torque": "impact_msgs/msg/ExternalTorque",
    "/arm/impact/events": "impact_msgs/msg/ImpactEvent",
    "/arm/impact/classification": "impact_msgs/msg/ImpactClassification",
    "/arm/controller/reference": "impact_msgs/msg/ControllerReference",
    "/arm/controller/status": "impact_msgs/msg/ControllerStatus",
    "/arm/simulation/truth": "impact_msgs/msg/GroundTruth",
}


def install_messages(prefix: Path) -> Path:
    """Put the message definitions under an ament prefix, as an installation does."""
    for name, text in STANDARD_MESSAGES.items():
        package, message = name.split("/")
        file = prefix / "share" / package / "msg" / f"{message}.msg"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    shutil.copytree(IMPACT_MSGS, prefix / "share" / "impact_msgs" / "msg")
    return prefix


@functools.cache
def encoder(type_name: str, prefix: Path) -> Callable[[Mapping[str, Any]], bytes]:
    """Serialiser of one message type for nested dictionaries."""
    encode: Callable[[Mapping[str, Any]], bytes] = serialize_dynamic(
        type_name, message_definition(type_name, [prefix])
    )[type_name]
    return encode


def time_message(nanoseconds: int) -> dict[str, int]:
    return {"sec": nanoseconds // 1_000_000_000, "nanosec": nanoseconds % 1_000_000_000}


def vector_message(values: Any) -> dict[str, float]:
    return dict(zip("xyz", (float(value) for value in values), strict=True))


@dataclass(frozen=True)
class SampleRun:
    """What happens in the made-up run; times in seconds since its first sample."""

    duration: float = 1.2
    rate: float = 500.0
    impact_time: float = 0.5004
    detection_delay: float = 0.0036
    interim: float = 0.06
    final_force: float = 20.0
    late_cycles: int = 6
    missed_samples: int = 3

    @property
    def time(self) -> Vector:
        return np.arange(round(self.duration * self.rate)) / self.rate

    @property
    def approach(self) -> Vector:
        return np.array([0.05, 0.42, -0.08, -0.55, 0.03, 0.75, 0.04])

    @property
    def departure(self) -> Vector:
        return np.array([0.10, 0.10, -0.12, -0.20, 0.10, -0.25, -0.08])

    def ante_velocity(self, time: Vector) -> Matrix:
        return np.sin(np.pi / 2 * np.clip(time / self.impact_time, 0, 1.3))[:, None] * self.approach

    def post_velocity(self, time: Vector) -> Matrix:
        since = np.clip(time - self.impact_time, -0.1, None)
        return np.exp(-since / 0.12)[:, None] * self.departure

    def velocity(self, time: Vector) -> Matrix:
        since = (time - self.impact_time)[..., None]
        ringing = (self.approach - self.departure) * np.exp(-since / 0.025) * np.cos(2 * np.pi * 28 * since)
        return np.where(since < 0, self.ante_velocity(time), self.post_velocity(time) + np.where(since < 0, 0, ringing))

    def position(self, time: Vector) -> Matrix:
        steps = self.velocity(time) / self.rate
        return np.array([0.0, 0.2, 0.0, -2.0, 0.0, 2.2, 0.8]) + np.cumsum(steps, axis=0)

    @property
    def detected_row(self) -> int:
        """Sample on which the impact is detected; beyond the last if the run ends before."""
        return int(np.ceil((self.impact_time + self.detection_delay) * self.rate - 1e-6))

    @property
    def detection_time(self) -> float:
        return self.detected_row / self.rate


def messages(run: SampleRun, epoch_ns: int = EPOCH_NS) -> Iterator[tuple[str, dict[str, Any], int]]:
    """Topic, content and log time [ns] of every message, in the order of reception."""
    random = np.random.default_rng(1)
    time, period = run.time, 1 / run.rate
    position, velocity = run.position(time), run.velocity(time)
    ante, post = run.ante_velocity(time), run.post_velocity(time)
    detected = run.detected_row
    since = time - run.impact_time
    rate = np.where(since[:, None] < 0, 0, -900 * np.exp(-np.clip(since, 0, None) / 0.008)[:, None])
    rate = rate * np.linspace(0.2, 1.0, 7) + random.normal(0, 8, (len(time), 7))
    residual = np.cumsum(rate, axis=0) * period * np.exp(-np.clip(since, 0, None) / 0.3)[:, None]
    touching = np.clip(since, 0, None)
    force = np.where(since < 0, 0, run.final_force * (1 - np.exp(-touching / 0.08)) + 380 * np.exp(-touching / 0.006))
    torque = 8 * np.sin(2 * np.pi * time)[:, None] * np.linspace(1, 0.1, 7) + random.normal(0, 0.02, (len(time), 7))
    row = np.arange(len(time))
    mode = np.where(row < detected, 1, np.where(row < detected + round(run.interim * run.rate), 2, 3))
    path = 0.4 - 0.2 * np.sin(np.pi / 2 * np.clip(time / run.impact_time, 0, 1))
    missed = np.where(time > 0.8 * time[-1], run.missed_samples, 0)
    late = np.round(run.late_cycles * np.arange(len(time)) / (len(time) - 1)).astype(int)
    step = random.gamma(9, 2.2e-5, len(time))

    changes = np.abs(np.diff(torque, axis=0, prepend=torque[:1])).max(axis=1) * run.rate
    peak_rate = np.maximum.accumulate(changes)
    peak_share = np.maximum.accumulate((np.abs(torque) / TORQUE_LIMITS).max(axis=1))
    for k, t in enumerate(time):
        stamp = epoch_ns + round(t * 1e9)
        header = {"stamp": time_message(stamp), "frame_id": "world"}
        names = list(JOINTS)
        yield (
            "/arm/joint_states",
            {
                "header": header,
                "name": names,
                "position": position[k].tolist(),
                "velocity": velocity[k].tolist(),
                "effort": torque[k].tolist(),
            },
            stamp + 150_000,
        )
        yield (
            "/arm/simulation/truth",
            {
                "header": header,
                "in_contact": bool(since[k] >= 0),
                "gap": max(-since[k] * 0.2, -1e-4),
                "contact_force": vector_message((0, 0, force[k])),
                "normal_force": force[k],
                "peak_normal_force": force[k] * 1.1,
                "impact_time": 7.0 + run.impact_time if since[k] >= 0 else np.nan,
                "time": 7.0 + t,
                "joint_position": position[k].tolist(),
                "joint_velocity": velocity[k].tolist(),
                "motor_position": position[k].tolist(),
                "motor_velocity": velocity[k].tolist(),
                "applied_torque": torque[k].tolist(),
                "external_torque": [0.0] * 7,
                "contact_gaps": [max(-since[k] * 0.2, -1e-4)],
                "contact_normal_forces": [force[k]],
                "contact_times": [7.0 + run.impact_time if since[k] >= 0 else np.inf],
                "command_state": int(k % 100 == 99),
                "late_cycles": int(late[k]),
                "cycles": k,
            },
            stamp + 180_000,
        )
        yield (
            "/arm/impact/external_torque",
            {
                "header": header,
                "joint_names": names,
                "external_torque": residual[k].tolist(),
                "external_torque_rate": rate[k].tolist(),
                "rate_threshold": np.linspace(90, 300, 7).tolist(),
            },
            stamp + 250_000,
        )
        yield (
            "/arm/controller/reference",
            {
                "header": header,
                "scenario": "push_on_plate",
                "mode": int(mode[k]),
                "task_time": t,
                "nominal_impact_time": run.impact_time,
                "position": vector_message((0.5, 0.0, path[k])),
                "velocity": vector_message((0, 0, 0)),
                "force": vector_message((0, 0, -run.final_force if mode[k] == 3 else 0)),
                "joint_names": names,
                "impact_configuration": position[min(detected, len(time) - 1)].tolist(),
                "jump_deviation": [0.01] * len(names),
                "friction_deviation": [0.002] * len(names),
                "configuration_deviation": [0.001] * len(names),
                "height_deviation": 0.0,
                "ante_joint_velocity": ante[k].tolist(),
                "post_joint_velocity": post[k].tolist(),
            },
            stamp + 400_000,
        )
        yield (
            "/arm/controller/status",
            {
                "header": header,
                "mode": int(mode[k]),
                "task_time": t,
                "position_error": vector_message((0.0005 * np.sin(9 * t), 0.0002, 0.002 * np.exp(-touching[k] / 0.05))),
                "velocity_error": vector_message((0, 0, 0)),
                "orientation_error": vector_message((0, 0, 0)),
                "commanded_torque": torque[k].tolist(),
                "torque_limited": False,
                "peak_torque_share": float(peak_share[k]),
                "peak_torque_rate": float(peak_rate[k]),
                "step_duration": float(step[k]),
                "samples": k + 1,
                "missed_samples": int(missed[k]),
            },
            stamp + 420_000,
        )
        yield "/arm/effort_controller/commands", {"data": torque[k].tolist()}, stamp + 450_000
        if k == detected:
            yield (
                "/arm/impact/events",
                {
                    "header": header,
                    "impact_time": time_message(stamp - 2_000_000),
                    "index": 1,
                    "joint_names": names,
                    "triggered": [False] * 5 + [True] * 2,
                    "external_torque": residual[k].tolist(),
                    "external_torque_rate": rate[k].tolist(),
                    "joint_position": position[k].tolist(),
                    "joint_velocity": velocity[k].tolist(),
                    "isolated_link": 7,
                },
                stamp + 260_000,
            )
            yield ("/arm/impact/classification", verdict_message(header, t, impact=1, post_impact=0), stamp + 270_000)
        if k == min(detected + round(0.1 * run.rate), len(time) - 1):
            yield ("/arm/impact/classification", verdict_message(header, t, impact=1, post_impact=1), stamp + 270_000)


def verdict_message(header: dict[str, Any], time: float, *, impact: int, post_impact: int) -> dict[str, Any]:
    return {
        "header": header,
        "scenario": "push_on_plate",
        "impact_index": 1,
        "impact": impact,
        "post_impact": post_impact,
        "reason": "envelope widened by 0.05 rad/s contained zero for 0.100 s",
        "impact_time": time,
        "time_error": 0.0036,
        "time_error_limit": 0.05,
        "configuration_error": 0.004,
        "configuration_error_limit": 0.05,
        "joint_names": list(JOINTS),
        "envelope_lower": [-0.1] * 7,
        "envelope_upper": [0.1] * 7,
        "margin": [0.15] * 7,
        "envelope_margin": 0.05,
        "probability": 0.97,
        "decision_time": time,
    }


def write_run(directory: Path, prefix: Path, run: SampleRun | None = None, **options: Any) -> int:
    """Write the run as a bag; return the number of messages."""
    record = {"impact_control": {"name": "push_on_plate", "scenario": "robot: fr3\n", "version": "0.1.0"}}
    qos = {"/arm/impact/events": OfferedQos("reliable", "transient_local", 50)}
    told = messages(run or SampleRun())
    return write_messages(directory, prefix, TYPES, told, metadata=record, qos=qos, **options)


def write_messages(
    directory: Path,
    prefix: Path,
    types: Mapping[str, str],
    told: Iterable[tuple[str, Mapping[str, Any], int]],
    **options: Any,
) -> int:
    """Write messages (topic, content, log time in ns) as a bag, options as of `BagWriter`; return their number."""
    count = 0
    with BagWriter(directory, search_paths=[prefix], **options) as bag:
        for topic, content, log_time in told:
            bag.write(topic, types[topic], encoder(types[topic], prefix)(content), log_time)
            count += 1
    return count
