"""Findings, assumptions and comparisons of the study of Rey Arias 2024, Fig. 3."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from impact_control.robots import InertiaModel
from impact_control.util.types import Vector
from impact_studies.frame.study import Comparison, Finding
from impact_studies.planar_impact.figure3 import ANGLE, DISTANCE, SPEED
from impact_studies.planar_impact.jump import (
    BEST,
    GrossJump,
    common_error,
    direction_error,
    is_best,
    mean_error,
    relative_error,
    worse_joints,
)
from impact_studies.planar_impact.response import AfterImpact
from impact_studies.planar_impact.tables import NAMES, Impacts

ASSUMPTIONS = (
    f"Impact {DISTANCE} m in front of the base with the last link straight down, as in Proper 2021, Table 3.2; "
    "Rey Arias 2024 does not give the configuration.",
    "Approach angles are those of Proper 2021 (3.2): towards the base. The other direction is a variant.",
    "The QP of the source has one task here, which is the computed torque of that task: without limits, which the "
    "source does not mention, or with torque and torque rate clipped joint by joint. Gains 400 1/s^2 and 40 1/s, "
    "reference accelerated over 0.4 s and constant for 0.2 s before the impact.",
    "Moments of inertia of Table I are taken about the far end of the link, see planar_rrr.urdf; the other reading is "
    "a variant.",
    "No joint friction, no noise, exact time of first contact, samples at 1 kHz; fit over 100 ms as in section IV.",
)


def findings(
    shown: Mapping[AfterImpact, GrossJump],
    impacts: Impacts,
    scales: tuple[float, ...],
    stiff: Mapping[str, list[GrossJump]],
    torque_rate_use: float,
) -> tuple[Finding, ...]:
    """Describe what the impact of Fig. 3, the sweep and the limit of stiff joints show.

    stiff: by the name of the ending, one for each of the `scales` on the stiffness. torque_rate_use: of the
    controller that goes on, see FlexibleResponse.
    """
    follow, limited, free = (shown[after] for after in AfterImpact)
    said = [
        Finding(
            f"{str(after).capitalize()}: the mean error at the impact of Fig. 3 is "
            + ", ".join(f"{mean_error(jump, model):.2f} deg/s with {NAMES[model]}" for model in InertiaModel)
            + ".",
            is_best(jump),
        )
        for after, jump in shown.items()
    ]
    for after, by_case in impacts.items():
        worse = [(case, joint, model) for case, jump in by_case.items() for joint, model in worse_joints(jump)]
        cells = 3 * len(by_case)
        text = f"{str(after).capitalize()}: M + B_theta is best in {cells - len(worse)} of {cells} joints and impacts"
        where = "; ".join(
            f"joint {joint} at {angle:g} deg, {speed:g} m/s, where {NAMES[model]} is better"
            for (angle, speed), joint, model in worse[:6]
        )
        said.append(Finding(f"{text}{': not ' + where if worse else ''}.", not worse))
    rest = [jump.restitution for jump in impacts[AfterImpact.HOLD].values()]
    bias = np.abs(free.fit_bias / (free.common - free.ante))
    errors = {name: [relative_error(jump, BEST) for jump in jumps] for name, jumps in stiff.items()}
    pressed, unpressed, _ = errors.values()
    change = max(jump.common_energy_change for jump in impacts[AfterImpact.HOLD].values())
    said += [
        Finding(
            "A free impact is not inelastic: the joints, wound up by the motors that still move, throw the arm off the "
            f"surface with {min(rest):.3f} to {max(rest):.3f} of the approach velocity, which the map takes as 0. The "
            f"jump has the direction that M + B_theta gives, to {direction_error(free):.2f} deg, and "
            f"{1.0 + free.restitution:.3f} times its size. A controller that goes on pushes the arm back onto the "
            f"surface and leaves {mean_error(follow, BEST):.2f} of the {mean_error(free, BEST):.2f} deg/s of "
            f"error. For that its torque changes {torque_rate_use:.0f} times as fast as the arm allows; within the "
            f"limits {mean_error(limited, BEST):.2f} deg/s are left."
        ),
        Finding(
            "After a free impact the cubic fit differs from the common motion of links and motors by "
            + ", ".join(f"{100.0 * part:.1f} %" for part in bias)
            + " of the jump in joints 1, 2, 3: what is left of the ringing. The mean error of M + B_theta against the "
            f"common motion is {common_error(free):.2f} deg/s, against the fit {mean_error(free, BEST):.2f} deg/s."
        ),
        Finding(
            f"Joints {scales[-1]:g} times as stiff: with the contact kept closed the error of M + B_theta "
            f"falls from {pressed[0]:.2f} % of the jump to {pressed[-1]:.3f} %: plant and map agree in the limit for "
            f"which the map was derived. When the arm is free to leave, the error goes from {unpressed[0]:.1f} % to "
            f"{unpressed[-1]:.1f} %: the rebound does not vanish with the flexibility.",
            pressed[-1] < 0.1 * pressed[0],
        ),
        Finding(
            "No free impact gains energy: the kinetic energy of the common motion changes by "
            f"{1e3 * change:.2f} mJ or less.",
            change < 0.0,
        ),
    ]
    return tuple(said)


def exceptions(variants: Mapping[str, Mapping[AfterImpact, GrossJump]]) -> Finding:
    """Say in which variants and joints another inertia than M + B_theta is better."""
    worse = [
        f"joint {joint}, {name}, {after} ({NAMES[model]})"
        for name, ends in variants.items()
        for after, jump in ends.items()
        for joint, model in worse_joints(jump)
    ]
    every = all(is_best(jump) for ends in variants.values() for jump in ends.values())
    overall = "has the smallest mean error in all" if every else "does not have the smallest mean error in all"
    where = f", but single joints where another is better: {'; '.join(worse)}" if worse else ""
    return Finding(f"M + B_theta {overall} variants{where}.", every)


_SAME = 5.0
"""[% of the jump] of the fit up to which a prediction is taken to match it; our choice."""


def comparisons(shown: GrossJump, offsets: Mapping[InertiaModel, Vector], impacts: Impacts) -> tuple[Comparison, ...]:
    """Return the statements on the impact of Fig. 3, and ours on the sweep.

    shown: with the controller that goes on, as in the source. offsets (n,) [rad/s] by model: mean distance of the
    flexible response from the rigid one.
    """
    jumps = []
    for model in InertiaModel:
        error = relative_error(shown, model)
        jumps.append(
            Comparison(
                "Fig. 3",
                f"gross velocity jump at {ANGLE:g} deg, {SPEED:g} m/s, predicted with {NAMES[model]}",
                "matches" if model is BEST else "does not match",
                f"{error:.1f} % of the jump off",
                holds=(error <= _SAME) == (model is BEST),
            )
        )
    distance = {model: float(np.degrees(np.abs(offset).mean())) for model, offset in offsets.items()}
    nearest = min(distance, key=lambda model: distance[model])
    around = Comparison(
        "Fig. 3",
        "the flexible response oscillates around the rigid one with",
        NAMES[BEST],
        f"{NAMES[nearest]}, {distance[nearest]:.2f} deg/s from it over 30 ms",
        holds=nearest is BEST,
    )
    sweep = [
        Comparison(
            "III",
            f"{NAMES[BEST]} predicts best, other angles and speeds, {after}",
            "one impact shown",
            f"in {sum(map(is_best, by_case.values()))} of {len(by_case)} impacts",
            holds=all(map(is_best, by_case.values())),
        )
        for after, by_case in impacts.items()
    ]
    return (*jumps, around, *sweep)
