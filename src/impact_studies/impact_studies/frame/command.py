"""The command `impact-control study`.

Annotations are not postponed here: Typer 0.9, which Ubuntu 24.04 has, does not evaluate them.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from impact_control.cli.commands import OutputOption
from impact_control.cli.progress_line import ProgressLine
from impact_control.cli.terminal import in_color
from impact_control.util.errors import InvalidInputError

if TYPE_CHECKING:
    from impact_studies.frame.study import Study


def add(app: typer.Typer) -> None:
    """Add the commands of this module to an application of Typer."""
    app.command()(study)


def _study_names(incomplete: str) -> list[str]:
    from impact_studies.frame.runner import ALL, available_studies

    return [name for name in (ALL, *available_studies()) if name.startswith(incomplete)]


def study(
    name: Annotated[
        Optional[str],
        typer.Argument(help="Name of a study, or all; without one, they are listed.", autocompletion=_study_names),
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the studies.")] = False,
    quick: Annotated[bool, typer.Option(help="A smaller version of the same, for a first look.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same result.")] = 0,
    output: OutputOption = Path("runs"),
    workers: Annotated[
        Optional[int], typer.Option(min=1, help="Processes; default: one a core, with --quick one.")
    ] = None,
    scheduler: Annotated[
        str, typer.Option(help="Address of a scheduler of Dask that runs the trials, or local:N for N processes.")
    ] = "",
    file: Annotated[
        Optional[Path], typer.Option(help="Settings of a study that takes some: ranges of operating_envelope.")
    ] = None,
) -> None:
    """Compute a result of the source documents again: tables, pictures, the published values beside ours.

    With all, exit code 0 says that every verdict holds, 1 that a study failed, 3 that a verdict does not hold. A study
    that needs a package of `make extras` where it is not installed is not run, and does not count.
    """
    from impact_studies.frame.computing import cores, open_place
    from impact_studies.frame.runner import ALL, find_studies
    from impact_studies.frame.terminal import studies_text

    if listed or name is None:
        typer.echo(studies_text(find_studies(ALL), color=in_color()), nl=False)
        return
    chosen = find_studies(name)
    if file is not None:
        if name == ALL:
            raise InvalidInputError("file", file, "none for all studies: it is for one")
        chosen = [chosen[0].with_file(file)]
    line = ProgressLine(name)
    try:
        with open_place(workers or (1 if quick else cores()), scheduler) as place:
            run = _every_study if name == ALL else _one_study
            run(chosen, output, line, seed=seed, quick=quick, place=place)
    finally:
        line.end()


def _one_study(chosen: "list[Study]", output: Path, line: ProgressLine, **options: Any) -> None:
    """Run a study and print what came out."""
    from impact_studies.frame.runner import run_study
    from impact_studies.frame.terminal import study_text

    run = run_study(chosen[0], output, progress=line.part, **options)
    line.end()
    typer.echo(study_text(run.study, run.result, color=in_color()), nl=False)
    typer.echo(f"Time:   {run.seconds / 60.0:.1f} min, {run.trial_seconds / 60.0:.1f} min of processor time in trials")
    typer.echo(f"Report: {run.report}")


def _every_study(chosen: "list[Study]", output: Path, line: ProgressLine, **options: Any) -> None:
    """Run all studies and print a line for each."""
    from impact_studies.frame.every import Ended, Unfinished, mark, run_all
    from impact_studies.frame.runner import ALL
    from impact_studies.frame.study import Mark
    from impact_studies.frame.terminal import ended_text

    def tell(ended: Ended) -> None:
        line.end()
        typer.echo(ended_text(ended, color=in_color()))

    ended = run_all(chosen, output, progress=line.part, tell=tell, **options)
    typer.echo(f"Report: {output / ALL / 'report.html'}")
    if any(mark(one) is Mark.BAD for one in ended):
        raise typer.Exit(1 if any(isinstance(one, Unfinished) and one.failed for one in ended) else 3)
