"""Measures of a recorded run: motion, commands, contact, decisions, timing. Times are stamps [s], see `series`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from impact_control.recording.series import Recording, Series, Topics
from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Matrix, Vector

SUCCEEDED = "succeeded"
"""Outcome of a task whose impact and behaviour are as expected."""

NOT_BEGUN = "not begun"
"""Outcome of a recording in which the controller stayed idle, as of a task that was refused."""

REST_WINDOW = 0.1
"""[s] at the end of the recording, over which the largest joint speed is taken."""

FORCE_WINDOW = 0.2
"""[s] at the end of the contact mode, over which the final contact force is averaged."""


@dataclass(frozen=True)
class Envelope:
    """Envelope of the joint velocity error, Proper 2021 (4.26).

    time (m,) [s]; lower, upper (m, n) [rad/s] bounds; margin (m, n) [rad/s] e_eta, which widens them in (4.27).
    """

    time: Vector
    lower: Matrix
    upper: Matrix
    margin: Matrix

    def __post_init__(self) -> None:
        for name, bound in (("lower", self.lower), ("upper", self.upper), ("margin", self.margin)):
            if bound.ndim != 2 or len(bound) != len(self.time) or bound.shape != self.lower.shape:
                raise InvalidInputError(name, bound.shape, f"shape ({len(self.time)}, joints)")


@dataclass(frozen=True)
class MeasuredJoints:
    """Measured motion of the joints in the order of the controller.

    names: (n,). time (m,) [s], position and velocity (m, n) [rad, rad/s].
    """

    names: tuple[str, ...]
    time: Vector
    position: Matrix
    velocity: Matrix

    @property
    def duration(self) -> float:
        """[s] between the first and the last sample."""
        return float(self.time[-1] - self.time[0])

    @property
    def final_speed(self) -> float:
        """[rad/s] largest joint speed in the last `REST_WINDOW`."""
        return float(np.max(np.abs(self.velocity[self.time >= self.time[-1] - REST_WINDOW])))


def measured_joints(recording: Recording) -> MeasuredJoints:
    """Return the motion of the joints that the controller names, of all joints if no controller was recorded.

    Raises InvalidInputError for no joint states, a layout that changes, or a joint that is not among them.
    """
    states = recording.series(Topics.joint_states)
    published = list(states["name"][0])
    reference = recording.get(Topics.reference)
    names = published if reference is None else list(reference["joint_names"][-1]) or published
    for name in ("position", "velocity"):
        values = states[name]
        if not isinstance(values, np.ndarray) or values.shape[1] != len(published):
            sizes = sorted({len(row) for row in values})
            raise InvalidInputError(f"entries of {name}", sizes, f"{len(published)} in every joint state, one a joint")
    missing = [name for name in names if name not in published]
    if missing:
        raise InvalidInputError("joint_names", missing, f"joints among the joint states: {', '.join(published)}")
    order = [published.index(name) for name in names]
    return MeasuredJoints(tuple(names), states["stamp"], states["position"][:, order], states["velocity"][:, order])


# ---------------------------------------------------------------------- commands


@dataclass(frozen=True)
class CommandLimits:
    """Largest magnitudes of the commanded torque (n,) [Nm] and of its rate (n,) [Nm/s]."""

    torque: Vector
    torque_rate: Vector


def commanded_torque(recording: Recording) -> tuple[Vector, Matrix] | None:
    """Return times (m,) [s] and commanded torques (m, n) [Nm], from the commands, else from the controller's status.

    Commands carry no stamp: they get that of the newest joint state that had arrived before them.
    """
    commands = recording.get(Topics.commands)
    if commands is not None and isinstance(commands["data"], np.ndarray) and len(commands["stamp"]) > 1:
        return commands["stamp"], commands["data"]
    return column(recording, Topics.status, "commanded_torque")


def torque_rate(time: Vector, torque: Matrix, period: float) -> tuple[Vector, Matrix]:
    """Return backward differences (k, n) [Nm/s] at the later of two commands (k,) [s].

    One command leaves the loop each period [s], but its time here carries the jitter of its reception: a step counts
    as the whole number of periods nearest to it, at least one.
    """
    periods = np.maximum(1.0, np.round(np.diff(time) / period))
    return time[1:], np.diff(torque, axis=0) / (periods * period)[:, None]


def control_period(recording: Recording) -> float:
    """Return the median step between two joint states [s]."""
    return float(np.median(np.diff(recording.series(Topics.joint_states)["stamp"])))


def commanded_peaks(recording: Recording) -> tuple[Vector | None, Vector | None]:
    """Return the largest magnitudes of torque (n,) [Nm] and torque rate (n,) [Nm/s]; None if no torque was recorded.

    A command that the recorder lost makes the step to the next one too large: then the peak that the controller
    counted itself bounds the rate, but never below the rate if all lost commands had been lost in that step.
    """
    commanded = commanded_torque(recording)
    if commanded is None:
        return None, None
    time, torque = commanded
    period = control_period(recording)
    _, rate = torque_rate(time, torque, period)
    peak_rate = np.abs(rate).max(axis=0) if len(rate) else np.zeros(torque.shape[1])
    status = recording.get(Topics.status)
    if status is not None:
        peak_rate = np.minimum(peak_rate, np.max(status["peak_torque_rate"]))
        lost = _lost_commands(status, recording.get(Topics.commands), period)
        if lost is not None and len(torque) > 1:
            steps = np.abs(np.diff(torque, axis=0)).max(axis=0)
            peak_rate = np.maximum(peak_rate, steps / ((1 + lost) * period))
    return np.abs(torque).max(axis=0), peak_rate


def _lost_commands(status: Series, commands: Series | None, period: float) -> int | None:
    """Return the number of commands sent between first and last status but not recorded; None if it is not known.

    A command goes out for each sample, just before the status that counts the samples since the activation.
    """
    if commands is None or np.any(np.diff(status["samples"].astype(np.int64)) < 0):
        return None
    # Half a period later none is on its way.
    first, last = status["log_time"][[0, -1]] + 0.5 * period
    recorded = int(np.count_nonzero((commands["log_time"] > first) & (commands["log_time"] <= last)))
    return max(0, int(status["samples"][-1]) - int(status["samples"][0]) - recorded)


# ---------------------------------------------------------------------- decisions


@dataclass(frozen=True)
class ModeInterval:
    """Interval [s] in which the controller stayed in one mode (`ante`, `interim`, `post`, ...)."""

    mode: str
    start: float
    end: float


@dataclass(frozen=True)
class Verdict:
    """Last verdict of the classifier, in lower case words (`expected`, `unexpected`, `unknown`, ...).

    probability: that impact and behaviour are as expected; NaN if it was not given.
    """

    impact: str
    post_impact: str
    reason: str
    probability: float = math.nan


def detection_times(recording: Recording) -> Vector:
    """Return the stamps (k,) [s] of the samples on which impacts were detected."""
    events = recording.decisions(Topics.events)
    # The event of an impact may come again, with the link that was isolated since.
    stamps: Vector = np.empty(0) if events is None else np.unique(events["stamp"])
    return stamps


def mode_history(recording: Recording) -> tuple[ModeInterval, ...]:
    """Return the modes of the controller, in order; none if it was not recorded."""
    reference = recording.get(Topics.reference)
    if reference is None:
        return ()
    return mode_intervals(reference["stamp"], reference["mode"], _words(recording.constants(Topics.reference)))


def mode_intervals(time: Vector, mode: NDArray[np.integer], names: Mapping[int, str]) -> tuple[ModeInterval, ...]:
    """Return the runs of equal mode (m,) at times (m,) [s], each until the next begins; names by number."""
    changes = (np.flatnonzero(np.diff(mode)) + 1).tolist()
    return tuple(
        ModeInterval(names.get(int(mode[i]), f"mode {mode[i]}"), float(time[i]), float(time[j]))
        for i, j in zip([0, *changes], [*changes, len(mode) - 1], strict=True)
    )


def begun(modes: Sequence[ModeInterval]) -> bool:
    """Return whether a task was executed, by the modes of the controller; True where they are not known."""
    return not modes or any(interval.mode != "idle" for interval in modes)


def last_verdict(recording: Recording) -> Verdict | None:
    """Return the final verdict of the classifier, None if there was none."""
    series = recording.get(Topics.classification)
    if series is None:
        return None
    names = _words(recording.constants(Topics.classification))
    impact, post_impact = (names.get(int(series[name][-1]), "unknown") for name in ("impact", "post_impact"))
    return Verdict(impact, post_impact, str(series["reason"][-1]), float(series["probability"][-1]))


def learned_in_words(recording: Recording) -> str:
    """Return the impact parameters that the predictor had learned by the end of the run, "" for none."""
    series = recording.get(Topics.belief)
    if series is None or not series["impacts"][-1]:
        return ""
    names = ("friction", "restitution", "inertia_scale", "prediction_error")
    friction, restitution, scale, error = (float(series[name][-1]) for name in names)
    return (
        f"friction {friction:.2f}, restitution {restitution:.2f}, {scale:.2f} B_theta; "
        f"impacts: {int(series['impacts'][-1])}, the last predicted with an error of {np.rad2deg(error):.1f} deg/s"
    )


def last_fault(recording: Recording) -> str:
    """Return the reason of the last fault that the controller reported, "" for none."""
    status = recording.get(Topics.status)
    if status is None:
        return ""
    faults = np.flatnonzero(status["fault"])
    return str(status["fault_reason"][faults[-1]]) or "no reason given" if faults.size else ""


def outcome_of(fault: str, begun: bool, detected: bool, verdict: Verdict | None) -> str:
    """Return the outcome of the task, as in the action ExecuteImpactTask, in lower case (`succeeded`, `no impact`)."""
    if fault:
        return "fault"
    if not begun:
        return NOT_BEGUN
    if not detected:
        return "no impact"
    if verdict is None:
        return "undecided"
    if verdict.impact == "unexpected":
        return "impact unexpected"
    if verdict.post_impact == "unexpected":
        return "post impact unexpected"
    return SUCCEEDED if verdict.impact == verdict.post_impact == "expected" else "undecided"


def _words(constants: Mapping[str, int]) -> dict[int, str]:
    """Return constants as lower-case words, by number."""
    return {number: name.lower().replace("_", " ") for name, number in constants.items()}


# ---------------------------------------------------------------------- contact, as the simulated robot felt it


def true_impact_time(recording: Recording) -> float | None:
    """Return the stamp [s] of the first contact of the simulated robot, None if there was none or no simulation.

    The plant reports it in simulated time; the samples relate simulated times to stamps. A contact from before the
    recording, as that of the task before, does not count.
    """
    truth = recording.get(Topics.truth)
    begun = np.empty(0) if truth is None else np.flatnonzero(truth["impact_time"] >= truth["time"][0])
    if truth is None or not begun.size:
        return None
    row = begun[0]
    return float(truth["stamp"][row] - (truth["time"][row] - truth["impact_time"][row]))


def contact_forces(recording: Recording) -> tuple[Vector, Matrix] | None:
    """Return stamps (m,) [s] and normal forces (m, n_c) [N] of the contact points; None if not recorded."""
    return column(recording, Topics.truth, "contact_normal_forces")


def touch_torques(recording: Recording) -> tuple[Vector, Matrix] | None:
    """Return stamps (m,) [s] and joint torques (m, n) [Nm] of touches of the links; None without any."""
    touches = column(recording, Topics.truth, "external_torque")
    return None if touches is None or not touches[1].any() else touches


def touch_start(recording: Recording) -> float:
    """Return the time of the first touch of a link [s]; infinity without any."""
    touches = touch_torques(recording)
    if touches is None:
        return math.inf
    time, torque = touches
    return float(time[np.flatnonzero(np.any(torque != 0.0, axis=1))[0]])


def contact_end(modes: Sequence[ModeInterval]) -> float:
    """Return the end of the last post-impact mode [s]; infinity without one."""
    return max((interval.end for interval in modes if interval.mode == "post"), default=np.inf)


def force_interval(time: Vector, end: float) -> tuple[float, float]:
    """Return the `FORCE_WINDOW` before `end` [s], or before the end of the recording, whose stamps are time (m,)."""
    end = min(end, float(time[-1]))
    return end - FORCE_WINDOW, end


def mean_before(time: Vector, values: Vector, end: float) -> float:
    """Return the mean of values (m,) at times (m,) [s] over the interval of `force_interval`."""
    start, end = force_interval(time, end)
    return float(np.mean(values[(time >= start) & (time <= end)]))


def column(recording: Recording, topic: str, name: str) -> tuple[Vector, Matrix] | None:
    """Return stamps and a column of a topic; None if it is missing, or a list because its length changes."""
    series = recording.get(topic)
    if series is None or not isinstance(series.get(name), np.ndarray):
        return None
    return series["stamp"], series[name]


# ---------------------------------------------------------------------- timing


@dataclass(frozen=True)
class Timing:
    """Timing of the loop; counts are increments within the recording, None if not recorded.

    step_duration: [s] median, 99th percentile and maximum of the computation of one command. missed_samples: samples
    that did not reach the controller. cycles: periods of the simulated robot; late_cycles: those that started more than
    one period late. held_commands: recorded periods in which the last command was applied again. lost_commands: those
    in which the command was older than the limit, from the first command on, because a robot that starts before its
    controller has none until then; all of them where no command came at all.
    """

    step_duration: tuple[float, float, float] | None
    missed_samples: int | None
    late_cycles: int | None
    cycles: int | None
    held_commands: int | None
    lost_commands: int | None

    @property
    def late_fraction(self) -> float | None:
        """Share of late cycles, 0 to 1."""
        return self.late_cycles / self.cycles if self.late_cycles is not None and self.cycles else None


def loop_timing(recording: Recording) -> Timing:
    """Return what the controller and the simulated robot counted of their own timing."""
    status, truth = recording.get(Topics.status), recording.get(Topics.truth)
    duration = None
    if status is not None:
        steps = status["step_duration"]
        duration = (float(np.median(steps)), float(np.percentile(steps, 99)), float(np.max(steps)))
    held = lost = None
    if truth is not None:
        held, lost = (int(np.count_nonzero(periods)) for periods in periods_without_command(recording))
    missed, late, cycles = (
        _increase(series, name)
        for series, name in ((status, "missed_samples"), (truth, "late_cycles"), (truth, "cycles"))
    )
    return Timing(duration, missed, late, cycles, held, lost)


def periods_without_command(recording: Recording) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return for each true state (N,) whether the last command was held, and whether it was lost.

    Before the first command nothing is lost, unless none ever came.
    """
    constants, state = recording.constants(Topics.truth), recording.series(Topics.truth)["command_state"]
    came = np.isin(state, (constants["COMMAND_FRESH"], constants["COMMAND_HELD"]))
    counts = np.logical_or.accumulate(came) | ~came.any()
    return state == constants["COMMAND_HELD"], counts & (state == constants["COMMAND_LOST"])


def _increase(series: Series | None, counter: str) -> int | None:
    """Return the sum of the increments of a counter that may be reset in between."""
    if series is None:
        return None
    steps = np.diff(series[counter].astype(np.int64))
    return int(steps[steps > 0].sum())
