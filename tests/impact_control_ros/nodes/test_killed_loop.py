"""A loop that is activated while DDS lists another publisher of its commands, as it does one that was killed."""

from __future__ import annotations

import time

import rclpy
from std_msgs.msg import Float64MultiArray

from impact_control_ros.bridge import qos, topics


def test_it_waits_for_the_end_of_one_with_its_own_name(graph):
    loop = graph.add_loop("impact_loop")
    for name, waits in (("impact_loop", True), ("another", False)):
        node = graph.add(lambda name=name: rclpy.create_node(name, namespace="/impact_loop"))
        dead = node.create_publisher(Float64MultiArray, topics.COMMANDS, qos.COMMAND)
        await_publishers(loop, 2)
        loop.prepare_activation()
        assert loop.awaits_activation() is bool(loop.built.missing()) is waits
        node.destroy_publisher(dead)
        await_publishers(loop, 1)
        assert not loop.awaits_activation()


def await_publishers(loop, count):
    """Wait until so many publishers of commands are found."""
    end = time.monotonic() + 20.0
    while len(loop.get_publishers_info_by_topic(f"/impact_loop/{topics.COMMANDS}")) != count:
        time.sleep(0.01)
        assert time.monotonic() < end, f"not {count} publishers"
