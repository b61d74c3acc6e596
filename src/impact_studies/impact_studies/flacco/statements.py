"""Assumptions where Flacco 2016 leaves something open, and its statements and figures beside ours."""

from __future__ import annotations

import numpy as np

from impact_studies.flacco.arm import JOINTS, PERIOD, POSITION_NOISE, SHOWN_GAP
from impact_studies.flacco.evaluation import AMPLITUDE, FREQUENCY, INERTIA, JOINT, LEVER, LEVER_ERROR, MASS, MASS_ERROR
from impact_studies.flacco.experiments import (
    DETECTION_GAIN,
    IDENTIFICATION_GAIN,
    PUBLISHED_THRESHOLDS,
    Drive,
    figure_9_motion,
)
from impact_studies.flacco.guidance import (
    ADMITTANCE_GAIN,
    FIRST_LENGTH,
    FIRST_TORQUE,
    FOLLOWING,
    PAUSE,
    QUIET_TIME,
    SECOND_LENGTH,
    SECOND_TORQUE,
    Led,
)
from impact_studies.flacco.outcome import Outcome
from impact_studies.flacco.tables import TOLERANCE, largest_error
from impact_studies.frame.study import OWN_TARGET, Comparison

ASSUMPTIONS = (
    "Romeo's model is not in this repository: the arm is a hanging Panda with a quarter of its mass; only the gaps are "
    "Romeo's. Stiffness, damping, friction and motor inertias are our choice, of the size of the links.",
    "The plants of the simulator have the friction of a Panda. The joints here have that of Flacco 2016 (6), on the "
    "links as in (7), with the sign of a speed smoothed over 10 mrad/s.",
    "The spring carries all of the torque beyond the gap, and tau_M of (5) is left out where the deflection is used.",
    f"Encoders of 17 bit on both sides ({1e6 * POSITION_NOISE:.0f} urad of noise), velocities with the noise of Proper "
    "2021 (3.5), 1 kHz where the source has 100 Hz.",
    f"K_r = {IDENTIFICATION_GAIN:g} 1/s as in the source; K_bs is not published: {DETECTION_GAIN:g} 1/s.",
    "The source does not say how its thresholds were chosen; here they are twice the largest residual of the "
    "identification and of a recording at rest, and above that what the noise of the motors' velocity takes from their "
    "dry friction while they creep to rest. The same ones serve the classical residual, which is given the motor's "
    "inertia and the friction beyond the gap, so that the gap is the only thing that it does not know.",
    "A contact on link i is a random torque on joints 1 to i, three to six times the thresholds that the source "
    "gives (a quarter of it at joint 7), a half sine of 0.3 to 0.5 s.",
    f"The joint of Fig. 2 is not described: {MASS:g} kg at {LEVER:g} m hangs from a motor of {INERTIA:g} kg m^2, "
    f"without friction and noise; {JOINT.gap[0]:g} rad is the half-width of its gap, and the motor follows a sine of "
    f"{AMPLITUDE:g} rad, {FREQUENCY:g} Hz. The motor's inertia is part of M in the classical residual.",
    f"The nominal model has masses and inertias within {100 * MASS_ERROR:g} % and centres of mass within "
    f"{1e3 * LEVER_ERROR:g} mm of the simulated ones, at random. How far Romeo's are off is not known.",
    "The person of Fig. 13 is a script: a hand on link 4 puts half sines of torque on joints 1 to 4, up to "
    f"{FIRST_TORQUE.max():g} Nm for {FIRST_LENGTH:g} s, and after a pause of {PAUSE:g} s up to "
    f"{-SECOND_TORQUE.min():g} Nm for {SECOND_LENGTH:g} s, whatever the arm does.",
    f"K_a of (15) is not published: {ADMITTANCE_GAIN:g} rad/(Nm s) in each joint, of the residual beyond its "
    f"threshold; the speed follows the law with a lag of {1e3 / FOLLOWING:g} ms. After the silence the sine begins "
    "anew.",
)
"""One sentence each."""


STANDSTILL = 0.01
"""Part of the way under the hand that a motor may still go when nobody pushes. A target of ours."""

_STRAIN = 1e-3
"""[rad] of a spring under the weight of its link, beside which side of the gap the link is at."""

SIGNIFICANT = 0.5
"""Part of what a nominal model leaves unexplained that is significant: what is attributed to the model has to be more,
what another trajectory takes away has to be less. Our choice."""


def statements(outcome: Outcome) -> tuple[Comparison, ...]:
    """Return the statements figure by figure."""
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
            holds=bool(inside.min() > swing.elsewhere),
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
            holds=bool(nominal - exact > SIGNIFICANT * nominal),
        ),
        Comparison(
            "V-A, Fig. 7",
            "the same with another trajectory",
            "no significant improvement",
            f"{nominal_elsewhere:.2f} %, with the exact model {exact_elsewhere:.2f} %",
            holds=bool(nominal_elsewhere > SIGNIFICANT * nominal),
        ),
        Comparison(
            "V-A, Fig. 7",
            "part explained in the worst joint by other models of the backlash, exact model of the links",
            "no significant improvement",
            f"{', '.join(f'{other:.1f}' for other in others)} %, instead of {spring:.2f} % by that of the plant",
        ),
    ]


