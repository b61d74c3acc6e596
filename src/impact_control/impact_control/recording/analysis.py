"""What a recording says about the run: pure functions on its series, gathered in one `RunAnalysis`.

All times are stamps [s], zero at the first joint state of the recording (see `series`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from impact_control.errors import InvalidInputError
from impact_control.recording.series import JOINT_STATES, Recording, Series
from impact_control.types import Matrix, Vector

GROSS_VELOCITY_WINDOW = 0.1
"""[s] span of the fit of the gross post-impact velocity, Rey Arias 2024, section IV."""

GROSS_VELOCITY_DEGREE = 3
"""Degree of that polynomial, same place."""

FORCE_WINDOW = 0.2
"""[s] at the end of the contact mode, over which the final contact force is averaged."""

REST_WINDOW = 0.1
"""[s] at the end of the recording, over which the largest joint speed is taken."""

METADATA_NAME = "impact_control"
"""Metadata record of the recorder: `name` of the scenario, its text `scenario`, `version` of the package."""


@dataclass(frozen=True)
class Topics:
    """Ends of the names of the topics of one arm, see ARCHITECTURE, "Topics"."""

    joint_states: str = JOINT_STATES
    commands: str = "commands"
    external_torque: str = "impact/external_torque"
    events: str = "impact/events"
    classification: str = "impact/classification"
    reference: str = "controller/reference"
    status: str = "controller/status"
    truth: str = "simulation/truth"

    def in_namespace(self, namespace: str) -> Topics:
        """The same topics under a namespace, for recordings of several arms."""
        prefix = namespace.strip("/")
        return Topics(**{entry.name: f"{prefix}/{getattr(self, entry.name)}" for entry in fields(self)})


@dataclass(frozen=True)
class MeasuredJoints:
    """Measured motion of the joints of the arm, in the order of the controller.

    Attributes:
        names: (n,) joints.
        time: (m,) [s] stamps.
        position: (m, n) [rad].
        velocity: (m, n) [rad/s].
    """

    names: tuple[str, ...]
    time: Vector
    position: Matrix
    velocity: Matrix


@dataclass(frozen=True)
class CommandLimits:
    """Limits of the commanded torque, for comparison with the peaks.

    Attributes:
        torque: (n,) [Nm] largest magnitude.
        torque_rate: (n,) [Nm/s] largest magnitude of the rate.
    """

    torque: Vector
    torque_rate: Vector


@dataclass(frozen=True)
class ModeInterval:
    """A time during which the controller stayed in one mode (`ante`, `interim`, `post`, …)."""

    mode: str
    start: float
    end: float


@dataclass(frozen=True)
class Verdict:
    """Last verdict of the classifier, in lower case words (`expected`, `unexpected`, `unknown`, …)."""

    impact: str
    post_impact: str
    reason: str
    decided_at: float


@dataclass(frozen=True)
class Timing:
    """How well the loop kept its time; counts are increments within the recording, None where not recorded.

    Attributes:
        step_duration: [s] median, 99th percentile and maximum of the time one command takes; None without
            status.
        missed_samples: samples that did not reach the controller.
        late_cycles: periods of the simulated robot that started more than one period late.
        cycles: all its periods.
        held_commands: recorded periods in which the last command was applied again.
        lost_commands: recorded periods in which the command was older than the limit.
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


