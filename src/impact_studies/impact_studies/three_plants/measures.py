"""Numbers of a response: bounces, distance to the rigid joints, ringing, and what the rigid map says."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from impact_control.robots import Dynamics, InertiaModel, contact_jacobians, lowest_points
from impact_control.util.types import Matrix, Vector
from impact_studies.three_plants.course import Course, expected_approach, rigid_map
from impact_studies.three_plants.response import BOUNCE_HEIGHT, OBSERVED, PlantModel, Response

Responses = Mapping[PlantModel, Response]

WINDOWS = ((0.0, 0.01), (0.01, 0.03), (0.03, 0.06), (0.06, 0.1), (0.2, OBSERVED))
"""[s] after first contact."""

AT_ONCE = 1e-4
"""[s] Impacts nearer to the first than this are one: an edge that is not quite parallel to the surface."""

_NEAR = 2e-5
"""[m] Points that are this near at first contact touch in it: at 0.2 m/s within AT_ONCE."""

RINGING = (0.003, 0.1)
"""[s] after first contact: the delay of the detection is over, the joints still ring."""


@dataclass(frozen=True)
class Bounce:
    """A point off the surface, up to `height` [m], from `opens` to `closes` [s] after first contact.

    closes is infinite when the point does not come back.
    """

    opens: float
    closes: float
    height: float


def bounces(response: Response, point: int) -> list[Bounce]:
    """Return the bounces of a contact point after its first touch, to the sample."""
    closed, time, gap = response.closed[:, point], response.time, response.gaps[:, point]
    change = np.flatnonzero(closed[1:] != closed[:-1]) + 1
    found = []
    for i in change[~closed[change]]:
        after = change[(change > i) & closed[change]]
        end = int(after[0]) if after.size else len(time)
        height = float(gap[i:end].max())
        if height > BOUNCE_HEIGHT:
            found.append(Bounce(float(time[i]), float(time[end]) if after.size else math.inf, height))
    return found


def bounce_heights(response: Response) -> list[float]:
    """Return the heights of all bounces of all points [m]."""
    return [bounce.height for point in range(response.gaps.shape[1]) for bounce in bounces(response, point)]


def settled(response: Response) -> float:
    """Return from when on [s] after first contact all points stay on the surface; infinite: they do not."""
    ends = [bounce.closes for point in range(response.gaps.shape[1]) for bounce in bounces(response, point)]
    return max([*ends, float(response.touches.max())])


def first_return(response: Response) -> float:
    """Return when the first bounce of any point ends [s] after first contact; infinite without one."""
    ends = [found[0].closes for point in range(response.gaps.shape[1]) if (found := bounces(response, point))]
    return min(ends, default=math.inf)


def touched_at_once(response: Response) -> NDArray[np.int_]:
    """Return the indices of the points that touch in the first impact."""
    gaps, _ = _at_first_contact(response)
    return np.flatnonzero(gaps < gaps.min() + _NEAR)


def right_after(response: Response) -> Vector:
    """Return dq (n,) [rad/s] right after the first impact of a plant with rigid contact."""
    first = [impact for impact in response.impacts if impact.time - response.start_time < AT_ONCE]
    return first[-1].velocity_after


def map_velocity(response: Response, model: InertiaModel) -> Vector:
    """Return dq^+ (n,) [rad/s] of the rigid map at the first contact of this response."""
    q, dq = response.at_impact
    return rigid_map(response.robot, q, dq, response.normal, touched_at_once(response), model)


def contact_interval(response: Response) -> float:
    """Return the time between the first touches of the points [s]; infinite when one did not touch."""
    return float(response.touches.max() - response.touches.min())


def estimated_interval(response: Response) -> float:
    """Return the same [s] from the rigid map alone: gap of the last point over its speed after the first impact.

    Infinite where the map lets that point rise. The motion of the arm in between is left out.
    """
    gaps, jacobians = _at_first_contact(response)
    if touched_at_once(response).size == gaps.size:
        return 0.0
    last = int(np.argmax(gaps))
    after = map_velocity(response, InertiaModel.REDUCED_MOTORS)
    speed = -float(response.normal @ jacobians[last] @ after)
    return float(gaps[last] - gaps.min()) / speed if speed > 0.0 else math.inf


def _at_first_contact(response: Response) -> tuple[Vector, Matrix]:
    """Return the gaps (n_c,) [m] less what all have in common, and the Jacobians (n_c, 3, n) of the points."""
    q, dq = response.at_impact
    dynamics = Dynamics(response.robot)
    dynamics.compute(q, dq)
    tool = response.robot.end_effector
    offsets = lowest_points(tool.contact_points, tool.radius, dynamics.rotation, response.normal)
    return offsets @ response.normal, contact_jacobians(dynamics.jacobian, offsets)


def jump_size(rigid: Response) -> float:
    """Return the root mean square over the joints of the first jump of plant C [rad/s]: what distances are parts of."""
    return root_mean_square(right_after(rigid) - rigid.at_impact[1])


def distance(response: Response, other: Response, window: tuple[float, float]) -> float:
    """Return the root mean square difference of the joint velocities of two plants in a window [rad/s]."""
    return root_mean_square(_difference(response, other, window))


def percent_from_rigid(responses: Responses, model: PlantModel, window: tuple[float, float]) -> float:
    """Return the distance of a plant from C in a window, in percent of C's first jump."""
    rigid = responses[PlantModel.C]
    return 100.0 * distance(responses[model], rigid, window) / jump_size(rigid)


