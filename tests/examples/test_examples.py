"""Scripts of examples/, run as they stand; each says in a few lines what it found."""

from __future__ import annotations

import runpy
import sys

import pytest

from documentation import ROOT
from recorded_courses import write_bag

pytestmark = pytest.mark.timeout(300)  # the first example compiles the kernels

EXAMPLES = {file.stem: file for file in sorted((ROOT / "examples").glob("*.py"))}

PRINTED = {
    "own_scenario": ("as expected: SUCCEEDED", "2 cm lower than expected: IMPACT_UNEXPECTED"),
    "own_detector": ("impact detected at 0.700 s",),
    "predict_jump": ("friction 0.3: after", "SLIPS"),
    "compare_impact_maps": ("90 deg  M + B_rho",),
    "calibrate_thresholds": ("CALIBRATED: residual_rate", "Nm/s"),
    "two_arms": ("SUCCEEDED", "box: moved by"),
    "plan_task": ("task.impact.speed", "SUCCEEDED"),
    "replay_bag": ("AS RECORDED", "impact detected at"),
    "subscribe_to_verdicts": ("impact expected, behaviour expected: as planned",),
}


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run a script with arguments in an empty directory; return what it printed."""

    def run(name, *arguments):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", [name, *map(str, arguments)])
        runpy.run_path(str(EXAMPLES[name]), run_name="__main__")
        return capsys.readouterr().out

    return run


@pytest.fixture
def verdict():
    """Publish a verdict, kept for late joiners."""
    import rclpy
    from impact_msgs.msg import ImpactClassification as Classification

    from impact_control_ros.bridge.qos import EVENT

    context = rclpy.Context()
    rclpy.init(context=context)
    node = rclpy.create_node("publisher", context=context)
    publisher = node.create_publisher(Classification, "impact/classification", EVENT)
    publisher.publish(Classification(impact=1, post_impact=1, reason="as planned"))
    yield
    node.destroy_node()
    rclpy.shutdown(context=context)


def test_every_example_is_run_and_short():
    assert EXAMPLES.keys() == PRINTED.keys() and len(EXAMPLES) >= 8
    for file in EXAMPLES.values():
        assert len(file.read_text().splitlines()) <= 40, file.name


@pytest.mark.parametrize("name", [name for name in PRINTED if name not in ("replay_bag", "subscribe_to_verdicts")])
def test_an_example_prints_what_it_found(run, name):
    printed = run(name)
    for text in PRINTED[name]:
        assert text in printed


def test_a_bag_is_replayed(run, tmp_path):
    printed = run("replay_bag", write_bag(tmp_path))
    assert all(text in printed for text in PRINTED["replay_bag"])


@pytest.mark.node
def test_verdicts_are_received(run, verdict):
    assert all(text in run("subscribe_to_verdicts") for text in PRINTED["subscribe_to_verdicts"])
