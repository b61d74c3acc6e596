"""Every line of the doctor, from what it looks at; and the command on this machine."""

from __future__ import annotations

import ast
import math
import os
import socket
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

from impact_control.cli import main as cli
from impact_control_ros.bridge.real_time import may
from impact_control_ros.doctor import (
    CORES,
    LOCKED_MEMORY,
    NEEDED,
    PRIORITY,
    ROBOT_SIDES,
    WANTED,
    Finding,
    Level,
    Reply,
    check_cores,
    check_discovery,
    check_domain,
    check_governors,
    check_kernel,
    check_locked_memory,
    check_loopback,
    check_measures,
    check_messages,
    check_middleware,
    check_package,
    check_priority_limit,
    check_python,
    check_receive_buffer,
    check_robot,
    check_robot_side,
    check_ros,
    check_scheduling,
    check_throttling,
    version_numbers,
    worst,
)
from impact_control_ros.doctor.__main__ import connect

ROOT = Path(__file__).resolve().parents[3]
THERE, REFUSED = Reply("", 0.001), Reply("Connection refused", 0.001)
STATUS = "Name:\tpython\nCapPrm:\t{0}\nCapEff:\t{0}\n"
OK, WARN, FAIL = Level.OK, Level.WARN, Level.FAIL

LINES = [
    (check_cores(CORES), OK, "2"),
    (check_cores(1), WARN, "slower than the clock"),
    (check_kernel("#1 SMP PREEMPT_RT Tue", ""), OK, "PREEMPT_RT"),
    (check_kernel("#1 SMP", "1\n"), OK, "PREEMPT_RT"),
    (check_kernel("#1 SMP PREEMPT_DYNAMIC", ""), WARN, "realtime-kernel"),
    (check_kernel("#1 SMP", "0\n"), WARN, "without"),
    (check_governors([]), OK, "none"),
    (check_governors(["performance"] * 4), OK, "performance"),
    (check_governors(["performance", "powersave", "schedutil"]), WARN, "powersave, schedutil"),
    (check_measures(None), OK, "every measure"),
    (check_measures("1"), OK, "every measure"),
    (check_measures("fifo,cores,memory,heap"), WARN, "without awake; the loop may miss"),
    (check_measures("0"), WARN, "without awake, cores, fifo, memory"),
    (check_measures("fast"), FAIL, "'fast', with which no node starts; allowed: 1, 0, or words of fifo"),
    (check_measures(""), FAIL, "with which no node starts"),
    (check_priority_limit(0.0, False), WARN, f"rtprio {PRIORITY}"),
    (check_priority_limit(PRIORITY - 1.0, False), WARN, "at most 49"),
    (check_priority_limit(float(PRIORITY), False), OK, "up to 50"),
    (check_priority_limit(math.inf, False), OK, "any"),
    (check_priority_limit(0.0, True), OK, "privilege"),
    (check_locked_memory(LOCKED_MEMORY - 1.0), WARN, "memlock unlimited"),
    (check_locked_memory(float(LOCKED_MEMORY)), OK, "64 MiB"),
    (check_locked_memory(math.inf), OK, "any"),
    (check_scheduling(""), OK, "given"),
    (check_scheduling("Operation not permitted"), WARN, "--ulimit rtprio=50"),
    (check_throttling("950000\n", "1000000\n"), WARN, "stopped for 50 ms of 1000 ms where"),
    (check_throttling("-1\n", "1000000\n"), OK, "off"),
    (check_throttling("", ""), OK, "not shown"),
    (check_receive_buffer("212992\n"), WARN, "at most 208 KiB; a recorder"),
    (check_receive_buffer("212992\n"), WARN, "sysctl -w net.core.rmem_max=4194304"),
    (check_receive_buffer("4194304\n"), OK, "4096 KiB"),
    (check_receive_buffer(""), OK, "not shown"),
    (check_domain(None), OK, "not set"),
    (check_domain(""), OK, "not set"),
    (check_domain("0"), OK, "0"),
    (check_domain("101"), OK, "101"),
    (check_domain("102"), WARN, "0 to 101"),
    (check_domain("232"), WARN, "0 to 101"),
    (check_domain("233"), FAIL, "0 to 101"),
    (check_domain("-1"), FAIL, "0 to 101"),
    (check_domain("seven"), FAIL, "'seven'"),
    (check_domain("\u00b2"), FAIL, "0 to 101"),
    (check_discovery("LOCALHOST", None), OK, "LOCALHOST"),
    (check_discovery(None, "1"), OK, "1"),
    (check_discovery(None, "0"), OK, "not set"),
    (check_discovery(None, None), OK, "launch files take LOCALHOST"),
    (check_discovery("SUBNET", None), WARN, "SUBNET"),
    (check_discovery("OFF", None), FAIL, "do not find each other"),
    (check_discovery("localhost", None), FAIL, "one of LOCALHOST"),
    (check_middleware(None), OK, "rmw_fastrtps_cpp"),
    (check_middleware("rmw_fastrtps_cpp"), OK, "rmw_fastrtps_cpp"),
    (check_middleware("rmw_cyclonedds_cpp"), WARN, "unset it"),
    (check_loopback("", ""), OK, "multicast"),
    (check_loopback("", "timed out"), WARN, "multicast on"),
    (check_loopback("Network is unreachable", "timed out"), FAIL, "set lo up"),
    (check_robot("10.0.0.1", THERE, REFUSED), OK, "1.0 ms"),
    (check_robot("10.0.0.1", REFUSED, THERE), FAIL, "activate FCI"),
    (check_robot("10.0.0.1", REFUSED, REFUSED), FAIL, "cable"),
    (check_python((3, 10, 12)), FAIL, "3.11 or newer"),
    (check_python((3, 11, 0)), OK, "3.11.0"),
    (check_package("numpy", None), FAIL, "make setup"),
    (check_package("numpy", "1.25.2"), FAIL, "1.26 or newer"),
    (check_package("numpy", "1.26.4"), OK, "1.26.4"),
    (check_package("numpy", "2.0.0rc1"), OK, "2.0.0rc1"),
    (check_package("pin", "2.7.0"), FAIL, "3 or newer"),
    (check_package("rich", "13.7"), OK, "13.7"),
    (check_package("numba", None), WARN, "not compiled"),
    (check_package("h5py", "3.16.0"), OK, "3.16.0"),
    (check_ros(True), OK, "rclpy"),
    (check_ros(False), FAIL, "setup.bash"),
    (check_messages(True), OK, "built"),
    (check_messages(False), FAIL, "colcon build"),
    (check_robot_side("mock.launch.py", [], needed=False), OK, "are there"),
    (check_robot_side("mock.launch.py", ["xacro", "impact_guard"], needed=False), OK, "build xacro, impact_guard"),
    (check_robot_side("franka.launch.py", ["franka_msgs"], needed=True), FAIL, "franka_msgs"),
]


