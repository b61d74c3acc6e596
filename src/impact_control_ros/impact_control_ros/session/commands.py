"""Commands that run, watch and stop a graph.

Annotations are not postponed here: Typer 0.9, which Ubuntu 24.04 has, does not evaluate them.
"""

import os
from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from impact_control.cli.commands import (
    HostOption,
    NamespaceOption,
    OutputOption,
    PortOption,
    ScenarioArgument,
    option,
    print_objects,
)
from impact_control.cli.progress_line import ProgressLine
from impact_control.cli.terminal import in_color, listing, width
from impact_control.util.errors import ImpactControlError, InvalidInputError
from impact_control.util.settings import HOST, PORT, SCENARIO
from impact_control.util.words import in_words
from impact_control_ros.bridge import topics
from impact_control_ros.bridge.settings import BROWSER_PATIENCE, REAL_TIME_FACTOR, SEED, SHAPE, Shape

if TYPE_CHECKING:
    from impact_control_ros.bridge.task_messages import TaskResult
    from impact_control_ros.session.operator import Operator
    from impact_control_ros.session.runs import Run

ShapeOption = Annotated[Shape, option(SHAPE)]
FactorOption = Annotated[Optional[float], option(REAL_TIME_FACTOR)]
LockstepOption = Annotated[bool, typer.Option(help="The simulator waits for the command of each sample.")]
NodesOption = Annotated[str, typer.Option("--namespace", help="Namespace of the nodes.")]
SeedOption = Annotated[Optional[int], option(SEED)]

LOOK_PATIENCE = 1.0
"""[s] in which a service is found on most machines; then the user learns where it is looked for."""

MODE_PERIOD = 0.2
"""[s] in which the status of a controller comes, and verdicts that were sent before."""

MODE_LOOKS = 10
"""States after which a controller without a status is none."""


def add(app: typer.Typer) -> None:
    """Add the commands of this module to an application of Typer."""
    for command in (demo, up, down, status, view, verdicts, stop, reset, recover, run, home, move_to, doctor, security):
        app.command()(command)


def _begin_loading() -> None:
    """Begin with what nodes load while this process imports what it needs itself."""
    from impact_control_ros.session.fork_server import server

    server()


def demo(
    scenario: ScenarioArgument = SCENARIO.default,
    shape: ShapeOption = SHAPE.default,
    lockstep: LockstepOption = False,
    real_time_factor: FactorOption = None,
    seed: SeedOption = None,
    output: OutputOption = Path("runs"),
    view: Annotated[bool, typer.Option("--view", help="Show it in the browser, and play it there afterwards.")] = False,
    port: PortOption = PORT.default,
    host: HostOption = HOST.default,
    wait: Annotated[float, option(BROWSER_PATIENCE)] = 60.0,
) -> None:
    """Run one impact with the simulated arm: nodes, bag, report.

    Exit code 1 says that it did not go as the scenario is meant to.
    """
    _begin_loading()
    from impact_control.pipeline import Outcome
    from impact_control.pipeline.pipeline import WITHOUT_STATE
    from impact_control.scenario import load_scenario
    from impact_control.util.stopping import stoppable
    from impact_control_ros.session.graph import View, sustainable_real_time_factor
    from impact_control_ros.session.runs import Callbacks, new_run_directory, run

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
                callbacks=Callbacks(stop, line.stage, line.progress, results.update, losses.append),
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
    if any(WITHOUT_STATE in done.result.summary for done in runs.values()):
        typer.echo("Next:   the machine was busy: run it again, or impact-control demo --real-time-factor 0.5")
    if view:
        play_bag(directory / "bag", port, host, typer.echo)
    ended = (Outcome.FAULT, Outcome.REFUSED, Outcome.CANCELLED)  # of the last two the bag does not know
    if any(done.result.outcome in ended or not done.summary.good for done in runs.values()):
        raise typer.Exit(1)


def up(
    scenario: ScenarioArgument = SCENARIO.default,
    shape: ShapeOption = SHAPE.default,
    namespace: NodesOption = "",
    real_time_factor: FactorOption = None,
    seed: SeedOption = None,
    output: OutputOption = Path("runs"),
) -> None:
    """Start a graph with the simulated arm that stays until Ctrl-C or `down`, for clients, views and notebooks.

    It is in the ROS domain of the terminal, as its clients have to be.
    """
    _begin_loading()
    from impact_control.scenario import load_scenario
    from impact_control_ros.session.runs import keep_up, new_run_directory

    name = load_scenario(scenario).name
    directory = new_run_directory(output, f"{name}-up")
    line = ProgressLine(name)
    line.stage("starting the nodes")

    def tell() -> None:
        line.end()
        place = f"ROS domain {os.environ['ROS_DOMAIN_ID']}, namespace /{namespace.strip('/')}"
        typer.echo(f"Graph:  {name} in {place}; Ctrl-C or `impact-control down` ends it")
        typer.echo(f"Logs:   {directory / 'log'}")

    try:
        keep_up(
            scenario,
            directory,
            namespace=namespace,
            shape=shape,
            real_time_factor=real_time_factor,
            seed=seed,
            on_ready=tell,
        )
    finally:
        line.end()


