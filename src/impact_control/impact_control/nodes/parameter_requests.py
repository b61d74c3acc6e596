"""Requests to set parameters to values of no type there is: rclpy raises at them, which would end the process."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from rcl_interfaces.msg import SetParametersResult
from rcl_interfaces.srv import SetParameters, SetParametersAtomically
from rclpy.node import Node
from rclpy.parameter import Parameter

_TYPES = frozenset(kind.value for kind in Parameter.Type)


def refuse_unknown_types(node: Node) -> None:
    """Let a node answer such requests with a reason; nothing of them is set."""
    for service in node.services:
        if service.srv_type in (SetParameters, SetParametersAtomically):
            service.callback = partial(_answer, service.callback)


def _answer(serve: Callable[[Any, Any], Any], request: Any, response: Any) -> Any:
    odd = [f"{one.name} of type {one.value.type}" for one in request.parameters if one.value.type not in _TYPES]
    if not odd:
        return serve(request, response)
    allowed = f"types are {min(_TYPES)} to {max(_TYPES)}, see rcl_interfaces/ParameterType"
    reason = f"{', '.join(odd)}: {allowed}; nothing is set"
    refused = SetParametersResult(successful=False, reason=reason)
    if isinstance(response, SetParametersAtomically.Response):
        response.result = refused
    else:
        response.results = [refused] * len(request.parameters)
    return response
