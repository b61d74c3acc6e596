"""A loop that was killed and is started again alone, while DDS still lists the dead one."""

from __future__ import annotations

import os
import signal

import pytest

from harness import Peer
from impact_control_ros.bridge import topics
from impact_control_ros.robot_side.files import ros_directory
from impact_control_ros.session.graph import Duty, NodeSpec

pytestmark = pytest.mark.wall_clock

SIMULATOR = NodeSpec("simulator", "simulator", Duty.ROBOT, {"scenario": "tabletop", "seed": 1})
LOOP = NodeSpec("impact_loop", "loop", Duty.LOOP, {"scenario": "tabletop"})


LEASE = "<leaseDuration><sec>8</sec></leaseDuration><leaseAnnouncement><sec>1</sec></leaseAnnouncement>"
"""A dead node is listed for 20 s by default."""


def test_it_is_activated_once_the_dead_one_is_unlisted(tmp_path, monkeypatch):
    profile = ros_directory("config/dds").joinpath("localhost.xml").read_text()
    lease = profile.replace("<rtps>", f"<rtps><builtin><discovery_config>{LEASE}</discovery_config></builtin>")
    (tmp_path / "short_lease.xml").write_text(lease)
    monkeypatch.setenv("FASTRTPS_DEFAULT_PROFILES_FILE", str(tmp_path / "short_lease.xml"))
    with Peer(tmp_path) as peer:
        peer.bring_up(SIMULATOR, LOOP)
        os.kill(peer.processes.pid(LOOP.name), signal.SIGKILL)
        peer.until(lambda: not peer.processes.running(LOOP.name), what="its end")
        peer.bring_up(LOOP)
        assert "waiting for the dead to be unlisted" in peer.log(LOOP.name)
        assert peer.node.count_publishers(topics.COMMANDS) == 1
