"""Whether this machine can run the stack, and what to change: `impact-control doctor`.

What is looked at comes in as arguments, so that every line can be shown without a machine that needs it; `look` alone
asks the system.
"""

from impact_control.doctor.finding import Finding, Level, worst
from impact_control.doctor.look import examine

__all__ = ["Finding", "Level", "examine", "worst"]
