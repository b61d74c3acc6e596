"""What Proper 2021, 3.4, says of its references, beside ours."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from impact_control.studies.study import Comparison, Mark
from impact_control.studies.three_plants.course import SPEED
from impact_control.studies.three_plants.references import Reference, apart

SINGLE, SIMULTANEOUS = "single", "simultaneous"
"""The references by the kind of their impact."""

EXACT = 1e-5
"""[rad/s] A turn that changes by less does not change, but for round-off."""

EXACT_JUMP = 1e-3
"""Part of a jump that is the same in this sense; the spline is differentiated."""

ROUND_OFF = 1e-12
"""Part of the pivoting of the single impact below which there is none. The source has some 1e-13."""

_TASK, _JOINTS = {SINGLE: "3.12", SIMULTANEOUS: "3.13"}, {SINGLE: "3.15", SIMULTANEOUS: "3.16"}


def reference_comparisons(references: Mapping[str, Reference]) -> tuple[Comparison, ...]:
    """Return the statements on Figs 3.12 to 3.16; references: by the kind of the impact, SINGLE and SIMULTANEOUS.

    Left out is what the references are made from, and not a result: where they begin, meet and end, their height, the
    velocity before the impact, the force after it. What follows from that alone has no verdict: both references are
    made from the same paths, their joints from an inverse kinematics that begins with the elbow up, and the torque that
    presses from the force.
    """
    single, simultaneous = references[SINGLE], references[SIMULTANEOUS]
    ratio = abs(simultaneous.pivot / single.pivot)
    return (
        Comparison(
            f"Fig. {_TASK[SINGLE]} (b)",
            "turn of the end-effector at a single impact",
            "its rate deviates, it pivots about the contact point",
            f"by {math.degrees(single.pivot):.2f} deg/s",
            mark=Mark.of(abs(single.pivot) > EXACT),
        ),
        Comparison(
            f"Fig. {_TASK[SIMULTANEOUS]} (b)",
            "the same at a simultaneous impact",
            "an order of 1e-13 of that, not exactly 0",
            f"{ratio:.0e} of that",
            mark=Mark.of(ratio <= ROUND_OFF),
        ),
        *_paths(single, simultaneous),
        *(_pressing(_TASK[kind], one) for kind, one in references.items()),
        *(row for kind, one in references.items() for row in _joint_space(_JOINTS[kind], _TASK[kind], one)),
    )


def _paths(single: Reference, simultaneous: Reference) -> tuple[Comparison, ...]:
    pairs = tuple(zip(single.paths, simultaneous.paths, strict=True))
    distance = max(max(apart(one, other), apart(other, one)) for one, other in pairs)
    rates = np.abs(single.post[:, 1] - simultaneous.post[:, 1]).max(axis=0)
    faster = float(np.max(rates[:2]))
    return (
        Comparison(
            "Fig. 3.14",
            "paths of the single and the simultaneous impact",
            "almost identical",
            f"within {1e3 * distance:.3f} mm",
        ),
        Comparison(
            "Fig. 3.14",
            "what differs between both cases",
            "the velocity in the first place, not the path",
            f"velocity by up to {1e3 * faster:.1f} mm/s ({100.0 * faster / SPEED:.1f} % of that of the impact) and "
            f"{math.degrees(rates[2]):.1f} deg/s, path by {1e3 * distance:.3f} mm",
        ),
    )


def _pressing(figure: str, one: Reference) -> Comparison:
    force = one.forces[1]
    return Comparison(
        f"Fig. {figure} (d), (3.21)",
        "torque that presses, without a contact task",
        f"that of {force[0]:g} N at each contact point, {force.size} in all",
        f"within {one.pressing_difference:.1g} Nm",
    )


def _joint_space(figure: str, task: str, one: Reference) -> tuple[Comparison, ...]:
    elbow = np.degrees(np.concatenate((one.joints_ante, one.joints_post))[:, 1])
    error = one.kinematics_error
    jump = float(np.max(np.abs(one.joint_jump)))
    largest = max(float(np.max(np.abs(part))) for part in (one.joint_accelerations_ante, one.joint_accelerations_post))
    return (
        Comparison(
            f"Fig. {figure} (a), (3.29)",
            "joint 2",
            "below 0 all the time: the elbow stays up",
            f"{elbow.min():.1f} to {elbow.max():.1f} deg",
        ),
        Comparison(
            f"Fig. {figure} (a)",
            "end-effector with these joints",
            f"as in Fig. {task}",
            f"within {1e6 * error:.2g} um or urad",
        ),
        Comparison(
            f"Fig. {figure} (b), (3.17)",
            "jump of the joint velocities at the impact",
            "that of the rigid impact map",
            f"within {math.degrees(one.jump_error):.1g} deg/s, the largest is {math.degrees(jump):.1f} deg/s",
            mark=Mark.of(one.jump_error <= EXACT_JUMP * jump),
        ),
        Comparison(
            f"Fig. {figure} (c), (3.28)",
            "joint accelerations",
            "the slope of the joint velocities of (b)",
            f"within {math.degrees(one.acceleration_error):.2g} deg/s^2, the largest is "
            f"{math.degrees(largest):.0f} deg/s^2",
        ),
    )
