"""`python -m impact_control.doctor [ROBOT_IP]`: for where packages are missing that the command line itself needs."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from impact_control.doctor.finding import Level, worst
from impact_control.doctor.look import examine


def main(arguments: Sequence[str]) -> int:
    """Print the findings; return the exit code: 1 only where something fails."""
    findings = []
    for finding in examine(arguments[0] if arguments else None):
        findings.append(finding)
        print(finding, flush=True)
    return int(worst(findings) is Level.FAIL)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
