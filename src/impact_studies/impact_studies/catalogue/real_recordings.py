"""Detectors on recordings of real arms without contact: false impacts, and what they find of contacts added to them.

The recordings are not part of the package: a file names them, see `recordings.sources.load_sources`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

from impact_control.util.errors import MissingExtraError
from impact_studies.frame.study import Progress, Study, StudyResult, held

INSERTIONS, QUICK_INSERTIONS = 200, 10
"""Contacts of each kind in each half of each recording; every second one with stiff position control."""


def _run(seed: int, quick: bool, progress: Progress, file: Path | None = None) -> StudyResult:
    from impact_studies.recordings import tables
    from impact_studies.recordings.evaluation import evaluate
    from impact_studies.recordings.sources import load_sources

    if file is None:
        raise MissingExtraError("recordings of real arms are not part of the package: --file names them")
    outcomes = evaluate(load_sources(file), QUICK_INSERTIONS if quick else INSERTIONS, seed, progress)
    targets = tables.targets(outcomes)
    return StudyResult(
        tables=(tables.outcome_table(outcomes), tables.delay_table(outcomes)),
        figures=(),
        findings=tables.findings(outcomes),
        verdict=f"The detector on all joints: {held(targets)} targets are met.",
        assumptions=tables.ASSUMPTIONS,
        comparisons=targets,
    )


def _with_file(file: Path) -> Study:
    from impact_studies.recordings.sources import load_sources

    load_sources(file)
    return replace(STUDY, run=partial(_run, file=file))


STUDY = Study(
    name="real_recordings",
    title="Impacts in recordings of real arms",
    source="targets of our own",
    shows=(
        "Recordings of free motion, given by --file: detectors are learned on one half and run over the other, in "
        "which every impact is a false one; then impacts on steel and pushes are added to it at random times, in "
        "random directions, with the motion of an arm with elastic joints that they cause."
    ),
    run=_run,
    minutes=4.0,
    from_file=_with_file,
)
