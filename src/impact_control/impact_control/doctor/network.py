"""What DDS needs of the network, and whether the robot answers."""

from __future__ import annotations

from dataclasses import dataclass

from impact_control.doctor.finding import Finding, failure, good, warning

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
    """Of a TCP connection: the reason why there was none, "" when there was, and how long that took [s]."""

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
    if value == "LOCALHOST":
        return good(what, value)
    advice = (
        "others in your network see the graph and can command the arm: export ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST"
    )
    return warning(what, value or "not set", advice)


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


def check_robot(address: str, control: Reply, desk: Reply) -> Finding:
    """Check the robot side. control: on FCI_PORT; desk: on DESK_PORT."""
    what = f"robot {address}"
    if not control.refusal:
        return good(what, f"takes connections, in {1e3 * control.seconds:.1f} ms")
    if not desk.refusal:
        return failure(what, f"there, but not its port {FCI_PORT}: {control.refusal}", "activate FCI in Franka Desk")
    advice = "look at the cable, the address, and that this machine has an address in the same network"
    return failure(what, f"does not answer: {control.refusal}", advice)
