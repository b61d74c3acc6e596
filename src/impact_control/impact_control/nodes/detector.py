"""Executable with observer and detector only."""

import sys

from impact_control.nodes.loop import main_detector as main

if __name__ == "__main__":
    sys.exit(main())
