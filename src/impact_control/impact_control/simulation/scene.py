"""Plant A and its surroundings: arms with flexible joints, free boxes and driven effectors in compliant contact.

Rey Arias 2024 (1)-(6) and section III; Proper 2021, model A; van Steen 2024 for boxes that are hit, pushed or held.
`chain_dynamics` gives the rigid-body terms of the arms, `plant_kernel` integrates.

Contact pairs: every contact sphere of an arm or a pusher touches every plane and every box, at faces, edges and
corners; the corners of every box touch every plane. Boxes pass through each other, and so do effectors. Planes have
no border.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from impact_control.simulation.failure import body_name, simulation_error
from impact_control.simulation.objects import Arm, Box, Pusher
from impact_control.simulation.options import PlantOptions
from impact_control.simulation.plant_kernel import advance_sample, freeze_arm, observe
from impact_control.simulation.scene_arrays import SceneArrays, scene_arrays
from impact_control.simulation.scene_bodies import SimulatedArm, SimulatedBox, SimulatedPusher
from impact_control.simulation.step_control import Schedule
from impact_control.simulation.surface import Surface
from impact_control.simulation.touch import Touches
from impact_control.util.checks import finite_array
from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Vector

_INSIDE = 1e-9
"""[m] How far something may lie inside something else at the start: rounding."""

_STANDARD_GRAVITY = np.array([0.0, 0.0, -9.81])
"""[m/s^2] For boxes without an arm near them, which else brings its own."""


class ScenePlant:
    """Arms, pushers, boxes and planes, simulated together.

    `arms`, `pushers`, `boxes`: state and ground truth of each, in the order given. `time` [s] and
    `integration_steps` since the start. `arrays`: the data of the kernels.
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
        """Put everything at its initial state, the arms at rest.

        gravity (3,) [m/s^2]: of the boxes, frame A; by default that of the first arm. Raises InvalidInputError, also
        when something starts inside something else, or an arm is not a chain of joints.
        """
        self.options = options or PlantOptions.of()
        if gravity is None:
            gravity = arms[0].robot.gravity if arms else _STANDARD_GRAVITY
        arrays = scene_arrays(arms, pushers, boxes, surfaces, self.options, finite_array("gravity", gravity, (3,)))
        self.arrays = arrays
        schedule = _schedule(arms, self.options)
        self._fields = (tuple(schedule), tuple(arrays))
        first_box = len(arms) + len(pushers)
        self.arms = tuple(SimulatedArm(arm.robot, arrays, i) for i, arm in enumerate(arms))
        self.pushers = tuple(SimulatedPusher(arrays, i) for i in range(len(arms), first_box))
        self.boxes = tuple(SimulatedBox(arrays, i) for i in range(first_box, first_box + len(boxes)))
        self._touching = [
            (arm, Touches(arm.robot, description.touches, description.configuration))
            for arm, description in zip(self.arms, arms, strict=True)
            if description.touches
        ]
        self._commands = [arrays.joints["command"][i, : arm.link_position.size] for i, arm in enumerate(self.arms)]
        self._joint_names = [arm.robot.joint_names for arm in arms]
        self.time = 0.0
        self.integration_steps = 0
        for i, (arm, description) in enumerate(zip(self.arms, arms, strict=True)):
            arm.link_position[:] = description.configuration
            freeze_arm(arrays, i, 0.0, schedule.compensation)
            # At rest, and with nothing from outside, the nonlinear torques are those of gravity.
            arm.hold(arrays.joints["nonlinear"][i, : arm.link_position.size])
        observe(arrays, 0.0)
        _require_clear(arrays)

    def step(self, torques: Sequence[Vector]) -> None:
        """Advance one sample period under the commanded torque (n,) [Nm] of each arm, held constant.

        Without gravity: an arm adds its gravity torque itself, unless `PlantOptions` switches that off. The external
        torque of an arm that has touches is theirs. Raises SimulationError where that is not possible.
        """
        for command, torque in zip(self._commands, torques, strict=True):
            command[:] = torque
        for arm, touching in self._touching:
            arm.external_torque[:] = touching.torque(self.time, self.options.sample_period, arm.link_position)
        steps, self.time, stalled_step = advance_sample(*self._fields, self.time)
        self.integration_steps += steps
        if stalled_step != 0.0:
            raise simulation_error(self.arrays, self._joint_names, self.time, stalled_step)


def _schedule(arms: Sequence[Arm], options: PlantOptions) -> Schedule:
    """Divide a sample into intervals of `refresh_ticks` ticks of the torque loops. Raises InvalidInputError."""
    # Without arms nothing is frozen: one interval.
    rates = {arm.robot.torque_loop.rate for arm in arms} or {options.refresh_ticks / options.sample_period}
    if len(rates) > 1:
        raise InvalidInputError("torque loop rates", sorted(rates), "the same rate in Hz for all arms of a scene")
    rate = rates.pop()
    ticks = options.sample_period * rate
    if abs(ticks - round(ticks)) > 1e-9 or round(ticks) % options.refresh_ticks:
        allowed = f"a divisor of the {ticks:g} torque-loop ticks a sample"
        raise InvalidInputError("refresh_ticks", options.refresh_ticks, allowed)
    return Schedule(
        intervals=round(ticks) // options.refresh_ticks,
        interval=options.refresh_ticks / rate,
        ticks=options.refresh_ticks,
        tick_period=1.0 / rate,
        largest_step=options.largest_step,
        step_safety=options.step_safety,
        stiff_friction=math.inf if options.stiff_friction is None else options.stiff_friction,
        compensation=1.0 if options.gravity_compensation else 0.0,
    )


def _require_clear(arrays: SceneArrays) -> None:
    """Raise InvalidInputError when something lies inside something else."""
    for contact in arrays.contacts:
        if contact.gap < -_INSIDE:
            first, second = body_name(arrays, contact.first_body), body_name(arrays, contact.second_body)
            raise InvalidInputError("gap at the start", float(contact.gap), f"at least 0 m: {first} is inside {second}")
