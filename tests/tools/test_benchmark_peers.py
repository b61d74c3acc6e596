"""The peers of the benchmark get the course of our own controller; what they say and how they fail comes back."""

import ast
import stat
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from benchmark import loop, physics
from benchmark import peers as peers_module
from benchmark.course import Course, observing_parts
from benchmark.figure import Figure, Peer, figure_beside, figure_of
from benchmark.loop import loop_figures
from benchmark.peers import MEASUREMENTS, NOT_SET_UP, Peers, write_course
from benchmark.yardstick import YARDSTICK
from impact_control.references import build_reference
from impact_control.robots import Dynamics, load_robot
from impact_control.scenario import load_scenario
from impact_control.util.errors import ImpactControlError, InvalidInputError

SCENARIO = load_scenario("tabletop")
ROBOT = load_robot()
REFERENCE = build_reference(SCENARIO, ROBOT)
STILL = np.zeros(7)
SAMPLES = tuple((time, REFERENCE.initial_configuration, STILL, STILL) for time in (0.0, 0.999, 1.0, 2.0))
COURSE = Course(SCENARIO, ROBOT, REFERENCE, SAMPLES)


def interpreter(directory: Path, script: str) -> Path:
    """Return a stand-in for the interpreter of the peers."""
    path = directory / "python"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_the_course_switches_reference_at_the_impact(tmp_path: Path) -> None:
    write_course(tmp_path / "course.npz", COURSE)
    course = np.load(tmp_path / "course.npz")
    assert course["q"].shape == (4, 7)
    dynamics = Dynamics(ROBOT)
    for row, velocity in ((1, REFERENCE.ante_impact_velocity), (2, REFERENCE.post_impact_velocity)):
        dynamics.compute(REFERENCE.impact_configuration, velocity)
        # One sample before the impact the acceleration of the approach has changed the velocity a little.
        np.testing.assert_allclose(course["velocity"][row], dynamics.twist[:3], atol=2e-3)
    model = ROBOT.pinocchio_model
    here = model.frames[ROBOT.contact_frame_id]
    assert int(course["panda_joint"]) == here.parentJoint
    np.testing.assert_array_equal(course["panda_place"], here.placement.translation)
    assert course["planar_rrr_home"].shape == (3,)


def test_a_peer_is_measured_when_it_is_asked_for(tmp_path: Path) -> None:
    script = 'echo \'{"TSID": "1.7"}\'\nwhile read name; do echo "[1e-6, 2e-6, 3e-6]"; done'
    with Peers(COURSE, interpreter(tmp_path, script)) as peers:
        assert peers.versions == {"TSID": "1.7"}
        measure = peers.measurement("TSID")
        assert not isinstance(measure, str)
        assert [list(measure()) for _ in range(2)] == [[1e-6, 2e-6, 3e-6]] * 2
        assert peers.measurement("pink") == NOT_SET_UP


ALIVE = 'echo \'{"TSID": "1.7"}\'; read name; echo "[1e-6]"; read name'
"""What a peer does that ends when it is asked for the second time."""


@pytest.mark.parametrize("said", ["", ALIVE, f'{ALIVE}; printf "[1e-6, 2"'])
def test_a_peer_that_fails_is_missing_and_told_with_the_reason(tmp_path: Path, said: str) -> None:
    broken = interpreter(tmp_path, f"{said}\necho first >&2; echo no such solver >&2; exit 3")
    with Peers(COURSE, broken) as peers:
        asked = {"TSID": peers.measurement("TSID"), "other": lambda: [3e-6]}
        for _ in range(2):
            failed, other = figure_beside("ours", lambda: [6e-6], asked, rounds=3).peers
            assert failed == Peer("TSID", missing="its process ended: no such solver")
            assert other.ratio == pytest.approx(2.0)


def test_an_error_of_our_own_is_none_of_a_peer() -> None:
    def broken() -> list[float]:
        raise ImpactControlError("plant A: no impact")

    with pytest.raises(ImpactControlError, match="no impact"):
        figure_beside("ours", broken, {"other": lambda: [3e-6]}, rounds=1)


def test_who_is_asked_for_is_who_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that nobody has would be told as one that is not installed."""
    asked: set[str] = set()

    def beside(name: str, ours: object, peers: Mapping[str, object], *_: object) -> Figure:
        asked.update(peer for peer, one in peers.items() if one == NOT_SET_UP)
        return Figure(name, {})

    for module in (loop, physics):
        monkeypatch.setattr(module, "figure_beside", beside)
    monkeypatch.setattr(physics, "timed", lambda *_: None)
    with Peers(COURSE, Path("nothing")) as peers:
        loop_figures(COURSE, peers)
        physics.physics_figures(peers)
        with pytest.raises(InvalidInputError, match="'MuJoCo, one step'"):
            peers.measurement("MuJoCo, a step")
    assert asked == set(MEASUREMENTS)


def test_the_process_of_the_peers_measures_what_is_said_of_it() -> None:
    """Read and not run: what it measures is not installed here."""
    script = Path(peers_module.__file__).parent / "data" / "peer_process.py"
    named = [node for node in ast.walk(ast.parse(script.read_text())) if isinstance(node, ast.AnnAssign)]
    (offered,) = (node.value for node in named if ast.unparse(node.target) == "measurements")
    assert isinstance(offered, ast.Dict)
    assert [ast.literal_eval(key) for key in offered.keys if key is not None] == list(MEASUREMENTS)


def test_a_missing_environment_is_said_to_be_missing(tmp_path: Path) -> None:
    with Peers(COURSE, tmp_path / "nothing") as peers:
        figure = figure_beside("ours", lambda: [1e-6], {"TSID": peers.measurement("TSID")}, 1)
    assert figure.peers == (Peer("TSID", missing=NOT_SET_UP),)


def test_the_ratio_is_that_of_each_round() -> None:
    """A machine of half the speed in some rounds changes the durations, not the ratio."""
    speeds = iter([1.0, 1.0, 2.0, 2.0, 2.0, 2.0])
    figure = figure_beside(
        "ours", lambda: [3e-6 * next(speeds)] * 3, {"theirs": lambda: [1e-6 * next(speeds)] * 5}, rounds=3
    )
    (peer,) = figure.peers
    assert peer.ratio == pytest.approx(3.0)
    assert figure.values["median"] == pytest.approx(6.0)
    assert peer.values["median"] == pytest.approx(2.0)


@pytest.mark.parametrize(("tail", "met"), [(4e-6, True), (2e-6, False), (None, True)])
def test_both_targets_have_to_be_met(tail: float | None, met: bool) -> None:
    figure = figure_of("step", [1e-6, 1e-6, 3e-6], 2e-6, tail)
    assert figure.met is met
    assert "2 median" in figure.target


def test_without_a_limit_nothing_is_met_or_missed() -> None:
    figure = Figure("step", {"median": 1.0})
    assert figure.met is None
    assert figure.target == ""


def test_the_detector_that_is_measured_looks_at_the_observer() -> None:
    _, observer, _, signals = observing_parts(COURSE)
    assert signals.residual is observer.residual
    assert signals.residual_rate is observer.residual_rate


def test_every_part_of_a_tick_has_a_peer() -> None:
    with Peers(COURSE, Path("nothing")) as peers:
        figures = {figure.name: figure for figure in loop_figures(COURSE, peers)}
    for name in ("control step of two arms", "whole tick with detector, classifier", "observer and detector"):
        (ruler,) = figures[name].peers
        assert ruler.name == YARDSTICK
        assert ruler.ratio is not None and ruler.ratio > 0.0
    assert all(figure.peers for figure in figures.values())
