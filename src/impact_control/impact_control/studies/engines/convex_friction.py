"""What an impact does by the convex form of Coulomb's law, which many engines use in its place.

The work of the impulses is least over the friction cones: a problem with one solution, and fast. But the velocities
then lie in the dual cone: v_N >= mu |v_T| instead of v_N >= 0, so that a contact that slips is lifted off.
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from impact_control.errors import ImpactControlError, MissingExtraError
from impact_control.impacts.contact_system import ContactSystem
from impact_control.types import Vector


def convex_friction_velocity(system: ContactSystem, restitution: float) -> Vector:
    """Return the velocity (N,) of a system after an impact with convex friction, by Pinocchio's ADMM.

    restitution: e of all contacts, in place of that in the system. Raises ImpactControlError if not converged,
    MissingExtraError for a Pinocchio below 4.
    """
    if not hasattr(pin, "ADMMConstraintSolver"):
        raise MissingExtraError(f"convex friction needs Pinocchio 4 or later; installed is {pin.__version__}")
    free = system.jacobian @ system.velocity
    free[::3] += restitution * np.minimum(free[::3], 0.0)
    # Pinocchio orders a contact by first tangent, second tangent, normal.
    order = np.arange(free.size).reshape(-1, 3)[:, [1, 2, 0]].ravel()
    delassus = system.delassus[np.ix_(order, order)]
    models, datas = pin.StdVec_ConstraintModel(), pin.StdVec_ConstraintData()
    for friction in system.friction:
        point = pin.PointContactConstraintModel(pin.Model(), 0, pin.SE3.Identity(), 0, pin.SE3.Identity())
        point.setFriction(float(friction))
        models.append(pin.ConstraintModel(point))
        datas.append(models[-1].createData())
    settings, result = pin.ADMMSolverSettings(), pin.ADMMSolverResult()
    settings.solve_ncp, settings.max_iterations = False, 20000
    settings.absolute_feasibility_tol = settings.absolute_complementarity_tol = 1e-9
    settings.relative_feasibility_tol = settings.relative_complementarity_tol = 1e-9
    operator = pin.DelassusOperatorDense(np.asfortranarray(delassus))
    solver = pin.ADMMConstraintSolver(free.size)
    if not solver.solve(operator, free[order], models, datas, settings, result):
        raise ImpactControlError(f"convex friction: not converged after {result.iterations} iterations")
    impulse = np.empty_like(free)
    impulse[order] = np.ravel(result.retrieveConstraintImpulses())
    velocity: Vector = system.velocity + impulse @ system.response
    return velocity
