"""A measurement in a new process, whose rclpy, threads and heap are its own."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import TypeVar

from impact_control.errors import ImpactControlError
from impact_control.nodes.graph_errors import GraphError

Result = TypeVar("Result")


def in_own_process(measure: Callable[..., Result], *arguments: object) -> Result:
    """Return what a function of a module returns there for its arguments.

    Raises the error of ours that it raises there, and GraphError when the process ends without a result.
    """
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_measure, args=(sender, measure, arguments))
    process.start()
    sender.close()
    try:
        result: Result | ImpactControlError = receiver.recv()
    except EOFError as error:
        raise GraphError("a measurement ended without a result, see above") from error
    finally:
        process.join()
    if isinstance(result, ImpactControlError):
        raise result
    return result


def _measure(sender: Connection, measure: Callable[..., object], arguments: tuple[object, ...]) -> None:
    try:
        sender.send(measure(*arguments))
    except ImpactControlError as error:
        sender.send(error)
