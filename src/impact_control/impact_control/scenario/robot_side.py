"""Settings of the simulated robot side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from impact_control.scenario.fields import NOT_NEGATIVE, POSITIVE, Count, Number, Range, each_joint
from impact_control.scenario.settings import Settings
from impact_control.util.types import Vector

LARGEST_NOISE = 3.0
"""Beyond it two samples of a joint at rest would contradict each other, see `pipeline.samples`."""


@dataclass(frozen=True, eq=False, kw_only=True)
class JointBacklash(Settings):
    """Dead zone of the transmissions, Flacco 2016 (5), (6), corrected as in the Errata; |theta - q| < gap is free.

    Beyond it the transmission's stiffness and damping act on theta - q -+ gap, which is zero at the edge. Damping and
    dry friction, smoothed at low speed, act between motor and link inside the gap. The friction of (6) on the link's
    own motion is the robot's JointFriction, inside the gap and outside.
    """

    gap: Annotated[Vector, each_joint("rad", NOT_NEGATIVE), "half-width alpha of the free play", "0 rad"]
    damping: Annotated[Vector, each_joint("Nm*s/rad", NOT_NEGATIVE), "K_phi,v inside the gap", "0 Nm*s/rad"]
    dry_friction: Annotated[Vector, each_joint("Nm", NOT_NEGATIVE), "K_phi,s inside the gap", "0 Nm"]


@dataclass(frozen=True, eq=False, kw_only=True)
class ArmDeviation(Settings):
    """Differences of the simulated arm from the model of its controller."""

    inertia: Annotated[
        float,
        Number("", Range(0.0, 3.0)),
        "factor on the standard deviations of link masses and motor inertias in the robot's file",
        0.0,
    ]
    friction: Annotated[
        float, Number("", Range(0.0, 3.0)), "the same of the joint friction there or in `robot.joint_friction`", 0.0
    ]
    seed: Annotated[int, Count(), "seed of these differences: the same arm in all runs", 0]


@dataclass(frozen=True, eq=False, kw_only=True)
class PlantSettings(Settings):
    """Effects in the joints of simulated arms, and how finely they are integrated."""

    joint_friction: Annotated[bool, "whether the joints have friction", True]
    backlash: Annotated[JointBacklash, "free play of the joints", {}]
    torque_loop: Annotated[
        bool, "whether the low-level torque loop acts, which reduces the motor inertia to B_theta", True
    ]
    torque_filter: Annotated[bool, "whether the torque that this loop feeds back is filtered", True]
    largest_step: Annotated[float, Number("s", Range(1e-7, 1e-3)), "largest integration step of the plant", "50 us"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Simulation(PlantSettings):
    """The simulated robot side."""

    seed: Annotated[int, Count(), "seed of the sensor noise"]
    noise: Annotated[
        float, Number("", Range(0.0, LARGEST_NOISE)), "factor on the sensor noise of Proper 2021 (3.5), 0: none"
    ]
    repeats: Annotated[
        float,
        Number("", Range(0.0, 0.5)),
        "share of the joint states that repeat the one before under a new stamp; 0.05 to 0.1 on real arms",
        0.0,
    ]
    noise_correlation: Annotated[
        float,
        Number("", Range(0.0, 0.95)),
        "correlation of the noise of velocity and torque from one sample to the next; 0.5 to 0.9 on real arms",
        0.0,
    ]
    gaps: Annotated[
        float,
        Number("", Range(0.0, 0.1)),
        "share of the joint states that are lost, up to eight in a row, not behind ros2_control; real: 0.001 to 0.015",
        0.0,
    ]
    jitter: Annotated[
        float,
        Number("s", Range(0.0, 2e-4)),
        "standard deviation of the stamps of the joint states, not behind ros2_control; real: 0.1 to 0.2 ms",
        "0 s",
    ]
    measurement_delay: Annotated[
        float,
        Number("s", Range(0.0, 0.1)),
        "age of the joint states when they are sent, whole control periods; delays detection, Proper 2021 3.3.1",
        "0 s",
    ]
    arm_deviation: Annotated[ArmDeviation, "how the arm differs from the model of the controller", {}]
    command_timeout: Annotated[float, Number("s", POSITIVE), "age of a command after which the arm is damped instead"]
    lost_command_damping: Annotated[
        Vector, each_joint("Nm*s/rad", NOT_NEGATIVE), "damping that acts when commands are lost"
    ]
