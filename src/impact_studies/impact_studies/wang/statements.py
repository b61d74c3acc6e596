"""Findings and assumptions of the study."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from impact_studies.frame.study import Finding
from impact_studies.wang.comparisons import VISIBLE, spring_wall_finding
from impact_studies.wang.evaluation import Case, Outcome, Reading, best, crossing, mean_error, winners
from impact_studies.wang.options import OPTIONS_OF_WANG, InertiaOption
from impact_studies.wang.tables import extremes
from impact_studies.wang.trials import COMPARED, DRIVE_RATE, RESTITUTION, WALL_STIFFNESS, ControlMode

AS_GIVEN = 0.05
"""[-] An impulse that is nearer than this to that of the mass given to the fit is decided by it."""

ASSUMPTIONS = (
    "A force sensor does not see the end of compression. The source marks it where the law (23), fitted to the force, "
    "comes to a stop (Fig. 7); that Fig. 9 uses this moment is our reading, and that the mass is fitted with stiffness "
    "and damping, the speed being given. Table 'given_mass' has the mass given. The simulation also knows the true "
    "stop. Both are shown.",
    "The fit sees the first push: until the force is gone, or until it rises again by 3 % of the peak.",
    "Configurations: Fig. 2 is in the picture only. Plain postures, chosen among random ones to have the mean ratio "
    "(29) of Table I within 0.01 and the order of predictions of Fig. 9, (8) above (17) above (6); not by what is "
    "measured. "
    "The third meets the wall with the tool 30 deg inclined.",
    "The motion is straight along the normal with the smallest joint velocities; wall without friction.",
    f"Wall of {1e-6 * WALL_STIFFNESS:g} N/um, which makes the impacts last 10 ms, as in section VI; restitution of the "
    f"materials {RESTITUTION}, there; Hunt-Crossley with exponent 1, that is (23), which does not pull at the end.",
    "Torque control: the torque that moves the arm is held. Table 'modes' has a task controller of 400 1/s^2 too.",
    f"Stiff velocity control: position and velocity loop at the motors at 4 kHz, {DRIVE_RATE:g} rad/s, without the "
    "torque loop, which is ten times as stiff as the transmissions of joints 1 and 2. The table 'modes' has a joint "
    "impedance over the torque loop at 1 kHz with the stiffness that the examples of libfranka set, and the limit of "
    "motors that follow exactly.",
    "Impact detected by the torques of joints 5 and 6 as in section VI; then the reference turns round with the "
    "acceleration limits of the arm.",
    "Composite rigid body without the base link. (8) with e = 0. Predictions at the mean configuration and velocity "
    "of the repetitions, as in Fig. 9.",
    "Figs 3 to 5: the noisy impacts under stiff velocity control, all configurations and speeds, on the wall above. "
    "Each force is fitted alone, with the measured speed. Which mass the source gives to its models it does not say: "
    "here it is fitted, so that the shape of the force alone decides, or it is that of the composite rigid body (CRB). "
    "'Spring': the same wall without loss, one impact without noise at each speed. The restitution of Maxwell's law is "
    "that of its free mass, that of (23) is by (25), as in the source; its free mass keeps less of its speed.",
    "A restitution varies with the speed if its means differ by more than "
    f"{VISIBLE:g} standard deviations between repetitions. It roughly falls if it is smaller at the last speed than at "
    "the first and no more steps of the speed rise than in the source.",
    "Repetitions differ by 0.2 mrad in the start configuration, 1 % in speed, the noise of the joint sensors, and "
    "0.5 N of the force sensor, sampled at 4 kHz, not at 25 kHz: the plant gives the force once in a period of the "
    "torque loop. Impulses are integrals of a cubic spline through these samples. Sampled at 16 kHz, with "
    "motors that follow exactly, the impulse to the true stop changes by 0.03 % on this wall and 0.14 % on the "
    "stiffest, that to the stop of the fitted law by 1.2 %.",
)


def findings(outcome: Outcome) -> tuple[Finding, ...]:
    """Describe which inertia wins under which control, why, and what the wall has to do with it."""
    torque, velocity = outcome.of(ControlMode.TORQUE_HELD), outcome.of(ControlMode.VELOCITY_DRIVE)
    said = [
        _claim(velocity, "Stiff velocity control", OPTIONS_OF_WANG, "Wang's four", InertiaOption.COMPOSITE, reading)
        for reading in Reading
    ]
    said += [
        _claim(torque, "Torque control", tuple(InertiaOption), "all", InertiaOption.REDUCED_MOTORS, reading)
        for reading in Reading
    ]
    composite, motors = (
        mean_error(velocity, option, Reading.FITTED) for option in (InertiaOption.COMPOSITE, InertiaOption.MOTORS)
    )
    locked, drive = outcome.limits(ControlMode.MOTORS_LOCKED), outcome.limits(ControlMode.VELOCITY_DRIVE)
    change = [
        abs(rigid.mass(reading) / driven.mass(reading) - 1.0)
        for rigid, driven in zip(locked, drive, strict=True)
        for reading in Reading
    ]
    yielding = outcome.limits(ControlMode.TORQUE_HELD)
    before = [limit.impulses.compression_time for limit in drive]
    differences = [
        rigid.mass(Reading.EXACT) / held.mass(Reading.EXACT) - 1.0 for rigid, held in zip(locked, yielding, strict=True)
    ]
    tracks = [
        max(
            abs(limit.mass(Reading.FITTED) / limit.masses[InertiaOption.REDUCED_MOTORS] - 1.0)
            for limit in sweep
            if limit.stiffness <= WALL_STIFFNESS
        )
        for sweep in outcome.sweeps_of(ControlMode.TORQUE_HELD)
    ]
    low, high = extremes(outcome.sweeps_of(ControlMode.VELOCITY_DRIVE), Reading.EXACT)
    held_low, held_high = extremes(outcome.sweeps_of(ControlMode.TORQUE_HELD), Reading.EXACT)
    said += [
        _order(outcome.cases),
        Finding(
            "M + B_rho, not among the options of the source, errs by "
            f"{100.0 * motors:.1f} % under velocity control to the stop of the fitted law, against "
            f"{100.0 * composite:.1f} % of the composite rigid body. It is no explanation either: with motors that "
            "nothing slows down, of which M + B_rho would make an infinite mass, the impulses differ from those of the "
            f"velocity loop by {100.0 * min(change):.1f} to {100.0 * max(change):.1f} %."
        ),
        Finding(
            f"Why: the contact point stops {1e3 * min(before):.1f} to {1e3 * max(before):.1f} ms after the touch. "
            "Until then the joints wind up, and what the motors do behind them changes the impulse by "
            f"{100.0 * min(differences):.0f} to {100.0 * max(differences):.0f} % only, from a held torque to motors "
            "that nothing slows down. The control mode decides the tail of the force, which the fit takes for "
            "compression."
        ),
        Finding(
            "Under velocity control the impulse is that of no inertia. From the softest to the stiffest wall it goes "
            f"from {high:.2f} to {low:.2f} times that of the links alone (6), under torque control from "
            f"{held_high:.2f} to {held_low:.2f} times. It is that of the composite rigid body on one wall at most: in "
            f"the configurations one to three on {_crossings(outcome, Reading.FITTED)} N/um to the stop of the fitted "
            f"law, on {_crossings(outcome, Reading.EXACT)} N/um to the true one."
        ),
        Finding(
            f"Torque control, walls up to {1e-6 * WALL_STIFFNESS:g} N/um, to the stop of the fitted law: M + B_theta "
            f"errs by {', '.join(f'{100.0 * part:.1f}' for part in tracks)} % at most in the configurations one to "
            "three."
        ),
        _walls_finding(outcome),
        _whole_finding(outcome),
        _restitution_finding(outcome),
        _given_mass_finding(outcome),
        spring_wall_finding(outcome.models),
        _scatter(outcome.cases),
    ]
    return tuple(said)


def _claim(
    cases: Sequence[Case],
    control: str,
    options: tuple[InertiaOption, ...],
    of: str,
    claimed: InertiaOption,
    reading: Reading,
) -> Finding:
    """Compare the option with the smallest mean error of these with the claimed one."""
    found = best(cases, options, reading)
    wins = winners(cases, options, reading)[found]
    text = (
        f"{control}, impulse to the {reading.value}: of {of}, {found.value} is nearest in {wins} of {len(cases)} cases "
        f"and errs by {100.0 * mean_error(cases, found, reading):.1f} % in the mean"
    )
    if found is not claimed:
        text += f"; {claimed.value} by {100.0 * mean_error(cases, claimed, reading):.1f} %"
    return Finding(f"{text}.", found is claimed)


def _order(cases: Sequence[Case]) -> Finding:
    """Section VII-B: (8) always above what is measured, (6) and (20) alike and below."""
    above = sum(case.error(InertiaOption.ALGEBRAIC, reading) > 0.0 for case in cases for reading in Reading)
    low = (InertiaOption.GENERALIZED_MOMENTUM, InertiaOption.JOINT_MOTION)
    below = sum(case.error(option, reading) < 0.0 for case in cases for reading in Reading for option in low)
    alike = max(abs(case.predictions[low[1]] / case.predictions[low[0]] - 1.0) for case in cases)
    count = 2 * len(cases)
    good = above == count and below == 2 * count
    return Finding(
        f"Option 1, (8), is above what is measured in {above} of {count} cases and readings, in Fig. 9 always. Options "
        f"2 and 4, (6) and (20), are below in {below} of {2 * count}, there always, and differ by "
        f"{100.0 * alike:.1f} % or less, there little.",
        good,
    )


def _crossings(outcome: Outcome, reading: Reading) -> str:
    """The walls [N/um] with which the composite rigid body is exact under velocity control."""
    drives = outcome.sweeps_of(ControlMode.VELOCITY_DRIVE)
    found = [crossing(sweep, InertiaOption.COMPOSITE, reading) for sweep in drives]
    return ", ".join("none" if stiffness is None else f"{1e-6 * stiffness:.2f}" for stiffness in found)


def _walls_finding(outcome: Outcome) -> Finding:
    """Name the walls on which the composite rigid body is the nearest of the four under velocity control."""
    drives = outcome.sweeps_of(ControlMode.VELOCITY_DRIVE)
    texts = []
    for reading in Reading:
        counts = [
            sum(limit.nearest(OPTIONS_OF_WANG, reading) is InertiaOption.COMPOSITE for limit in limits)
            for limits in zip(*drives, strict=True)
        ]
        texts.append(f"{', '.join(map(str, counts))} to the {reading.value}")
    walls = ", ".join(f"{1e-6 * limit.stiffness:g}" for limit in drives[0])
    return Finding(
        f"The winner under velocity control depends on the wall, on which the source is silent. On walls of {walls} "
        f"N/um the composite rigid body is the nearest of Wang's four in {'; '.join(texts)}, of {len(drives)} "
        "configurations."
    )


def _whole_finding(outcome: Outcome) -> Finding:
    """Compare the whole impulse with that to the end of compression."""
    parts = {
        mode: [
            one.push / one.compression for one in (limit.impulses for limit in outcome.limits(mode)) if one.separates
        ]
        for mode in COMPARED
    }
    text = ", ".join(f"{min(ratios):.2f} to {max(ratios):.2f} under {mode.value}" for mode, ratios in parts.items())
    return Finding(
        f"Where the contact opens after the first push, the whole impulse over that to the true stop is {text}. With "
        f"one free mass on these materials it would be {1.0 + RESTITUTION:.2f}."
    )


def _restitution_finding(outcome: Outcome) -> Finding:
    drive = [limit.impulses for limit in outcome.limits(ControlMode.VELOCITY_DRIVE)]
    fitted = [impulses.fitted_restitution for impulses in drive]
    printed = [impulses.printed_restitution for impulses in drive]
    early = [impulses.peak_time / impulses.compression_time for impulses in drive]
    return Finding(
        f"The force peaks at {min(early):.2f} to {max(early):.2f} of the time to the stop: ahead of the compression, "
        "as in Fig. 3. The law fitted under velocity control has a restitution of "
        f"{min(fitted):.2f} to {max(fitted):.2f}, below the {RESTITUTION} of the materials; "
        f"by (25) it would be {min(printed):.2f} to {max(printed):.2f}. The "
        "source finds less than 0.15 above 0.1 m/s where (29) is above 0.85: the real contact or drive loses more than "
        "this one."
    )


def _given_mass_finding(outcome: Outcome) -> Finding:
    """State the impulse by the fitted law when its mass is that of the composite rigid body."""
    composite = [
        (limit, stop) for limit, option, stop in outcome.given if option is InertiaOption.COMPOSITE and stop is not None
    ]
    ratios = [stop.fitted / limit.impulses.speed / limit.masses[InertiaOption.COMPOSITE] for limit, stop in composite]
    free = [limit.mass(Reading.FITTED) / limit.masses[InertiaOption.COMPOSITE] for limit, _ in composite]
    wider = [100.0 * (stop.misfit - limit.impulses.misfit) for limit, stop in composite]
    printed = [stop.printed_restitution for _, stop in composite]
    fitted = [limit.impulses.printed_restitution for limit, _ in composite]
    text = (
        "The source identifies k and c of (23) and does not say which mass it takes. Given that of the composite rigid "
        f"body, the fitted law stops where the impulse is {min(ratios):.2f} to {max(ratios):.2f} times what this mass "
        "predicts, under torque control as well as under velocity control; with the mass fitted too it is "
        f"{min(free):.2f} to {max(free):.2f} times. The fit is worse by {max(wider):.1f} % of the peak at most, and "
        f"the restitution by (25) is {min(printed):.2f} to {max(printed):.2f} instead of {min(fitted):.2f} to "
        f"{max(fitted):.2f}"
    )
    circular = max(abs(ratio - 1.0) for ratio in ratios) < AS_GIVEN
    return Finding(f"{text}: this reading then finds the mass that it was given." if circular else f"{text}.")


def _scatter(cases: Sequence[Case]) -> Finding:
    spread = [
        float(np.std(measured / speeds) / np.mean(measured / speeds))
        for case in cases
        for speeds in [np.array([impulses.speed for impulses in case.impulses])]
        for measured in [case.measured(Reading.FITTED)]
    ]
    return Finding(
        f"The impulse over the speed scatters between repetitions by {100.0 * max(spread):.1f} % or less, far below "
        "the differences between the options."
    )


def verdict(outcome: Outcome) -> tuple[bool, str]:
    """Return whether the option claimed is nearest under each control mode, by both readings, and which one is."""
    torque, velocity = outcome.of(ControlMode.TORQUE_HELD), outcome.of(ControlMode.VELOCITY_DRIVE)
    held = {reading: best(torque, InertiaOption, reading) for reading in Reading}
    stiff = {reading: best(velocity, OPTIONS_OF_WANG, reading) for reading in Reading}

    def text(cases: Sequence[Case], options: dict[Reading, InertiaOption]) -> str:
        fitted, exact = options[Reading.FITTED], options[Reading.EXACT]
        errors = [f"{100.0 * mean_error(cases, options[reading], reading):.0f} %" for reading in Reading]
        if fitted is exact:
            return f"{fitted.value} (error {errors[0]} to the stop of the fitted law, {errors[1]} to the true one)"
        return (
            f"{fitted.value} to the stop of the fitted law ({errors[0]}), {exact.value} to the true one ({errors[1]})"
        )

    holds = {*held.values()} == {InertiaOption.REDUCED_MOTORS} and {*stiff.values()} == {InertiaOption.COMPOSITE}
    return holds, (
        f"Under torque control {text(torque, held)} is nearest; under stiff velocity control, of Wang's options, "
        f"{text(velocity, stiff)}, and which one it is depends on the wall."
    )
