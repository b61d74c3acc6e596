"""The random numbers of the experiments: those of a seed and of what they are for."""

from __future__ import annotations

import numpy as np

GAPS, IDENTIFICATION, REST, VALIDATION, FIGURE_8, CONTACTS, SINGLE_JOINT = RECORDINGS = (
    "gaps",
    "identification",
    "rest",
    "validation",
    "figure 8",
    "contacts",
    "single joint",
)
"""What recordings are for; that of the third experiment needs what the others give."""

NOMINAL, GUIDANCE = "nominal model", "guidance"

_KEYS = {name: key for key, name in enumerate((*RECORDINGS, NOMINAL))} | {GUIDANCE: 100}
"""No two alike; a key that changes changes the results."""


def random_of(seed: int, name: str) -> np.random.Generator:
    """Return the random numbers of a seed for one of the names above."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(_KEYS[name],)))
