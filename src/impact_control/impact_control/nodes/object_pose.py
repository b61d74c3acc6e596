"""Where a simulated object is, as geometry_msgs/PoseStamped on `simulation/objects/<name>`."""

from __future__ import annotations

from geometry_msgs.msg import PoseStamped
from rclpy.node import Node

from impact_control.nodes import qos, topics
from impact_control.nodes.messages import set_xyz, to_stamp
from impact_control.simulation import SimulatedBox


class ObjectPose:
    """Publishes the pose of one box in the world frame A of its scene."""

    def __init__(self, node: Node, name: str) -> None:
        """Open the topic of the object `name`."""
        self._node = node
        self._publisher = node.create_publisher(PoseStamped, f"{topics.OBJECTS}/{name}", qos.STREAM)
        self._message = PoseStamped()
        self._message.header.frame_id = "world"

    def attach(self, box: SimulatedBox) -> None:
        """Show this box from now on."""
        self._box = box

    def send(self, stamp: int) -> None:
        """Publish where the box is, stamped [ns]."""
        to_stamp(stamp, self._message.header.stamp)
        set_xyz(self._message.pose.position, self._box.position)
        turn = self._message.pose.orientation
        turn.x, turn.y, turn.z, turn.w = self._box.orientation.tolist()
        self._publisher.publish(self._message)

    def destroy(self) -> None:
        """Close the topic."""
        self._node.destroy_publisher(self._publisher)