@dataclass(frozen=True)
class RunAnalysis:
    """Figures of merit of one run. What a recording does not contain is None.

    Attributes:
        scenario: name of the scenario, empty if unknown.
        duration: [s] between the first and the last joint state.
        joint_names: order of all joint arrays.
        outcome: of the task, as in the action ExecuteImpactTask, in lower case (`succeeded`, `no_impact`, …).
        fault: reason of the last fault of the controller, empty if there was none.
        modes: modes of the controller, in order.
        detections: (k,) stamps of the samples on which impacts were detected.
        true_impact_time: first contact of the simulated robot.
        detection_delay: [s] first detection minus true contact; negative for a false alarm before it.
        verdict: of the classifier.
        final_force: [N] mean normal force at the end of the last post-impact mode (its last `FORCE_WINDOW`), of
            the recording where that mode is missing.
        desired_force: [N] mean magnitude of the force reference over the same time.
        peak_force: [N] largest normal force.
        final_position_error: [m] at the end.
        peak_torque: (n,) [Nm] largest magnitude of the commanded torque.
        peak_torque_rate: (n,) [Nm/s] largest magnitude of its rate.
        limits: limits they are compared with.
        final_speed: [rad/s] largest joint speed at the end (last `REST_WINDOW`).
        ante_velocity: (n,) [rad/s] measured joint velocity just before the impact.
        gross_post_velocity: (n,) [rad/s] see `gross_post_impact_velocity`.
        timing: see `Timing`.
    """

    scenario: str
    duration: float
    joint_names: tuple[str, ...]
    outcome: str
    fault: str
    modes: tuple[ModeInterval, ...]
    detections: Vector
    true_impact_time: float | None
    detection_delay: float | None
    verdict: Verdict | None
    final_force: float | None
    desired_force: float | None
    peak_force: float | None
    final_position_error: float | None
    peak_torque: Vector | None
    peak_torque_rate: Vector | None
    limits: CommandLimits | None
    final_speed: float
    ante_velocity: Vector | None
    gross_post_velocity: Vector | None
    timing: Timing

    @property
    def impact_time(self) -> float | None:
        """True impact where it is known, first detection otherwise."""
        if self.true_impact_time is not None:
            return self.true_impact_time
        return float(self.detections[0]) if self.detections.size else None

    @property
    def within_limits(self) -> bool | None:
        """Whether torque and torque rate kept their limits; None where that is unknown."""
        if self.limits is None or self.peak_torque is None or self.peak_torque_rate is None:
            return None
        torque = (self.peak_torque <= self.limits.torque * (1 + 1e-9)).all()
        rate = (self.peak_torque_rate <= self.limits.torque_rate * (1 + 1e-6)).all()
        return bool(torque and rate)


@dataclass(frozen=True)
class PostImpactComparison:
    """Predicted against observed joint velocity after the impact, in deg/s as in Rey Arias 2024, tables III
    and IV.

    Attributes:
        joint_names: (n,) order of the arrays.
        ante: (n,) [deg/s] before the impact.
        gross_post: (n,) [deg/s] observed after it, without oscillation.
        predictions: by name of the inertia model, each (n,) [deg/s].
    """

    joint_names: tuple[str, ...]
    ante: Vector
    gross_post: Vector
    predictions: Mapping[str, Vector]

    def __post_init__(self) -> None:
        """Refuse arrays of unequal length."""
        shape = (len(self.joint_names),)
        arrays = {"ante": self.ante, "gross_post": self.gross_post, **self.predictions}
        for name, array in arrays.items():
            if np.shape(array) != shape:
                raise InvalidInputError(name, np.shape(array), f"shape {shape}, one entry a joint")

    @classmethod
    def from_radians(
        cls, joint_names: tuple[str, ...], ante: Vector, gross_post: Vector, predictions: Mapping[str, Vector]
    ) -> PostImpactComparison:
        """The same from rad/s."""
        degrees = {name: np.rad2deg(prediction) for name, prediction in predictions.items()}
        return cls(joint_names, np.rad2deg(ante), np.rad2deg(gross_post), degrees)

    def errors(self) -> dict[str, Vector]:
        """(n,) [deg/s] absolute error of each prediction, Rey Arias 2024 (17)."""
        return {name: np.abs(prediction - self.gross_post) for name, prediction in self.predictions.items()}

    def best(self) -> str | None:
        """Name of the prediction with the smallest mean absolute error."""
        errors = self.errors()
        return min(errors, key=lambda name: float(errors[name].mean())) if errors else None


