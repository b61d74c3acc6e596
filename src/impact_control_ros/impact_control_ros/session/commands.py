"""Commands that run, watch and stop a graph.

Annotations are not postponed here: Typer 0.9, which Ubuntu 24.04 has, does not evaluate them.
"""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from impact_control.cli.commands import (
    HostOption,
    NamespaceOption,
    OutputOption,
    PortOption,
    ScenarioArgument,
    print_objects,
)
from impact_control.cli.progress_line import ProgressLine
from impact_control.util.errors import ImpactControlError, InvalidInputError
from impact_control_ros.session.shape import Shape

if TYPE_CHECKING:
    from impact_control_ros.bridge.task_messages import TaskResult
    from impact_control_ros.session.runs import Run

ShapeOption = Annotated[
    Shape, typer.Option(help="composed: observer, detector, classifier and controller in one process; or separate.")
]
SeedOption = Annotated[Optional[int], typer.Option(min=0, help="Seed of the sensor noise; default: the scenario's.")]


def add(app: typer.Typer) -> None:
    """Add the commands of this module to an application of Typer."""
    app.command()(demo)
    app.command()(view)
    app.command()(verdicts)
    app.command()(stop)
    app.command()(reset)
    app.command()(doctor)
    app.command()(security)


def demo(
    scenario: ScenarioArgument = "tabletop",
    shape: ShapeOption = Shape.COMPOSED,
    lockstep: Annotated[bool, typer.Option(help="The simulator waits for the command of each sample.")] = False,
    real_time_factor: Annotated[
        Optional[float],
        typer.Option(min=0.01, max=10.0, help="Simulated seconds per second of wall time; default: sustainable."),
    ] = None,
    seed: SeedOption = None,
    output: OutputOption = Path("runs"),
    view: Annotated[bool, typer.Option("--view", help="Show it in the browser, and play it there afterwards.")] = False,
    port: PortOption = 8080,
    host: HostOption = "127.0.0.1",
    wait: Annotated[float, typer.Option(min=0.0, max=150.0, help="Seconds to wait for a browser.")] = 60.0,
) -> None:
    """Run one impact with the simulated arm: nodes, bag, report.

    Exit code 1 says that it did not go as the scenario is meant to.
    """
    from impact_control.pipeline import Outcome
    from impact_control.scenario import load_scenario
    from impact_control.util.stopping import stoppable
    from impact_control_ros.session.graph import View, sustainable_real_time_factor
    from impact_control_ros.session.runs import new_run_directory, run

    name = load_scenario(scenario).name
    if view:
        from impact_control.view.player import page, play_bag

        typer.echo(f"View:   {page(port, host)} in a browser")
    directory = new_run_directory(output, name)
    line = ProgressLine(name)
    losses: list[str] = []
    results: dict[str, TaskResult] = {}
    with stoppable() as stop:
        try:
            runs = run(
                scenario,
                directory,
                shape=shape,
                lockstep=lockstep,
                real_time_factor=real_time_factor,
                seed=seed,
                view=View(port, host, wait) if view else None,
                stop_requested=stop,
                on_progress=line.progress,
                on_stage=line.stage,
                on_results=results.update,
                on_loss=losses.append,
            )
        except (ImpactControlError, OSError):
            line.end()
            for arm, result in results.items():
                _print_result(arm, result)
            raise
        finally:
            line.end()
    for arm, done in runs.items():
        _tell_run(arm, done)
    print_objects(directory / "bag")
    if not lockstep and (factor := real_time_factor or sustainable_real_time_factor(len(runs))) != 1.0:
        typer.echo(f"Clock:  ran at {factor:.3g} of real time (--real-time-factor)")
    typer.echo(f"Bag:    {directory / 'bag'}")
    for loss in losses:
        typer.echo(f"Lost:   {loss}")
    if view:
        play_bag(directory / "bag", port, host, typer.echo)
    ended = (Outcome.FAULT, Outcome.REFUSED, Outcome.CANCELLED)  # of the last two the bag does not know
    if any(done.result.outcome in ended or not done.summary.good for done in runs.values()):
        raise typer.Exit(1)


