"""Slow motion of the impacts of recorded runs, side by side: arm, velocity with its reference, external torque."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from PIL import Image

from impact_control.recording.gaps import with_gaps
from impact_control.recording.measures import MeasuredJoints, contact_forces, measured_joints
from impact_control.recording.series import Recording, Topics
from impact_control.recording.style import ANTE, IMPACT, INK, LIMIT, NEUTRAL, POST, line, styled
from impact_control.recording.summary import short_joint_names
from impact_control.replay.evaluation import Evaluation
from impact_control.robots.link_shapes import LinkFrames, load_link_shapes
from impact_control.scenario import robot_of
from impact_control.util.errors import InvalidInputError, RecordingError
from impact_control.util.types import Matrix, Vector

BEFORE, AFTER = 0.08, 0.16
"""[s] around the impact."""

STEP = 0.004
"""[s] between two frames."""

FRAME_TIME = 80
"""[ms] that a frame is shown: 1/20 of the speed."""

_MOST = 3
"""Runs beside each other."""

_WIDTH, _HEIGHT, _DPI = 4.4, 6.8, 72
"""[inch] of a run, and dots to an inch."""

_COLOURS = 128
"""Size of the palette; fewer colours make a smaller file."""

_ACROSS, _UP = (-0.15, 0.75), (0.0, 0.95)
"""[m] that the view of the arm shows, along x and z of the world frame A."""

_LEAST_LENGTH = 0.01
"""[m] added to each capsule: a line shorter than a dot, as of one across the view, would not be drawn."""

_REFERENCES = (("ante", ANTE, ("IDLE", "ANTE")), ("post", POST, ("INTERIM", "POST", "STOPPED")))
"""Name, colour, and the modes in which it is followed."""

_FORCE_SCALE = 0.2 / 30.0
"""[m/N] of the arrow of the contact force, which ends at the edge of the picture at the peak of an impact."""


def animate(evaluations: Mapping[str, Evaluation], path: Path) -> None:
    """Write a GIF of the surroundings of the impact of each run, by the title that it gets, in the order given.

    The velocity and the external torque are those of the joint whose velocity jumps most in the first run. Raises
    InvalidInputError for no or too many runs, or a file that cannot be written, and RecordingError, which names the
    bag, for a run without an impact.
    """
    if not 1 <= len(evaluations) <= _MOST:
        raise InvalidInputError("runs", len(evaluations), f"1 to {_MOST}")
    if path.suffix.lower() != ".gif":
        raise InvalidInputError("output", path, "a file that ends in .gif")
    with styled():
        figure = Figure(figsize=(_WIDTH * len(evaluations), _HEIGHT), dpi=_DPI)
        canvas = FigureCanvasAgg(figure)
        grid = figure.subplots(3, len(evaluations), squeeze=False, height_ratios=[3.4, 1.0, 1.0], sharey="row")
        joint = _jumping_joint(next(iter(evaluations.values())))
        scenes = [
            _Scene(column, title, evaluation, joint)
            for column, (title, evaluation) in zip(grid.T, evaluations.items(), strict=True)
        ]
        entries = [
            line("measured", INK),
            *(line(f"{name}-impact reference", colour, width=3.0) for name, colour, _ in _REFERENCES),
            line("impact detected", IMPACT, "--"),
        ]
        figure.legend(handles=entries, loc="upper center", ncols=2 if len(evaluations) == 1 else len(entries))
        figure.tight_layout(rect=(0.0, 0.0, 1.0, 0.93))
        pictures = []
        for since in np.arange(-BEFORE, AFTER + 0.5 * STEP, STEP):
            for scene in scenes:
                scene.show(float(since))
            drawn = BytesIO()
            figure.savefig(drawn, format="rgba")
            picture = Image.frombytes("RGBA", canvas.get_width_height(), drawn.getvalue()).convert("RGB")
            pictures.append(picture.quantize(_COLOURS, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE))
    try:
        pictures[0].save(path, save_all=True, append_images=pictures[1:], duration=FRAME_TIME, loop=0, optimize=True)
    except OSError as error:
        raise InvalidInputError("output", path, f"a file that can be written: {error.strerror}") from error


def _jumping_joint(evaluation: Evaluation) -> int:
    """Return the joint whose velocity changes most across the impact, the first one where that is not known."""
    before, after = evaluation.analysis.ante_velocity, evaluation.analysis.gross_post_velocity
    return 0 if before is None or after is None else int(np.argmax(np.abs(after - before)))


class _Scene:
    """Column of a run: its panels, and what changes in them with time."""

    def __init__(self, panels: Sequence[Axes], title: str, evaluation: Evaluation, joint: int) -> None:
        impact, recording = evaluation.analysis.impact_time, evaluation.recording
        if impact is None:
            raise RecordingError(str(recording.directory), "no impact in it", "the run of a task with an impact")
        self._impact = impact
        arm, velocity, torque = panels
        self._arm = _Arm(arm, evaluation)
        arm.set_title(title)
        joints = measured_joints(recording)
        name = short_joint_names(evaluation.analysis.joint_names)[joint]
        self._lines: list[tuple[Line2D, Vector, Vector]] = []
        for stamp, values, colour, width in _velocities(recording, joints, joint):
            self._draw(velocity, stamp, values, colour, width)
        velocity.set_title(f"velocity of {name} [rad/s]", fontweight="normal", pad=4)
        estimate = recording.get(Topics.external_torque)
        if estimate is not None:
            stamp, values = with_gaps(estimate["stamp"], estimate["external_torque"][:, joint])
            self._draw(torque, stamp, values, INK, 1.2)
        torque.set_title(f"external torque of {name} [Nm]", fontweight="normal", pad=4)
        torque.set_xlabel("time after the impact [ms]")
        detected = evaluation.analysis.impact_detection
        for panel in (velocity, torque):
            panel.set_xlim(-1e3 * BEFORE, 1e3 * AFTER)
            if detected is not None:
                panel.axvline(1e3 * (detected - impact), color=IMPACT, linestyle="--", linewidth=0.9)
        velocity.tick_params(labelbottom=False)

    def _draw(self, panel: Axes, stamp: Vector, values: Vector, colour: str, width: float) -> None:
        near = (stamp >= self._impact - BEFORE) & (stamp <= self._impact + AFTER)
        time, shown = 1e3 * (stamp[near] - self._impact), values[near]
        (drawn,) = panel.plot(time, shown, color=colour, linewidth=width, alpha=0.6 if width > 2.0 else 1.0)
        panel.relim()
        panel.autoscale_view(scalex=False)
        self._lines.append((drawn, time, shown))

    def show(self, since: float) -> None:
        """Show the run at a time [s] after its impact."""
        self._arm.show(self._impact + since, since)
        for drawn, time, values in self._lines:
            past = time <= 1e3 * since
            drawn.set_data(time[past], values[past])


def _velocities(recording: Recording, joints: MeasuredJoints, joint: int) -> list[tuple[Vector, Vector, str, float]]:
    """Return stamps and velocities of a joint, with colour and width: the reference that is followed, and measured."""
    found = []
    reference = recording.get(Topics.reference)
    if reference is not None:
        modes = recording.constants(Topics.reference)
        for name, colour, own in _REFERENCES:
            followed = np.isin(reference["mode"], [modes[mode] for mode in own])
            values = np.where(followed, reference[f"{name}_joint_velocity"][:, joint], np.nan)
            found.append((reference["stamp"], values, colour, 3.0))
    stamp, velocity = with_gaps(joints.time, joints.velocity)
    return [*found, (stamp, velocity[:, joint], INK, 1.2)]


class _Arm:
    """The arm from the side, the surface, and the contact force."""

    def __init__(self, axes: Axes, evaluation: Evaluation) -> None:
        robot = robot_of(evaluation.scenario.robot)
        self._joints = measured_joints(evaluation.recording)
        self._frames, self._capsules = LinkFrames(robot), load_link_shapes(robot)
        self._force = contact_forces(evaluation.recording)
        axes.set(xlim=_ACROSS, ylim=_UP, aspect="equal", xticks=[], yticks=[])
        axes.grid(visible=False)
        surface = evaluation.scenario.actual_environment.surface
        if surface is not None:
            along = np.array([surface.normal[2], -surface.normal[0]])
            ends = surface.point[[0, 2]] + np.array([[-0.25], [0.25]]) * along
            axes.plot(*ends.T, color=NEUTRAL, linewidth=4.0, solid_capstyle="butt")
        points_of = 72.0 * (_WIDTH - 1.0) / (_ACROSS[1] - _ACROSS[0])
        self._links = [
            axes.plot([], [], color=INK, alpha=0.75, linewidth=1.4 * radius * points_of, solid_capstyle="round")[0]
            for radius in self._capsules.radius
        ]
        self._spine = axes.plot([], [], color=INK, linewidth=3.0, marker="o", markersize=4.0)[0]
        self._spine.set(markerfacecolor="white", markeredgewidth=0.0)
        self._arrow = axes.plot([], [], color=LIMIT, linewidth=2.5, marker="^", markevery=[1], markersize=7.0)[0]
        self._clock = axes.text(0.98, 0.96, "", transform=axes.transAxes, ha="right", va="top")

    def show(self, stamp: float, since: float) -> None:
        """Show it at a stamp [s], `since` [s] after the impact."""
        row = int(np.clip(np.searchsorted(self._joints.time, stamp), 0, len(self._joints.time) - 1))
        self._frames.compute(self._joints.position[row])
        placed = self._frames.placed(self._capsules)
        for link, start, end in zip(self._links, placed.start, placed.end, strict=True):
            link.set_data([start[0], end[0] + _LEAST_LENGTH], [start[2], end[2]])
        chain: Matrix = np.vstack([np.zeros(3), self._frames.position, placed.end[-1]])
        self._spine.set_data(chain[:, 0], chain[:, 2])
        force = self._force_at(stamp)
        foot = placed.end[-1] - np.array([0.0, 0.0, placed.radius[-1]])
        tip = foot[2] + _FORCE_SCALE * force
        self._arrow.set_data([foot[0], foot[0]], [foot[2], tip] if force > 0.0 else [np.nan, np.nan])
        self._clock.set_text(f"{1e3 * since:+.0f} ms   {force:.0f} N")

    def _force_at(self, stamp: float) -> float:
        """Return the largest sum of the normal forces [N] within a frame that ends at a stamp [s]."""
        if self._force is None:
            return 0.0
        time, forces = self._force
        first, last = np.searchsorted(time, (stamp - STEP, stamp), side="right")
        return float(np.max(forces[first:last].sum(axis=1), initial=0.0))
