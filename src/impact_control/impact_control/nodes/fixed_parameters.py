"""Parameters that a node reads when it is configured: as long as it is, a change would be taken and have no effect."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rcl_interfaces.msg import SetParametersResult
from rclpy.parameter import Parameter


def judge_change(parameters: Sequence[Parameter], fixed: Collection[str], *, configured: bool) -> SetParametersResult:
    """Refuse a change of the fixed parameters of a configured node. Ranges were checked before."""
    refused = [parameter.name for parameter in parameters if configured and parameter.name in fixed]
    if not refused:
        return SetParametersResult(successful=True)
    names = ", ".join(refused)
    reason = f"{names}: the node is built from it; deactivate, clean up, set and configure again"
    return SetParametersResult(successful=False, reason=reason)
