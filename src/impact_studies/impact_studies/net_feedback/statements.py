"""Findings and verdict of the trials, built from their numbers."""

from __future__ import annotations

import numpy as np

from impact_control.recording.net_feedback import AFTER, BEFORE
from impact_studies.frame.study import Finding
from impact_studies.net_feedback import plan, published
from impact_studies.net_feedback.outcome import DAMPED, MODEL_NAMES, SETTLED, SLIPPING, SMOOTH, TARGET, Outcome
from impact_studies.net_feedback.plan import GRAB, PUSH
from impact_studies.net_feedback.tables import SCENE_NAMES, case_name

ASSUMPTIONS = (
    "Errors of the real arms are uniform and the same in all trials of a case: mass and inertia of each link within "
    f"{100 * plan.LINK_ERROR:g} %, B_rho and B_theta of each joint within {100 * plan.MOTOR_ERROR:g} % (the margin of "
    f"Table I), friction of each joint within {100 * plan.FRICTION_ERROR:g} % (what identification leaves).",
    f"So are those of the object: mass within {100 * plan.MASS_ERROR:g} %, friction coefficients of object and table "
    f"within {100 * plan.COULOMB_ERROR:g} %.",
    f"In each trial anew: the object stands within {1e3 * plan.PLACE_ERROR:g} mm along x and y of where it is expected "
    f"and is turned by up to {1e3 * plan.YAW_ERROR:g} mrad; sensor noise of Proper 2021 (3.5).",
    "The robot compensates its own gravity exactly, as the interface of the real one promises; joint friction is fed "
    "forward by the known model of it instead of by (31).",
    "Geometry, friction, materials, gains and the velocities before the impact are ours, see docs/lab/scenes.md.",
    "All tasks go on whatever the classifiers say, so that references of 80 and 120 % are followed to the end.",
    f"Window from {BEFORE:g} s before to {AFTER:g} s after the nominal time; T_imp is when the arm leaves the "
    "ante-impact mode, with two arms by the impact of the first of them.",
)


def findings(outcome: Outcome) -> tuple[Finding, ...]:
    """Return one sentence each."""
    return (
        *(_order(outcome, scene) for scene in (PUSH, GRAB)),
        _scatter(outcome),
        _switch(outcome),
        *(_growth(outcome, scene) for scene in (PUSH, GRAB)),
        _early(outcome),
        *_experiments(outcome),
        *_load(outcome),
    )


def verdict(outcome: Outcome) -> str:
    """Return the answer in one sentence."""
    parts = [
        f"{SCENE_NAMES[scene]} {outcome.absolute(scene)[0]:.2f} % (asked for: {TARGET[scene]:g} %)"
        for scene in (PUSH, GRAB)
    ]
    best = "is" if outcome.reduced_motors_are_best else "is not"
    return (
        f"Mean absolute error of the nominal prediction: {', '.join(parts)}; B_theta {best} the best in the mean over "
        "all cases."
    )


def _order(outcome: Outcome, scene: str) -> Finding:
    own, printed = (np.asarray(v) for v in (outcome.absolute(scene), published.ABSOLUTE_ERROR[scene]))
    same = int(np.argmin(own)) == int(np.argmin(printed))
    return Finding(
        f"{SCENE_NAMES[scene].capitalize()}: best is {MODEL_NAMES[int(np.argmin(own))]} with {own.min():.2f} %; "
        f"published {MODEL_NAMES[int(np.argmin(printed))]} with {printed.min():.2f} %.",
        same,
    )


def _scatter(outcome: Outcome) -> Finding:
    errors = [100.0 * r.estimate.standard_error / r.estimate.velocity for r in outcome.results]
    slopes = [r.estimate.slope for r in outcome.results]
    lost = sum(not signals.followed for r in outcome.results for _, signals in r.trials)
    count = sum(len(r.trials) for r in outcome.results)
    return Finding(
        f"The scatter of the trials makes the estimates uncertain by {min(errors):.2f} to {max(errors):.2f} % "
        f"(standard error), the slopes are {min(slopes):.2f} to {max(slopes):.2f}; {lost} of {count} trials did not "
        "follow the post-impact reference to the end of the window."
    )


