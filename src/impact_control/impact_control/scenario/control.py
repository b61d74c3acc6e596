"""The controller: gains, weights, limits of the law."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from impact_control.scenario.fields import (
    FRACTION,
    JOINTS,
    POSITIVE,
    Entry,
    Number,
    Numbers,
    Range,
    Refusal,
    Section,
)
from impact_control.types import Vector


@dataclass(frozen=True, eq=False, kw_only=True)
class TaskGains:
    """Position feedback of each task; the velocity feedback is 2 sqrt(k), van Steen 2024 (15)-(17)."""

    position: Annotated[float, Entry(Number("1/s^2", POSITIVE), "k_p")]
    orientation: Annotated[float, Entry(Number("1/s^2", POSITIVE), "k_theta")]
    posture: Annotated[float, Entry(Number("1/s^2", POSITIVE), "k_q, joint 1")]


@dataclass(frozen=True, eq=False, kw_only=True)
class TaskWeights:
    """Weights of the tasks in the cost, van Steen 2024 (18)."""

    position: Annotated[float, Entry(Number("", POSITIVE), "w_p")]
    orientation: Annotated[float, Entry(Number("", POSITIVE), "w_theta")]
    posture: Annotated[float, Entry(Number("", POSITIVE), "w_q")]


@dataclass(frozen=True, eq=False, kw_only=True)
class Control:
    """The QP controller with reference spreading, van Steen 2024 section IV-B."""

    period: Annotated[float, Entry(Number("s", Range(1e-4, 0.1)), "control period Delta t")]
    gains: Annotated[TaskGains, Entry(Section(TaskGains), "feedback gains")]
    weights: Annotated[TaskWeights, Entry(Section(TaskWeights), "task weights")]
    interim_duration: Annotated[
        float,
        Entry(Number("s", POSITIVE), "Delta t_int in which the velocity feedback returns after an impact, (24)"),
    ]
    friction_compensation: Annotated[
        float, Entry(Number("", FRACTION), "fraction of the identified joint friction that is fed forward")
    ]
    stop_damping: Annotated[
        float,
        Entry(Number("1/s", POSITIVE), "rate at which joint velocities decay in a stop, ddq = -rate dq"),
    ]
    max_joint_acceleration: Annotated[
        Vector,
        Entry(
            Numbers(JOINTS, "rad/s^2", POSITIVE, repeats=True),
            "deceleration with which limits are kept viable",
        ),
    ]
    state_timeout: Annotated[
        float, Entry(Number("s", POSITIVE), "age of the joint state above which no torque is computed")
    ]

    def check(self) -> None:
        """Require that a state may be one period old."""
        if self.state_timeout < self.period:
            raise Refusal("state_timeout", self.state_timeout, f"at least control.period = {self.period:g} s")