def analyse(
    recording: Recording,
    *,
    limits: CommandLimits | None = None,
    topics: Topics | None = None,
    true_joint_positions: bool = False,
) -> RunAnalysis:
    """Everything a recording says about its run.

    Args:
        recording: must contain joint states.
        limits: of the commanded torque.
        topics: names of the topics.
        true_joint_positions: fit the gross post-impact velocity to the link positions of the simulated robot
            instead of the measured positions.

    Raises:
        InvalidInputError: there are no joint states.
    """
    topics = topics or Topics()
    measured = measured_joints(recording, topics)
    truth = _optional(recording, topics.truth)
    status = _optional(recording, topics.status)
    reference = _optional(recording, topics.reference)
    events = _optional(recording, topics.events)

    detections: Vector = events["stamp"] if events is not None else np.empty(0)
    contact = true_impact_time(truth) if truth is not None else None
    impact = contact if contact is not None else (float(detections[0]) if detections.size else None)
    verdict = _verdict(recording, topics.classification)
    fault = last_fault(status) if status is not None else ""
    position_time, position = measured.time, measured.position
    if true_joint_positions and truth is not None:
        position_time, position = truth["stamp"], truth["joint_position"]
    torque, torque_rate = _commanded_peaks(recording, topics)
    modes = _modes(recording, topics.reference)
    return RunAnalysis(
        scenario=_scenario(recording, reference),
        duration=float(measured.time[-1] - measured.time[0]),
        joint_names=measured.names,
        outcome=_outcome(fault, detections.size > 0, verdict),
        fault=fault,
        modes=modes,
        detections=detections,
        true_impact_time=contact,
        detection_delay=float(detections[0]) - contact if detections.size and contact is not None else None,
        verdict=verdict,
        final_force=_mean_before(truth["stamp"], truth["normal_force"], _contact_end(modes), FORCE_WINDOW)
        if truth is not None
        else None,
        desired_force=_desired_force(reference, _contact_end(modes)),
        peak_force=float(np.max(truth["peak_normal_force"])) if truth is not None else None,
        final_position_error=_final_position_error(status),
        peak_torque=torque,
        peak_torque_rate=torque_rate,
        limits=limits,
        final_speed=_final_speed(measured),
        ante_velocity=_ante_velocity(measured, impact),
        gross_post_velocity=_gross_velocity(position_time, position, impact),
        timing=_timing(status, truth, recording.constants(topics.truth) if truth is not None else {}),
    )


def measured_joints(recording: Recording, topics: Topics) -> MeasuredJoints:
    """Joint states of the joints the controller names, in its order; of all joints where no controller is
    recorded.

    Raises:
        InvalidInputError: there are no joint states, they change their layout, or a joint is not among them.
    """
    states = recording.series(topics.joint_states)
    published = list(states["name"][0])
    names = published
    if topics.reference in recording:
        names = list(recording.series(topics.reference)["joint_names"][-1]) or published
    columns = {}
    for name in ("position", "velocity"):
        column = states[name]
        if not isinstance(column, np.ndarray) or column.shape[1] != len(published):
            raise InvalidInputError(name, "of changing size", "joint states with one entry for each joint")
        columns[name] = column
    missing = [name for name in names if name not in published]
    if missing:
        raise InvalidInputError("joint_names", missing, f"joints among the joint states: {', '.join(published)}")
    order = [published.index(name) for name in names]
    return MeasuredJoints(tuple(names), states["stamp"], columns["position"][:, order], columns["velocity"][:, order])


def gross_post_impact_velocity(
    time: Vector,
    position: Matrix,
    impact_time: float,
    *,
    window: float = GROSS_VELOCITY_WINDOW,
    degree: int = GROSS_VELOCITY_DEGREE,
) -> Vector:
    """Joint velocity right after an impact without the oscillation of the flexible joints.

    Least-squares polynomial through the positions of the samples in [impact, impact + window], its derivative
    at the impact. Rey Arias 2024, section IV.

    The velocity itself does not jump: it rings about the gross velocity with the height of the jump, and part
    of that enters the fit: a few hundredths of the jump for ringing above 60 Hz, up to a quarter at 20 Hz.

    Args:
        time: (m,) [s] of the samples.
        position: (m, n) [rad].
        impact_time: [s].
        window: [s].
        degree: of the polynomial.

    Returns:
        (n,) [rad/s].

    Raises:
        InvalidInputError: the window holds fewer than twice as many samples as the polynomial has
            coefficients.
    """
    inside = (time >= impact_time) & (time <= impact_time + window)
    needed = 2 * (degree + 1)
    if np.count_nonzero(inside) < needed:
        raise InvalidInputError(
            "samples",
            int(np.count_nonzero(inside)),
            f"at least {needed} in the {window} s after {impact_time} s",
        )
    scaled = (time[inside] - impact_time) / window
    origin = position[inside][0]  # a small offset keeps the digits of the small motion
    powers = np.vander(scaled, degree + 1, increasing=True)
    coefficients, *_ = np.linalg.lstsq(powers, position[inside] - origin, rcond=None)
    velocity: Vector = coefficients[1] / window
    return velocity


