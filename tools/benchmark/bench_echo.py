"""The peer of the loop node in the benchmark: answers each joint state with an empty command, nothing else."""

from __future__ import annotations

import sys

from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from impact_control_ros.bridge import qos, real_time, runtime, topics


class EchoNode(Node):
    """Bare rclpy: same messages, same executor, same priority, same core as the loop node."""

    def __init__(self) -> None:
        super().__init__("bench_echo")
        self._answer = Float64MultiArray(data=[0.0] * 7)
        self._publisher = self.create_publisher(Float64MultiArray, topics.COMMANDS, qos.COMMAND)
        self.create_subscription(JointState, topics.JOINT_STATES, self._on_state, qos.STREAM)

    def _on_state(self, message: JointState) -> None:
        self._publisher.publish(self._answer)


def main() -> int:
    """Entry point of the process."""
    return runtime.run(EchoNode, runtime.spin_until_stopped, priority=runtime.LOOP_PRIORITY, cores=real_time.LOOP_CORES)


if __name__ == "__main__":
    sys.exit(main())
