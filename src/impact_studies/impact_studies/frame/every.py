"""All studies in a row, and one page of what they say: the published figures beside ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from impact_control import __version__
from impact_control.util.errors import InterruptedByUserError, MissingExtraError, words_of
from impact_studies.frame.computing import Place
from impact_studies.frame.provenance import writable_directory
from impact_studies.frame.results import VERDICTS
from impact_studies.frame.runner import ALL, StudyRun, run_study
from impact_studies.frame.study import Cell, Mark, Progress, Study, Table, columns, part


@dataclass(frozen=True)
class Unfinished:
    """A study that failed, and with which error, or that needs what is not installed, and how to install it."""

    study: Study
    reason: str
    failed: bool


Ended = StudyRun | Unfinished


def run_all(
    studies: Sequence[Study],
    output: Path,
    *,
    seed: int,
    quick: bool,
    place: Place,
    progress: Progress,
    tell: Callable[[Ended], None],
) -> list[Ended]:
    """Run studies one after another, see `run_study`, and return how each ended.

    The page `output`/all/report.html is rewritten after each of them. One that fails does not end the others, nor
    does one that needs a package of `make extras` where it is not installed.
    progress: of all, by the minutes that each of them takes. tell: called with each as it ends. Raises
    InvalidInputError for a directory that cannot be written to, InterruptedByUserError when it is interrupted (Ctrl-C).
    """
    directory = writable_directory(output / ALL, "output")
    whole = sum(study.minutes for study in studies)
    ended: list[Ended] = []
    before = 0.0
    for study in studies:
        start, share = before / whole, study.minutes / whole
        before += study.minutes
        ended.append(_run(study, output, seed, quick, place, part(progress, start, share, study.name)))
        write_overview(directory, ended, seed=seed, quick=quick, asked=len(studies))
        tell(ended[-1])
    return ended


def mark(ended: Ended) -> Mark:
    """Return good where a study ran and the claims of its source hold; plain for one that was not run."""
    if isinstance(ended, StudyRun):
        return Mark.of(ended.result.holds)
    return Mark.BAD if ended.failed else Mark.PLAIN


def word(ended: Ended) -> str:
    """Return the outcome of a study in a word."""
    if isinstance(ended, StudyRun):
        return VERDICTS[mark(ended)]
    return "failed" if ended.failed else "not run"


def write_overview(directory: Path, ended: Sequence[Ended], *, seed: int, quick: bool, asked: int) -> None:
    """Write report.html with the table of all comparisons, and the reports of the studies below it."""
    # Late, so that listing the studies does not load the drawing library.
    from impact_studies.frame.report import REPORT_FILE, comparisons_table, table_section, write_page

    runs = [one for one in ended if isinstance(one, StudyRun)]
    held = sum(mark(one) is Mark.GOOD for one in ended)
    skipped = sum(mark(one) is Mark.PLAIN for one in ended)
    without = f", {skipped} not run" if skipped else ""
    extent = ", quick version" if quick else ""
    left = f" {asked - len(ended)} are still to be run." if len(ended) < asked else ""
    articles = [f'<article id="{run.study.name}">\n{run.body}\n</article>' for run in runs]
    links = ", ".join(f'<a href="#{run.study.name}">{escape(run.study.name)}</a>' for run in runs)
    title = "Results of the source documents, computed again"
    parts = [
        f"<h1>{title}</h1>",
        f'<p class="origin">Computed by version {__version__} with seed {seed}{extent}.</p>',
        f'<p class="verdict {"good" if held == asked - skipped else "bad"}">'
        f"{held} of {asked - skipped} studies hold{without}.{left}</p>",
        table_section(_studies_table(ended)),
        table_section(comparisons_table([(run.study.name, one) for run in runs for one in run.result.comparisons])),
        f"<p>Reports of the studies: {links}</p>",
        *articles,
    ]
    write_page(directory / REPORT_FILE, title, "\n".join(parts))


def _run(study: Study, output: Path, seed: int, quick: bool, place: Place, progress: Progress) -> Ended:
    try:
        return run_study(study, output, seed=seed, quick=quick, progress=progress, place=place)
    except InterruptedByUserError:
        raise
    except MissingExtraError as error:
        return Unfinished(study, str(error), failed=False)
    except Exception as error:
        return Unfinished(study, f"{type(error).__name__}: {words_of(error)}", failed=True)


def _studies_table(ended: Sequence[Ended]) -> Table:
    """Return what became of each study, and what it took."""
    rows: list[tuple[Cell, ...]] = []
    for one in ended:
        verdict = one.result.verdict if isinstance(one, StudyRun) else one.reason
        times = (one.seconds / 60.0, one.trial_seconds / 60.0) if isinstance(one, StudyRun) else (None, None)
        rows.append((one.study.name, one.study.source, verdict, word(one), *times))
    return Table(
        "studies",
        "Studies",
        (
            *columns(("study", "source", "answer", "verdict")),
            *columns(("time", "processor time\nof the trials"), "min", 1),
        ),
        tuple(rows),
        {(i, 3): mark(one) for i, one in enumerate(ended)},
        "Time: of this run, by the clock. Processor time: with trials that an earlier run had done.",
    )
