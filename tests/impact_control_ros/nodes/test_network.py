"""Visibility of the graph: by default this machine only. Two network namespaces stand for two machines."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from harness import until
from impact_control_ros.session.processes import isolate

RANGE = "ROS_AUTOMATIC_DISCOVERY_RANGE"
OURS, THEIRS = "10.77.0.1", "10.77.0.2"

TALK = """
import rclpy, time
from std_msgs.msg import String
rclpy.init()
node = rclpy.create_node("talker")
publisher = node.create_publisher(String, "chatter", 1)
while True:
    publisher.publish(String(data="hello"))
    time.sleep(0.05)
"""
LISTEN = """
import rclpy
from std_msgs.msg import String
rclpy.init()
node = rclpy.create_node("listener")
node.create_subscription(String, "chatter", lambda message: print(message.data, flush=True), 1)
rclpy.spin(node)
"""

PATIENCE = 30.0
"""[s] until nodes that may hear each other do."""

SILENCE = 3.0
"""[s] that others have then been silent for; an announcement comes in every one."""


@pytest.mark.parametrize(("given", "then"), [({}, "LOCALHOST"), ({RANGE: "SUBNET"}, "SUBNET")])
def test_nodes_are_of_this_machine_only_unless_the_user_says_otherwise(monkeypatch, tmp_path, given, then):
    monkeypatch.setattr(os, "environ", dict(given))
    isolate(tmp_path)
    assert os.environ[RANGE] == then


def ip(*words):
    """Call ip; whether that was permitted."""
    try:
        return subprocess.run(["ip", *words], capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


@pytest.fixture
def machines():
    """Two network namespaces that reach each other, also by multicast."""
    names = [f"impact_{place}_{os.getpid()}" for place in ("ours", "theirs")]
    cable = ("link", "add", "wire", "netns", names[0], "type", "veth", "peer", "name", "wire", "netns", names[1])
    try:
        if not (all(ip("netns", "add", name) for name in names) and ip(*cable)):
            pytest.skip("no permission, or no `ip`, for network namespaces")
        for name, address in zip(names, (OURS, THEIRS), strict=True):
            ip("-n", name, "address", "add", f"{address}/24", "dev", "wire")
            for link in ("lo", "wire"):
                ip("-n", name, "link", "set", link, "up")
            ip("-n", name, "route", "add", "239.0.0.0/8", "dev", "wire")
        yield names
    finally:
        for name in names:
            ip("netns", "delete", name)


@pytest.fixture
def start():
    """Start programs on machines; they end with the test."""
    programs = []

    def on(machine, text, file, **environment):
        # Each machine has memory of its own: what is shared within one is not the other's.
        own = 'test "$1" = ours || mount -t tmpfs tmpfs /dev/shm; shift; exec "$@"'
        place = "ours" if "ours" in machine else "theirs"
        command = ["ip", "netns", "exec", machine, "sh", "-c", own, "sh", place, sys.executable, "-c", text]
        with file.open("w") as output:
            # Each says itself how far it sees: what the tests have for this machine only is not handed on.
            kept = {name: value for name, value in os.environ.items() if name != "FASTRTPS_DEFAULT_PROFILES_FILE"}
            variables = {**kept, "PYTHONUNBUFFERED": "1", **environment}
            programs.append(subprocess.Popen(command, env=variables, stdout=output, cwd=file.parent))

    yield on
    for program in programs:
        program.kill()
        program.wait()


def test_others_neither_see_the_graph_nor_are_kept_out_by_that(machines, start, tmp_path):
    """Local nodes hear each other whatever their range; other machines only when they name ours as a peer."""
    ours, theirs = machines
    files = {name: tmp_path / name for name in ("beside", "subnet", "peer", "talker")}
    start(ours, LISTEN, files["beside"], **{RANGE: "SUBNET"})
    start(theirs, LISTEN, files["subnet"], **{RANGE: "SUBNET"})
    start(theirs, LISTEN, files["peer"], **{RANGE: "SUBNET", "ROS_STATIC_PEERS": OURS})
    start(ours, TALK, files["talker"], **{RANGE: "LOCALHOST"})
    for name in ("beside", "peer"):
        until(lambda name=name: files[name].read_text(), name, PATIENCE)
    time.sleep(SILENCE)
    assert files["subnet"].read_text() == ""


def test_in_the_subnet_others_see_the_graph(machines, start, tmp_path):
    ours, theirs = machines
    start(theirs, LISTEN, tmp_path / "heard", **{RANGE: "SUBNET"})
    start(ours, TALK, tmp_path / "talker", **{RANGE: "SUBNET"})
    until(lambda: (tmp_path / "heard").read_text(), "a message", PATIENCE)