def view(
    scenario: ScenarioArgument = "tabletop",
    namespace: Annotated[str, typer.Option(help="Of the nodes.")] = "",
    real: Annotated[bool, typer.Option("--real", help="With a real arm, whose true contact force is unknown.")] = False,
    port: PortOption = 8080,
    host: HostOption = "127.0.0.1",
) -> None:
    """Show nodes that run in this ROS domain in the browser."""
    from impact_control.view.player import page
    from impact_control_ros.session.graph import View
    from impact_control_ros.session.runs import look_on

    typer.echo(f"View:   {page(port, host)} in a browser; Ctrl-C ends.")
    look_on(scenario, View(port, host), namespace, simulated=not real)


def verdicts(namespace: NamespaceOption = "") -> None:
    """Print the verdicts of a running graph until Ctrl-C; earlier verdicts come first."""
    from impact_control.util.stopping import stoppable
    from impact_control_ros.session.client import ImpactClient

    with ImpactClient(namespace) as client, stoppable() as stop:
        for verdict in client.verdicts(stop):
            typer.echo(verdict)


def stop(namespace: NamespaceOption = "") -> None:
    """Stop the robot of a running graph: the supervisor keeps commands from it until `reset`."""
    from impact_control_ros.session.client import ImpactClient

    with ImpactClient(namespace) as client:
        typer.echo(client.stop())


def reset(namespace: NamespaceOption = "") -> None:
    """Let commands through again after a stop, if nothing is wrong any more; the controller then holds the arm."""
    from impact_control_ros.session.client import ImpactClient

    with ImpactClient(namespace) as client:
        typer.echo(client.reset())


def doctor(
    robot_ip: Annotated[Optional[str], typer.Option(help="Address of the robot, to check that it answers.")] = None,
) -> None:
    """Check machine, real-time permissions, network, packages and robot side; print the changes to make."""
    from impact_control_ros.doctor import Level, worst
    from impact_control_ros.doctor.__main__ import examine

    colors = {Level.OK: typer.colors.GREEN, Level.WARN: typer.colors.YELLOW, Level.FAIL: typer.colors.RED}
    findings = []
    for finding in examine(robot_ip):
        findings.append(finding)
        line = str(finding)
        name = len(finding.level.name)
        typer.echo(typer.style(line[:name], fg=colors[finding.level]) + line[name:])
    if worst(findings) is Level.FAIL:
        raise typer.Exit(1)


def security(
    keystore: Annotated[
        Optional[Path], typer.Argument(help="New or empty directory, or a keystore; without, the policy is printed.")
    ] = None,
    scenario: ScenarioArgument = "tabletop",
    namespace: Annotated[str, typer.Option(help="Namespace in which the graph runs.")] = "",
    policy: Annotated[
        Optional[Path], typer.Option(help="Policy file for the keys instead of the one of the graph.")
    ] = None,
) -> None:
    """Make the keys and permissions with which the graph runs under SROS 2."""
    import tempfile

    from impact_control.scenario import load_scenario, parts_of
    from impact_control_ros.session.security import graph_policy, make_keystore

    text = graph_policy(scenario, namespace=namespace, **parts_of(load_scenario(scenario)))
    if keystore is None:
        if policy is not None:
            raise InvalidInputError("policy", str(policy), "used only with a directory for the keys that it is for")
        typer.echo(text, nl=False)
        return
    with tempfile.TemporaryDirectory() as directory:
        own = Path(directory) / "policy.xml"
        own.write_text(text)
        for enclave in make_keystore(keystore, policy or own):
            typer.echo(f"Enclave: {enclave}")
    typer.echo(f"export ROS_SECURITY_KEYSTORE={keystore.resolve()}")
    typer.echo("export ROS_SECURITY_ENABLE=true ROS_SECURITY_STRATEGY=Enforce")
    typer.echo(f"export ROS_DOMAIN_ID={os.environ.get('ROS_DOMAIN_ID', '0')}")


def _tell_run(arm: str, run: "Run") -> None:
    """Print how the run of an arm went."""
    from impact_control.recording.page import summary_text

    typer.echo(summary_text(run.summary, color=sys.stdout.isatty()))
    _print_result(arm, run.result)
    typer.echo(f"Report: {run.report}")


def _print_result(arm: str, result: "TaskResult") -> None:
    from impact_control.util.words import in_words

    typer.echo(f"Task{f' of {arm}' if arm else ''}: {in_words(result.outcome)} ({result.summary})")
