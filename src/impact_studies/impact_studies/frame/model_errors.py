"""Links that are not quite the known ones: the arm that is there, or the model that is known of it."""

from __future__ import annotations

import numpy as np
import pinocchio as pin


def erring_links(
    known: pin.Model, random: np.random.Generator, mass_error: float, lever_error: float = 0.0
) -> pin.Model:
    """Return a model whose links have other masses, inertias and centres of mass, uniformly distributed.

    mass_error: of mass and inertia of each link, one factor for both, relative; lever_error: of each coordinate of the
    centre of mass [m]. Without it no random numbers are drawn for the centres.
    """
    model = known.copy()
    for joint in range(1, model.njoints):
        link, factor = known.inertias[joint], 1.0 + float(random.uniform(-mass_error, mass_error))
        lever = link.lever + random.uniform(-lever_error, lever_error, 3) if lever_error else link.lever
        model.inertias[joint] = pin.Inertia(factor * link.mass, lever, factor * link.inertia)
    return model
