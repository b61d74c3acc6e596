"""Capsules of the links: what their file may hold, and the Jacobians beside finite differences."""

from __future__ import annotations

import numpy as np
import pytest

from impact_control.robots import load_robot
from impact_control.robots.link_shapes import LinkFrames, load_link_shapes
from impact_control.util.errors import ScenarioError

HOME = np.array([0.3, -0.4, 0.2, -2.0, 0.4, 1.9, 0.5])


def test_a_robot_without_shapes_and_wrong_shapes_are_named(tmp_path):
    with pytest.raises(ScenarioError, match="planar_rrr"):
        load_link_shapes(load_robot("planar_rrr"))
    file = tmp_path / "shapes.yaml"
    for row, words in (("[8, 0, 0, 0, 0, 0, 1, 0.1]", "from 1 to 7"), ("[3, 0, 0, 0, 0, 0, 1, 0.0]", "above 0")):
        file.write_text(f"source: a test\ncapsules: [{row}]\n")
        with pytest.raises(ScenarioError, match=words):
            load_link_shapes(load_robot(), file)


def test_jacobians_and_places_of_the_links_agree_by_finite_differences():
    robot = load_robot()
    frames, shapes = LinkFrames(robot), load_link_shapes(robot)

    def placed(q):
        frames.compute(q)
        return frames.placed(shapes)

    step = 1e-6 * np.eye(7)
    ahead, behind = ([placed(HOME + side * one) for one in step] for side in (1.0, -1.0))
    capsules = placed(HOME)
    for joint in range(7):
        for i, link in enumerate(capsules.link):
            jacobian = frames.jacobian[link - 1][:, joint]
            velocity = jacobian[:3] + np.cross(jacobian[3:], capsules.end[i] - frames.position[link - 1])
            assert (ahead[joint].end[i] - behind[joint].end[i]) / 2e-6 == pytest.approx(velocity, abs=1e-8)