def offset(response: Response, other: Response, window: tuple[float, float]) -> float:
    """Return the same of the mean over the window [rad/s]: the distance without the ringing."""
    return root_mean_square(_difference(response, other, window).mean(axis=0))


def _difference(response: Response, other: Response, window: tuple[float, float]) -> Matrix:
    inside = (response.time > window[0]) & (response.time <= window[1])
    time = response.time[inside]
    at_same_time = np.array([np.interp(time, other.time, column) for column in other.velocity.T]).T
    difference: Matrix = response.velocity[inside] - at_same_time
    return difference


def ringing(response: Response) -> float:
    """Return the root mean square [rad/s] of what is left of the joint velocities over a cubic in RINGING."""
    inside = (response.time > RINGING[0]) & (response.time <= RINGING[1])
    x = (response.time[inside] - RINGING[0]) / (RINGING[1] - RINGING[0])
    powers = np.vander(x, 4)
    fit, *_ = np.linalg.lstsq(powers, response.velocity[inside], rcond=None)
    return root_mean_square(response.velocity[inside] - powers @ fit)


def jump_time(compliant: Response, rigid_contact: Response) -> float:
    """Return when plant A has made 90 % of plant B's first jump [s] after first contact, to the sample."""
    before = compliant.at_impact[1]
    jump = right_after(rigid_contact) - rigid_contact.at_impact[1]
    part = (compliant.velocity - before) @ jump / float(jump @ jump)
    return float(compliant.time[np.flatnonzero((compliant.time >= 0.0) & (part >= 0.9))[0]])


def expected_time(response: Response) -> Vector:
    """Return the time of the samples (m,) [s] from the expected impact instead of the first contact."""
    time: Vector = response.time + lateness(response)
    return time


def lateness(response: Response) -> float:
    """Return how much later than expected the first contact is [s]."""
    return response.start_time - expected_approach().impact_time


def slide_error(response: Response, end: float) -> float:
    """Return the largest difference of the velocity of E from that of the slide until `end` [s] after contact [m/s]."""
    course, dynamics, largest = Course(response.robot), Dynamics(response.robot), 0.0
    time = expected_time(response)
    for i in np.flatnonzero((response.time > 0.0) & (response.time <= end)):
        dynamics.compute(response.position[i], response.velocity[i])
        _, rate, _ = course.slide.at(time[i])
        largest = max(largest, float(np.hypot(dynamics.twist[0] - rate[0], dynamics.twist[2] - rate[1])))
    return largest


def turn_difference(response: Response, rigid: Response) -> float:
    """Return the largest difference of the end-effector's orientation from plant C's after first contact [rad]."""
    after = response.time >= 0.0
    turn = response.position[after].sum(axis=1)
    difference = turn - np.interp(response.time[after], rigid.time, rigid.position.sum(axis=1))
    return float(np.abs(difference).max())


def root_mean_square(values: Matrix) -> float:
    """Return the root of the mean of the squares; NaN of nothing."""
    return float(np.sqrt(np.mean(np.square(values)))) if values.size else math.nan
