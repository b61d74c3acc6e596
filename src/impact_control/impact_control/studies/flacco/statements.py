"""What the text of Flacco 2016 says of its Figs 2, 7, 9 and 13, and whether it holds here."""

from __future__ import annotations

import numpy as np

from impact_control.studies.flacco.arm import JOINTS
from impact_control.studies.flacco.experiments import Drive, figure_9_motion
from impact_control.studies.flacco.guidance import QUIET_TIME
from impact_control.studies.flacco.guidance_measures import Led
from impact_control.studies.flacco.outcome import Outcome
from impact_control.studies.flacco.recording import PERIOD
from impact_control.studies.flacco.tables import TOLERANCE
from impact_control.studies.study import Comparison, Mark

STANDSTILL = 0.01
"""Part of the way under the hand that a motor may still go when nobody pushes. A target of ours."""

_STRAIN = 1e-3
"""[rad] of a spring under the weight of its link, beside which side of the gap the link is at."""

SIGNIFICANT = 0.5
"""Part of what a nominal model leaves unexplained that is significant: what is attributed to the model has to be more,
what another trajectory takes away has to be less. Our choice."""

OWN = "target of our own"
"""Where the source says nothing of it."""


def statements(outcome: Outcome) -> tuple[Comparison, ...]:
    """What is said figure by figure."""
    return (*_figure_2(outcome), *_figure_7(outcome), *_figure_9(outcome), *_figure_13(outcome))


def _figure_2(outcome: Outcome) -> list[Comparison]:
    """Return when the classical residual is wrong; what it follows then is so by the equations, without a verdict."""
    swing = outcome.single_joint
    peak = float(np.abs(swing.classical).max())
    inside, arrival = swing.inside, swing.arrival
    return [
        Comparison(
            "II, Fig. 2",
            "classical residual of a joint that nothing touches, with a gap of 0.1 rad",
            "wrong when the link moves inside the gap",
            f"{inside.min():.2f} Nm or more inside in each of {inside.size} crossings, up to {arrival.max():.2f} Nm "
            f"when the other side is met, else at most {swing.elsewhere:.2f} Nm",
            mark=Mark.of(bool(inside.min() > swing.elsewhere)),
        ),
        Comparison(
            "II, Fig. 2",
            "the same beside tau_L less the torque that it assumes: tau_M, mean of two samples, less B ddq",
            "follows this difference",
            f"is it, within {swing.apart:.0e} of {peak:.2f} Nm and through the filter of the residual",
        ),
    ]


def _figure_7(outcome: Outcome) -> list[Comparison]:
    """Return what is left of the residual; other models of the backlash are not those of the plant: no verdict."""
    left, variants = outcome.unexplained, outcome.variants
    spring, *others = (100.0 * float(variants[drive].explained.min()) for drive in Drive)
    nominal, exact = 100.0 * left.nominal.mean(), 100.0 * left.exact.mean()
    nominal_elsewhere, exact_elsewhere = 100.0 * left.nominal_elsewhere.mean(), 100.0 * left.exact_elsewhere.mean()
    return [
        Comparison(
            "V-A, Fig. 7",
            "part of the residual left unexplained with a nominal model of the links, mean of the joints",
            "not perfect, attributed to the nominal dynamic parameters",
            f"{nominal:.2f} %, with the exact model {exact:.2f} %",
            mark=Mark.of(bool(nominal - exact > SIGNIFICANT * nominal)),
        ),
        Comparison(
            "V-A, Fig. 7",
            "the same with another trajectory",
            "no significant improvement",
            f"{nominal_elsewhere:.2f} %, with the exact model {exact_elsewhere:.2f} %",
            mark=Mark.of(bool(nominal_elsewhere > SIGNIFICANT * nominal)),
        ),
        Comparison(
            "V-A, Fig. 7",
            "part explained in the worst joint by other models of the backlash, exact model of the links",
            "no significant improvement",
            f"{', '.join(f'{other:.1f}' for other in others)} %, instead of {spring:.2f} % by that of the plant",
        ),
    ]


