"""Fig. 9 and Table I of Wang 2022 beside ours: the winner, the order of the options, the contact velocities."""

from __future__ import annotations

from collections.abc import Sequence

from impact_control.impacts.inverse_inertia import ContactVelocityTable
from impact_control.studies.study import Comparison, Mark
from impact_control.studies.wang import published
from impact_control.studies.wang.evaluation import FittedImpact, Reading, best, winners
from impact_control.studies.wang.options import OPTIONS_OF_WANG, InertiaOption
from impact_control.studies.wang.outcome import Outcome
from impact_control.studies.wang.trials import ControlMode

_MATCHES, _EQUAL = 0.05, 1e-4
"""[-] Parts of the peak and of the initial energy up to which a law matches and energies are equal; our choice."""


def comparisons(
    outcome: Outcome, velocities: ContactVelocityTable, speeds: Sequence[float], names: Sequence[str]
) -> tuple[Comparison, ...]:
    """Return winner and order by the reading of the end of compression, and Table I as means over the speeds."""
    cases = outcome.of(ControlMode.VELOCITY_DRIVE)
    said = []
    for reading in Reading:
        found = best(cases, OPTIONS_OF_WANG, reading)
        wins = winners(cases, OPTIONS_OF_WANG, reading)[found]
        said.append(
            Comparison(
                "Fig. 9",
                f"most accurate option under stiff velocity control, impulse to the {reading.value}",
                InertiaOption.COMPOSITE.value,
                f"{found.value}, nearest in {wins} of {len(cases)} cases",
                mark=Mark.of(found is InertiaOption.COMPOSITE),
            )
        )
        for option, above in (
            (InertiaOption.ALGEBRAIC, True),
            (InertiaOption.GENERALIZED_MOMENTUM, False),
            (InertiaOption.JOINT_MOTION, False),
        ):
            right = sum((case.error(option, reading) > 0.0) == above for case in cases)
            said.append(
                Comparison(
                    "Fig. 9, VII-B",
                    f"{option.value} against what is measured, to the {reading.value}",
                    f"{'above' if above else 'below'} in all cases",
                    f"{'above' if above else 'below'} in {right} of {len(cases)}",
                    mark=Mark.of(right == len(cases)),
                )
            )
    chosen = [published.SPEEDS.index(speed) for speed in speeds]
    quantities = (
        ("contact velocity", "m/s", velocities.exact, published.EXACT),
        ("that of the composite rigid body", "m/s", velocities.approximation, published.APPROXIMATION),
        ("their ratio (29), by which the configurations were chosen", "", velocities.ratio, published.RATIO),
    )
    means = [
        Comparison(
            "Table I",
            f"{what}, {name}, mean of the speeds",
            float(theirs[i, chosen].mean()),
            float(ours[i].mean()),
            unit,
        )
        for what, unit, ours, theirs in quantities
        for i, name in enumerate(names)
    ]
    return (*said, *means)


def fit_comparisons(fitted: Sequence[FittedImpact]) -> tuple[Comparison, ...]:
    """Return how well (23) fits the forces, and whether the energies of the fitted law balance."""
    misfit = max(one.misfit for one in fitted)
    imbalance = max(one.impact.energy_imbalance for one in fitted)
    return (
        Comparison(
            "Fig. 7",
            "force of the law (23) on the measured one",
            "matches",
            f"root mean square of the misfit at most {100.0 * misfit:.1f} % of the peak",
            mark=Mark.of(misfit <= _MATCHES),
        ),
        Comparison(
            "Fig. 8, (28)",
            "sum of the energies of the fitted law over the initial one",
            "equal",
            f"to {imbalance:.1e}",
            mark=Mark.of(imbalance <= _EQUAL),
        ),
    )
