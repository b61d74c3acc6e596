"""The command `impact-control endure`.

Annotations are not postponed here: Typer 0.9, which Ubuntu 24.04 has, does not evaluate them.
"""

from pathlib import Path
from typing import Annotated

import typer

from impact_control.cli.commands import OutputOption
from impact_control_ros.session.commands import FactorOption


def add(app: typer.Typer) -> None:
    """Add the commands of this module to an application of Typer."""
    app.command()(endure)


def endure(
    minutes: Annotated[float, typer.Option(min=0.1, help="For how long tasks are run back to back.")] = 60.0,
    faults: Annotated[
        bool, typer.Option("--faults", help="Every other task with a fault at random, after which all has to be well.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the sensor noise and of the faults.")] = 0,
    real_time_factor: FactorOption = None,
    output: OutputOption = Path("runs"),
) -> None:
    """Run tasks by the wall clock for a long time, with faults on request, and report every violation.

    Exit code 0 says that it went to its end, every task and every bag was as it should be and no process grew (looked
    at from ten tasks on); 1 otherwise.
    """
    from endurance.records import report_text
    from endurance.run import Workload
    from endurance.run import endure as run
    from impact_control.util.stopping import stoppable

    with stoppable() as stop:
        report, directory = run(
            Workload(seed=seed, faults=faults, real_time_factor=real_time_factor),
            minutes,
            output,
            tell=typer.echo,
            stop_requested=stop,
        )
    typer.echo(f"\n{report_text(report)}\n\nReport: {directory}")
    if not report.passed:
        raise typer.Exit(1)
