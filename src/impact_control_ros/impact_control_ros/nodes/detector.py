"""Detector as a process of its own: external torque of every joint state, and impacts."""

from __future__ import annotations

import sys

from impact_control_ros.bridge import runtime
from impact_control_ros.bridge.detector_loop import DetectorLoop
from impact_control_ros.bridge.lifecycle import ConfiguredNode
from impact_control_ros.bridge.sample_loop import declare_loop


class DetectorNode(ConfiguredNode[DetectorLoop]):
    """Runs a `DetectorLoop`."""

    FIXED = ("scenario", "arm")

    def __init__(self) -> None:
        super().__init__("detector")
        declare_loop(self)

    def build(self) -> DetectorLoop:
        """Load the scenario, build the detector, open the topics."""
        return DetectorLoop(self)


def main() -> int:
    """Entry point of the process."""
    return runtime.run(DetectorNode, runtime.spin_until_stopped, priority=runtime.LOOP_PRIORITY)


if __name__ == "__main__":
    sys.exit(main())
