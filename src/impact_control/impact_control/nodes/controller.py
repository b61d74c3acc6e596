"""Executable with the controller only."""

import sys

from impact_control.nodes.loop import main_controller as main

if __name__ == "__main__":
    sys.exit(main())