def down(namespace: NamespaceOption = "") -> None:
    """End the graph that `up` started, from another terminal."""
    _ask(namespace, topics.END, "no graph of `impact-control up`", lambda operator: operator.end_graph())


def status(namespace: NamespaceOption = "") -> None:
    """Print nodes, their states, mode and last verdict of a running graph; exit code 1 where there is none."""
    from impact_control_ros.session.operator import Operator
    from impact_control_ros.session.processes import GraphError

    with Operator(namespace) as operator:
        states = operator.nodes()
        if not states:
            raise GraphError(f"no graph in {operator.place}; `impact-control up` starts one")
        place = operator.place
    loops = [name for name in states if name.endswith(("/impact_loop", "/controller"))]
    typer.echo(f"Graph in {place}")
    typer.echo(listing([*states.items(), *(row for loop in loops for row in _arm_rows(loop.rpartition("/")[0]))]))


def _arm_rows(namespace: str) -> "list[tuple[str, str]]":
    """Return mode and last verdict of an arm, with their names."""
    from impact_control_ros.bridge.calls import NoAnswerError
    from impact_control_ros.session.client import ImpactClient

    with ImpactClient(namespace, patience=LOOK_PATIENCE) as client:
        try:
            # The status may be found later than the joint states.
            for state in islice(client.states(MODE_PERIOD), MODE_LOOKS):
                if state.mode is not None:
                    break
        except NoAnswerError as error:
            mode, verdict = str(error), client.verdict
        else:
            known = "none: no controller is active" if state.mode is None else in_words(state.mode)
            mode, verdict = f"{known}{state.fault_reason and f': {state.fault_reason}'}", state.verdict
    of_arm = f" of {namespace}" if namespace else ""
    return [(f"mode{of_arm}", mode), (f"verdict{of_arm}", "none yet" if verdict is None else str(verdict))]


def view(
    scenario: ScenarioArgument = SCENARIO.default,
    namespace: NodesOption = "",
    real: Annotated[bool, typer.Option("--real", help="With a real arm, whose true contact force is unknown.")] = False,
    port: PortOption = PORT.default,
    host: HostOption = HOST.default,
) -> None:
    """Show nodes that run in this ROS domain in the browser."""
    _begin_loading()
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
        if absence := client.absence(topics.CLASSIFICATION, LOOK_PATIENCE):
            typer.echo(f"impact-control: {absence}; listening until Ctrl-C", err=True)
        for verdict in client.verdicts(stop):
            typer.echo(verdict)


def stop(namespace: NamespaceOption = "") -> None:
    """Stop the robot of a running graph: the supervisor keeps commands from it until `reset`."""
    _ask(namespace, topics.STOP, "no supervisor", lambda operator: operator.stop())


def reset(namespace: NamespaceOption = "") -> None:
    """Let commands through again after a stop, if nothing is wrong any more; the controller then holds the arm."""
    _ask(namespace, topics.RESUME, "no supervisor", lambda operator: operator.reset())


def _ask(namespace: str, service: str, missing: str, ask: "Callable[[Operator], str]") -> None:
    """Ask a service, once it is found, and print the answer. missing: see `_require`."""
    from impact_control_ros.session.operator import Operator

    with Operator(namespace) as operator:
        _require(operator, service, missing)
        typer.echo(ask(operator))


def recover(namespace: NamespaceOption = "") -> None:
    """Have a Franka leave its reflex, once you have seen that it is free; nothing moves before `reset`.

    Needs franka_ros2. Exit code 1 says that it did not, or that the launch has to be started again.
    """
    from impact_control_ros.session.client import ImpactClient

    with ImpactClient(namespace) as client:
        if client.recover():
            typer.echo("The arm has left its reflex. Next: impact-control reset, impact-control home")
            return
    typer.echo(
        "The arm has left its reflex, but the controller manager has given up its hardware: no joint states come. "
        "End the launch and start it again."
    )
    raise typer.Exit(1)


