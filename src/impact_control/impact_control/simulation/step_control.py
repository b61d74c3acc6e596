"""Length and scheme of the integration steps of a scene: short enough to follow contacts and backlash, and stable.

Links and motors with inertia M, damping D and stiffness K have modes with s^2 + d s + k = 0. There d is at most the
largest eigenvalue of M^-1/2 D M^-1/2, and k that of M^-1/2 K M^-1/2: a mode decays without oscillating at a rate of at
most the first, or lies in the left half of a circle about 0 whose radius is the root of the second. Contacts add to D
and K, and the largest eigenvalue of a sum is at most the sum of the largest ones. The torque of the low-level loop is
held between its ticks, and so is a constant here; the torque filter follows the joints and does not act on them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from impact_control.impacts.contact_laws import EXPONENT
from impact_control.simulation.contact_kernel import contact_rates, landing_rate
from impact_control.simulation.joint_kernel import column_rates, joint_state, time_to_backlash_edge
from impact_control.simulation.scene_arrays import SceneArrays
from impact_control.simulation.stabilised_step import LENGTH, MOST_STAGES, stages_for
from impact_control.util.compiled import compiled_in_place
from impact_control.util.types import Vector

LANDING = 0.005
"""Steps that end at an event overshoot it by this part of the largest step: the force starts from zero depth."""

DEEPER = 0.1
"""By this part of itself a depth may grow in a step, above a floor of LANDING."""

STIFFENING = (1.0 + DEEPER) ** 1.5
"""By this factor a contact of Hertz gets stiffer in such a step, and its friction larger."""

STABLE = 2.615 / STIFFENING
"""Largest step over the time of a mode in the classical Runge-Kutta scheme, whose region of stability contains the left
half of a circle of radius 2.615. A mode that only decays then shrinks at least by half in a step."""

SHORTEST_STEP = 1e-9
"""[s] Where a shorter one is needed the simulation gives up."""

LARGEST_RATE = 1e15
"""Bound on the rate of any part of the state, in its unit per second: far above any motion, its powers still finite."""

MOST_HALVINGS = 20
"""Bound on the halvings of LANDING, after which the step is below the shortest one."""


class Schedule(NamedTuple):
    """Division of a sample into intervals and ticks, and limits of the integration steps.

    A sample has `intervals` intervals [s] of `ticks` periods [s] of the torque loops each. largest_step [s],
    step_safety, stiff_friction, infinite for none: see `PlantOptions`; compensation: see `freeze_arm`.
    """

    intervals: int
    interval: float
    ticks: int
    tick_period: float
    largest_step: float
    step_safety: float
    stiff_friction: float
    compensation: float


@compiled_in_place
def joint_rates(scene: SceneArrays) -> tuple[float, float]:
    """Return the largest d [1/s] and k [1/s^2], see above, of the joints of all arms at their inverse mass."""
    largest_damping = 0.0
    largest_stiffness = 0.0
    for arm in range(scene.joints.shape[0]):
        n = scene.bodies[arm].joint_count
        damping = 0.0
        stiffness = 0.0
        friction = 0.0
        for j in range(n):
            squares = column_rates(scene.joints[arm], j, scene.inverse_mass[arm, j, :n])
            damping += squares[0]
            stiffness += squares[1]
            friction += squares[2]
            largest_damping = max(largest_damping, scene.joints[arm, j].filter_rate)
        largest_damping = max(largest_damping, math.sqrt(damping) + math.sqrt(friction))
        largest_stiffness = max(largest_stiffness, math.sqrt(stiffness))
    return largest_damping, largest_stiffness


@compiled_in_place
def _landing(longest: float, step_safety: float, contact: np.record) -> float:
    """Return how long [s] a closing pair may go on without a force that holds it: `longest`, halved until the contact
    it then has is followed.
    """
    depth, closing = max(-contact.gap, 0.0), contact.closing
    length = longest
    for _ in range(MOST_HALVINGS):
        if landing_rate(contact, depth + closing * length) * length <= step_safety:
            break
        length *= 0.5
    return length


@compiled_in_place
def _step_to_touch(schedule: Schedule, contact: np.record) -> float:
    """Return the step [s] to just inside the surface for an open pair; infinity when it does not close in a step."""
    gap, closing = contact.gap, contact.closing
    if not (closing > 0.0 and gap < closing * schedule.largest_step):
        return math.inf
    longest = LANDING * schedule.largest_step
    overshoot = _landing(longest, schedule.step_safety, contact)
    step: float = gap / closing + overshoot
    if overshoot < longest:
        # Half-way first: a long step does not end at its target, as the speed changes in it.
        step = max(0.5 * gap / closing, overshoot)
    return step


@compiled_in_place
def _step_inside(schedule: Schedule, contact: np.record) -> float:
    """Return the step [s] in which the depth of a touching pair does not outrun its force; infinity: any."""
    gap, closing = contact.gap, contact.closing
    longest = LANDING * schedule.largest_step
    step: float = math.inf
    if closing > 0.0:
        step = DEEPER * -gap / closing
        if step < longest:
            step = max(step, _landing(longest, schedule.step_safety, contact))
    elif -gap < -closing * schedule.largest_step and contact.law[EXPONENT] < 1.5:
        # Land outside: the force of such a law ends with a kink.
        step = gap / closing + longest
    return step


@compiled_in_place
def contact_step(schedule: Schedule, scene: SceneArrays, time: float) -> tuple[float, float, float, float]:
    """Return the step [s] that follows the contacts but for their friction, and their contribution to the modes, see
    above: d [1/s] and k [1/s^2] of normal forces, and d [1/s] of friction.

    Stores first touches and peak forces. The rates of all contacts together are at most their sum, the trace of their
    action on the bodies.
    """
    step = schedule.largest_step
    damping = 0.0
    stiffness = 0.0
    friction = 0.0
    leaning_damping = 0.0
    leaning_stiffness = 0.0
    bodies = scene.bodies
    for index in range(bodies.shape[0]):
        bodies[index].normal_force_sum = 0.0
    for pair in range(scene.contacts.shape[0]):
        contact = scene.contacts[pair]
        if not contact.active:
            continue
        if contact.gap >= 0.0:
            step = min(step, _step_to_touch(schedule, contact))
            continue
        for index in (contact.first_body, contact.second_body):
            if index >= 0:
                bodies[index].normal_force_sum += contact.normal_force
        rates = contact_rates(contact, -contact.gap, contact.normal_force)
        damping += rates[0]
        stiffness += rates[1]
        friction += rates[2]
        # Friction grows with the normal force, which so leans against the slip.
        lean = 1.0
        if contact.normal_mobility > 0.0:
            along = contact.surface_mobility / contact.normal_mobility
            lean += contact.friction * math.sqrt(max(along, 0.0))
        leaning_damping += lean * rates[0]
        leaning_stiffness += lean * rates[1]
        step = min(step, _step_inside(schedule, contact))
        if math.isinf(contact.first_touch):
            closing = contact.closing
            contact.first_touch = time + contact.gap / closing if closing > 0.0 else time
    for index in range(bodies.shape[0]):
        bodies[index].peak_normal_force = max(bodies[index].peak_normal_force, bodies[index].normal_force_sum)
    rate = damping + math.sqrt(stiffness)
    if rate > 0.0:
        step = min(step, schedule.step_safety / rate)
    return step, leaning_damping, leaning_stiffness, friction


@compiled_in_place
def joint_step(step: float, overshoot: float, scene: SceneArrays) -> float:
    """Return the step [s], shortened so that it ends, but for the overshoot, where a backlash begins or ends."""
    for arm in range(scene.joints.shape[0]):
        for j in range(scene.bodies[arm].joint_count):
            joint = scene.joints[arm, j]
            if joint.backlash > 0.0:
                q, dq, theta, dtheta, _ = joint_state(scene.state, scene.bodies[arm], j)
                step = min(step, time_to_backlash_edge(joint, theta - q, dtheta - dq) + overshoot)
    return step


@compiled_in_place
def _is_bounded(slope: Vector, size: int) -> bool:
    """Return whether the rates of the state are numbers, and none above LARGEST_RATE."""
    bounded = True
    for i in range(size):
        bounded = bounded and abs(slope[i]) <= LARGEST_RATE
    return bounded


@compiled_in_place
def due_step(
    schedule: Schedule, scene: SceneArrays, rates: tuple[float, float], time: float, remaining: float
) -> tuple[float, int]:
    """Return the step [s] that is due, at most what remains [s] of a tick, and the stages of its scheme.

    rates: from `joint_rates`; the first row of the work is the rate of the state; where that is above LARGEST_RATE the
    step is NaN. No stages: the classical scheme. Stiffness of the joints alone,
    or of friction where `PlantOptions` say so, is passed by the scheme of `stabilised_step`: it only decays.
    """
    if not _is_bounded(scene.work[0], scene.state.size):
        return math.nan, 0
    joint_damping, joint_stiffness = rates
    largest_step, step_safety = schedule.largest_step, schedule.step_safety
    step, damping, stiffness, friction = contact_step(schedule, scene, time)
    step = min(joint_step(step, LANDING * largest_step, scene), remaining)
    square = joint_stiffness + stiffness
    if square * step * step > STABLE * STABLE:
        step = STABLE / math.sqrt(square)
    decay = joint_damping + damping + friction
    stiff_joints = joint_damping * step > STABLE and friction * step <= step_safety
    if step >= min(largest_step, remaining) and (
        stiff_joints or friction * step > schedule.stiff_friction * step_safety
    ):
        stages = stages_for(decay, step, STIFFENING)
        if stages > MOST_STAGES:
            stages = MOST_STAGES
            step = (stages * stages - 1.0) * LENGTH / STIFFENING / decay
        return step, stages
    if friction * step > step_safety:
        step = step_safety / friction
    if decay * step > STABLE:
        step = STABLE / decay
    return step, 0
