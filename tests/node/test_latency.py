"""What the benchmark measures over DDS: answers of the loop and of the ping-pong, measures of real time, messages."""

import pytest

from impact_control.nodes.latency import Latency, measure_latency
from impact_control.nodes.measure_worth import EVERY, figures_of
from impact_control.nodes.message_costs import message_figures

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


def test_a_set_of_measures_is_held_against_all_of_them():
    def answers(median, missed):
        return Latency("impact_loop", median, 2 * median, 3 * median, 9.0, 1.0, missed, 0, 1000, ())

    found = {EVERY: [answers(10.0, 1), answers(30.0, 1), answers(20.0, 1)], "without heap": [answers(30.0, 7)] * 3}
    heap, missed = figures_of(found)
    assert heap.name == "loop over DDS without heap" and heap.values == {"median": 30.0, "99 %": 60.0, "99.9 %": 90.0}
    assert heap.peers[0].ratio == pytest.approx(1.5)
    assert (missed.unit, missed.values) == ("of 3000 cycles", {EVERY: 3, "without heap": 21})


def test_what_the_loop_does_with_messages_is_shorter_than_what_rclpy_offers():
    state, command, waiting = message_figures(rounds=3, count=100)
    assert state.peers[0].ratio < 0.6
    assert command.peers[0].ratio < 0.3
    inbox, single_threaded = waiting.peers
    assert inbox.ratio > 1.0 > single_threaded.ratio