def ante_impact_velocity(time: Vector, velocity: Matrix, impact_time: float) -> Vector:
    """(n,) [rad/s] last measured velocity before an impact. `time`: (m,) [s], `velocity`: (m, n) [rad/s].

    Raises:
        InvalidInputError: no sample lies before the impact.
    """
    before = np.flatnonzero(time < impact_time)
    if not before.size:
        raise InvalidInputError("impact_time", impact_time, f"later than the first sample at {time[0]} s")
    last: Vector = velocity[before[-1]]
    return last


def true_impact_time(truth: Series) -> float | None:
    """Stamp of the first contact of the simulated robot, None if there was none.

    The plant tells it in simulated time; stamps and simulated times of the samples say what stamp that is.
    """
    if not np.isfinite(truth["impact_time"]).any():
        return None
    row = np.flatnonzero(np.isfinite(truth["impact_time"]))[0]
    return float(truth["stamp"][row] - (truth["time"][row] - truth["impact_time"][row]))


def mode_intervals(time: Vector, mode: NDArray[np.integer], names: Mapping[int, str]) -> tuple[ModeInterval, ...]:
    """Runs of equal mode, each until the next begins. `time`: (m,) [s], `mode`: (m,), `names` by number."""
    changes = np.flatnonzero(np.diff(mode)) + 1
    starts = [0, *changes.tolist()]
    ends = [*changes.tolist(), len(mode) - 1]
    return tuple(
        ModeInterval(names.get(int(mode[i]), f"mode {mode[i]}"), float(time[i]), float(time[j]))
        for i, j in zip(starts, ends, strict=True)
    )


def rate_of_change(time: Vector, values: Matrix) -> tuple[Vector, Matrix]:
    """Backward differences at the later of two samples: (k,) [s], (k, n) per second; equal times left out."""
    steps = np.diff(time)
    forward = steps > 0
    return time[1:][forward], np.diff(values, axis=0)[forward] / steps[forward, None]


def last_fault(status: Series) -> str:
    """Reason of the last fault the controller reported, empty if there was none."""
    faults = np.flatnonzero(status["fault"])
    return str(status["fault_reason"][faults[-1]]) or "no reason given" if faults.size else ""


def commanded_torque(recording: Recording, topics: Topics) -> tuple[Vector, Matrix] | None:
    """Times (m,) [s] and commanded torques (m, n) [Nm], from the commands, else from the controller's status.

    Commands carry no stamp: they get that of the newest joint state that had arrived before them.
    """
    if topics.commands in recording:
        commands = recording.series(topics.commands)
        if isinstance(commands["data"], np.ndarray) and len(commands["stamp"]) > 1:
            return commands["stamp"], commands["data"]
    if topics.status in recording:
        status = recording.series(topics.status)
        if isinstance(status["commanded_torque"], np.ndarray):
            return status["stamp"], status["commanded_torque"]
    return None


def _optional(recording: Recording, topic: str) -> Series | None:
    return recording.series(topic) if topic in recording else None


def _scenario(recording: Recording, reference: Series | None) -> str:
    names = [name for name in reference["scenario"] if name] if reference is not None else []
    return names[-1] if names else recording.metadata.get(METADATA_NAME, {}).get("name", "")


def _names(constants: Mapping[str, int], prefix: str = "") -> dict[int, str]:
    """Lower-case words of the constants with this prefix, by number."""
    return {
        number: name.removeprefix(prefix).lower().replace("_", " ")
        for name, number in constants.items()
        if name.startswith(prefix)
    }


def _modes(recording: Recording, topic: str) -> tuple[ModeInterval, ...]:
    if topic not in recording:
        return ()
    reference = recording.series(topic)
    return mode_intervals(reference["stamp"], reference["mode"], _names(recording.constants(topic)))


