"""Requests at which rclpy raises, which would end the process: they are answered with a refusal instead."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from lifecycle_msgs.srv import ChangeState
from rcl_interfaces.msg import SetParametersResult
from rcl_interfaces.srv import SetParameters, SetParametersAtomically
from rclpy.node import Node
from rclpy.parameter import Parameter

_TYPES = frozenset(kind.value for kind in Parameter.Type)


def refuse_impossible_requests(node: Node) -> None:
    """Let a node refuse parameters of no type there is, and transitions that its state does not allow."""
    for service in node.services:
        if service.srv_type in (SetParameters, SetParametersAtomically):
            service.callback = partial(_set_parameters, service.callback)
        elif service.srv_type is ChangeState:
            service.callback = partial(_change_state, node, service.callback)


def _set_parameters(serve: Callable[[Any, Any], Any], request: Any, response: Any) -> Any:
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


def _change_state(node: Node, serve: Callable[[Any, Any], Any], request: Any, response: Any) -> Any:
    try:
        return serve(request, response)
    except RuntimeError:  # rclpy's RCLError, before anything was changed
        wanted = request.transition.label or request.transition.id
        node.get_logger().warning(f"transition {wanted} refused: the state of the node does not allow it")
        response.success = False
        return response
