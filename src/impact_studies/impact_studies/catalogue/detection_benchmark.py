"""Online impact detectors against each other: delay, misses, false alarms, isolated link; Proper 2021, 3.2 and others.

Bounds are calibrated on contact-free motion, the setting is chosen on one set of random numbers and reported on
another.
"""

from __future__ import annotations

from impact_studies.detection import tables
from impact_studies.detection.evaluation import MARGIN, choose, measured_targets
from impact_studies.detection.methods import METHODS
from impact_studies.detection.plan import REPORT, TUNING, Extent, Plan
from impact_studies.detection.statements import ASSUMPTIONS, findings
from impact_studies.detection.trials import SCALES
from impact_studies.frame.study import Progress, Study, StudyFigure, StudyResult, held, part, targets_table
from impact_studies.frame.trials import trials_directory

QUICK = Extent(
    contacts=("steel", "rubber", "touch"),
    speeds=(0.01, 0.1),
    tuning_repetitions=1,
    report_repetitions=2,
    segment=3.0,
    calibration_segments=1,
    tuning_segments=1,
    report_segments=1,
    sequences=2,
    sequence_speeds=(0.1,),
    ideal_repetitions=1,
)


def _run(seed: int, quick: bool, progress: Progress) -> StudyResult:
    extent = QUICK if quick else Extent()
    plan = Plan(extent, seed, trials_directory("detection_benchmark"))

    bounds = plan.calibrate(part(progress, 0.0, 0.15, "calibration"))
    choice = choose(plan.run(TUNING, bounds, part(progress, 0.15, 0.35, "tuning")))
    outcomes = plan.run(REPORT, bounds, part(progress, 0.5, 0.45, "report"))
    scales = tuple(SCALES[scale] for scale in choice.scales[0])
    sequences = plan.sequences(bounds[0], scales, part(progress, 0.95, 0.02, "sequences"))
    ideal = plan.ideal(part(progress, 0.97, 0.03, "ideal detector"))
    targets = measured_targets(outcomes, extent, choice, ideal)

    # Late, so that listing the studies does not load the drawing library.
    from impact_studies.detection import drawing

    return StudyResult(
        tables=(
            targets_table(targets, tables.TARGETS, "Targets, best setting"),
            tables.methods_table(outcomes, extent, choice),
            tables.speeds_table(outcomes, extent, choice),
            tables.ideal_table(ideal, outcomes, extent, choice),
            tables.links_table(outcomes, extent, choice),
            tables.isolation_table(outcomes, extent, choice),
            tables.conditions_table(outcomes, extent, choice),
            tables.sequences_table(sequences),
        ),
        figures=(
            StudyFigure(
                "roc",
                "Impacts found against false alarms",
                "Each point is one bound, the same multiple of the calibrated ones in all joints, over all contacts "
                "and speeds; the left edge is none in the whole free motion.",
                lambda: drawing.draw_roc(outcomes),
            ),
            StudyFigure(
                "delays",
                "Median delay over the speed",
                "At the bounds of the tuning set, published noise. Nothing is drawn where most are missed. Cross: what "
                "an ideal detector needs.",
                lambda: drawing.draw_delays(outcomes, extent, choice, ideal),
            ),
        ),
        findings=findings(outcomes, extent, choice),
        verdict=f"{METHODS[choice.method].name}: {held(targets)} targets are met.",
        assumptions=ASSUMPTIONS,
        comparisons=targets,
    )


STUDY = Study(
    name="detection_benchmark",
    title="Online impact detectors: delay, misses, false alarms, isolated link",
    source="Proper 2021, sections 2.5, 3.2 and 3.3.1; Wang 2022, section VI; targets of our own",
    shows=(
        "A planar arm and a Panda meet surfaces from steel to foam at 0.01 to 0.5 m/s, are touched on a link, and move "
        "vigorously without contact. All detectors look at the same samples, with the published noise and twice of "
        f"it, a model exact and 5 % too heavy, without and with joint friction that it does not know. Bounds are "
        f"calibrated and the setting is chosen, {MARGIN} step above the smallest bound without a false alarm, on "
        "other random numbers than those reported. The bound of an ideal detector is computed, too."
    ),
    run=_run,
    minutes=1.2,
)
