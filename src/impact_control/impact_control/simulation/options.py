"""Options of a simulated plant: the settings of a scenario for its joints, and what no scenario says of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from impact_control.scenario.fields import POSITIVE, Count, Number
from impact_control.scenario.robot_side import PlantSettings


@dataclass(frozen=True, eq=False, kw_only=True)
class PlantOptions(PlantSettings):
    """Switches and resolution of a plant with compliant contact. Raises InvalidInputError.

    largest_step: 50 us is 1/125 of the period of the fastest joint resonance (joint 7: about 160 Hz) and a fifth of the
    torque loop's period. Steps are shorter where they would not be stable, see `step_control`. Halving them and
    step_safety changes the velocity after an impact by less than 1e-3 of the jump, with a sphere less than 1e-4
    (tests/impact_control/simulation/test_simulation_plant.py).

    refresh_ticks: 2 instead of 1 changes the velocity after a 0.2 m/s impact by 0.03 % of the jump and saves 40 % of
    the time. stiff_friction: impacts of steel, in which friction changes with the force, need none to be within 1e-3 of
    the jump.
    """

    sample_period: Annotated[float, Number("s", POSITIVE), "time advanced by one `step`", "1 ms"]
    gravity_compensation: Annotated[
        bool, "whether an arm adds its gravity torque to the command, as a Franka does", True
    ]
    refresh_ticks: Annotated[
        int, Count(1), "periods of the torque loop between two evaluations of the rigid-body terms", 2
    ]
    step_safety: Annotated[
        float,
        Number("", POSITIVE),
        "largest step over the time of a contact that it follows; 1 is less than half of what is stable",
        1.0,
    ]
    stiff_friction: Annotated[
        float | None,
        Number("", POSITIVE),
        "steps into which friction alone may divide one; the scheme of `stabilised_step` passes what asks for more",
        None,
    ]
