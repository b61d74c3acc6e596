"""Collection of joint states and verdicts for learning, until all samples around an impact are there."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
from impact_msgs.msg import ImpactClassification
from rclpy.node import Node
from sensor_msgs.msg import JointState

from impact_control.classification import Verdict
from impact_control.observation.post_impact_velocity import AFTER_IMPACT, BEFORE_IMPACT
from impact_control.pipeline.impact_learning import ImpactLearner, Lesson
from impact_control.util.types import Vector
from impact_control_ros.bridge import qos, topics
from impact_control_ros.bridge.joint_states import JointStateReader
from impact_control_ros.bridge.messages import nanoseconds
from impact_control_ros.bridge.rclpy_internals import Inbox

KEPT = 2000
"""Joint states that are kept, 2 s at 1 kHz: a verdict and its samples come by different ways."""

_SECOND = 1_000_000_000


@dataclass(frozen=True, eq=False)
class PlannedContact:
    """Planned contact: offset (3,) [m] from the origin of E to the contact, normal (3,), axes of A."""

    offset: Vector
    normal: Vector


class LessonInbox:
    """Messages wait here until they are looked at; a lesson is due once the samples after an impact are there.

    Attribute: planned, the contact that the next impact is planned for; nothing is learned without one.
    """

    def __init__(self, node: Node, learner: ImpactLearner, joint_names: tuple[str, ...]) -> None:
        """Subscribe beside `node`."""
        self.planned: PlannedContact | None = None
        self._learner = learner
        self._inbox = Inbox(node)
        self._states = self._inbox.subscribe(JointState, topics.JOINT_STATES, qos.RECORD, raw=True)
        self._verdicts = self._inbox.subscribe(ImpactClassification, topics.CLASSIFICATION, qos.EVENT)
        self._reader = JointStateReader(joint_names)
        self._samples: deque[tuple[int, Vector, Vector]] = deque(maxlen=KEPT)
        self._impact: int | None = None

    def close(self) -> None:
        """Unsubscribe."""
        self._inbox.close()

    def take(self) -> tuple[int, Lesson] | None:
        """Learn from the impact that is due, if one is; return its stamp [ns] and the lesson.

        Raises InvalidInputError for an impact without a lesson.
        """
        for data, _, _ in self._states.drain():
            if self._reader.read(data):
                self._keep()
        for verdict, _, _ in self._verdicts.drain():
            self._hear(verdict)
        impact, samples = self._impact, self._samples
        if impact is None or not samples or samples[-1][0] < impact + AFTER_IMPACT[1] * _SECOND:
            return None
        self._impact = None
        if self.planned is None or samples[0][0] > impact + BEFORE_IMPACT[0] * _SECOND:
            return None  # Of another surface, or from before this node listened.
        stamps, positions, velocities = zip(*samples, strict=True)
        seconds = (np.array(stamps, dtype=np.int64) - impact) / _SECOND
        return impact, self._learner.learn(
            seconds, np.array(positions), np.array(velocities), 0.0, self.planned.offset, self.planned.normal
        )

    def _keep(self) -> None:
        reader = self._reader
        if self._samples and reader.stamp <= self._samples[-1][0]:
            # The clock was set back: these are of another run.
            self._samples.clear()
            self._impact = None
        self._samples.append((reader.stamp, reader.position.copy(), reader.velocity.copy()))

    def _hear(self, verdict: ImpactClassification) -> None:
        """Remember the first impact of a task, if it came at the expected time and place."""
        if verdict.impact_index == 1 and verdict.impact == Verdict.EXPECTED and verdict.post_impact == Verdict.UNKNOWN:
            self._impact = nanoseconds(verdict.header.stamp)
