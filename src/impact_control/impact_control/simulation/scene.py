"""Plant A and what is around it: arms with flexible joints, free boxes and driven effectors in compliant contact.

Rey Arias 2024 (1)-(6) and section III; Proper 2021, model A; van Steen 2024 for boxes that are hit, pushed or held.
`chain_dynamics` gives the rigid-body terms of the arms, `plant_kernel` integrates.

What may touch what: every contact sphere of an arm or a pusher touches every plane and every box, at faces, edges and
corners; the corners of every box touch every plane. Boxes pass through each other, and so do effectors. Planes have
no border.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from impact_control.checks import finite_array
from impact_control.errors import InvalidInputError
from impact_control.simulation.frozen_terms import freeze_arm
from impact_control.simulation.objects import Arm, Box, Pusher
from impact_control.simulation.options import PlantOptions
from impact_control.simulation.plant_kernel import advance_sample, observe
from impact_control.simulation.scene_arrays import (
    COMMAND,
    FIRST_BODY,
    GAP,
    NONLINEAR,
    SECOND_BODY,
    SceneArrays,
    scene_arrays,
)
from impact_control.simulation.scene_bodies import SimulatedArm, SimulatedBox, SimulatedPusher
from impact_control.simulation.surface import Surface
from impact_control.simulation.touch import Touches
from impact_control.types import Vector

_INSIDE = 1e-9
"""[m] How far something may lie inside something else at the start: rounding."""

_STANDARD_GRAVITY = np.array([0.0, 0.0, -9.81])
"""[m/s^2] For boxes without an arm near them, which else brings its own."""


class Scene:
    """Arms, pushers, boxes and planes, simulated together.

    `arms`, `pushers`, `boxes`: state and ground truth of each, in the order given. `time` [s] and
    `integration_steps` since the start. `arrays`: what the kernels work on.
    """

    def __init__(
        self,
        arms: Sequence[Arm] = (),
        boxes: Sequence[Box] = (),
        pushers: Sequence[Pusher] = (),
        surfaces: Sequence[Surface] = (),
        options: PlantOptions | None = None,
        gravity: Vector | None = None,
    ) -> None:
        """Put everything where it says, the arms at rest.

        gravity (3,) [m/s^2]: of the boxes, frame A; by default that of the first arm. Raises InvalidInputError, also
        when something starts inside something else, or an arm is not a chain of joints.
        """
        self.options = options or PlantOptions()
        if gravity is None:
            gravity = arms[0].robot.gravity if arms else _STANDARD_GRAVITY
        arrays = scene_arrays(arms, pushers, boxes, surfaces, self.options, finite_array("gravity", gravity, (3,)))
        self.arrays = arrays
        self._clock = _clock(arms, self.options)
        self._compensation = 1.0 if self.options.gravity_compensation else 0.0
        first_box = len(arms) + len(pushers)
        self.arms = tuple(SimulatedArm(arm.robot, arrays, i) for i, arm in enumerate(arms))
        self.pushers = tuple(SimulatedPusher(arrays, i) for i in range(len(arms), first_box))
        self.boxes = tuple(SimulatedBox(arrays, i) for i in range(first_box, first_box + len(boxes)))
        self._touching = [
            (arm, Touches(arm.robot, description.touches, description.configuration))
            for arm, description in zip(self.arms, arms, strict=True)
            if description.touches
        ]
        self._commands = [arrays.terms[i, COMMAND, : arm.link_position.size] for i, arm in enumerate(self.arms)]
        self.time = 0.0
        self.integration_steps = 0
        for i, (arm, description) in enumerate(zip(self.arms, arms, strict=True)):
            arm.link_position[:] = description.configuration
            self._freeze(i)
            # At rest, and with nothing from outside, the nonlinear torques are those of gravity.
            arm.hold(arrays.terms[i, NONLINEAR, : arm.link_position.size])
        observe(0.0, arrays.state, arrays.layout, arrays.terms, arrays.bodies, arrays.pairs, arrays.contacts)
        _require_clear(arrays, len(arms), len(pushers))

    def step(self, torques: Sequence[Vector]) -> None:
        """Advance one sample period under the commanded torque (n,) [Nm] of each arm, held constant.

        Without gravity: an arm adds its gravity torque itself, unless `PlantOptions` switches that off. The external
        torque of an arm that has touches is theirs.
        """
        for command, torque in zip(self._commands, torques, strict=True):
            command[:] = torque
        clock, options = self._clock, self.options
        for arm, touching in self._touching:
            arm.external_torque[:] = touching.torque(self.time, options.sample_period, arm.link_position)
        steps, self.time = advance_sample(
            clock.intervals,
            clock.interval,
            options.refresh_ticks,
            clock.tick_period,
            options.largest_step,
            options.step_safety,
            options.stiff_friction,
            options.predict_velocity,
            self._compensation,
            self.time,
            *self.arrays,
        )
        self.integration_steps += steps

    def _freeze(self, arm: int) -> None:
        """Compute the rigid-body terms of an arm as it is now."""
        a = self.arrays
        freeze_arm(arm, 0.0, False, self._compensation, a.state, a.layout, a.links, a.ends, a.terms, a.bodies)


class _Clock(NamedTuple):
    """Intervals a sample, length of one [s], period of the torque loops [s]."""

    intervals: int
    interval: float
    tick_period: float


def _clock(arms: Sequence[Arm], options: PlantOptions) -> _Clock:
    """Divide the sample period into intervals of as many ticks of the torque loops as are asked for."""
    # Without arms nothing is frozen: one interval.
    rates = {arm.robot.torque_loop.rate for arm in arms} or {options.refresh_ticks / options.sample_period}
    if len(rates) > 1:
        raise InvalidInputError("torque loop rates", sorted(rates), "the same rate in Hz for all arms of a scene")
    rate = rates.pop()
    ticks = options.sample_period * rate
    if abs(ticks - round(ticks)) > 1e-9 or round(ticks) % options.refresh_ticks:
        allowed = f"a divisor of the {ticks:g} torque-loop ticks a sample"
        raise InvalidInputError("refresh_ticks", options.refresh_ticks, allowed)
    return _Clock(round(ticks) // options.refresh_ticks, options.refresh_ticks / rate, 1.0 / rate)


def _require_clear(arrays: SceneArrays, arm_count: int, pusher_count: int) -> None:
    """Raise InvalidInputError when something lies inside something else."""
    first_box = arm_count + pusher_count
    names = [f"the end-effector of arm {i}" for i in range(arm_count)]
    names += [f"pusher {i}" for i in range(pusher_count)]
    names += [f"box {i}" for i in range(len(arrays.layout) - first_box)]
    for pair, gap in zip(arrays.pairs, arrays.contacts[:, GAP], strict=True):
        if gap < -_INSIDE:
            first, second = pair[FIRST_BODY], pair[SECOND_BODY]
            other = "the surface" if second < 0 else names[second]
            raise InvalidInputError("gap at the start", float(gap), f"at least 0 m: {names[first]} is inside {other}")
