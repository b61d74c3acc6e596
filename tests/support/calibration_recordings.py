"""Recordings of the simulated Panda for calibration: free motion, guided motion, trials with a known outcome."""

from __future__ import annotations

import functools
from itertools import pairwise

import numpy as np
from typer.testing import CliRunner

from impact_control.cli.main import app
from impact_control.pipeline import Pipeline
from impact_control.recording.trials import Quantity, Source, Trial, TrialSet, write_trials
from impact_control.references import build_reference
from impact_control.robots import Dynamics
from impact_control.scenario import config_directory, load_scenario, robot_of
from impact_control.simulation import FlexibleJointPlant, Sensors, build_world
from impact_control.util.errors import ImpactControlError

PERIOD = 1e-3
TABLETOP = config_directory() / "scenarios" / "tabletop.yaml"
HOME = np.array([0.3, -0.5, 0.4, -2.0, 0.6, 1.9, 0.7])
STIFFNESS = np.array([300.0, 300.0, 300.0, 300.0, 100.0, 80.0, 25.0])
DAMPING = np.array([25.0, 25.0, 25.0, 25.0, 10.0, 8.0, 4.0])
COLUMNS = (
    "time: {column: t, unit: s}\nposition: {columns: 'q{}', unit: rad}\nvelocity: {columns: 'dq{}', unit: rad/s}\n"
    "torque: {columns: 'tau{}', unit: Nm}\n"
)
HOLD, WAY = 600, 900
"""Samples for which an arm is held still by hand, and that it is led from one place to the next."""
LAST = 1170
"""Samples of a trial: 0.17 s beyond its impact."""

HEADER = ",".join(["t", *(f"{name}{joint}" for name in ("q", "dq", "tau") for joint in range(1, 8))])


def called(*words):
    """Run a command that succeeds; return what it printed, a line."""
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == 0, (result.output, result.exception)
    return " ".join(result.output.split())


def refused(*words):
    """Run a command that fails with a line; return it."""
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == 1 and isinstance(result.exception, ImpactControlError), (result.output, result.exception)
    return str(result.exception)


def including(path, words=""):
    """Return a scenario that includes a file."""
    scenario = path.with_name(f"with_{path.name}")
    scenario.write_text(f"extends: {TABLETOP}\ninclude: {path.name}\n{words}")
    return load_scenario(scenario), scenario


@functools.cache
def motion(seed, duration, *, push_at=np.inf, still=()):
    """Stamps (m,) and position, velocity, torque (3, m, 7) of a motion of all joints.

    push_at [s]: when somebody pushes the arm for 0.3 s. still: joints that stay where they are.
    """
    robot, random = robot_of(load_scenario("tabletop").robot), np.random.default_rng(seed)
    plant, sensors = FlexibleJointPlant(robot, HOME), Sensors(robot.noise, 1.0, seed)
    rates = np.array([[2.1, 2.3, 2.6, 1.9, 2.9, 2.4, 3.1], [5.3, 5.9, 5.1, 6.1, 4.9, 5.6, 5.2]])
    rates = rates * random.uniform(0.9, 1.1, rates.shape)
    phase, size = random.uniform(0.0, 6.0, rates.shape), np.array([[0.4], [0.1]]) * np.ones(7)
    size[:, list(still)] = 0.0
    time = PERIOD * np.arange(round(duration / PERIOD))
    rows = np.zeros((3, time.size, 7))
    for k, t in enumerate(time):
        sample = sensors.measure(plant)
        rows[:, k] = sample.position, sample.velocity, sample.torque
        fade = min(1.0, t) ** 2
        goal = HOME + fade * (size * np.sin(rates * t + phase)).sum(axis=0)
        rate = fade * (size * rates * np.cos(rates * t + phase)).sum(axis=0)
        plant.external_torque[:] = 15.0 * (0.0 <= t - push_at < 0.3) * np.array([0.0, 1.0, 0.0, 1.0, 0.0, 0.3, 0.0])
        plant.step(STIFFNESS * (goal - plant.motor_position) + DAMPING * (rate - plant.motor_velocity))
    return time, rows


def write_log(path, time, rows, keep=slice(None)):
    """Write samples as a log, with the file that names its columns beside it."""
    columns = np.hstack([time[keep, None], *rows[:, keep]])
    np.savetxt(path, columns, delimiter=",", header=HEADER, comments="")
    (path.parent / "columns.yaml").write_text(COLUMNS)
    return str(path)


