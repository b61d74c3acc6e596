"""Link, wrench and point of a contact against the truth: of made-up torques, and of the simulated Panda."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from impact_control.detection import NO_LINK
from impact_control.impacts import ExponentialHuntCrossley
from impact_control.observation import MomentumObserver
from impact_control.robots import Dynamics, load_robot
from impact_control.robots.link_shapes import Capsules, LinkFrames, load_link_shapes
from impact_control.simulation import FlexibleJointPlant, Sensors, Surface
from impact_control.util.errors import InvalidInputError, ScenarioError
from impact_studies.models.detection.contact_location import (
    LEVER,
    LocationOptions,
    estimate_wrench,
    locate_contact,
    reacting_link,
)
from impact_studies.models.detection.contact_posterior import contact_posterior
from impact_studies.models.detection.line_of_action import first_entries, lines_of_action
from impact_studies.models.detection.surface_points import surface_points

HOME = np.array([0.3, -0.4, 0.2, -2.0, 0.4, 1.9, 0.5])
NOISE = np.diag(np.array([0.05, 0.1, 0.07, 0.06, 0.003, 0.008, 0.002]) ** 2)
"""[Nm^2] as the residual of the simulated Panda at rest has it, with K_O = 30 1/s."""

PERIOD = 1e-3
seeds = st.integers(0, 2**32 - 1)


@functools.cache
def panda():
    robot = load_robot()
    return robot, load_link_shapes(robot)


def placed(q=HOME):
    robot, shapes = panda()
    frames = LinkFrames(robot)
    frames.compute(q)
    return frames, frames.placed(shapes)


def torque_of(frames, link, point, force):
    """J_p^T F of a force on a link: power balance, not the wrench formulas of the code under test."""
    lever = point - frames.position[link - 1]
    jacobian = frames.jacobian[link - 1]
    columns = [jacobian[:3, i] + np.cross(jacobian[3:, i], lever) for i in range(len(HOME))]
    return np.array([column @ force for column in columns])


def configuration(random):
    limits = panda()[0].limits
    return random.uniform(limits.position_lower, limits.position_upper)


def pushing_force(random, normal, size):
    """A force inside a friction cone of 45 degrees."""
    tangent = random.normal(size=3)
    tangent -= (tangent @ normal) * normal
    return size * (-normal + random.uniform(0.0, 0.9) * tangent / np.linalg.norm(tangent))


def a_place(random, capsules, link):
    """A random point of the surface of a link, and its normal."""
    i = random.choice(np.flatnonzero(capsules.link == link))
    axis = capsules.end[i] - capsules.start[i]
    normal = random.normal(size=3)
    normal -= (normal @ axis) * axis / max(axis @ axis, 1e-12)
    normal /= np.linalg.norm(normal)
    return capsules.start[i] + random.random() * axis + capsules.radius[i] * normal, normal


def distance_from(capsules, i, points):
    """Distance of points from the segment of a capsule, by the three cases of the foot."""
    start, end = capsules.start[i], capsules.end[i]
    axis = end - start
    to_ends = np.minimum(np.linalg.norm(points - start, axis=1), np.linalg.norm(points - end, axis=1))
    if axis @ axis == 0.0:
        return to_ends
    share = (points - start) @ axis / (axis @ axis)
    between = np.linalg.norm(np.cross(points - start, axis), axis=1) / np.linalg.norm(axis)
    return np.where((share > 0.0) & (share < 1.0), between, to_ends)


@settings(deadline=None, max_examples=100)
@given(seeds)
def test_a_line_enters_a_capsule_where_walking_along_it_first_meets_the_surface(seed):
    random = np.random.default_rng(seed)
    start = random.normal(size=3)
    end = start + random.choice([0.0, 1.0]) * random.normal(size=3)
    capsule = Capsules(np.array([1]), start[None], end[None], np.array([random.uniform(0.1, 1.0)]))
    direction = random.normal(size=3)
    direction /= np.linalg.norm(direction)
    point = 0.5 * (start + end) + random.normal(0.0, 0.7, 3)
    entry, miss = first_entries(point[None], direction[None], capsule, 1)
    walk = point + np.linspace(-8.0, 8.0, 20001)[:, None] * direction
    depth = distance_from(capsule, 0, walk) - capsule.radius[0]
    step = 16.0 / 20000
    assert miss[0] == pytest.approx(max(depth.min(), 0.0), abs=step)
    assert distance_from(capsule, 0, entry)[0] == pytest.approx(capsule.radius[0], abs=1e-9)
    if miss[0] == 0.0 and depth.min() < -1e-6:
        assert np.linalg.norm(np.cross(entry[0] - point, direction)) < 1e-9
        assert (entry[0] - walk[np.argmax(depth < 0.0)]) @ direction == pytest.approx(0.0, abs=step)
    elif depth.min() > step:
        assert np.linalg.norm(walk - entry[0], axis=1).min() == pytest.approx(miss[0], abs=step)


@settings(deadline=None, max_examples=50)
@given(seeds)
def test_a_force_has_its_moment_from_every_point_of_its_line(seed):
    random = np.random.default_rng(seed)
    force, origin, point = random.normal(size=(3, 3))
    wrench = np.concatenate([force, np.cross(point - origin, force)])
    on_line, direction = lines_of_action(wrench[None], origin)
    assert np.cross(on_line[0] - point, force) == pytest.approx(np.zeros(3), abs=1e-9 * (1.0 + np.abs(on_line).max()))
    assert direction[0] * np.linalg.norm(force) == pytest.approx(force)


def test_without_force_there_is_no_line_and_no_entry():
    _, capsules = placed()
    entry, miss = first_entries(*lines_of_action(np.zeros((1, 6)), np.zeros(3)), capsules, 7)
    assert np.isnan(entry).all() and np.isnan(miss).all()


def test_the_surface_points_cover_the_area_of_a_capsule_evenly():
    length, radius, spacing = 0.3, 0.06, 0.005
    capsule = Capsules(np.array([1]), np.zeros((1, 3)), np.array([[0.0, 0.0, length]]), np.array([radius]))
    points = surface_points(capsule, spacing)
    assert points.area.sum() == pytest.approx(2.0 * np.pi * radius * length + 4.0 * np.pi * radius**2)
    assert distance_from(capsule, 0, points.point) == pytest.approx(radius)
    # The divergence theorem: the integral of the normal is 0, that of point . normal three times the volume.
    assert points.area @ points.normal == pytest.approx(np.zeros(3), abs=1e-4 * points.area.sum())
    volume = np.pi * radius**2 * length + 4.0 / 3.0 * np.pi * radius**3
    assert points.area @ np.sum(points.point * points.normal, axis=1) == pytest.approx(3.0 * volume, rel=1e-3)


def test_surface_inside_another_link_is_left_out():
    _, capsules = placed()
    points = surface_points(capsules, 0.02)
    for i in range(len(capsules.link)):
        assert distance_from(capsules, i, points.point).min() > capsules.radius[i] - 1e-9


@settings(deadline=None, max_examples=50)
@given(seeds, st.integers(1, 7))
def test_the_wrench_is_right_but_for_what_is_said_to_be_unknown(seed, link):
    random = np.random.default_rng(seed)
    frames, _ = placed(configuration(random))
    jacobian = frames.jacobian[link - 1]
    truth = random.normal(size=6) * [20.0, 20.0, 20.0, 2.0, 2.0, 2.0]
    # So fine a noise that only what cannot be seen at all counts as unknown.
    found = estimate_wrench(jacobian.T @ truth, 1e-16 * NOISE, jacobian, link, resolution=1.0)
    scale = np.array([1.0, 1.0, 1.0, LEVER, LEVER, LEVER])
    error = (found.wrench - truth) / scale
    unknown = found.unobservable / scale[:, None]
    assert error - unknown @ (unknown.T @ error) == pytest.approx(np.zeros(6), abs=1e-5 * np.linalg.norm(truth))
    assert found.unobservable.shape[1] >= 6 - link
    assert found.complete == (np.linalg.matrix_rank(jacobian, tol=1e-9) == 6)
    assert jacobian.T @ found.unobservable == pytest.approx(0.0, abs=1e-6)


def test_the_scatter_of_the_wrench_is_its_covariance_and_the_fit_a_probability():
    random = np.random.default_rng(1)
    frames, _ = placed()
    jacobian = frames.jacobian[6]
    truth = np.array([10.0, -5.0, 8.0, 0.3, 0.1, -0.4])
    trials = 400
    draws = jacobian.T @ truth + random.standard_normal((trials, 7)) * np.sqrt(np.diag(NOISE))
    found = [estimate_wrench(r, NOISE, jacobian, 7) for r in draws]
    errors = np.array([one.wrench - truth for one in found])
    squares = np.einsum("ki,ij,kj->k", errors, np.linalg.inv(found[0].covariance), errors)
    # Chi-square with 6 degrees of freedom: mean 6, variance 12; the fit is uniform: 1/2, 1/12. Four standard errors.
    assert squares.mean() == pytest.approx(6.0, abs=4.0 * np.sqrt(12.0 / trials))
    assert np.mean([one.fit for one in found]) == pytest.approx(0.5, abs=4.0 / np.sqrt(12.0 * trials))


def test_noise_makes_a_joint_react_as_rarely_as_asked():
    random = np.random.default_rng(2)
    deviation, share, trials = np.sqrt(np.diag(NOISE)), 0.05, 4000
    links = [reacting_link(random.standard_normal(7) * deviation, deviation, share).link for _ in range(trials)]
    alarms = np.count_nonzero(np.array(links) != NO_LINK)
    exact = 1.0 - (1.0 - share / 7.0) ** 7
    assert alarms / trials == pytest.approx(exact, abs=4.0 * np.sqrt(exact / trials))


@settings(deadline=None, max_examples=50)
@given(seeds, st.integers(1, 7))
def test_joints_beyond_the_contact_do_not_react(seed, link):
    random = np.random.default_rng(seed)
    frames, capsules = placed(configuration(random))
    point, normal = a_place(random, capsules, link)
    torque = torque_of(frames, link, point, pushing_force(random, normal, 30.0))
    deviation = np.sqrt(np.diag(NOISE))
    found = reacting_link(torque, deviation)
    assert found.link <= link
    if abs(torque[link - 1]) > 6.0 * deviation[link - 1]:
        assert found.link == link
        assert found.confidence > 1.0 - 1e-6


@settings(deadline=None, max_examples=25)
@given(seeds, st.sampled_from([6, 7]))
def test_without_noise_the_point_is_exact_where_the_whole_wrench_shows(seed, link):
    random = np.random.default_rng(seed)
    frames, capsules = placed()
    point, normal = a_place(random, capsules, link)
    # Not hidden in another part of the link: the line has to come from outside.
    force = pushing_force(random, normal, 30.0)
    before, miss = first_entries(point[None], force[None] / np.linalg.norm(force), capsules, link)
    if np.linalg.norm(before[0] - point) > 1e-9 or miss[0] > 0.0:
        return
    torque = torque_of(frames, link, point, force)
    found = locate_contact(
        torque, 1e-6 * NOISE, frames.jacobian, frames.position, capsules, LocationOptions(samples=16, spacing=0.04)
    )
    (here,) = (one for one in found.points if one.link == link)
    assert here.point == pytest.approx(point, abs=1e-6)
    assert here.wrench.wrench[:3] == pytest.approx(force, abs=1e-6 * 30.0)


def test_what_cannot_be_seen_is_not_invented():
    frames, capsules = placed()
    random = np.random.default_rng(3)
    for link in (2, 3, 4, 5):
        point, normal = a_place(random, capsules, link)
        torque = torque_of(frames, link, point, pushing_force(random, normal, 30.0))
        found = locate_contact(torque, NOISE, frames.jacobian, frames.position, capsules)
        assert not found.wrench.complete
        assert link not in [one.link for one in found.points]
        assert "do not show the whole wrench" in found.reason
        if link < 5:  # fewer torques than the five numbers of a force and its place on a surface
            assert found.posterior.deviation > 0.02
        elif found.posterior.link == link:
            assert np.linalg.norm(found.posterior.point - point) < 3.0 * found.posterior.deviation + 0.015


def test_a_force_on_a_joint_axis_leaves_the_choice_between_two_links_open():
    frames, capsules = placed()
    axis, origin = frames.rotation[6][:, 2], frames.position[6]
    side = np.cross(axis, [0.0, 0.0, 1.0])
    side /= np.linalg.norm(side)
    middle = origin + 0.01 * axis
    torque = torque_of(frames, 7, middle + 0.04 * side, -20.0 * side)  # radially into link 7
    assert torque[6] == pytest.approx(0.0, abs=1e-12)
    found = locate_contact(torque, NOISE, frames.jacobian, frames.position, capsules)
    assert found.isolation.link == 6
    assert found.posterior.link_probability[6] > 0.1
    best = {one.link: one.point for one in found.points}
    assert best[7] == pytest.approx(middle + 0.04 * side, abs=2e-3)


def test_two_contacts_are_not_taken_for_one():
    frames, capsules = placed()
    random = np.random.default_rng(4)
    places = [a_place(random, capsules, link) for link in (6, 7)]
    torque = sum(
        torque_of(frames, link, point, -30.0 * normal + 20.0 * np.cross(normal, [0.6, 0.0, 0.8]))
        for link, (point, normal) in zip((6, 7), places, strict=True)
    )
    found = locate_contact(torque, NOISE, frames.jacobian, frames.position, capsules)
    assert found.points == ()
    assert "single contact" in found.reason


def test_nothing_touches():
    frames, capsules = placed()
    found = locate_contact(np.zeros(7), NOISE, frames.jacobian, frames.position, capsules)
    assert (found.isolation.link, found.wrench, found.posterior, found.points) == (NO_LINK, None, None, ())
    assert found.reason


def test_in_a_singular_wrist_the_wrench_is_said_to_be_unknown():
    q = HOME.copy()
    q[5] = 0.0  # the axes of joints 5 and 7 are parallel, and 0.088 m apart: what is along their plane does not show
    q[3] = -0.0698
    frames, _ = placed(q)
    regular, _ = placed()
    torque = frames.jacobian[6].T @ np.array([10.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    found = estimate_wrench(torque, NOISE, frames.jacobian[6], 7)
    usual = estimate_wrench(torque, NOISE, regular.jacobian[6], 7)
    assert found.condition > 5.0 * usual.condition


def test_the_link_probabilities_hold_what_they_say():
    random = np.random.default_rng(5)
    frames, capsules = placed()
    spacing = 0.02
    places = surface_points(capsules, spacing)
    root = np.sqrt(np.diag(NOISE))
    stated, right, inside, trials = [], [], [], 100
    for _ in range(trials):
        # Drawn as the posterior assumes: evenly over the area, along the normal or inside the friction cone.
        i = random.choice(len(places.area), p=places.area / places.area.sum())
        force = -abs(random.normal(0.0, 50.0)) * places.normal[i]
        rough = random.random() < 0.5
        while rough:
            force = random.normal(0.0, 50.0, 3)
            pressing = -force @ places.normal[i]
            if np.linalg.norm(force + pressing * places.normal[i]) <= pressing:
                break
        link, point = int(places.link[i]), places.point[i]
        r = torque_of(frames, link, point, force) + root * random.standard_normal(7)
        found = contact_posterior(r, NOISE, frames.jacobian, frames.position, places, spacing)
        assert found.probability.sum() == pytest.approx(1.0)
        stated.append(found.link_probability[found.link - 1])
        right.append(found.link == link)
        inside.append(np.linalg.norm(found.point - point) <= 3.0 * found.deviation + spacing or found.link != link)
    stated, right = np.array(stated), np.array(right)
    # The number of right answers has the variance sum p (1 - p) when each is right with the probability it states.
    spread = np.sqrt(np.sum(stated * (1.0 - stated)))
    assert abs(right.sum() - stated.sum()) <= 3.0 * spread + 0.02 * trials
    assert np.mean(inside) > 0.95


class HeldPanda:
    """The simulated Panda, holding a configuration, pushed at a place; observed through noise."""

    def __init__(self, surface=None, target=HOME):
        self.robot, self.shapes = panda()
        self.frames = LinkFrames(self.robot)
        self.plant = FlexibleJointPlant(self.robot, HOME, surface)
        self.sensors = Sensors(self.robot.noise, 1.0, 7)
        self.dynamics = Dynamics(self.robot)
        transmission = self.robot.transmission
        self.observer = MomentumObserver(np.full(7, 30.0), transmission.damping / transmission.stiffness)
        self.target, self.tick = target, 0

    def run(self, count, link=None, place=None, force=None):
        """Go on for some periods, with a force at a place in axes of a link; return the residuals."""
        residuals = []
        for k in range(count):
            sample = self.sensors.measure(self.plant)
            self.dynamics.compute(sample.position, sample.velocity)
            self.dynamics.compute_momentum_terms()
            terms = self.dynamics.coriolis_transposed_velocity, self.dynamics.gravity
            self.observer.observe(self.dynamics.mass_matrix, sample.velocity, sample.torque, *terms, self.tick * PERIOD)
            residuals.append(self.observer.residual.copy())
            if link is not None and k % 10 == 0:
                self.frames.compute(self.plant.link_position)
                point = self.frames.position[link - 1] + self.frames.rotation[link - 1] @ place
                self.plant.external_torque[:] = torque_of(self.frames, link, point, force)
            stiffness, damping = [600, 600, 600, 600, 250, 150, 50], [50, 50, 50, 50, 30, 25, 15]
            self.plant.step(stiffness * (self.target - sample.position) - damping * sample.velocity)
            self.tick += 1
        self.frames.compute(self.plant.link_position)
        return np.array(residuals)

    def locate(self, residuals, covariance):
        """Locate the contact from the last residual."""
        capsules = self.frames.placed(self.shapes)
        return locate_contact(residuals[-1], covariance, self.frames.jacobian, self.frames.position, capsules)


@pytest.fixture(scope="module")
def held():
    """The Panda in the hand of nobody, and the covariance of its residual then."""
    arm = HeldPanda()
    quiet = arm.run(450)[150:]
    # Errors of the model count as noise: not the scatter about the mean, but that about 0; and as much again for the
    # friction of joints that creep while they are pushed.
    return arm, 4.0 * quiet.T @ quiet / len(quiet)


@pytest.mark.parametrize("link", [7, 6, 5, 4, 3])
def test_on_the_simulated_panda_link_force_and_place_are_found(held, link):
    arm, covariance = held
    random = np.random.default_rng(10 + link)
    arm.plant.external_torque[:] = 0.0
    arm.run(250)
    (first, *_) = np.flatnonzero(arm.shapes.link == link)
    only = Capsules(*(getattr(arm.shapes, name)[[first]] for name in ("link", "start", "end", "radius")))
    place, normal = a_place(random, only, link)
    # Sliding along the axis of the capsule and around it: seen by the joint of the link itself.
    around = np.cross([0.0, 0.0, 1.0], normal)
    force = arm.frames.rotation[link - 1] @ (-20.0 * normal + 15.0 * around + [0.0, 0.0, 4.0])
    residuals = arm.run(300, link, place, force)
    truth = arm.frames.position[link - 1] + arm.frames.rotation[link - 1] @ place
    found = arm.locate(residuals, covariance)
    assert found.isolation.link == link
    assert found.isolation.confidence > 0.999
    jacobian = arm.frames.jacobian[link - 1]
    moment = np.cross(truth - arm.frames.position[link - 1], force)
    error = found.wrench.wrench - np.concatenate([force, moment])
    # What the torques show of the wrench: its torques. Allowed are 4 standard deviations of the residual at rest, and
    # 1 % of the largest torque for the friction of joints that still creep.
    allowed = 4.0 * np.sqrt(np.diag(covariance)) + 0.01 * np.abs(arm.plant.external_torque).max()
    off = np.max(np.abs(jacobian.T @ error) / allowed)
    place_error = np.linalg.norm(found.posterior.point - truth)
    print(
        f"link {link}: torques of the wrench off by {off:.2f} of what is allowed, "
        f"{found.wrench.unobservable.shape[1]} of 6 directions unknown, probability of the link "
        f"{found.posterior.link_probability[link - 1]:.3f}, most probable is link {found.posterior.link}, place off by "
        f"{1e3 * place_error:.1f} mm, its spread {1e3 * found.posterior.deviation:.1f} mm"
    )
    assert off < 1.0
    assert found.posterior.link_probability[link - 1] > (0.5 if link >= 5 else 0.05)
    points = {one.link: one for one in found.points}
    if link >= 6:
        assert found.wrench.complete
        assert found.points[0].link == link
        place_error = np.linalg.norm(points[link].point - truth)
        force_error = np.linalg.norm(error[:3])
        size = np.linalg.norm(force)
        print(
            f"link {link}: point off by {1e3 * place_error:.2f} mm (target 5), "
            f"force by {force_error:.2f} N of {size:.1f} N (target 5 %)"
        )
        assert place_error < 5e-3
        assert force_error < 0.05 * np.linalg.norm(force)
    else:
        assert link not in points and found.reason
        if found.posterior.link == link:
            assert place_error < 3.0 * found.posterior.deviation + 0.02


def test_the_tool_pressed_on_a_table_is_found_from_the_contact_force_of_the_plant(held):
    _, covariance = held
    arm = HeldPanda()
    tool = arm.robot.end_effector
    arm.dynamics.compute(HOME, np.zeros(7))
    centre = arm.dynamics.position.copy()
    normal = np.array([0.0, 0.0, 1.0])
    law = ExponentialHuntCrossley(3.2e9, 3.2e12, 1.5)
    surface = Surface(centre - (tool.radius + 1e-3) * normal, normal, law, 0.3)
    push = np.linalg.lstsq(arm.dynamics.jacobian[:3], [0.01, 0.0, -0.03], rcond=None)[0]
    arm = HeldPanda(surface, HOME + push)
    residuals = arm.run(700)
    arm.dynamics.compute(arm.plant.link_position, np.zeros(7))
    truth, touched = arm.plant.contact_force.copy(), arm.dynamics.position - tool.radius * normal
    assert truth[2] > 3.0
    found = arm.locate(residuals, covariance)
    (tip,) = (one for one in found.points if one.link == 7)
    print(
        f"tool: force {tip.wrench.wrench[:3].round(2)} N, true {truth.round(2)} N, "
        f"point off by {1e3 * np.linalg.norm(tip.point - touched):.2f} mm, confidence {tip.confidence:.2f}, "
        f"link probabilities {found.posterior.link_probability.round(3)}"
    )
    assert tip.wrench.wrench[:3] == pytest.approx(truth, abs=0.05 * np.linalg.norm(truth) + 0.3)
    assert np.linalg.norm(tip.point - touched) < 0.01


def test_a_robot_without_shapes_and_wrong_shapes_are_named(tmp_path):
    robot, _ = panda()
    with pytest.raises(ScenarioError, match="planar_rrr"):
        load_link_shapes(load_robot("planar_rrr"))
    file = tmp_path / "shapes.yaml"
    for row, words in (("[8, 0, 0, 0, 0, 0, 1, 0.1]", "from 1 to 7"), ("[3, 0, 0, 0, 0, 0, 1, 0.0]", "above 0")):
        file.write_text(f"source: a test\ncapsules: [{row}]\n")
        with pytest.raises(ScenarioError, match=words):
            load_link_shapes(robot, file)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"residual": np.full(7, np.nan)}, "residual"),
        ({"covariance": np.zeros((7, 7))}, "positive definite"),
        ({"covariance": -np.eye(7)}, "positive definite"),
        ({"resolution": 0.0}, "resolution"),
        ({"false_alarm": 1.0}, "false_alarm"),
        ({"samples": 1}, "samples"),
        ({"spacing": -1.0}, "spacing"),
    ],
)
def test_what_is_not_allowed_is_named(change, words):
    frames, capsules = placed()
    tuning = {name: value for name, value in change.items() if name not in ("residual", "covariance")}
    residual, covariance = change.get("residual", np.ones(7)), change.get("covariance", NOISE)
    with pytest.raises(InvalidInputError, match=words):
        locate_contact(residual, covariance, frames.jacobian, frames.position, capsules, LocationOptions(**tuning))


def test_jacobians_and_places_of_the_links_agree_by_finite_differences():
    frames, capsules = placed()
    for joint in range(7):
        step = np.zeros(7)
        step[joint] = 1e-6
        _, ahead = placed(HOME + step)
        _, behind = placed(HOME - step)
        for i, link in enumerate(capsules.link):
            jacobian = frames.jacobian[link - 1][:, joint]
            velocity = jacobian[:3] + np.cross(jacobian[3:], capsules.end[i] - frames.position[link - 1])
            assert (ahead.end[i] - behind.end[i]) / 2e-6 == pytest.approx(velocity, abs=1e-8)
