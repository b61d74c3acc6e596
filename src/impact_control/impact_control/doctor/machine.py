"""Cores, kernel and what a user may ask of them."""

from __future__ import annotations

from collections.abc import Sequence

from impact_control.doctor.finding import Finding, good, warning

CORES = 2
"""With fewer, the simulated arm and the loop that answers it cannot run side by side."""

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
    """Check the frequency governors of the cores; none where the machine does not say."""
    what = "frequency governor"
    if not governors:
        return good(what, "none, the clock of the cores is not changed from here")
    other = sorted(set(governors) - {"performance"})
    if other:
        advice = "a core that wakes up slowly costs deadlines: cpupower frequency-set -g performance"
        return warning(what, ", ".join(other), advice)
    return good(what, "performance")


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
