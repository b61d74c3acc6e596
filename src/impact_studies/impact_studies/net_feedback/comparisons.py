"""Tables II and III of van Steen 2024 and its statements on Figs 6 to 9, beside ours."""

from __future__ import annotations

import numpy as np

from impact_studies.frame.study import Comparison
from impact_studies.net_feedback import published
from impact_studies.net_feedback.outcome import (
    FAST,
    MODEL_NAMES,
    SETTLED,
    VIBRATING,
    CaseResult,
    MeanCourse,
    Outcome,
    mean_courses,
)
from impact_studies.net_feedback.plan import GRAB, PUSH, SHOWN
from impact_studies.net_feedback.tables import PRINTED_TABLE, SCENE_NAMES, case_name
from impact_studies.net_feedback.trial import TrialSignals, direction

SWITCHED = 5e-3
"""[s] after the switch to the interim mode in which feedback is compared with that before."""

SIMILAR = 2.0
"""Factor up to which two amounts are similar; beyond it one is "significantly" larger, or larger "by a lot".

Our choice, as the source gives no numbers.
"""

SMALL = 0.05
"""Part of the predicted velocity up to which something is "small", "slightly" more or "very close to 0".

Our choice: the source calls a mean error of 3.12 % "reliably small".
"""


def figure_comparisons(outcome: Outcome) -> tuple[Comparison, ...]:
    """Return the statements on the figures whose cases are in the outcome."""
    results = {result.case: result for result in outcome.results}
    push, grab = (results.get(case) for case in SHOWN)
    pushed, grabbed = ({} if one is None else mean_courses(one) for one in (push, grab))
    rows: list[Comparison] = []
    if push is not None:
        rows += [*_alike("Fig. 6", push, pushed), *_push(push, pushed), *_fit_of_push(push)]
    if grab is not None:
        rows += _alike("Fig. 8", grab, grabbed)
    if pushed and grabbed:
        rows += _vibrations(pushed, grabbed)
    if grab is not None:
        rows += _fit_of_grab(grab)
    return tuple(rows)


def _alike(figure: str, result: CaseResult, courses: dict[float, MeanCourse]) -> list[Comparison]:
    """Return the statements on both cases."""
    predicted = float(result.predicted[0])
    lowest = [course.lowest for course in courses.values()]
    velocities, references = np.transpose([course.settled for course in courses.values()])
    error = float(np.max(np.abs(velocities - references)))
    apart = float(np.min(np.diff(np.sort(references))))
    nets = {scale: course.net for scale, course in courses.items()}
    best = min(nets, key=lambda scale: abs(nets[scale]))
    return [
        Comparison(
            figure,
            "velocity right after the impact, all references",
            "drops below the predicted post-impact velocity",
            f"falls to between {min(lowest):.3f} and {max(lowest):.3f} m/s in {1e3 * FAST:g} ms; predicted "
            f"{predicted:.3f} m/s",
            holds=max(lowest) < predicted,
        ),
        Comparison(
            figure,
            "velocity later, all references",
            "converges to its reference",
            f"within {1e3 * error:.2f} mm/s of it at the end, references at least {1e3 * apart:.1f} mm/s apart",
            holds=error < 0.5 * apart,
        ),
        Comparison(
            figure,
            "net feedback with the predicted velocity",
            "small" if figure == "Fig. 6" else "very close to 0",
            f"{nets[1.0]:+.4f} m/s, {100.0 * nets[1.0] / predicted:+.1f} % of it; of all references the smallest is "
            f"{nets[best]:+.4f} m/s, with {best:g} v_pred",
            holds=abs(nets[1.0]) <= SMALL * predicted,
        ),
    ]


def _push(result: CaseResult, courses: dict[float, MeanCourse]) -> list[Comparison]:
    """Return the statements on the push alone."""
    low, high = min(courses), max(courses)
    (up, down), (least, most) = courses[1.0].up_and_down, courses[1.0].early_range
    parts = [part for _, signals in result.trials for part in _around_the_switch(result, signals)]
    delay, before, after = np.mean(parts, axis=0)
    losses = [loss for _, signals in result.trials for loss in _losses(signals)]
    lost = sum(count > 0 for count, _ in losses)
    backs = [back for _, back in losses]
    return [
        Comparison(
            "Fig. 6",
            "contact after the impact",
            "lost for a time, a series of impacts",
            f"lost in {lost} of {len(losses)} trials, {np.mean([count for count, _ in losses]):.1f} times in the mean; "
            f"contact lasts from {1e3 * min(backs):.0f} to {1e3 * max(backs):.0f} ms after the first one on",
            holds=lost == len(losses),
        ),
        Comparison(
            "Fig. 6",
            "feedback from the contact to the interim mode",
            "a short peak, gone when the impact is detected",
            f"{before:.2f} m/s^2 at most in the {1e3 * delay:.1f} ms until then, {after:.2f} m/s^2 in the "
            f"{1e3 * SWITCHED:g} ms after (means of the trials)",
            holds=bool(before > after),
        ),
        Comparison(
            "Fig. 6",
            "feedback when the post-impact velocity is underestimated, overestimated",
            "slows down, speeds up",
            f"net {courses[low].net:+.3f} m/s with {low:g} v_pred, {courses[high].net:+.3f} m/s with {high:g} v_pred",
            holds=courses[low].net < 0.0 < courses[high].net,
        ),
        Comparison(
            "Fig. 6",
            "feedback with the predicted velocity",
            "speeds up, then slows down by roughly a similar amount",
            f"speeds up by {up:.3f} m/s, then slows down by {down:.3f} m/s; in the first {SETTLED:g} s it adds "
            f"between {least:+.3f} and {most:+.3f} m/s",
            holds=up > 0.0 and up / SIMILAR <= down <= up * SIMILAR,
        ),
    ]


