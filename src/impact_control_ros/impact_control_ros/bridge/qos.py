"""Message type and quality of service of every topic, in one place."""

from __future__ import annotations

from collections.abc import Mapping

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped, TwistStamped, WrenchStamped
from impact_msgs.msg import (
    ControllerReference,
    ControllerStatus,
    ExternalTorque,
    GroundTruth,
    ImpactBelief,
    ImpactClassification,
    ImpactEvent,
    SupervisorStatus,
)
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from impact_control_ros.bridge import topics


def _profile(depth: int, *, reliable: bool, latched: bool = False) -> QoSProfile:
    """Return a profile that keeps the last `depth` messages; latched: also for late joiners."""
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST,
        depth=depth,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
    )


STREAM = _profile(1, reliable=False)
"""1 kHz streams: only the newest sample is of use."""

COMMAND = _profile(1, reliable=True)
"""Effort commands, as ros2_controllers subscribe to them."""

EVENT = _profile(50, reliable=True, latched=True)
"""Detections and verdicts: a node that joins late gets the last ones."""

LATCHED = _profile(1, reliable=True, latched=True)
"""A state that changes seldom: a node that joins late gets the present one."""

CALLS = _profile(2000, reliable=True)
"""Requests that wait for a service, and its answers. By default ten of each are kept, and the others lost; the
predictor paces its answers, and refuses lost requests."""

DIAGNOSTICS = _profile(10, reliable=True)
"""Diagnostics of nodes, once a second, as diagnostic_updater publishes them."""

RECORD = _profile(2000, reliable=False)
"""Recorder's and classifier's side of a stream: best effort, none is lost in a write to disk, or 2 s without a core."""

WATCH = _profile(20_000, reliable=False)
"""The side of a check of every sample of a stream that may be busy with something else for seconds."""

LOOK = _profile(200, reliable=False)
"""Subscriber of the viewer: best effort; samples that it is too slow for are dropped and delay no publisher."""

OFFERED: Mapping[str, tuple[type, QoSProfile]] = {
    topics.JOINT_STATES: (JointState, STREAM),
    topics.COMMANDS: (Float64MultiArray, COMMAND),
    topics.EXTERNAL_TORQUE: (ExternalTorque, STREAM),
    topics.REFERENCE: (ControllerReference, STREAM),
    topics.STATUS: (ControllerStatus, STREAM),
    topics.POSE: (PoseStamped, STREAM),
    topics.TWIST: (TwistStamped, STREAM),
    topics.WRENCH: (WrenchStamped, STREAM),
    topics.TRUTH: (GroundTruth, STREAM),
    topics.EVENTS: (ImpactEvent, EVENT),
    topics.CLASSIFICATION: (ImpactClassification, EVENT),
    topics.BELIEF: (ImpactBelief, LATCHED),
    topics.SUPERVISOR: (SupervisorStatus, LATCHED),
    topics.DIAGNOSTICS: (DiagnosticArray, DIAGNOSTICS),
}
"""Type of each topic, and the profile of its publisher."""


def buffered(offered: QoSProfile, stream: QoSProfile) -> QoSProfile:
    """Return the profile of a subscription that is polled: `stream` in place of the profiles that keep one sample."""
    return stream if offered in (STREAM, COMMAND) else offered
