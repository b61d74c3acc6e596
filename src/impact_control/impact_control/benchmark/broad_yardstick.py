"""A yardstick that runs through much more code than the plain one, as a control step does.

Beside a load on the same cores, work that needs much code and memory slows down more than work that needs little:
others take the caches meanwhile. The plain yardstick alone would make a control step look 20 % slower there.
"""

from __future__ import annotations

import json

import numpy as np
import pinocchio as pin
from qpsolvers import Problem, solve_problem

from impact_control.benchmark.turns import Work
from impact_control.benchmark.yardstick import yardstick

_PLAIN_PARTS = 6
"""Calls of the plain yardstick in one of this: about half of its time."""


def broad_yardstick() -> Work:
    """Return the work, about 600 us of it. What `yardstick` says of changes holds here too."""
    plain, model = yardstick(), pin.buildSampleModelManipulator()
    data, q = model.createData(), np.linspace(-0.5, 0.8, model.nq)
    matrix, vector, free = np.eye(7) + 0.1, np.linspace(-1.0, 1.0, 7), np.full(7, 2.0)
    rows = np.vstack([np.eye(7), -np.eye(7)])
    problem = Problem(matrix, vector, rows, np.full(14, 0.3), None, None, -free, free)
    record = {"name": "sample", "values": vector.tolist(), "more": {"a": 1, "b": [1.5, 2.5, "x"]}}

    def work() -> None:
        for _ in range(_PLAIN_PARTS):
            plain()
        pin.computeAllTerms(model, data, q, q)
        solve_problem(problem, solver="daqp")
        json.loads(json.dumps(record))
        np.linalg.solve(matrix, vector)
        np.einsum("ij,j->i", matrix, vector)
        np.sort(vector)
        np.clip(vector, -0.5, 0.5)

    return work