def _around_the_switch(result: CaseResult, signals: TrialSignals) -> list[tuple[float, float, float]]:
    """Return for each arm the time [s] from contact to switch, and the largest feedback [m/s^2] in it and after it.

    0 where no sample is between. Arms without contact or switch are left out.
    """
    found = []
    for feedback, contact, switch in zip(signals.feedback, signals.contact_time, signals.switch_time, strict=True):
        if not (np.isfinite(contact) and np.isfinite(switch)):
            continue
        size = np.abs(feedback @ direction(result.case))
        between = (signals.time >= contact) & (signals.time < switch)
        after = (signals.time >= switch) & (signals.time <= switch + SWITCHED)
        found.append((switch - contact, float(size[between].max(initial=0.0)), float(size[after].max(initial=0.0))))
    return found


def _losses(signals: TrialSignals) -> list[tuple[int, float]]:
    """Return for each arm the number of lost contacts after the first, and the time [s] after it from which one lasts.

    To the sample; infinite for an arm without contact at the end.
    """
    found = []
    for force, contact in zip(signals.normal_force, signals.contact_time, strict=True):
        closed = force[signals.time >= contact] > 0.0
        since = signals.time[signals.time >= contact] - contact
        opens = np.flatnonzero(closed[:-1] & ~closed[1:]) + 1
        closes = np.flatnonzero(~closed[:-1] & closed[1:]) + 1
        last = float(since[closes[-1]]) if closes.size else 0.0
        found.append((int(opens.size), last if closed.size and closed[-1] else float("inf")))
    return found


def _vibrations(push: dict[float, MeanCourse], grab: dict[float, MeanCourse]) -> list[Comparison]:
    (_, hit, _), (before, early, late) = (
        np.mean([course.vibrations for course in courses.values()], axis=0) for courses in (push, grab)
    )
    return [
        Comparison(
            "Fig. 8",
            "oscillation of the velocity after the impact",
            "significantly larger than that of the push",
            f"{1e3 * early:.1f} mm/s against {1e3 * hit:.1f} (root mean square about a cubic, first "
            f"{1e3 * VIBRATING:g} ms)",
            holds=bool(early > SIMILAR * hit),
        ),
        Comparison(
            "Fig. 8",
            "the same at the end of the window",
            "died out",
            f"{1e3 * late:.2f} mm/s, before the impact {1e3 * before:.2f}",
            holds=bool(late <= SIMILAR * before),
        ),
    ]


def _fit_of_push(result: CaseResult) -> list[Comparison]:
    estimate = result.estimate.velocity
    reduced, links = float(result.predicted[0]), float(result.predicted[2])
    errors = result.errors
    return [
        Comparison(
            "Fig. 7",
            "experimental estimate",
            "between the predictions with no motors and with B_theta",
            f"{estimate:.3f} m/s; predictions {links:.3f} and {reduced:.3f} m/s",
            holds=links <= estimate <= reduced,
        ),
        Comparison(
            "Fig. 7",
            "prediction with B_rho",
            "off by a lot compared to the other two",
            f"{errors[1]:+.1f} %; B_theta {errors[0]:+.1f} %, no motors {errors[2]:+.1f} %",
            holds=bool(abs(errors[1]) > SIMILAR * max(abs(errors[0]), abs(errors[2]))),
        ),
    ]


def _fit_of_grab(result: CaseResult) -> list[Comparison]:
    errors = result.errors
    return [
        Comparison(
            "Fig. 9",
            "nominal prediction",
            "slightly above the experimental estimate",
            f"{errors[0]:+.2f} %",
            holds=bool(0.0 < errors[0] <= 100.0 * SMALL),
        ),
        Comparison(
            "Fig. 9",
            "smallest error of the three predictions",
            "B_theta",
            f"{MODEL_NAMES[int(np.argmin(np.abs(errors)))]} ({errors[0]:+.2f}, {errors[1]:+.2f}, {errors[2]:+.2f} %)",
            holds=int(np.argmin(np.abs(errors))) == 0,
        ),
    ]


def comparisons(outcome: Outcome) -> tuple[Comparison, ...]:
    """Return means of the errors with their targets, the figures, then estimates and errors of each case."""
    means, rows = [], []
    for scene in (PUSH, GRAB):
        table, name = f"Table {PRINTED_TABLE[scene]}", SCENE_NAMES[scene]
        absolute, average = outcome.absolute(scene), outcome.errors(scene).mean(axis=0)
        for i, model in enumerate(MODEL_NAMES):
            holds = outcome.meets(scene) if i == 0 else None
            printed = published.ABSOLUTE_ERROR[scene][i], published.MEAN_ERROR[scene][i]
            means.append(
                Comparison(table, f"absolute error, {name}, {model}", printed[0], float(absolute[i]), "%", holds)
            )
            means.append(Comparison(table, f"average error, {name}, {model}", printed[1], float(average[i]), "%"))
        for result in outcome.of(scene):
            row, case = published.ROWS[result.case], f"{name}, {case_name(result.case).lower()}"
            rows.append(Comparison(table, f"estimate, {case}", row.estimate, result.estimate.velocity, "m/s"))
            rows += [
                Comparison(table, f"error with {model}, {case}", printed, float(own), "%")
                for model, printed, own in zip(MODEL_NAMES, row.errors, result.errors, strict=True)
            ]
    best = Comparison(
        "Tables II and III",
        "smallest absolute error over all cases",
        MODEL_NAMES[0],
        MODEL_NAMES[int(outcome.absolute().argmin())],
        holds=outcome.reduced_motors_are_best,
    )
    return (*means, best, *figure_comparisons(outcome), *rows)
