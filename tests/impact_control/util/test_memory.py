"""Named memory: one array in compiled kernels and in plain Python."""

from __future__ import annotations

import numpy as np
import pytest

from impact_control.util.compiled import compiled
from impact_control.util.errors import InvalidInputError
from impact_control.util.memory import Memory, named_memory, named_view


def _shift(memory: Memory, by: float) -> float:
    m = memory[()]
    m.offset += by
    m.place[1] = m.offset
    return float(m.place[0] + m.place[1])


@pytest.mark.parametrize("shift", [_shift, compiled(_shift)], ids=["python", "compiled"])
def test_a_kernel_reads_and_writes_the_fields(shift):
    memory = named_memory(place=(2,), offset=())
    memory["place"] = 1.0, 5.0
    assert shift(memory, 3.0) == pytest.approx(4.0)
    assert memory["place"].tolist() == [1.0, 3.0]
    assert memory["offset"] == 3.0


def test_a_view_shares_the_numbers_in_their_order():
    data = np.arange(4.0)
    view = named_view(data, first=(), rest=(3,))
    view["rest"][0] = 9.0
    assert data.tolist() == [0.0, 9.0, 2.0, 3.0]


@pytest.mark.parametrize("name", ["mean", "size", "T"])
def test_a_name_that_plain_python_would_not_take_for_a_field_is_refused(name):
    with pytest.raises(InvalidInputError, match=f"{name}.*method of its own"):
        named_memory(**{name: ()})