def task_samples(changes, count):
    """Stamps (m,) and position, velocity, torque (3, m, 7) of the tabletop task with these changes."""
    scenario = load_scenario("tabletop").with_overrides(changes)
    robot = robot_of(scenario.robot)
    world = build_world(scenario)
    plant, sensors, gate = world.single
    pipeline = Pipeline(scenario, robot)
    pipeline.reset()
    pipeline.start(build_reference(scenario, robot), scenario)
    stamps, rows = [], []
    for k in range(count):
        sample = sensors.measure(plant)
        if not sensors.lost:
            stamps.append(k * PERIOD + sensors.late)
            rows.append((sample.position, sample.velocity, sample.torque))
            pipeline.tick(stamps[-1], *rows[-1])
            gate.offer(pipeline.torque)
        world.step([gate.select(plant.link_velocity, PERIOD)])
    return np.array(stamps), np.array(rows).transpose(1, 0, 2)


def write_touch(path, place, surface, seed=0):
    """Write a log of a touch where a level table is expected 0.2 m high at a place (x, y) [m], on a real `surface`."""
    expected = f"{place[0]}, {place[1]}, 0.2 m"
    there = {"task.impact.position": expected, "expected_environment.surface.point": expected, "simulation.seed": seed}
    time, rows = task_samples(there | surface, 1200)
    return write_log(path, time, rows)


def write_guided(path, configurations, seed=0, tremor=1e-3):
    """Write the log of an arm that a hand leads from one configuration to the next, and holds in each of them."""
    robot, random = robot_of(load_scenario("tabletop").robot), np.random.default_rng(seed)
    share = np.linspace(0.0, 1.0, WAY)[:, None]
    smooth = share**3 * (10.0 - 15.0 * share + 6.0 * share**2)
    parts = [np.repeat(configurations[:1], HOLD, axis=0)]
    for before, after in pairwise(configurations):
        parts += [before + smooth * (np.asarray(after) - before), np.repeat([after], HOLD, axis=0)]
    position = np.vstack(parts)
    time = PERIOD * np.arange(len(position))
    phase, rate = random.uniform(0.0, 6.0, 7), random.uniform(5.0, 9.0, 7)
    position = position + tremor * np.sin(rate * time[:, None] + phase)
    velocity = np.gradient(position, PERIOD, axis=0)
    noise = np.clip(random.standard_normal((2, *position.shape)), -3.0, 3.0) / 3.0
    dynamics, torque = Dynamics(robot), np.zeros_like(position)
    for k, q in enumerate(position):
        dynamics.compute(q, velocity[k])
        torque[k] = dynamics.gravity
    measured = position + noise[0] * robot.noise.position, velocity + noise[1] * robot.noise.velocity
    return write_log(path, time, np.array([*measured, torque]))


@functools.cache
def trial(tilt, turn, seed, noise=1.0):
    """Samples of the tabletop task up to 0.17 s after the impact, on a table tilted by `tilt` [deg] about some axis."""
    a = np.deg2rad(tilt)
    normal = [np.sin(a) * np.cos(turn), np.sin(a) * np.sin(turn), np.cos(a)]
    there = {"actual_environment.surface.normal": normal, "simulation.seed": seed, "simulation.noise": noise}
    go_on = {f"reaction.on_unexpected_{name}": "continue" for name in ("impact", "post_impact")}
    return task_samples(there | go_on, LAST)


def write_trial_set(path, cases, *, last=None, facts=True):
    """Write trials of (tilt [deg], turn [rad], seed), as expected up to 1 deg, from the start to sample `last`."""
    trials = []
    for tilt, turn, seed in cases:
        time, rows = trial(tilt, turn, seed)
        units = {"joint_position": "rad", "joint_velocity": "rad/s", "joint_torque": "Nm"}
        signals = {name: Quantity(row[:last], unit) for (name, unit), row in zip(units.items(), rows, strict=True)}
        said = {"as_expected": Quantity(np.float64(tilt <= 1.0), "1")} if facts else {}
        trials.append(Trial({"arm": Source(time[:last], signals)}, said))
    write_trials(path, TrialSet(load_scenario("tabletop").to_yaml(), 0, "0.1.0", tuple(trials)))
    return str(path)


def trial_cases(seed, count):
    """Every other trial on a level table, the others on one that is tilted."""
    random = np.random.default_rng(seed)
    tilts = np.where(np.arange(count) % 2, random.uniform(5.0, 9.0, count), random.uniform(0.0, 0.8, count))
    return [(float(t), float(random.uniform(0.0, 6.28)), 100 * seed + k + 1) for k, t in enumerate(tilts)]
