"""Recorder: writes the topics of the stack, as they come, into an MCAP bag."""

from __future__ import annotations

import sys
import time

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
from impact_msgs.msg import (
    ControllerReference,
    ControllerStatus,
    ExternalTorque,
    GroundTruth,
    ImpactClassification,
    ImpactEvent,
    SupervisorStatus,
)
from rcl_interfaces.msg import ParameterDescriptor
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from impact_control import __version__
from impact_control.errors import ImpactControlError
from impact_control.graph import RECORDED_AT_LEAST
from impact_control.nodes import qos, runtime, topics
from impact_control.nodes.inbox import Inbox, Slot
from impact_control.nodes.names import names_in
from impact_control.recording.bag import BagWriter, OfferedQos

TOPICS: dict[str, tuple[type, QoSProfile, OfferedQos]] = {
    topics.JOINT_STATES: (JointState, qos.RECORD, OfferedQos("best_effort")),
    topics.COMMANDS: (Float64MultiArray, qos.RECORD, OfferedQos("reliable")),
    topics.EXTERNAL_TORQUE: (ExternalTorque, qos.RECORD, OfferedQos("best_effort")),
    topics.REFERENCE: (ControllerReference, qos.RECORD, OfferedQos("best_effort")),
    topics.STATUS: (ControllerStatus, qos.RECORD, OfferedQos("best_effort")),
    topics.TRUTH: (GroundTruth, qos.RECORD, OfferedQos("best_effort")),
    topics.EVENTS: (ImpactEvent, qos.EVENT, OfferedQos("reliable", "transient_local", 50)),
    topics.CLASSIFICATION: (ImpactClassification, qos.EVENT, OfferedQos("reliable", "transient_local", 50)),
    topics.SUPERVISOR: (SupervisorStatus, qos.LATCHED, OfferedQos("reliable", "transient_local", 1)),
    topics.DIAGNOSTICS: (DiagnosticArray, QoSProfile(depth=50), OfferedQos("reliable", depth=10)),
}
"""What is recorded of an arm: type, quality of service of the subscription, and of the publisher for replay."""

SHARED = (topics.DIAGNOSTICS,)
"""Those of them that the arms of a scene have in common."""

OBJECT = (PoseStamped, qos.RECORD, OfferedQos("best_effort"))
"""The same for the pose of an object."""

CONNECTION_PATIENCE = 10.0
"""[s] the publishers of the required topics may take to be found."""

POLL_PERIOD = 0.01
"""[s] between two rounds of taking what has arrived; the times come with the messages."""


class RecorderNode(LifecycleNode):
    """Each activation writes one bag into `directory`; deactivation completes it."""

    def __init__(self) -> None:
        super().__init__("recorder")
        self.declare_parameter("directory", "", ParameterDescriptor(description="new or empty directory of the bag"))
        self.declare_parameter(
            "scenario_yaml", "", ParameterDescriptor(description="text of the scenario, kept in the bag")
        )
        self.declare_parameter(
            "required",
            list(RECORDED_AT_LEAST),
            ParameterDescriptor(description="topics that must have a publisher before a recording begins"),
        )
        self.declare_parameter(
            "arms", "", ParameterDescriptor(description="arms of a scene, separated by commas; empty: one arm")
        )
        self.declare_parameter(
            "objects", "", ParameterDescriptor(description="objects of a scene whose poses are recorded, by commas")
        )
        self._bag: BagWriter | None = None
        self._topics: dict[str, tuple[type, QoSProfile, OfferedQos]] = {}
        self._slots: list[tuple[Slot, str]] = []

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Subscribe to everything; nothing is written yet."""
        try:
            arms, objects = (
                names_in(parameter, str(self.get_parameter(parameter).value)) for parameter in ("arms", "objects")
            )
        except ImpactControlError as error:
            self.get_logger().error(str(error))
            return TransitionCallbackReturn.FAILURE
        self._inbox = Inbox(self)
        self._topics = {
            topic if topic in SHARED else topics.of_arm(arm, topic): how
            for arm in arms or [""]
            for topic, how in TOPICS.items()
        }
        self._topics |= {f"{topics.OBJECTS}/{name}": OBJECT for name in objects}
        self._slots = [
            (self._inbox.subscribe(kind, topic, profile, raw=True), _type_name(kind))
            for topic, (kind, profile, _) in self._topics.items()
        ]
        return TransitionCallbackReturn.SUCCESS

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Unsubscribe."""
        self._slots = []
        self._inbox.close()
        return TransitionCallbackReturn.SUCCESS

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Open a bag."""
        directory = str(self.get_parameter("directory").value)
        try:
            if not directory:
                raise ImpactControlError("parameter 'directory' is empty: it must name the bag's directory")
            self._await_publishers()
            self.poll()  # what waits from before
            self._bag = BagWriter(
                directory,
                metadata={
                    "impact_control": {
                        "version": __version__,
                        "scenario": str(self.get_parameter("scenario_yaml").value),
                    }
                },
                qos={self.resolve_topic_name(topic): offered for topic, (_, _, offered) in self._topics.items()},
            )
        except (ImpactControlError, OSError) as error:
            self.get_logger().error(f"cannot record: {error}")
            return TransitionCallbackReturn.FAILURE
        return super().on_activate(state)

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Write what has arrived, complete the bag."""
        self.poll()
        self.close()
        return super().on_deactivate(state)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Complete the bag."""
        self.close()
        return TransitionCallbackReturn.SUCCESS

    def close(self) -> None:
        """Complete the bag, if one is open."""
        bag, self._bag = self._bag, None
        if bag is not None:
            try:
                bag.close()
            except OSError as error:
                self._give_up(bag, error)

    def _give_up(self, bag: BagWriter, error: OSError) -> None:
        self.get_logger().error(f"recording stopped: {error}")
        self._bag = None
        bag.abandon()

    def _await_publishers(self) -> None:
        required = {self.resolve_topic_name(name) for name in self.get_parameter("required").value}
        end = time.monotonic() + CONNECTION_PATIENCE
        while missing := [slot.topic for slot, _ in self._slots if slot.topic in required and not slot.publishers]:
            if time.monotonic() > end:
                raise ImpactControlError(f"nobody publishes {', '.join(missing)} within {CONNECTION_PATIENCE:g} s")
            time.sleep(0.01)

    def poll(self) -> None:
        """Take every message that has arrived, and write it if a bag is open."""
        try:
            for slot, type_name in self._slots:
                for data, received, sent in slot.drain():
                    if self._bag is not None:
                        self._bag.write(slot.topic, type_name, data, received, sent)
        except OSError as error:
            if self._bag is not None:
                self._give_up(self._bag, error)


def _type_name(kind: type) -> str:
    package = kind.__module__.split(".")[0]
    return f"{package}/msg/{kind.__name__}"


def _spin(node: RecorderNode, executor: runtime.NodeExecutor, stop: runtime.StopRequest) -> None:
    try:
        while not stop.requested:
            end = time.monotonic() + POLL_PERIOD
            node.poll()
            while (left := end - time.monotonic()) > 0.0:
                executor.spin_once(timeout_sec=left)
        node.poll()
    finally:
        node.close()


def main() -> int:
    """Entry point of the process."""
    return runtime.run(RecorderNode, _spin)


if __name__ == "__main__":
    sys.exit(main())
