"""Subscribe to the verdicts of a running graph with nothing but rclpy and impact_msgs, until a task is decided.

Start it before or after `make demo` in the same ROS_DOMAIN_ID: the last verdicts are delivered to late joiners.
"""

import rclpy
from impact_msgs.msg import ImpactClassification as Classification
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

EVENT = QoSProfile(depth=50, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)
WORDS = {0: "unknown", 1: "expected", 2: "unexpected", 3: "not started"}

decided = []


def on_verdict(message):
    """Print a verdict; remember that both stand."""
    print(f"impact {WORDS[message.impact]}, behaviour {WORDS[message.post_impact]}: {message.reason}", flush=True)
    if message.post_impact in (1, 2):
        decided.append(message)


rclpy.init()
node = rclpy.create_node("verdict_listener")
node.create_subscription(Classification, "impact/classification", on_verdict, EVENT)
try:
    while not decided:
        rclpy.spin_once(node)
finally:
    node.destroy_node()
    rclpy.try_shutdown()