def _verdict(recording: Recording, topic: str) -> Verdict | None:
    if topic not in recording:
        return None
    series = recording.series(topic)
    names = _names(recording.constants(topic))
    return Verdict(
        impact=names.get(int(series["impact"][-1]), "unknown"),
        post_impact=names.get(int(series["post_impact"][-1]), "unknown"),
        reason=str(series["reason"][-1]),
        decided_at=float(series["stamp"][-1]),
    )


def _outcome(fault: str, detected: bool, verdict: Verdict | None) -> str:
    if fault:
        return "fault"
    if not detected:
        return "no impact"
    if verdict is None:
        return "undecided"
    if verdict.impact == "unexpected":
        return "impact unexpected"
    if verdict.post_impact == "unexpected":
        return "post-impact unexpected"
    return "succeeded" if verdict.impact == verdict.post_impact == "expected" else "undecided"


def _contact_end(modes: tuple[ModeInterval, ...]) -> float:
    """End of the last post-impact mode [s]; infinity when there is none."""
    return max((interval.end for interval in modes if interval.mode == "post"), default=np.inf)


def _mean_before(time: Vector, values: Vector, end: float, window: float) -> float:
    end = min(end, float(time[-1]))
    return float(np.mean(values[(time >= end - window) & (time <= end)]))


def _desired_force(reference: Series | None, end: float) -> float | None:
    if reference is None:
        return None
    return _mean_before(reference["stamp"], np.linalg.norm(reference["force"], axis=1), end, FORCE_WINDOW)


def _final_position_error(status: Series | None) -> float | None:
    return float(np.linalg.norm(status["position_error"][-1])) if status is not None else None


def _final_speed(measured: MeasuredJoints) -> float:
    return float(np.max(np.abs(measured.velocity[measured.time >= measured.time[-1] - REST_WINDOW])))


def _commanded_peaks(recording: Recording, topics: Topics) -> tuple[Vector | None, Vector | None]:
    """Largest torque and torque rate of each joint.

    A command the recorder lost makes the step to the next one too large: what the controller counted itself,
    command by command, bounds the rate.
    """
    commanded = commanded_torque(recording, topics)
    if commanded is None:
        return None, None
    time, torque = commanded
    _, rate = rate_of_change(time, torque)
    peak_rate = np.abs(rate).max(axis=0) if len(rate) else np.zeros(torque.shape[1])
    status = _optional(recording, topics.status)
    if status is not None:
        peak_rate = np.minimum(peak_rate, np.max(status["peak_torque_rate"]))
    return np.abs(torque).max(axis=0), peak_rate


def _ante_velocity(measured: MeasuredJoints, impact: float | None) -> Vector | None:
    if impact is None or measured.time[0] >= impact:
        return None
    return ante_impact_velocity(measured.time, measured.velocity, impact)


def _gross_velocity(time: Vector, position: Matrix, impact: float | None) -> Vector | None:
    if impact is None or impact + GROSS_VELOCITY_WINDOW > time[-1]:
        return None
    return gross_post_impact_velocity(time, position, impact)


def _timing(status: Series | None, truth: Series | None, truth_constants: Mapping[str, int]) -> Timing:
    duration = None
    if status is not None:
        steps = status["step_duration"]
        duration = (float(np.median(steps)), float(np.percentile(steps, 99)), float(np.max(steps)))
    held = lost = None
    if truth is not None:
        held = int(np.count_nonzero(truth["command_state"] == truth_constants["COMMAND_HELD"]))
        lost = int(np.count_nonzero(truth["command_state"] == truth_constants["COMMAND_LOST"]))
    return Timing(
        step_duration=duration,
        missed_samples=_increase(status, "missed_samples"),
        late_cycles=_increase(truth, "late_cycles"),
        cycles=_increase(truth, "cycles"),
        held_commands=held,
        lost_commands=lost,
    )


def _increase(series: Series | None, counter: str) -> int | None:
    """Sum of the increments of a counter that may be reset in between."""
    if series is None:
        return None
    steps = np.diff(series[counter].astype(np.int64))
    return int(steps[steps > 0].sum())