def run(
    scenario: Annotated[str, typer.Argument(help="Name of a scenario, or path of a file.")],
    times: Annotated[int, typer.Option(min=1, max=1000, help="Number of trials.")] = 1,
    vary: Annotated[
        Optional[Path], typer.Option(help="YAML file: a list of values for each key of the scenario that varies.")
    ] = None,
    launched: Annotated[bool, typer.Option("--launched", help="On a running graph, not with a simulated arm.")] = False,
    namespace: NamespaceOption = "",
    shape: ShapeOption = SHAPE.default,
    lockstep: LockstepOption = False,
    output: OutputOption = Path("runs"),
) -> None:
    """Repeat a task; the arm moves back to the start between trials, and one report covers them all."""
    if not launched:
        _begin_loading()
    from impact_control.recording.page import WIDTH, summary_text, write_page
    from impact_control.util.stopping import stoppable
    from impact_control_ros.session.operator import Operator
    from impact_control_ros.session.runs import Callbacks, new_run_directory
    from impact_control_ros.session.series import planned_series, run_series

    series = planned_series(scenario, times, vary)
    if launched:
        for arm in series.arms:
            with Operator(f"{namespace}/{arm}".strip("/")) as operator:
                _require(operator, topics.STATUS, "no controller")
    directory = new_run_directory(output, series.name)
    line = ProgressLine(series.name)
    with stoppable() as stop:
        try:
            summary = run_series(
                series,
                directory,
                launched=launched,
                namespace=namespace,
                shape=shape,
                lockstep=lockstep,
                callbacks=Callbacks(stop, line.stage, line.progress),
            )
        finally:
            line.end()
    # A line for each trial is too wide for a terminal: the page has them.
    typer.echo(summary_text(replace(summary, grids=()), width(WIDTH), in_color()), nl=False)
    write_page(directory / "report.html", summary, [], str(directory))
    typer.echo(f"Report: {directory / 'report.html'}")
    if not summary.good:
        raise typer.Exit(1)


SpeedOption = Annotated[float, typer.Option(min=0.0, help="Speed of the fastest joint, in rad/s; 0: 0.5 rad/s.")]


def home(
    scenario: Annotated[str, typer.Option("--scenario", "-s", help="Scenario name; default: that of the graph.")] = "",
    speed: SpeedOption = 0.0,
    namespace: NamespaceOption = "",
) -> None:
    """Bring the arm of a running graph to the start of a scenario, off the surface first; at a contact it stops."""
    _move([], scenario, speed, namespace)


def move_to(
    joint_position: Annotated[list[float], typer.Argument(help="Joint angles in rad; put -- before negative ones.")],
    speed: SpeedOption = 0.0,
    namespace: NamespaceOption = "",
) -> None:
    """Bring the arm of a running graph to a configuration, off the surface first; at a contact it stops."""
    _move(joint_position, "", speed, namespace)


def _move(joint_position: list[float], scenario: str, speed: float, namespace: str) -> None:
    """Exit with code 1 unless the goal is reached."""
    from impact_control.pipeline import MoveOutcome
    from impact_control_ros.session.client import ImpactClient

    with ImpactClient(namespace) as client:
        _require(client, topics.STATUS, "no controller")
        result = client.move_to(joint_position, speed=speed, scenario=scenario)
    reason = f" ({result.summary})" if result.summary else ""
    typer.echo(f"Motion: {in_words(result.outcome)}{reason}, {result.final_error:.3f} rad from the goal")
    if result.outcome is not MoveOutcome.REACHED:
        raise typer.Exit(1)


def _require(operator: "Operator", service: str, missing: str) -> None:
    """Report early that a service is not found, and end when it is missing for longer than a busy machine may take."""
    from impact_control_ros.session.occupants import LAUNCH_DISCOVERY_TIME
    from impact_control_ros.session.processes import GraphError

    if absence := operator.absence(service, LOOK_PATIENCE):
        text = f"{missing}: {absence}"
        typer.echo(f"impact-control: {text}; looking for {LAUNCH_DISCOVERY_TIME:g} s more", err=True)
        if operator.absence(service, LAUNCH_DISCOVERY_TIME):
            raise GraphError(text)


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
        level = typer.style(line[:name], fg=colors[finding.level]) if in_color() else line[:name]
        typer.echo(level + line[name:])
    if worst(findings) is Level.FAIL:
        raise typer.Exit(1)


def security(
    keystore: Annotated[
        Optional[Path], typer.Argument(help="New or empty directory, or a keystore; without, the policy is printed.")
    ] = None,
    scenario: ScenarioArgument = SCENARIO.default,
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
            raise InvalidInputError("policy", policy, "none without a directory for the keys")
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
    from impact_control.recording.page import WIDTH, summary_text

    typer.echo(summary_text(run.summary, width(WIDTH), in_color()))
    _print_result(arm, run.result)
    typer.echo(f"Report: {run.directory / 'report.html'}")


def _print_result(arm: str, result: "TaskResult") -> None:
    typer.echo(f"Task{f' of {arm}' if arm else ''}: {in_words(result.outcome)} ({result.summary})")