def _switch(outcome: Outcome) -> Finding:
    parts = [100.0 * r.before_the_switch / (r.estimate.slope * r.estimate.velocity) for r in outcome.results]
    return Finding(
        f"Feedback before the switch, until the impact is detected, moves the estimates by {min(parts):+.1f} to "
        f"{max(parts):+.1f} % of them."
    )


def _growth(outcome: Outcome, scene: str) -> Finding:
    early, late = (np.array([r.errors_until(end)[0] for r in outcome.of(scene)]) for end in (SETTLED, AFTER))
    return Finding(
        f"{SCENE_NAMES[scene].capitalize()}: in a window that ends {SETTLED:g} s after the nominal impact the average "
        f"error with B_theta is {early.mean():+.2f} %, the absolute {np.abs(early).mean():.2f} %; what comes after, "
        f"when nothing bounces any more, moves the average by {(late - early).mean():+.2f} points."
    )


def _early(outcome: Outcome) -> Finding:
    own = np.abs([result.errors_until(SETTLED) for result in outcome.results]).mean(axis=0)
    best = MODEL_NAMES[int(np.argmin(own))]
    return Finding(
        f"With a window that ends {SETTLED:g} s after the nominal impact the mean absolute errors over all cases are "
        f"{own[0]:.2f} % with B_theta, {own[1]:.2f} % with B_rho and {own[2]:.2f} % without motors: {best} is best."
    )


def _experiments(outcome: Outcome) -> tuple[Finding, ...]:
    """State the largest effect on the error by case, without noise."""
    if len(outcome.experiments) < 2:
        return ()
    base, *others = outcome.experiments
    sentences = []
    for case, result in base.results.items():
        start = float(result.errors[0])
        effects = {
            other.name: float(other.results[case].errors[0]) - start for other in others if case in other.results
        }
        ordered = sorted(effects.items(), key=lambda item: -abs(item[1]))[:3]
        text = ", ".join(f"{name} {effect:+.1f}" for name, effect in ordered)
        sentences.append(
            Finding(
                f"{case.scene.capitalize()}, {case_name(case).lower()}, without noise and parameter errors: "
                f"{start:+.1f} %. What moves it most, in points of a percent: {text}."
            )
        )
    return tuple(sentences)


def _load(outcome: Outcome) -> tuple[Finding, ...]:
    """State the quantities with which the error of a push grows after the impact."""
    by_name = {experiment.name: experiment.results for experiment in outcome.experiments}
    if SLIPPING not in by_name:
        return ()
    growth = []
    for name in (next(iter(by_name)), DAMPED, SLIPPING, SMOOTH):
        result = next(result for case, result in by_name[name].items() if case.scene == PUSH)
        growth.append(float(result.errors_until(AFTER)[0] - result.errors_until(SETTLED)[0]))
    as_it_is, *changed = growth
    cause = (
        "After its bounces the plate sticks to the object where it lands, beside its reference. It keeps a load there "
        "that the force fed forward does not have, up to its friction, and feedback holds against it from then on."
        if max(map(abs, changed)) < 0.5 * abs(as_it_is)
        else "So not all of them are the reason."
    )
    text = (
        f"Push without noise, from {SETTLED:g} to {AFTER:g} s after the impact: the error grows by {as_it_is:+.1f} "
        f"points; with a cover that hardly bounces by {changed[0]:+.1f}, with a plate that slips by {changed[1]:+.1f}, "
        f"on a table of a third of the friction, which takes less force to push on, by {changed[2]:+.1f}."
    )
    return (Finding(f"{text} {cause}"),)
