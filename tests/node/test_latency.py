"""The benchmark over DDS asks the loop node and the ping-pong, and gets answers from both."""

import pytest

from impact_control.nodes.latency import measure_latency

pytestmark = pytest.mark.wall_clock


def test_both_answer_most_samples():
    ping_pong, loop = measure_latency(0.5)
    assert (ping_pong.name, loop.name) == ("ping_pong", "impact_loop")
    for way in (ping_pong, loop):
        assert way.cycles == 500
        assert way.own_missed <= way.missed < 250
        assert 0.0 < way.median <= way.high <= way.highest <= way.longest
        assert 0.0 < way.jitter < way.longest
        times, sizes = zip(*way.memory, strict=True)
        assert sorted(times) == list(times)
        assert all(10.0 < size < 1000.0 for size in sizes)
