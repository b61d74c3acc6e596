"""A free mass that hits a normal force law: the force over time and where the energy goes.

The energies are integrated beside the motion, by `normal_impact_kernel`, so that their balance is a check and not an
identity.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from impact_control.impacts.contact_laws import NormalForceLaw
from impact_control.impacts.contact_laws.laws import require_impact
from impact_control.util.errors import InvalidInputError
from impact_control.util.types import Vector
from impact_studies.models.impacts.normal_impact_kernel import (
    CREEP,
    DEPTH,
    DISSIPATED,
    MOST_STEPS,
    RATE,
    STATE_SIZE,
    WORK,
    follow_impact,
    sample_impact_force,
    state_scale,
)


@dataclass(frozen=True)
class ImpactEnergies:
    """Where the kinetic energy of a free mass goes in an impact; all in J, none negative. Wang 2022 (26)-(28).

    initial: kinetic energy at first contact; compression_work: work on the contact to the end of compression;
    stored: elastic energy there, (26); restitution_work: work given back from there to the end of restitution;
    dissipated: by the damping, (27), over the whole impact; final: kinetic energy at the end of restitution.
    """

    initial: float
    compression_work: float
    stored: float
    restitution_work: float
    dissipated: float
    final: float


@dataclass(frozen=True)
class NormalImpact:
    """An impact of a free mass on a normal force law, sampled at the steps of its integration.

    time (m,) [s], 0 at first contact, ends with the end of restitution; depth (m,) [m]; depth_rate (m,) [m/s];
    force (m,) [N]; creep (m,) [m]; kinetic_energy, stored_energy, dissipated_energy (m,) [J]: Wang 2022 Fig. 8;
    compression_end and restitution_end [s], infinite if the law never comes to them; restitution [-]: speed after
    over speed before, 0 if the mass stops.
    """

    time: Vector
    depth: Vector
    depth_rate: Vector
    force: Vector
    creep: Vector
    kinetic_energy: Vector
    stored_energy: Vector
    dissipated_energy: Vector
    compression_end: float
    restitution_end: float
    restitution: float
    energies: ImpactEnergies

    @property
    def energy_imbalance(self) -> float:
        """Return the largest error of Wang 2022 (28), E_k + E_p + E_d = E_k(t_0), over E_k(t_0) [-]."""
        total = self.kinetic_energy + self.stored_energy + self.dissipated_energy
        return float(np.max(np.abs(total / total[0] - 1.0)))


def simulate_normal_impact(law: NormalForceLaw, mass: float, speed: float) -> NormalImpact:
    """Return the impact of a free mass [kg], above 0, that reaches the surface of `law` at speed [m/s], above 0.

    From first contact to the end of restitution, where the force of the law returns to zero. Raises
    InvalidInputError, also for a law too stiff to follow (its time scales lie too far apart).
    """
    require_impact(mass, speed)
    parameters = law.parameters
    scale = state_scale(parameters, mass, speed)
    times = np.empty(MOST_STEPS)
    states = np.empty((MOST_STEPS, STATE_SIZE))
    count, turn, opened = follow_impact(int(law.kind), parameters, mass, speed, scale, times, states)
    if count == 0:
        raise _too_stiff(law, mass, speed)
    time, state = times[:count].copy(), states[:count].T.copy()
    depth, rate, creep = state[DEPTH], state[RATE], state[CREEP]
    kinetic = 0.5 * mass * rate**2
    stored = np.array([law.stored_energy(d, c) for d, c in zip(depth, creep, strict=True)])
    # Without an end of compression the mass is at rest, and nothing is given back.
    last = count - 1
    compressed = turn if turn >= 0 else last
    work = state[WORK]
    return NormalImpact(
        time=time,
        depth=depth,
        depth_rate=rate,
        force=np.array([law.force(d, r, c) for d, r, c in zip(depth, rate, creep, strict=True)]),
        creep=creep,
        kinetic_energy=kinetic,
        stored_energy=stored,
        dissipated_energy=state[DISSIPATED],
        compression_end=float(time[turn]) if turn >= 0 else math.inf,
        restitution_end=float(time[last]) if opened else math.inf,
        restitution=float(-rate[last] / speed) if opened else 0.0,
        energies=ImpactEnergies(
            initial=float(kinetic[0]),
            compression_work=float(work[compressed]),
            stored=float(stored[compressed]),
            restitution_work=float(work[compressed] - work[last]),
            dissipated=float(state[DISSIPATED, last]),
            final=float(kinetic[last]),
        ),
    )


def sample_normal_impact(law: NormalForceLaw, mass: float, speed: float, time: Vector) -> Vector:
    """Return the force (m,) [N] of the impact of `simulate_normal_impact` at the ascending times (m,) [s].

    Time counts from first contact; before it and after the end of restitution the force is 0. Between steps
    it is interpolated: to about 1e-6 of the peak force for exponents of 1 and more. Raises InvalidInputError.
    """
    require_impact(mass, speed)
    time = np.asarray(time, dtype=float)
    if time.ndim != 1 or not np.all(np.isfinite(time)) or np.any(np.diff(time) < 0.0):
        raise InvalidInputError("time", time, "ascending finite numbers, shape (m,)")
    parameters = law.parameters
    force = np.empty(time.size)
    scale = state_scale(parameters, mass, speed)
    if not sample_impact_force(int(law.kind), parameters, mass, speed, scale, time, force):
        raise _too_stiff(law, mass, speed)
    return force


def impact_restitution(kind: int, parameters: Vector, mass: float, speed: float) -> float:
    """Return the simulated restitution [-] of a law given by kind and parameters (4,), 0 if the mass stops.

    Like `simulate_normal_impact`, but open to parameters that the law objects refuse, as an identification may
    meet them: negative damping gives more than 1. NaN if the impact cannot be followed.
    """
    scale = state_scale(parameters, mass, speed)
    times = np.empty(MOST_STEPS)
    states = np.empty((MOST_STEPS, STATE_SIZE))
    count, _, opened = follow_impact(kind, parameters, mass, speed, scale, times, states)
    if count == 0:
        return math.nan
    return float(-states[count - 1, RATE] / speed) if opened else 0.0


def _too_stiff(law: NormalForceLaw, mass: float, speed: float) -> InvalidInputError:
    return InvalidInputError("law", law, f"a law followed for mass {mass} kg at {speed} m/s in {MOST_STEPS} steps")
