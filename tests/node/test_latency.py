"""What the benchmark measures over DDS: answers of the loop and of the ping-pong, measures of real time, messages."""

import os
import sys

import pytest

from impact_control.nodes.bench import latency_figures
from impact_control.nodes.latency import Latency, measure_latency
from impact_control.nodes.measure_worth import EVERY, figures_of
from impact_control.nodes.message_costs import message_figures

pytestmark = pytest.mark.wall_clock


def test_both_answer_most_samples():
    latencies = measure_latency(0.5)
    assert list(latencies) == ["ping_pong", "impact_loop"]
    for way in latencies.values():
        assert way.cycles == 500
        assert way.own_missed <= way.missed < 250
        assert 0.0 < way.median <= way.high <= way.highest <= way.longest
        assert 0.0 < way.jitter < way.longest
        times, sizes = zip(*way.memory, strict=True)
        assert sorted(times) == list(times)
        assert all(10.0 < size < 1000.0 for size in sizes)


def test_a_ping_pong_in_cpp_is_measured_where_one_was_built(tmp_path, monkeypatch):
    """A program that answers stands in for it: there is no rclcpp here."""
    program = tmp_path / "lib" / "impact_ping_pong" / "impact_ping_pong"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m impact_control.nodes.bench_echo "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"{tmp_path}{os.pathsep}{os.environ['AMENT_PREFIX_PATH']}")
    latencies = measure_latency(0.2)
    assert list(latencies) == ["ping_pong", "cpp_ping_pong", "impact_loop"]
    assert latencies["cpp_ping_pong"].cycles == 200
    answers, *_ = latency_figures("idle", latencies, 0.0)
    assert [peer.name for peer in answers.peers] == ["bare rclpy ping-pong", "ping-pong in C++"]
    assert answers.peers[1].ratio == pytest.approx(answers.values["median"] / latencies["cpp_ping_pong"].median)
    del latencies["cpp_ping_pong"]
    assert "rclcpp" in latency_figures("idle", latencies, 0.0)[0].peers[1].missing


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
