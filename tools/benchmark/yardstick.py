"""A fixed amount of work of the kind our ticks are made of, to measure the speed of the machine with.

Calls into Pinocchio, a compiled kernel, small numpy operations, plain Python. It uses nothing of ours that may get
faster or slower. Whoever changes it changes every ratio to it: the reference ratios are then to be taken anew.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import pinocchio as pin

from benchmark.figure import Pass, timed
from impact_control.util.compiled import compiled
from impact_control.util.types import Matrix, Vector

YARDSTICK = "yardstick"
"""Its name as a peer."""

_JOINTS = 7


@compiled
def _mix(matrix: Matrix, vector: Vector, factor: Matrix) -> float:
    """Factorise a symmetric positive definite matrix (n, n) three times and return a number that depends on it."""
    n = vector.shape[0]
    total = 0.0
    for _ in range(3):
        for i in range(n):
            for j in range(i + 1):
                rest = matrix[i, j]
                for k in range(j):
                    rest -= factor[i, k] * factor[j, k]
                factor[i, j] = np.sqrt(rest) if i == j else rest / factor[j, j]
            total += factor[i, i] * vector[i]
    return total


class _State:
    """A few attributes, as the objects of a tick have them."""

    def __init__(self) -> None:
        self.count = 0
        self.sum = 0.0

    def take(self, value: float) -> bool:
        """Add a value."""
        self.count += 1
        self.sum += value
        return self.sum > 1e300


def yardstick() -> Callable[[], object]:
    """Return the work, about 50 us of it."""
    model = pin.buildSampleModelManipulator()
    while model.nv < _JOINTS:
        parent = model.njoints - 1
        joint = model.addJoint(parent, pin.JointModelRZ(), pin.SE3(np.eye(3), np.array([0.1, 0.0, 0.2])), "last")
        model.appendBodyToJoint(joint, pin.Inertia.FromSphere(1.0, 0.1), pin.SE3.Identity())
    data = model.createData()
    q, v = np.linspace(-0.5, 0.8, model.nv), np.linspace(0.3, -0.4, model.nv)
    matrix = np.eye(_JOINTS) + 0.1 * np.ones((_JOINTS, _JOINTS))
    factor, vector, out = np.zeros_like(matrix), np.linspace(0.1, 0.7, _JOINTS), np.zeros(_JOINTS)
    state = _State()

    def work() -> float:
        pin.forwardKinematics(model, data, q, v)
        pin.crba(model, data, q)
        pin.nonLinearEffects(model, data, q, v)
        total = 0.0
        for _ in range(6):
            total += _mix(matrix, vector, factor)
            np.subtract(vector, out, out=out)
            out[:] = matrix @ vector
            for value in out.tolist():
                if state.take(value):
                    state.sum = 0.0
        return total

    return work


def yardstick_pass(count: int = 1000) -> Pass:
    """Return a pass of the work."""
    return timed(yardstick(), count)


Work = Callable[[], object]
"""A piece of work, the same each time."""

TURN = 1e-3
"""[s] of one turn, about: well below the time in which the speed of a shared machine changes."""


def durations_in_turns(works: Sequence[Work], rounds: int, turn: float = TURN) -> Matrix:
    """Return the processor time of a call [s] of each of the works in each round (rounds, works).

    Each is called once before, so that nothing is compiled in its turns, of about `turn` [s].
    """
    with _still_heap():
        counts = [_calls_per_turn(work, turn) for work in works]
        return np.array(
            [[_turn(work, count) for work, count in zip(works, counts, strict=True)] for _ in range(rounds)]
        )


@contextmanager
def _still_heap() -> Iterator[None]:
    """Keep the garbage collector from adding its time to any turn, as the loop does."""
    collects = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def _calls_per_turn(work: Work, turn: float) -> int:
    work()
    return max(1, round(turn / min(_turn(work, 1) for _ in range(3))))


def _turn(work: Work, count: int) -> float:
    """Return the processor time of a call [s], of `count` in a row."""
    start = time.thread_time()
    for _ in range(count):
        work()
    return (time.thread_time() - start) / count
