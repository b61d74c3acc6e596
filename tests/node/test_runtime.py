"""Which cores a process keeps to."""

import os

import pytest

from impact_control.nodes import runtime


@pytest.fixture
def allowed():
    before = os.sched_getaffinity(0)
    yield before
    os.sched_setaffinity(0, before)


def test_loop_and_robot_side_share_no_core_where_there_are_two(allowed):
    runtime.keep_to_cores(runtime.LOOP_CORES)
    loop = os.sched_getaffinity(0)
    os.sched_setaffinity(0, allowed)
    runtime.keep_to_cores(runtime.ROBOT_CORES)
    robot = os.sched_getaffinity(0)
    assert len(loop) == 1
    if len(allowed) > 1:
        assert loop | robot == allowed
        assert not loop & robot


def test_the_only_core_is_for_both(allowed):
    only = {min(allowed)}
    for cores in (runtime.LOOP_CORES, runtime.ROBOT_CORES):
        os.sched_setaffinity(0, only)
        runtime.keep_to_cores(cores)
        assert os.sched_getaffinity(0) == only
