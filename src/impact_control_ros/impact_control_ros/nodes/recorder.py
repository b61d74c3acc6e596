"""Recorder: writes the topics of the stack into an MCAP bag, as they arrive."""

from __future__ import annotations

import time

from geometry_msgs.msg import PoseStamped
from rclpy.qos import QoSProfile
from rclpy.serialization import serialize_message
from std_msgs.msg import String

from impact_control import __version__
from impact_control.recording.bag import BagWriter, OfferedQos
from impact_control.recording.transforms import TRANSFORMS_TYPE
from impact_control.robots.urdf import urdf_text
from impact_control.scenario import scenario_from_text
from impact_control.util.errors import ImpactControlError
from impact_control_ros.bridge import qos, runtime, topics
from impact_control_ros.bridge.frames import Frames
from impact_control_ros.bridge.lifecycle import Configuration, ConfiguredNode, arms_in, declare, names_in
from impact_control_ros.bridge.messages import type_name
from impact_control_ros.bridge.rclpy_internals import Inbox
from impact_control_ros.bridge.settings import UNNAMED
from impact_control_ros.session.graph import RECORDED_AT_LEAST

DESCRIPTION = "robot_description"
"""Topic of an arm's URDF, written once for each bag."""

FRAMES = "/tf"
"""Topic of the frames of all links, written from the joint states: one that is published is not recorded beside it."""

SHARED = (topics.DIAGNOSTICS,)
"""Topics that the arms of a scene have in common."""

CONNECTION_PATIENCE = 10.0
"""[s] the publishers of the required topics may take to be found."""

POLL_PERIOD = 0.01
"""[s] between two rounds of taking what has arrived; the times come with the messages."""


class Recording(Configuration):
    """Subscriptions to all topics, and the bag that is written while the node is active."""

    def __init__(self, node: RecorderNode) -> None:
        super().__init__(node)
        arms, objects = arms_in(node.value("arms")), names_in("objects", node.value("objects"))
        recorded = {
            topic if topic in SHARED else topics.of_arm(arm, topic): offered
            for arm in arms
            for topic, offered in qos.OFFERED.items()
        }
        recorded |= {f"{topics.OBJECTS}/{name}": (PoseStamped, qos.STREAM) for name in objects}
        inbox = Inbox(node)
        self.when_closed(inbox.close)
        self._bag: BagWriter | None = None
        recorded_once = {topics.of_arm(arm, DESCRIPTION): (String, qos.LATCHED) for arm in arms}
        self._offered = {
            node.resolve_topic_name(topic): _offered(profile)
            for topic, (_, profile) in {**recorded, **recorded_once}.items()
        } | {FRAMES: OfferedQos(depth=100)}
        self._frames: dict[str, Frames] = {}  # by the topic of the joint states
        self._slots = [
            (inbox.subscribe(kind, topic, qos.buffered(profile, qos.RECORD), raw=True), type_name(kind))
            for topic, (kind, profile) in recorded.items()
        ]
        self.when_closed(self.deactivate)  # before the inbox: also a process that ends completes its bag

    def prepare(self) -> float:
        """Wait for the publishers of the required topics."""
        return CONNECTION_PATIENCE

    def missing(self) -> str:
        """Return the required topics without a publisher."""
        required = {self.node.resolve_topic_name(name) for name in self.node.value("required")}
        return ", ".join(slot.topic for slot, _ in self._slots if slot.topic in required and not slot.publishers)

    def activate(self) -> None:
        """Open a bag."""
        directory = self.node.value("directory")
        if not directory:
            raise ImpactControlError("cannot record: directory = ''; allowed: a new or empty directory")
        if missing := self.missing():
            raise ImpactControlError(f"cannot record: no publisher of {missing} within {CONNECTION_PATIENCE:g} s")
        descriptions = self._descriptions()  # takes 0.1 s, in which more may come than the sockets hold
        self.poll()  # what waits from before
        metadata = {"impact_control": {"version": __version__, "scenario": self.node.value("scenario_yaml")}}
        try:
            self._bag = BagWriter(directory, metadata=metadata, qos=self._offered)
            for topic, description in descriptions.items():
                self._bag.write(topic, type_name(String), serialize_message(String(data=description)), time.time_ns())
        except (ImpactControlError, OSError) as error:
            raise ImpactControlError(f"cannot record: {error}") from error

    def _descriptions(self) -> dict[str, str]:
        """Return the URDF of each arm of the scenario by the name of its topic; make its frames."""
        text, name_of = self.node.value("scenario_yaml"), self.node.resolve_topic_name
        robots = scenario_from_text(text, "scenario_yaml").robots() if text else {}
        descriptions = {arm: urdf_text(robot, arm) for arm, robot in robots.items()}
        self._frames = {
            name_of(topics.of_arm(arm, topics.JOINT_STATES)): Frames(robot.joint_names, descriptions[arm])
            for arm, robot in robots.items()
        }
        return {name_of(topics.of_arm(arm, DESCRIPTION)): text for arm, text in descriptions.items()}

    def deactivate(self) -> None:
        """Write what has arrived, complete the bag, if one is open."""
        self.poll()
        bag, self._bag = self._bag, None
        if bag is not None:
            try:
                bag.close()
            except OSError as error:
                self._give_up(bag, error)

    def _give_up(self, bag: BagWriter, error: OSError) -> None:
        self.node.get_logger().error(f"recording stopped: {error}")
        self._bag = None
        bag.abandon()

    def poll(self) -> None:
        """Take every message that has arrived, and write it if a bag is open."""
        try:
            for slot, kind in self._slots:
                frames = self._frames.get(slot.topic)
                for data, received, sent in slot.drain():
                    if self._bag is None:
                        continue
                    self._bag.write(slot.topic, kind, data, received, sent)
                    if frames is not None and (transforms := frames.of_state(data)) is not None:
                        self._bag.write(FRAMES, TRANSFORMS_TYPE, transforms, received)
        except OSError as error:
            if self._bag is not None:
                self._give_up(self._bag, error)


class RecorderNode(ConfiguredNode[Recording]):
    """Each activation writes one bag into `directory`; deactivation completes it."""

    def __init__(self) -> None:
        super().__init__("recorder", Recording)
        declare(self, "directory", "", "new or empty directory of the bag")
        declare(self, "scenario_yaml", "", "text of the scenario, kept in the bag")
        required = "topics that must have a publisher before a recording begins"
        declare(self, "required", list(RECORDED_AT_LEAST), required)
        declare(self, "arms", list(UNNAMED), "arms of a scene")
        declare(self, "objects", list(UNNAMED), "objects of a scene whose poses are recorded")


def _offered(profile: QoSProfile) -> OfferedQos:
    """Return the quality of service of a publisher as the bag keeps it, for replay."""
    return OfferedQos(profile.reliability.name.lower(), profile.durability.name.lower(), profile.depth)


def main() -> int:
    """Entry point of the process."""
    spin = runtime.spin_every(POLL_PERIOD, Recording.poll)
    return runtime.run(RecorderNode, spin, priority=runtime.RECORDER_PRIORITY)
