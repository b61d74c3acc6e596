"""The world for Gazebo: the upper face of the slab lies in the plane of the scenario, the box stands on it."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pinocchio as pin
import pytest

from impact_control.scenario import load_scenario
from impact_control_ros.robot_side.gazebo_world import BOX, BOX_MASS, SLAB, gazebo_world


def bodies(scenario):
    """Size (3,), rotation (3, 3) and centre (3,) of each box by name, and its element."""
    found = {}
    for model in ElementTree.fromstring(gazebo_world(scenario)).iter("model"):
        pose = np.array(model.findtext("pose").split(), dtype=float)
        size = np.array(model.findtext("link/collision/geometry/box/size").split(), dtype=float)
        found[model.get("name")] = (size, pin.rpy.rpyToMatrix(pose[3:]), pose[:3], model)
    return found


@pytest.mark.parametrize("name", ["tabletop", "tabletop_tilted", "tabletop_edge_tilted", "tabletop_raised", "askew"])
def test_the_slab_ends_at_the_plane_and_the_box_stands_on_it(name):
    askew = {"actual_environment.surface.normal": [0.1, -0.2, 0.974679434]}
    scenario = load_scenario("tabletop").with_overrides(askew) if name == "askew" else load_scenario(name)
    surface = scenario.actual_environment.surface
    found = bodies(scenario)
    for body, above in (("surface", -1.0), ("box", 1.0)):
        size, rotation, centre, model = found[body]
        np.testing.assert_allclose(rotation[:, 2], surface.normal, rtol=0.0, atol=1e-8)
        height = float(surface.normal @ (centre - surface.point))
        assert height == pytest.approx(above * 0.5 * size[2], abs=1e-8)
        assert float(model.findtext("link/collision/surface/friction/ode/mu")) == surface.friction
    assert tuple(found["surface"][0]) == SLAB and found["surface"][3].findtext("static") == "true"
    assert tuple(found["box"][0]) == BOX and found["box"][3].findtext("static") == "false"
    # Where the arm hits, and where it slides to, is above the slab; the box is not in the way.
    size, rotation, centre, _ = found["surface"]
    task = scenario.task
    for point in (task.impact.position, task.impact.position + task.post.slide * task.impact.heading):
        assert np.all(np.abs(rotation.T @ (point - centre))[:2] < 0.5 * size[:2])
        assert np.linalg.norm(point - found["box"][2]) > 0.15


def test_the_box_has_the_inertia_of_its_size():
    inertial = bodies(load_scenario("tabletop"))["box"][3].find("link/inertial")
    assert float(inertial.findtext("mass")) == BOX_MASS
    moments = [float(inertial.findtext(f"inertia/{axis}")) for axis in ("ixx", "iyy", "izz")]
    # Independent: Pinocchio's solid box.
    np.testing.assert_allclose(np.diag(moments), pin.Inertia.FromBox(BOX_MASS, *BOX).inertia, rtol=1e-8)


def test_without_a_surface_the_world_is_empty():
    assert bodies(load_scenario("tabletop_absent")) == {}


def test_a_step_is_a_period_of_the_controller():
    world = ElementTree.fromstring(gazebo_world(load_scenario("tabletop")))
    assert float(world.findtext("world/physics/max_step_size")) == load_scenario("tabletop").control.period
