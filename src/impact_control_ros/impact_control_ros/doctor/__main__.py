"""Look at this machine and print the findings: `python -m impact_control_ros.doctor [ROBOT_IP]`.

For a machine on which packages of the command line itself are missing.
"""

from __future__ import annotations

import math
import os
import platform
import resource
import socket
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from impact_control_ros import doctor
from impact_control_ros.bridge.real_time import VARIABLE, may
from impact_control_ros.doctor import DESK_PORT, FCI_PORT, NEEDED, WANTED, Finding, Level, Reply, worst

CONNECTION_PATIENCE = 2.0
"""[s] a robot may take to answer."""

_GOVERNORS = Path("/sys/devices/system/cpu")
_REALTIME = Path("/sys/kernel/realtime")
_LARGEST_BUFFER = Path("/proc/sys/net/core/rmem_max")
_SCHEDULER = Path("/proc/sys/kernel")
_STATUS = Path("/proc/self/status")
_SYS_NICE = 23
_GROUP = "239.255.77.77"
_PATIENCE = 0.5


def examine(robot: str | None = None) -> Iterator[Finding]:
    """Look at machine, permissions, network, packages and, where its address is given, the robot; change nothing."""
    yield doctor.check_cores(len(os.sched_getaffinity(0)))
    yield doctor.check_kernel(platform.version(), _text(_REALTIME))
    yield doctor.check_governors([_text(file).strip() for file in _GOVERNORS.glob("cpu*/cpufreq/scaling_governor")])
    yield doctor.check_measures(os.environ.get(VARIABLE))
    yield doctor.check_priority_limit(_limit(resource.RLIMIT_RTPRIO), may(_SYS_NICE, _text(_STATUS)))
    yield doctor.check_locked_memory(_limit(resource.RLIMIT_MEMLOCK))
    yield doctor.check_scheduling(_ask_for_real_time())
    yield doctor.check_throttling(*(_text(_SCHEDULER / f"sched_rt_{name}_us") for name in ("runtime", "period")))
    yield doctor.check_domain(os.environ.get("ROS_DOMAIN_ID"))
    yield doctor.check_discovery(os.environ.get("ROS_AUTOMATIC_DISCOVERY_RANGE"), os.environ.get("ROS_LOCALHOST_ONLY"))
    yield doctor.check_middleware(os.environ.get("RMW_IMPLEMENTATION"))
    yield doctor.check_loopback(_send_to_self("127.0.0.1"), _send_to_self(_GROUP))
    yield doctor.check_receive_buffer(_text(_LARGEST_BUFFER))
    yield doctor.check_python(sys.version_info[:3])
    yield from (doctor.check_package(name, _version(name)) for name in (*NEEDED, *WANTED))
    yield doctor.check_ros(find_spec("rclpy") is not None)
    yield doctor.check_messages(find_spec("impact_msgs") is not None)
    for launch, packages in doctor.ROBOT_SIDES.items():
        missing = [name for name in packages if not _has_ros_package(name)]
        yield doctor.check_robot_side(launch, missing, needed=robot is not None and launch == doctor.FRANKA)
    if robot is not None:
        yield doctor.check_robot(robot, connect(robot, FCI_PORT), connect(robot, DESK_PORT))


def connect(address: str, port: int, patience: float = CONNECTION_PATIENCE) -> Reply:
    """Open a TCP connection and close it again; patience [s]."""
    begin = time.monotonic()
    try:
        socket.create_connection((address, port), patience).close()
    except OSError as error:
        return Reply(error.strerror or str(error), time.monotonic() - begin)
    return Reply("", time.monotonic() - begin)


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def _limit(which: int) -> float:
    soft = resource.getrlimit(which)[0]
    return math.inf if soft == resource.RLIM_INFINITY else float(soft)


def _version(name: str) -> str | None:
    """Return the version of a distribution; of Pinocchio also where it did not come with pip."""
    try:
        return version(name)
    except PackageNotFoundError:
        if name != "pin" or find_spec("pinocchio") is None:
            return None
    import pinocchio

    return str(pinocchio.__version__)


def _has_ros_package(name: str) -> bool:
    """Return whether a prefix of the sourced workspaces lists a package, as ament_index does."""
    prefixes = os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
    index = "share/ament_index/resource_index/packages"
    return any((Path(prefix) / index / name).is_file() for prefix in prefixes if prefix)


def _ask_for_real_time() -> str:
    """Ask for SCHED_FIFO in a thread that ends at once; return why it was refused, "" when it was given."""
    refusals = []

    def ask() -> None:
        try:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        except OSError as error:
            refusals.append(error.strerror or str(error))

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    return refusals[0] if refusals else ""


def _send_to_self(address: str) -> str:
    """Send a datagram over the loopback interface and wait for it; return what failed, "" when nothing did."""
    try:
        with (
            closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as receiver,
            closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as sender,
        ):
            receiver.settimeout(_PATIENCE)
            loopback = socket.inet_aton("127.0.0.1")
            receiver.bind(("" if address == _GROUP else address, 0))
            if address == _GROUP:
                receiver.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(address) + loopback)
                sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, loopback)
            sender.sendto(b"impact-control", (address, receiver.getsockname()[1]))
            receiver.recv(64)
    except OSError as error:
        return error.strerror or str(error)
    return ""


def main(arguments: Sequence[str]) -> int:
    """Print the findings; return the exit code: 1 only where something fails."""
    findings = []
    for finding in examine(arguments[0] if arguments else None):
        findings.append(finding)
        print(finding, flush=True)
    return int(worst(findings) is Level.FAIL)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