@pytest.mark.parametrize(("finding", "level", "words"), LINES, ids=lambda value: str(value)[:40])
def test_each_line_says_what_was_found_and_what_to_change(finding, level, words):
    assert finding.level is level
    line = str(finding)
    assert line.startswith(f"{level.name:4s}  {finding.what}: ") and "\n" not in line
    assert words in line
    assert bool(finding.advice) == (level is not OK)


def test_the_worst_counts():
    findings = [Finding(level, "a", "b") for level in (OK, WARN, OK)]
    assert worst(findings) is WARN
    assert worst([*findings, Finding(FAIL, "a", "b", "c")]) is FAIL
    assert worst([]) is OK


def test_versions_are_compared_as_numbers():
    assert version_numbers("3.11.2rc1") == (3, 11, 2)
    assert version_numbers("10") > version_numbers("9.9")
    assert version_numbers("unknown") == ()


def test_the_limit_asked_for_is_that_of_the_page_and_enough_for_the_nodes():
    runtime = ast.parse((ROOT / "src/impact_control_ros/impact_control_ros/bridge/runtime.py").read_text())
    constants = {node.targets[0].id: node.value for node in runtime.body if isinstance(node, ast.Assign)}
    assert max(ast.literal_eval(constants[f"{who}_PRIORITY"]) for who in ("ROBOT", "LOOP")) <= PRIORITY
    assert f"@realtime - rtprio {PRIORITY}" in (ROOT / "docs" / "real_time.md").read_text()


def test_every_package_it_looks_for_is_one_that_is_installed_here():
    pinned = (ROOT / "requirements" / "run.in").read_text()
    for name in (*NEEDED, *WANTED):
        assert f"\n{name}==" in pinned, name


def test_capabilities_are_read_from_the_status_of_a_process():
    assert may(23, STATUS.format("000001ffffffffff"))
    assert may(23, STATUS.format("0000000000800000"))
    assert not may(23, STATUS.format("0000000000400000"))
    assert not may(23, "")


def test_a_connection_is_tried_and_closed_again():
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        port = server.getsockname()[1]
        assert connect("127.0.0.1", port).refusal == ""
        peer, _ = server.accept()
        with closing(peer):
            assert peer.recv(1) == b""
    assert connect("127.0.0.1", port).refusal != ""


def test_the_command_fails_only_on_a_fail(monkeypatch):
    result = CliRunner().invoke(cli.app, ["doctor"])
    levels = [line.split()[0] for line in result.output.splitlines()]
    assert len(levels) == 16 + len(ROBOT_SIDES) + len(NEEDED) + len(WANTED)
    assert result.exit_code == int("FAIL" in levels)
    monkeypatch.setenv("ROS_DOMAIN_ID", "none")
    result = CliRunner().invoke(cli.app, ["doctor"])
    assert result.exit_code == 1 and "FAIL  ROS_DOMAIN_ID: 'none'" in result.output


def test_it_runs_where_every_package_is_missing():
    command = [sys.executable, "-S", "-m", "impact_control_ros.doctor"]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(str(ROOT / "src" / name) for name in ("impact_control", "impact_control_ros")),
    }
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=20)
    assert done.returncode == 1 and done.stderr == ""
    for name in NEEDED:
        assert f"FAIL  {name}: not installed" in done.stdout
    assert "FAIL  impact_msgs: not built" in done.stdout


def test_a_launch_whose_packages_are_in_a_sourced_workspace_is_named_complete(tmp_path, monkeypatch):
    index = tmp_path / "share/ament_index/resource_index/packages"
    index.mkdir(parents=True)
    for name in ROBOT_SIDES["mock.launch.py"]:
        (index / name).touch()
    monkeypatch.setenv("AMENT_PREFIX_PATH", os.pathsep.join(["/nowhere", str(tmp_path)]))
    lines = CliRunner().invoke(cli.app, ["doctor"]).output.splitlines()
    assert "OK    mock.launch.py: its packages are there" in lines
    (gazebo,) = (line for line in lines if "gazebo.launch.py" in line)
    assert "install or build gz_ros2_control, ros_gz_bridge, ros_gz_sim" in gazebo
