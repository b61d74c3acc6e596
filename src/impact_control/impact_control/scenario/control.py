"""The controller: gains, weights, limits of the law."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from impact_control.scenario.fields import FRACTION, NOT_NEGATIVE, POSITIVE, Count, Number, Range, Refusal, each_joint
from impact_control.scenario.settings import Settings
from impact_control.util.types import Vector


class ImpactStrategy(StrEnum):
    """Switching to the post-impact reference.

    REFERENCE_SPREADING: from the detected impact on, with an interim mode. WITHOUT_INTERIM: the same with full feedback
    at once. PLAIN_TRACKING: from the nominal time on, whatever is detected.
    """

    REFERENCE_SPREADING = "reference_spreading"
    WITHOUT_INTERIM = "without_interim"
    PLAIN_TRACKING = "plain_tracking"


class Feedback(StrEnum):
    """Motion of the reference that is fed back."""

    TASK_SPACE = "task_space"
    JOINT_SPACE = "joint_space"


class InterimEnd(StrEnum):
    """Condition that closes the contact."""

    FIRST_IMPACT = "first_impact"
    IMPACT_COUNT = "impact_count"
    CONTACT_COMPLETION = "contact_completion"


class InterimReference(StrEnum):
    """Reference until the contact is closed: Proper 2021 (3.11) has the ante-impact one, van Steen 2024 (23) not."""

    POST = "post"
    ANTE = "ante"


class FurtherImpacts(StrEnum):
    """Effect of an impact after the first."""

    IGNORE = "ignore"
    RESTART = "restart"


@dataclass(frozen=True, eq=False, kw_only=True)
class TaskGains(Settings):
    """Position feedback of each task; the velocity feedback is 2 sqrt(k), van Steen 2024 (15)-(17)."""

    position: Annotated[float, Number("1/s^2", POSITIVE), "k_p"]
    orientation: Annotated[float, Number("1/s^2", POSITIVE), "k_theta"]
    posture: Annotated[float, Number("1/s^2", POSITIVE), "k_q, joint 1"]
    joint: Annotated[
        float, Number("1/s^2", POSITIVE), "k of all joints: holding, yielding, feedback joint_space", "400 1/s^2"
    ]


def low_pass_share(cutoff_frequency: float, step: float) -> float:
    """Return the part of a change of its input that a stage of the command's low-pass takes over in a step [s].

    cutoff_frequency [Hz]; infinite: all of it.
    """
    return -math.expm1(-2.0 * math.pi * cutoff_frequency * step)


def largest_gain(cutoff_frequency: float) -> float:
    """Return the largest gain k [1/s^2] of a task that a low-pass of the command [Hz] leaves well damped.

    With its two stages K / (s + K) the poles of a task are the roots of s^2 (1 + s/K)^2 + 2 sqrt(k) s + k, stable for
    K > 2 sqrt(k). Twice that, which is asked for here, leaves 27 deg of phase, and the defaults 61 deg of 76 deg.
    """
    return (math.pi * cutoff_frequency / 2.0) ** 2


@dataclass(frozen=True, eq=False, kw_only=True)
class TaskWeights(Settings):
    """Weights of the tasks in the cost, van Steen 2024 (18)."""

    position: Annotated[float, Number("", POSITIVE), "w_p"]
    orientation: Annotated[float, Number("", POSITIVE), "w_theta"]
    posture: Annotated[float, Number("", POSITIVE), "w_q"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Interim(Settings):
    """Between the first impact and full feedback on the post-impact reference, Proper 2021 (3.11), (3.12)."""

    until: Annotated[InterimEnd, "what closes the contact; until then no velocity is fed back", InterimEnd.FIRST_IMPACT]
    expected_impacts: Annotated[int, Count(1), "n_imp, impacts that close the contact (impact_count)", 1]
    longest: Annotated[
        float,
        Number("s", POSITIVE),
        "t_switch, time from the first impact after which the contact counts as closed",
        "150 ms",
    ]
    reference: Annotated[
        InterimReference, "reference that is followed until the contact is closed", InterimReference.POST
    ]
    further_impacts: Annotated[
        FurtherImpacts,
        "what an impact on a closed contact does within `longest` of the first one: restart the interim mode",
        FurtherImpacts.IGNORE,
    ]


@dataclass(frozen=True, eq=False, kw_only=True)
class Control(Settings):
    """The QP controller with reference spreading, van Steen 2024 section IV-B."""

    period: Annotated[float, Number("s", Range(1e-4, 0.1)), "control period Delta t"]
    gains: Annotated[TaskGains, "feedback gains"]
    weights: Annotated[TaskWeights, "task weights"]
    impact_strategy: Annotated[
        ImpactStrategy,
        "switch to the post-impact reference at the impact; the same without interim mode; at the nominal time",
        ImpactStrategy.REFERENCE_SPREADING,
    ]
    feedback: Annotated[
        Feedback,
        "the reference is followed in position, orientation and joint 1, or in all joints, Proper 2021 (2.67)",
        Feedback.TASK_SPACE,
    ]
    cutoff_frequency: Annotated[
        float,
        Number("Hz", POSITIVE),
        "each of the two stages of the low-pass of the commanded torque, against the noise of the measurements",
        "50 Hz",
    ]
    interim_duration: Annotated[
        float, Number("s", NOT_NEGATIVE), "Delta t_int in which the velocity feedback returns after an impact, (24)"
    ]
    interim: Annotated[Interim, "the interim mode with more than one impact", {}]
    missing_impact_timeout: Annotated[
        float | None,
        Number("s", NOT_NEGATIVE),
        "time after the nominal impact at which an approach without impact is stopped; at its end when left out",
        None,
    ]
    friction_compensation: Annotated[
        float, Number("", FRACTION), "fraction of the identified joint friction that is fed forward"
    ]
    stop_damping: Annotated[
        float, Number("1/s", POSITIVE), "rate at which joint velocities decay in a stop, ddq = -rate dq"
    ]
    max_joint_acceleration: Annotated[
        Vector, each_joint("rad/s^2", POSITIVE), "deceleration with which limits are kept viable"
    ]
    state_timeout: Annotated[
        float,
        Number("s", POSITIVE),
        "gap of the joint states over which a task goes on; a Franka bridges 20 missing commands, then it stops",
    ]
    longest_gap: Annotated[
        float,
        Number("s", POSITIVE),
        "gap of the joint states that stops the task in order; after a longer one the arm may be anywhere: a fault",
        "64 ms",
    ]

    def check(self) -> None:
        """Require that a state may be one period old, that a gap as long as that is bridged, and damped feedback."""
        gains, largest = self.gains, largest_gain(self.cutoff_frequency)
        for name in ("position", "orientation", "posture", "joint"):
            if getattr(gains, name) > largest:
                allowed = f"at most {largest:.4g} 1/s^2 with control.cutoff_frequency = {self.cutoff_frequency:g} Hz"
                raise Refusal(f"gains.{name}", getattr(gains, name), allowed)
        if self.state_timeout < self.period:
            raise Refusal("state_timeout", self.state_timeout, f"at least control.period = {self.period:g} s")
        if self.longest_gap < self.state_timeout:
            raise Refusal("longest_gap", self.longest_gap, f"at least control.state_timeout = {self.state_timeout:g} s")
