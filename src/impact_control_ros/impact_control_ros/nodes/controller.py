"""Controller as a process of its own: impacts and verdicts come from detector and classifier."""

from __future__ import annotations

import sys

from impact_control_ros.bridge import runtime
from impact_control_ros.bridge.controller_loop import ControllerLoop
from impact_control_ros.bridge.lifecycle import names_in
from impact_control_ros.nodes.loop import LoopNode


class ControllerNode(LoopNode):
    """Runs a `ControllerLoop`, with the parameters of a loop."""

    def __init__(self) -> None:
        super().__init__("controller")

    def build(self) -> ControllerLoop:
        """Load the scenario, build the pipeline, open the topics."""
        return ControllerLoop(self, self.log, names_in("partners", self.value("partners")))


def main() -> int:
    """Entry point of the process."""
    return runtime.run(ControllerNode, runtime.spin_until_stopped, priority=runtime.LOOP_PRIORITY)


if __name__ == "__main__":
    sys.exit(main())
