"""What a residual may say while a link rests at an edge of its gap, where the torque on it is not determined."""

from __future__ import annotations

from impact_control.compiled import compiled
from impact_control.observation.backlash_model import free_torque, held_torque
from impact_control.types import Matrix, Vector


@compiled
def give_benefit_of_doubt(
    gap: Vector,
    coefficients: Matrix,
    slip_speed: float,
    margin: float,
    before: Matrix,
    state: Matrix,
    mean_torque: Vector,
    weight: Vector,
    residual: Vector,
) -> None:
    """Move a residual as close to 0 as the torque allows that is not known in the joints that rest at an edge.

    Inside the gap friction may be less than the load, beyond it friction and damper more: then the link rests at the
    edge, where (5) and (6) of Flacco 2016 jump, and the torque is somewhere between their two sides. Which of them a
    sample shows is noise. The residual takes the torque in between that explains most; a contact is what none does.
    A push outwards strains the spring and one inwards moves the link, both beyond the margin, and end the doubt.

    Args:
        gap, coefficients, slip_speed: of a `BacklashModel`, n joints.
        margin: [rad] from an edge, within which both samples have to be.
        before, state: (4, n) of the last sample and this one, as in `transmitted_torque`.
        mean_torque: (n,) [Nm] between the samples that the residual has been given.
        weight: (n,) what 1 Nm more in that mean takes from the residual.
        residual: (n,) [Nm], changed.
    """
    for i in range(gap.size):
        side = _edge(before[0, i], gap[i], margin)
        if gap[i] == 0.0 or side == 0.0 or side != _edge(state[0, i], gap[i], margin):
            continue
        free, held = 0.0, 0.0
        for sample in (before, state):
            free += 0.5 * free_torque(coefficients, slip_speed, i, sample[1, i], sample[2, i])
            held += 0.5 * held_torque(coefficients, slip_speed, i, 0.0, sample[1, i], sample[2, i], sample[3, i])
        most = residual[i] + weight[i] * (mean_torque[i] - min(free, held))
        least = residual[i] + weight[i] * (mean_torque[i] - max(free, held))
        residual[i] = min(max(0.0, least), most)


@compiled
def _edge(deflection: float, gap: float, margin: float) -> float:
    """Return 1 or -1 for the edge to which a deflection [rad] is closer than the margin, 0 for none."""
    if abs(deflection - gap) <= margin:
        return 1.0
    return -1.0 if abs(deflection + gap) <= margin else 0.0
