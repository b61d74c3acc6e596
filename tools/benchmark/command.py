"""The command `impact-control bench`.

Annotations are not postponed here: Typer 0.9, which Ubuntu 24.04 has, does not evaluate them.
"""

from pathlib import Path
from typing import Annotated, Optional

import typer

from impact_control.cli.commands import OutputOption


def add(app: typer.Typer) -> None:
    """Add the commands of this module to an application of Typer."""
    app.command()(bench)


def bench(
    short: Annotated[bool, typer.Option("--short", help="Only check whether computations have become slower.")] = False,
    accept: Annotated[
        bool, typer.Option("--accept", help="Measure what --short is to compare with on machines of this kind.")
    ] = False,
    growth: Annotated[bool, typer.Option("--growth", help="Also how cost grows with joints, contacts, ...")] = False,
    measures: Annotated[
        bool, typer.Option("--measures", help="Also what each measure of real time is worth, 6 minutes.")
    ] = False,
    seconds: Annotated[float, typer.Option(min=1.0, help="Length of each measurement over DDS.")] = 60.0,
    minutes: Annotated[
        Optional[float], typer.Option(min=0.1, help="Length instead, and once more beside a busy process on each core.")
    ] = None,
    output: OutputOption = Path("runs"),
) -> None:
    """Measure the stack beside others, compare with earlier runs, and write a report."""
    from benchmark.check import accept_ratios, run_short

    if accept:
        accept_ratios(typer.echo)
    elif short:
        if not all(check.passed for check in run_short(typer.echo)):
            raise typer.Exit(1)
    else:
        from benchmark.bench import run_bench

        length = seconds if minutes is None else 60.0 * minutes
        run_bench(length, minutes is not None, growth, measures, output, typer.echo)
