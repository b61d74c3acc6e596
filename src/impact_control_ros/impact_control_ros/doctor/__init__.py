"""Checks of this machine for running the stack, each with the change to make: `impact-control doctor`.

The values to judge come as arguments, so that every finding can be tested on any machine; `__main__` alone asks the
system.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import partial

from impact_control.util.errors import InvalidInputError
from impact_control_ros.bridge.real_time import ALL, RECEIVE_BUFFER, VARIABLE, Measure, chosen


class Level(IntEnum):
    """Severity of a finding: WARN lets the stack run, but worse or in part; FAIL does not."""

    OK = 0
    WARN = 1
    FAIL = 2


@dataclass(frozen=True)
class Finding:
    """Result of a check: its subject, what was found, and the change to make, "" for none."""

    level: Level
    what: str
    found: str
    advice: str = ""

    def __str__(self) -> str:
        """Return one line."""
        return f"{self.level.name:4s}  {self.what}: {self.found}{f'; {self.advice}' if self.advice else ''}"


good, warning, failure = (partial(Finding, level) for level in Level)
"""A finding of each level."""


def worst(findings: Iterable[Finding]) -> Level:
    """Return the worst level; OK without findings."""
    return max((finding.level for finding in findings), default=Level.OK)


# ---------------------------------------------------------------------- machine and permissions

CORES = 2
"""Fewest on which the simulated arm and the loop can run side by side."""

PRIORITY = 50
"""Limit of the real-time priority that docs/real_time.md asks for; the nodes take up to 45."""

LOCKED_MEMORY = 64 * 2**20
"""[bytes] that a user should be allowed to keep in memory, for the drivers of an arm."""

_LIMITS = "in /etc/security/limits.d, for a group you are in, then log in again"


def check_cores(count: int) -> Finding:
    """Check the number of cores this process may use."""
    if count < CORES:
        return warning("cores", str(count), f"simulated time runs slower than the clock with fewer than {CORES}")
    return good("cores", str(count))


def check_kernel(version: str, realtime: str) -> Finding:
    """Check for a kernel with PREEMPT_RT. version: of `uname -v`; realtime: of /sys/kernel/realtime, "" without it."""
    if "PREEMPT_RT" in version or realtime.strip() == "1":
        return good("kernel", "PREEMPT_RT")
    advice = "an arm needs a kernel with PREEMPT_RT (on Ubuntu: pro enable realtime-kernel); the simulator does not"
    return warning("kernel", "without PREEMPT_RT", advice)


def check_governors(governors: Sequence[str]) -> Finding:
    """Check the frequency governors of the cores; none where the machine does not report them."""
    what = "frequency governor"
    if not governors:
        return good(what, "none, the clock of the cores is not changed from here")
    other = sorted(set(governors) - {"performance"})
    if other:
        advice = "a core that wakes up slowly costs deadlines: cpupower frequency-set -g performance"
        return warning(what, ", ".join(other), advice)
    return good(what, "performance")


def check_measures(text: str | None) -> Finding:
    """Check the measures of real time that the environment variable selects; None where it is not set."""
    try:
        missing = sorted(measure.value for measure in set(Measure) - chosen(ALL if text is None else text))
    except InvalidInputError as error:
        return failure(VARIABLE, f"'{text}', with which no node starts", f"allowed: {error.allowed}")
    if missing:
        return warning(
            VARIABLE, f"without {', '.join(missing)}", "the loop may miss deadlines: unset it, or set it to 1"
        )
    return good(VARIABLE, "every measure of real time")


def check_priority_limit(limit: float, privileged: bool) -> Finding:
    """Check the limit of the real-time priority (`ulimit -r`), infinity for none; privileged: root, or CAP_SYS_NICE."""
    what = "real-time priority"
    if privileged:
        return good(what, "any, by privilege")
    if limit < PRIORITY:
        return warning(what, f"at most {limit:g}", f"put '@realtime - rtprio {PRIORITY}' {_LIMITS}")
    return good(what, "any" if limit == float("inf") else f"up to {limit:g}")


def check_locked_memory(limit: float) -> Finding:
    """Check how much memory may be locked [bytes] (`ulimit -l`), infinity for any."""
    what = "locked memory"
    if limit < LOCKED_MEMORY:
        return warning(what, f"at most {limit / 1024:.0f} KiB", f"put '@realtime - memlock unlimited' {_LIMITS}")
    return good(what, "any" if limit == float("inf") else f"up to {limit / 2**20:.0f} MiB")


def check_scheduling(refusal: str) -> Finding:
    """Check whether SCHED_FIFO was given. refusal: of the system when it was asked for, "" when it was given."""
    what = "SCHED_FIFO"
    if refusal:
        advice = "in a container: --ulimit rtprio=50 or --cap-add SYS_NICE; else see real-time priority"
        return warning(what, f"refused: {refusal}", advice)
    return good(what, "given")


def check_throttling(runtime: str, period: str) -> Finding:
    """Check the share of a core that real-time processes may use: sched_rt_runtime_us and sched_rt_period_us.

    "" for a system that does not show them.
    """
    what = "real-time throttling"
    try:
        allowed, of = int(runtime), int(period)
    except ValueError:
        return good(what, "not shown by the system")
    if 0 <= allowed < of:
        stopped = f"stopped for {(of - allowed) / 1000:g} ms of {of / 1000:g} ms where they use a core fully"
        return warning(what, f"on, real-time processes are {stopped}", "sysctl -w kernel.sched_rt_runtime_us=-1")
    return good(what, "off")


# ---------------------------------------------------------------------- network and robot

LARGEST_DOMAIN = 232
SAFE_DOMAIN = 101
"""Domains above have ports that Linux also gives to others."""

_RANGES = ("LOCALHOST", "SUBNET", "OFF", "SYSTEM_DEFAULT")
_RMW = "rmw_fastrtps_cpp"

FCI_PORT = 1337
"""TCP port on which a Franka takes connections of libfranka."""

DESK_PORT = 443
"""TCP port of its web interface."""


@dataclass(frozen=True)
class Reply:
    """Result of a TCP connection: the reason of a refusal, "" without one, and the time it took [s]."""

    refusal: str
    seconds: float


def check_domain(value: str | None) -> Finding:
    """Check ROS_DOMAIN_ID; None when it is not set."""
    what = "ROS_DOMAIN_ID"
    if not value:
        return good(what, "not set, 0; make demo takes one of its own")
    number = int(value) if value.isascii() and value.isdigit() else -1
    if not 0 <= number <= LARGEST_DOMAIN:
        return failure(what, repr(value), f"set it to a number from 0 to {SAFE_DOMAIN}")
    if number > SAFE_DOMAIN:
        return warning(what, value, f"its ports may be taken: set it to a number from 0 to {SAFE_DOMAIN}")
    return good(what, value)


def check_discovery(value: str | None, localhost_only: str | None) -> Finding:
    """Check ROS_AUTOMATIC_DISCOVERY_RANGE and the older ROS_LOCALHOST_ONLY; None when they are not set."""
    what = "ROS_AUTOMATIC_DISCOVERY_RANGE"
    if value == "OFF":
        return failure(what, value, "nodes do not find each other: set it to LOCALHOST")
    if value and value not in _RANGES:
        return failure(what, repr(value), f"set it to one of {', '.join(_RANGES)}")
    if localhost_only == "1":
        return good("ROS_LOCALHOST_ONLY", "1")
    if not value:
        return good(what, "not set; our commands and launch files take LOCALHOST, other programs your network")
    if value == "LOCALHOST":
        return good(what, value)
    advice = "others in your network see the graph and can command the arm: set it to LOCALHOST"
    return warning(what, value, advice)


def check_middleware(value: str | None) -> Finding:
    """Check RMW_IMPLEMENTATION; None when it is not set."""
    what = "RMW_IMPLEMENTATION"
    if value and value != _RMW:
        return warning(what, value, f"only {_RMW} was tried: unset it")
    return good(what, value or f"not set, {_RMW}")


def check_loopback(unicast: str, multicast: str) -> Finding:
    """Check UDP on the loopback interface: why it failed, "" where it did not."""
    what = "loopback"
    if unicast:
        return failure(what, f"no UDP: {unicast}", "nodes here cannot talk to each other: ip link set lo up")
    if multicast:
        advice = "programs that find each other by multicast do not: ip link set lo multicast on"
        return warning(what, f"no multicast: {multicast}", advice)
    return good(what, "UDP, also multicast")


def check_receive_buffer(largest: str) -> Finding:
    """Check the receive buffers of sockets: the text [bytes] of rmem_max in /proc/sys/net/core.

    "" for a system that does not show it. Our nodes ask for `RECEIVE_BUFFER` themselves.
    """
    what = "receive buffer"
    if not largest.strip().isdecimal():
        return good(what, "not shown by the system")
    found = f"at most {int(largest) // 1024} KiB"
    if int(largest) < RECEIVE_BUFFER:
        setting = f"net.core.rmem_max={RECEIVE_BUFFER}"
        return warning(what, found, f"a recorder that waits for a core or the disk loses samples: sysctl -w {setting}")
    return good(what, found)


def check_robot(address: str, control: Reply, desk: Reply) -> Finding:
    """Check the robot side. control: on FCI_PORT; desk: on DESK_PORT."""
    what = f"robot {address}"
    if not control.refusal:
        return good(what, f"takes connections, in {1e3 * control.seconds:.1f} ms")
    if not desk.refusal:
        return failure(what, f"there, but not its port {FCI_PORT}: {control.refusal}", "activate FCI in Franka Desk")
    advice = "look at the cable, the address, and that this machine has an address in the same network"
    return failure(what, f"does not answer: {control.refusal}", advice)


# ---------------------------------------------------------------------- software

PYTHON = (3, 11)
"""Oldest version."""

NEEDED: Mapping[str, tuple[int, ...]] = {
    "numpy": (1, 26),
    "scipy": (),
    "pin": (3,),
    "qpsolvers": (),
    "daqp": (),
    "mcap": (),
    "matplotlib": (),
    "ruamel.yaml": (),
    "typer": (),
    "rich": (),
}
"""Required packages by distribution, with the oldest version where that is known."""

WANTED = {"numba": "the loop is not compiled, far too slow for 1 kHz", "h5py": "no trial data in HDF5"}
"""Optional packages, with the consequence of their absence."""


def version_numbers(version: str) -> tuple[int, ...]:
    """Return the leading numbers of a version: 3.11.2rc1 gives (3, 11, 2)."""
    leading = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(number) for number in leading[0].split(".")) if leading else ()


def check_python(version: tuple[int, ...]) -> Finding:
    """Check the version of Python."""
    found = ".".join(map(str, version))
    if version[:2] < PYTHON:
        return failure("Python", found, f"use {'.'.join(map(str, PYTHON))} or newer")
    return good("Python", found)


def check_package(name: str, version: str | None) -> Finding:
    """Check a package of NEEDED or WANTED; version: None when it is not installed."""
    if version is None:
        if name in WANTED:
            return warning(name, "not installed", f"{WANTED[name]}: pip install {name}")
        return failure(name, "not installed", f"make setup, or pip install {name}")
    oldest = NEEDED.get(name, ())
    if version_numbers(version)[: len(oldest)] < oldest:
        return failure(name, version, f"install {'.'.join(map(str, oldest))} or newer")
    return good(name, version)


def check_ros(found: bool) -> Finding:
    """Check whether rclpy can be found."""
    if found:
        return good("ROS 2", "rclpy is there")
    return failure("ROS 2", "no rclpy", "make setup, or source /opt/ros/jazzy/setup.bash")


def check_messages(found: bool) -> Finding:
    """Check whether impact_msgs was built and can be found."""
    if found:
        return good("impact_msgs", "built")
    return failure("impact_msgs", "not built", "make setup, or colcon build and source install/setup.bash")


CONTROLLED = (
    "controller_manager",
    "joint_state_broadcaster",
    "impact_guard",
    "robot_state_publisher",
    "tf2_ros",
    "xacro",
)
"""Packages of ROS that every launch file with ros2_control needs."""

FRANKA = "franka.launch.py"

ROBOT_SIDES: Mapping[str, tuple[str, ...]] = {
    "mock.launch.py": (*CONTROLLED, "impact_sim_hardware"),
    "gazebo.launch.py": (*CONTROLLED, "gz_ros2_control", "ros_gz_bridge", "ros_gz_sim"),
    FRANKA: (*CONTROLLED, "franka_hardware", "franka_msgs", "franka_robot_state_broadcaster"),
}
"""Packages of ROS that each launch file needs beside the graph itself."""


def check_robot_side(launch: str, missing: Sequence[str], needed: bool) -> Finding:
    """Check the packages of a launch file of ROBOT_SIDES, of which some are missing; needed: fail without them."""
    if not missing:
        return good(launch, "its packages are there")
    advice = f"only for this launch: install or build {', '.join(missing)}"
    return failure(launch, "packages missing", advice) if needed else good(launch, f"not installed; {advice}")