def _figure_9(outcome: Outcome) -> list[Comparison]:
    """Return the wanted motion beside the published one: ours was made like it, so that there is no verdict."""
    time = outcome.figure_11.recording.time
    half = outcome.durations.half
    motion = figure_9_motion(half)
    rates = np.array([motion(float(moment))[1] for moment in time])
    begins = float(time[np.argmax(rates.any(axis=1))])
    moved = ", ".join(str(j + 1) for j in np.flatnonzero(rates.any(axis=0)))
    return [
        Comparison("V-C, Fig. 9", "rest before the motion", 20.0, begins - PERIOD, "s"),
        Comparison("V-C, Fig. 9", "joints that are moved", "1, 3, 4, 7", moved),
    ]


def _figure_13(outcome: Outcome) -> list[Comparison]:
    guidance = outcome.guidance
    felt = [f"{1e3 * late:.0f}" for late in guidance.delays if late is not None]
    first = [
        Comparison(
            OWN,
            "alarms while nobody pushes, in the sines before and after",
            "none",
            f"{guidance.alarms}; before the person comes at most {100.0 * guidance.loudest:.0f} % of a threshold",
            mark=Mark.of(guidance.alarms == 0),
        ),
        Comparison(
            OWN,
            "pushes that are felt",
            "all",
            f"{len(felt)} of {len(guidance.pushes)}, {' and '.join(felt)} ms after they begin",
            mark=Mark.of(len(felt) == len(guidance.pushes)),
        ),
    ]
    return [*first, *_led(outcome.led, len(guidance.yields))]


def _led(led: Led | None, times: int) -> list[Comparison]:
    """Return what is said of the arm in the hands of a person, who comes once."""
    if led is None:
        return [
            Comparison(
                "V-D, Fig. 13",
                "what the arm does when the person comes",
                "follows the law (15), then the sine starts again",
                f"follows it {times} times, or does not go on",
                mark=Mark.BAD,
            )
        ]
    moved = np.abs(led.law_way) > 0.0
    ways, printed = (", ".join(f"{way:.2f}" for way in found[moved]) for found in (led.way, led.printed_way))
    apart, largest = np.abs(led.way - led.law_way).max(), np.abs(led.law_way).max()
    off = np.abs(led.offset)
    return [
        Comparison(
            OWN,
            "motion of the arm in the hands of the person",
            f"at most {100.0 * STANDSTILL:g} % of it while it is not touched",
            f"{led.pushed_way:.2f} rad while it is pushed, {1e3 * led.idle_way:.1f} mrad while it is not",
            mark=Mark.of(led.idle_way <= STANDSTILL * led.pushed_way),
        ),
        Comparison(
            "V-D (15)",
            "way of the joints that are pushed",
            "that of dq_d = K_a r; here r is what is beyond its threshold",
            f"{ways} rad, all within {1e3 * apart:.1f} mrad of this law and what is left of the sine's speed; with all "
            f"of r it would be {printed} rad",
            mark=Mark.of(bool(apart <= TOLERANCE * largest)),
        ),
        Comparison(
            "V-D, Fig. 13",
            f"residual below the threshold until the sine goes on, at least (the person pauses for {led.pause:.2f} s)",
            QUIET_TIME,
            led.silence,
            "s",
            Mark.of(QUIET_TIME <= led.silence <= QUIET_TIME + 2.0 * PERIOD),
        ),
        Comparison(
            "V-D, Fig. 13",
            "where the sine goes on",
            "at the new configuration",
            f"{led.shift:.2f} rad from the old one in joint 1, all joints within {1e3 * off.max():.0f} mrad of where "
            f"they were led; amplitude {led.amplitudes[1]:.3f} rad, before {led.amplitudes[0]:.3f} rad",
            mark=Mark.of(bool(np.all(off <= 2.0 * JOINTS.gap + _STRAIN))),
        ),
    ]
