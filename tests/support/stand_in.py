"""A process in the place of one that is not installed, for launches in tests: says that it started, and ends or stays.

Its name is that of the executable it stands for. It appends lines to the file `STAND_IN_LOG`. Processes that end do so
at once, with 1 if `STAND_IN_FAILS` names them; ours become lifecycle nodes that do nothing; the others stay.

As measured on ros2_control 4.46: the spawner of a manager whose hardware cannot be loaded (`STAND_IN_FAILS=hardware`)
ends with its time-out only; before a simulator behind ros2_control is active, the check of the robot side finds zeros.
Only a kill ends a manager that waits for its arm (`STAND_IN_FAILS=arm`), whose spawner ends in the same way. Messages
by which launch hears of transitions get lost, here all of the predictor with `STAND_IN_FAILS=messages`.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from pathlib import Path

ENDING = ("spawner", "create", "collision_behavior", "robot_check")
LIFECYCLE = ("simulator", "recorder", "predictor", "loop", "detector", "classifier", "controller", "supervisor")


def ending(name, fails, log):
    """Return the code with which a process ends, after what was logged so far; a spawner may wait for ever."""
    if name == "spawner" and fails in ("hardware", "arm"):
        option = "--controller-manager-timeout"
        if option not in sys.argv:
            signal.sigwait({signal.SIGINT, signal.SIGTERM})
        time.sleep(float(sys.argv[sys.argv.index(option) + 1]))
        return 1
    finds_zeros = (
        name == "robot_check"
        and "start simulator" in log
        and "/simulator" not in "".join(line for line in log.splitlines() if line.startswith("activate"))
    )
    return int(name == fails or finds_zeros)


def note(*words):
    """Append a line to the log."""
    with open(os.environ["STAND_IN_LOG"], "a") as log:
        log.write(" ".join(words) + "\n")


def live(silent):
    """Be a lifecycle node that notes its transitions, until interrupted. silent: nobody hears of them otherwise."""
    import rclpy
    from rclpy.lifecycle import LifecycleNode, TransitionCallbackReturn

    class Node(LifecycleNode):
        def on_configure(self, state):
            note("configure", self.get_fully_qualified_name())
            return TransitionCallbackReturn.SUCCESS

        def on_activate(self, state):
            note("activate", self.get_fully_qualified_name())
            return TransitionCallbackReturn.SUCCESS

    rclpy.init(args=[*sys.argv, *(["--ros-args", "-r", "~/transition_event:=~/lost"] if silent else [])])
    node = Node("stand_in", automatically_declare_parameters_from_overrides=True)
    for name, parameter in sorted(node.get_parameters_by_prefix("").items()):
        note("parameter", node.get_fully_qualified_name(), name, repr(parameter.value)[:200])
    with contextlib.suppress(KeyboardInterrupt, rclpy.executors.ExternalShutdownException):
        rclpy.spin(node)


def main():
    """Entry point of the process."""
    name = Path(sys.argv[0]).name
    words = [word for word in sys.argv[1:] if not word.startswith("/tmp/")]
    note("start", name, *words)
    for variable in ("ROS_AUTOMATIC_DISCOVERY_RANGE", "ROS_SECURITY_ENCLAVE_OVERRIDE"):
        note("environment", name, variable, repr(os.environ.get(variable)))
    if name in ENDING:
        return ending(name, os.environ.get("STAND_IN_FAILS"), Path(os.environ["STAND_IN_LOG"]).read_text())
    if name in LIFECYCLE:
        live(name == "predictor" and os.environ.get("STAND_IN_FAILS") == "messages")
    elif name == "ros2_control_node" and os.environ.get("STAND_IN_FAILS") == "arm":
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda received, frame: note("ignored", signal.Signals(received).name))
        while True:
            signal.pause()
    else:
        signal.sigwait({signal.SIGINT, signal.SIGTERM})
    return 0


if __name__ == "__main__":
    sys.exit(main())