def _figure_9(outcome: Outcome) -> list[Comparison]:
    """Return the desired motion beside the published one: ours was made like it, so that there is no verdict."""
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
            OWN_TARGET,
            "false alarms without a push, in the sines before and after",
            "none",
            f"{guidance.alarms}; before the person comes at most {100.0 * guidance.loudest:.0f} % of a threshold",
            holds=guidance.alarms == 0,
        ),
        Comparison(
            OWN_TARGET,
            "pushes that are felt",
            "all",
            f"{len(felt)} of {len(guidance.pushes)}, {' and '.join(felt)} ms after they begin",
            holds=len(felt) == len(guidance.pushes),
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
                holds=False,
            )
        ]
    moved = np.abs(led.law_way) > 0.0
    ways, printed = (", ".join(f"{way:.2f}" for way in found[moved]) for found in (led.way, led.printed_way))
    apart, largest = np.abs(led.way - led.law_way).max(), np.abs(led.law_way).max()
    off = np.abs(led.offset)
    return [
        Comparison(
            OWN_TARGET,
            "motion of the arm in the hands of the person",
            f"at most {100.0 * STANDSTILL:g} % of it while it is not touched",
            f"{led.pushed_way:.2f} rad while it is pushed, {1e3 * led.idle_way:.1f} mrad while it is not",
            holds=led.idle_way <= STANDSTILL * led.pushed_way,
        ),
        Comparison(
            "V-D (15)",
            "way of the joints that are pushed",
            "that of dq_d = K_a r; here r is what is beyond its threshold",
            f"{ways} rad, all within {1e3 * apart:.1f} mrad of this law and what is left of the sine's speed; with all "
            f"of r it would be {printed} rad",
            holds=bool(apart <= TOLERANCE * largest),
        ),
        Comparison(
            "V-D, Fig. 13",
            f"residual below the threshold until the sine goes on, at least (the person pauses for {led.pause:.2f} s)",
            QUIET_TIME,
            led.silence,
            "s",
            QUIET_TIME <= led.silence <= QUIET_TIME + 2.0 * PERIOD,
        ),
        Comparison(
            "V-D, Fig. 13",
            "where the sine goes on",
            "at the new configuration",
            f"{led.shift:.2f} rad from the old one in joint 1, all joints within {1e3 * off.max():.0f} mrad of where "
            f"they were led; amplitude {led.amplitudes[1]:.3f} rad, before {led.amplitudes[0]:.3f} rad",
            holds=bool(np.all(off <= 2.0 * JOINTS.gap + _STRAIN)),
        ),
    ]


_TARGETS = (
    (OWN_TARGET, "largest error of gaps and coefficients", f"at most {100 * TOLERANCE:g} %"),
    ("Fig. 8", "crossings in which the classical residual alarms", "all"),
    ("Fig. 8", "crossings in which the new residual alarms", "none"),
    ("Fig. 8", "alarms of the new residual without contact", "none"),
    ("Fig. 11", "contacts found at rest", "all"),
    ("Fig. 11", "contacts found in motion", "all"),
    ("Fig. 11", "alarms of the new residual beside contacts", "none"),
)
"""Place in the source of the quantity of each target, what it is, and its bound."""


def targets(outcome: Outcome) -> tuple[Comparison, ...]:
    """Return our targets beside what was measured."""
    counts = [*outcome.counts, *outcome.first_counts]
    crossings = sum(count.crossings for count in counts)
    classical, new = sum(count.classical for count in counts), sum(count.backlash for count in counts)
    found = [delay is not None for delay in outcome.delays]
    half = len(outcome.contacts) // 2
    rest, motion = found[:half], found[half:]
    error = largest_error(outcome)
    measured = (
        (f"{100 * error:.1f} %", error <= TOLERANCE),
        (f"{classical} of {crossings}", classical == crossings),
        (f"{new} of {crossings}", new == 0),
        (str(outcome.free_alarms), outcome.free_alarms == 0),
        (f"{sum(rest)} of {half}", all(rest)),
        (f"{sum(motion)} of {len(motion)}", all(motion)),
        (str(outcome.false_alarms), outcome.false_alarms == 0),
    )
    return tuple(Comparison(*target, own, holds=met) for target, (own, met) in zip(_TARGETS, measured, strict=True))


def comparisons(outcome: Outcome) -> tuple[Comparison, ...]:
    """Return the targets beside Figs 8 and 11, then gaps, statements and thresholds.

    The thresholds of the source are those of another arm, and it does not say how it chose them: no verdict.
    """
    gaps = [
        Comparison(
            "V-A, Fig. 5" if j == SHOWN_GAP else "V-A",
            f"half-width of the gap of joint {j + 1}, Romeo's, which is simulated",
            1e3 * float(JOINTS.gap[j]),
            1e3 * float(outcome.fit.model.gap[j]),
            "mrad",
            abs(float(outcome.fit.model.gap[j] / JOINTS.gap[j]) - 1.0) <= TOLERANCE,
        )
        for j in np.flatnonzero(JOINTS.gap)
    ]
    thresholds = [
        Comparison("V-C", f"threshold of joint {j + 1}", float(published), float(own), "Nm")
        for j, (published, own) in enumerate(zip(PUBLISHED_THRESHOLDS, outcome.threshold, strict=True))
    ]
    return (*targets(outcome), *gaps, *statements(outcome), *thresholds)
