"""Reliable messages lost to a full socket are sent again soon, not after the 3 s of Fast DDS's default."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest
from std_msgs.msg import Float64MultiArray, String

from harness import Peer
from impact_control_ros.bridge import qos

pytestmark = pytest.mark.wall_clock

LISTENER = """
import rclpy
from std_msgs.msg import Float64MultiArray, String
from impact_control_ros.bridge import qos
rclpy.init()
node = rclpy.create_node("listener")
node.create_subscription(Float64MultiArray, "stream", lambda message: None, qos.RECORD)
node.create_subscription(String, "event", lambda message: print(message.data, flush=True), qos.EVENT)
rclpy.spin(node)
"""
STREAM = Float64MultiArray(data=[1.0] * 60)
SOON = 1.0
"""[s] far below 3 s."""


def test_a_lost_event_comes_soon(tmp_path):
    with Peer(tmp_path) as peer:
        stream = peer.node.create_publisher(Float64MultiArray, "stream", qos.STREAM)
        event = peer.node.create_publisher(String, "event", qos.EVENT)
        listener = subprocess.Popen([sys.executable, "-c", LISTENER], stdout=subprocess.PIPE, text=True)
        try:
            peer.until(lambda: stream.get_subscription_count() and event.get_subscription_count(), what="the listener")
            event.publish(String(data="before"))
            assert listener.stdout.readline() == "before\n"
            os.kill(listener.pid, signal.SIGSTOP)
            for _ in range(3000):  # the socket is full long before
                stream.publish(STREAM)
                time.sleep(5e-5)
            event.publish(String(data="lost"))
            os.kill(listener.pid, signal.SIGCONT)
            began = time.monotonic()
            assert listener.stdout.readline() == "lost\n"
            assert time.monotonic() - began < SOON
        finally:
            listener.kill()
            listener.wait()
