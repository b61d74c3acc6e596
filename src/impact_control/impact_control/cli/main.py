"""The command `impact-control`: the commands of the library, and those that other packages register.

Annotations are not postponed here: Typer 0.9, which Ubuntu 24.04 has, does not evaluate them.
"""

import sys
from importlib.metadata import entry_points
from typing import Annotated

import typer

from impact_control import __version__
from impact_control.cli import commands
from impact_control.cli.terminal import complain
from impact_control.util.errors import (
    ImpactControlError,
    InterruptedByUserError,
    InvalidInputError,
    RecordingError,
    ScenarioError,
)

app = typer.Typer(
    help="Impact-aware control of Franka arms: run scenarios, read their recordings.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # importing rich alone takes longer than all of the help may
    context_settings={"max_content_width": 120},
)

GROUP = "impact_control.commands"
"""Entry points of this group are functions that add the commands of their package to an application of Typer."""


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"impact-control {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Declare the options of the command itself."""


def _assemble() -> None:
    """Add all commands, those that run something first."""
    others = sorted(entry_points(group=GROUP), key=lambda point: point.name != "ros")
    for point in others:
        point.load()(app)
    commands.add(app)


_assemble()


def main() -> None:
    """Run a command: our own errors and those of files become one line.

    Exit code 2: a value or a file is wrong, as it is for a wrong option. 130: the user ended it. 1: anything else.
    """
    try:
        app()
    except InterruptedByUserError as error:
        complain(error)
        sys.exit(130)
    except ImpactControlError as error:
        complain(error)
        sys.exit(2 if isinstance(error, (InvalidInputError, ScenarioError, RecordingError)) else 1)
    except OSError as error:  # as a full disk
        place = error.filename or "a file cannot be read or written"
        sys.stderr.write(f"impact-control: {place}: {error.strerror or error}\n")
        sys.exit(1)


if __name__ == "__main__":
    main()
