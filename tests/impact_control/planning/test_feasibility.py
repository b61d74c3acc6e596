"""The check before the start: what comes with the package passes, and each obstacle is found where it is."""

from __future__ import annotations

import pytest

from impact_control.planning.feasibility import Obstacle, check_scene
from impact_control.scenario import load_scenario

LIGHT = "expected_environment.objects.box.mass"


def found(name, **overrides):
    scene = load_scenario(name).with_overrides({key.replace("__", "."): value for key, value in overrides.items()})
    return check_scene(scene)


@pytest.mark.parametrize("name", ["push_parcel_2", "push_juice_3", "grab_juice_2", "grab_parcel_3"])
def test_scenes_of_the_package_can_be_started(name):
    assert found(name) == ()


@pytest.mark.parametrize(
    ("name", "overrides", "obstacle"),
    [
        ("push_parcel_1", {"task__ante__distance": "0.9 m"}, Obstacle.UNREACHABLE),
        ("push_parcel_1", {"task__impact__time": "0.2 s"}, Obstacle.UNREACHABLE),
        ("push_parcel_1", {"arms__left__impact__offset": "0, -8 cm"}, Obstacle.TABLE),
        (
            "push_parcel_1",
            {"task__post__duration": "0.2 s", "task__post__displacement": "0, -0.03, 0 m"},
            Obstacle.SEPARATES,
        ),
        ("grab_parcel_1", {"task__post__force": "900 N"}, Obstacle.TORQUE),
        ("grab_juice_1", {"task__post__force": "8 N"}, Obstacle.SLIPS),
        ("grab_juice_1", {"expected_environment__objects__box__friction": 0.1}, Obstacle.SLIPS),
        ("grab_juice_1", {"task__ante__extension_depth": "0.12 m"}, Obstacle.MEETING),
    ],
)
def test_an_obstacle_is_found(name, overrides, obstacle):
    findings = found(name, **overrides)
    assert obstacle in {finding.obstacle for finding in findings}
    worst = next(finding for finding in findings if finding.obstacle is obstacle)
    assert obstacle.value in str(worst)
    assert worst.allowed in str(worst)


def test_the_grip_is_judged_by_newton():
    """A clamp of 60 N holds 2.2 kg with mu = 0.18 at rest, (2.2 / 2) 9.81 / 60, but not with less."""
    enough = {"expected_environment__objects__box__friction": 0.30}
    assert Obstacle.SLIPS in {
        finding.obstacle for finding in found("grab_juice_1", expected_environment__objects__box__friction=0.17)
    }
    by_cone = [f for f in found("grab_juice_1", **enough) if "friction" in f.allowed]
    assert not by_cone
