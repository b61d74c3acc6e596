"""Options of a simulated arm with rigid contact."""

from __future__ import annotations

from dataclasses import dataclass, field

from impact_control.simulation import PlantOptions
from impact_control.util.checks import require_positive


@dataclass(frozen=True, eq=False)
class RigidContactOptions:
    """Switches and resolution of a plant with rigid contact. Raises InvalidInputError.

    joints: sample period and effects in the joints, as in plant A; its step lengths are not used.
    largest_step [s]: of the integration; None: the default of the plant.
    rest_speed [m/s]: a point that leaves the surface slower after an impact stays on it.
    """

    joints: PlantOptions = field(default_factory=PlantOptions.of)
    largest_step: float | None = None
    rest_speed: float = 1e-4

    def __post_init__(self) -> None:
        if self.largest_step is not None:
            require_positive("largest_step", self.largest_step)
        require_positive("rest_speed", self.rest_speed)
