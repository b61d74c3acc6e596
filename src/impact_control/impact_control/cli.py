"""Command line: `impact-control`.

Annotations are not postponed here: Typer 0.9, which Ubuntu 24.04 has, does not evaluate them.
"""

import math
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from impact_control.errors import ImpactControlError, InterruptedByUserError, InvalidInputError, words_of
from impact_control.graph import Shape, View, sustainable_real_time_factor
from impact_control.pipeline import Outcome
from impact_control.progress_line import ProgressLine
from impact_control.scenario import (
    available_scenarios,
    available_scenes,
    describe_schema,
    load_any,
    load_scene,
    parts_of,
)

if TYPE_CHECKING:
    from impact_control.nodes.runs import Run
    from impact_control.studies import Study

app = typer.Typer(
    help="Impact-aware control of Franka arms: run scenarios, read their recordings.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
)

ScenarioArgument = Annotated[str, typer.Option("--scenario", "-s", help="Name of a scenario, or path of a file.")]
ShapeOption = Annotated[
    Shape,
    typer.Option(help="composed: observer, detector, classifier and controller in one process; or separate."),
]
NamespaceOption = Annotated[str, typer.Option(help="Namespace of the arm, or of one arm of a scene.")]
SeedOption = Annotated[Optional[int], typer.Option(min=0, help="Seed of the sensor noise; default: the scenario's.")]
PortOption = Annotated[int, typer.Option(min=1, max=65535, help="Port of the page in the browser.")]
HostOption = Annotated[str, typer.Option(help="Address the page listens at; 0.0.0.0: for other machines, too.")]
OutputOption = Annotated[Path, typer.Option("--output", "-o", help="Directory in which runs are kept.")]


@app.command()
def demo(
    scenario: ScenarioArgument = "tabletop",
    shape: ShapeOption = Shape.COMPOSED,
    lockstep: Annotated[bool, typer.Option(help="The simulator waits for the command of each sample.")] = False,
    real_time_factor: Annotated[
        Optional[float],
        typer.Option(min=0.01, max=10.0, help="Simulated seconds to one of the clock; default: what the cores carry."),
    ] = None,
    seed: SeedOption = None,
    output: OutputOption = Path("runs"),
    view: Annotated[bool, typer.Option("--view", help="Show it in the browser, and play it there afterwards.")] = False,
    port: PortOption = 8080,
    host: HostOption = "127.0.0.1",
    wait: Annotated[float, typer.Option(min=0.0, max=150.0, help="Seconds to wait for a browser.")] = 60.0,
) -> None:
    """Run one impact with the simulated arm: nodes, bag, report."""
    from impact_control.nodes.runs import new_run_directory, run, stoppable

    name = load_any(scenario).name
    if view:
        from impact_control.nodes.looking import page, play_bag

        typer.echo(f"View:   {page(port, host)} in a browser")
    directory = new_run_directory(output, name)
    line = ProgressLine(name)
    losses: list[str] = []
    with stoppable() as stop:
        try:
            runs = run(
                scenario, directory, shape=shape, lockstep=lockstep, real_time_factor=real_time_factor, seed=seed,
                view=View(port, host, wait) if view else None,
                stop_requested=stop, on_progress=line.progress, on_stage=line.stage, on_loss=losses.append,
            )  # fmt: skip
        finally:
            line.end()
    for arm, done in runs.items():
        _tell_run(arm, done)
    _tell_objects(directory / "bag")
    if not lockstep and (factor := real_time_factor or sustainable_real_time_factor(len(runs))) != 1.0:
        typer.echo(f"Clock:  ran at {factor:.3g} of real time (--real-time-factor)")
    typer.echo(f"Bag:    {directory / 'bag'}")
    for loss in losses:
        typer.echo(f"Lost:   {loss}")
    if view:
        play_bag(directory / "bag", port, host, typer.echo)
    if any(done.result.outcome in (Outcome.FAULT, Outcome.REFUSED) for done in runs.values()):
        raise typer.Exit(1)


def _tell_run(arm: str, run: "Run") -> None:
    """Print how the run of an arm went."""
    from impact_control.recording.table import summary_text
    from impact_control.words import in_words

    typer.echo(summary_text(run.summary, color=sys.stdout.isatty()))
    typer.echo(f"Task{f' of {arm}' if arm else ''}: {in_words(run.result.outcome)} ({run.result.summary})")
    typer.echo(f"Report: {run.report}")


def _tell_objects(bag: Path) -> None:
    """Print where the objects of a scene went."""
    from impact_control.evaluation import object_moves

    for name, (way, turn) in object_moves(bag).items():
        x, y, z = way
        typer.echo(f"Object {name}: moved by {x:.3f}, {y:.3f}, {z:.3f} m, turned by {math.degrees(turn):.1f} deg")


@app.command("report")
def report_again(
    bag: Annotated[Path, typer.Argument(help="Directory of a bag, or of a run that holds one.")],
    output: Annotated[Optional[Path], typer.Option("--output", "-o", help="Where the report goes.")] = None,
) -> None:
    """Write the report of a recorded run again."""
    from impact_control.evaluation import evaluate_arms, report
    from impact_control.recording.bag import recover
    from impact_control.recording.table import summary_text

    directory = bag / "bag" if (bag / "bag").is_dir() else bag
    if not directory.is_dir():
        raise ImpactControlError(f"{bag}: no such directory")
    recovered = recover(directory)
    if recovered:
        typer.echo(f"the recording was cut off; {recovered} messages were recovered")
    for arm, evaluation in evaluate_arms(directory).items():
        target = (output or directory.parent) / arm
        typer.echo(summary_text(report(evaluation, target), color=sys.stdout.isatty()))
        typer.echo(f"Report: {target / 'report.html'}")
    _tell_objects(directory)


@app.command()
def replay(
    file: Annotated[Path, typer.Argument(help="Bag (MCAP or sqlite3), trials in HDF5, or log in columns.")],
    scenario: Annotated[
        Optional[str], typer.Option("--scenario", "-s", help="With whose tuning; default: the recorded one.")
    ] = None,
    columns: Annotated[
        Optional[Path], typer.Option(help="YAML file that names the columns of a log; default: those of libfranka.")
    ] = None,
    trial: Annotated[int, typer.Option(min=0, help="Which trial of an HDF5 file.")] = 0,
    task_start: Annotated[
        Optional[float],
        typer.Option(help="Seconds since the first sample at which the task began, where no reference is recorded."),
    ] = None,
    output: Annotated[
        Optional[Path], typer.Option("--output", "-o", help="Also write a report with figures there.")
    ] = None,
    view: Annotated[bool, typer.Option("--view", help="Play it in the browser.")] = False,
    port: PortOption = 8080,
    host: HostOption = "127.0.0.1",
) -> None:
    """Detect, classify and predict again over a recording, and compare with what was recorded."""
    from impact_control.recording.log_columns import load_log_columns
    from impact_control.recording.table import summary_text
    from impact_control.replay import replay_file, summarise_replay, write_replay_report

    chosen = None if columns is None else load_log_columns(columns)
    if view:
        from impact_control.nodes.looking import page, play_replay

        page(port, host)
    runs = replay_file(file, scenario=scenario, columns=chosen, trial=trial, task_start=task_start)
    for arm, run in runs.items():
        typer.echo(summary_text(summarise_replay(run), color=sys.stdout.isatty()), nl=False)
        if output is not None:
            write_replay_report(run, output / arm)
            typer.echo(f"Report: {output / arm / 'replay.html'}")
    if view:
        play_replay(runs, port, host, typer.echo)


@app.command()
def view(
    scenario: ScenarioArgument = "tabletop",
    namespace: Annotated[str, typer.Option(help="Of the nodes.")] = "",
    real: Annotated[bool, typer.Option("--real", help="With an arm: nobody knows the true force.")] = False,
    port: PortOption = 8080,
    host: HostOption = "127.0.0.1",
) -> None:
    """Show nodes that run in this ROS domain in the browser."""
    from impact_control.nodes.looking import look_on, page

    typer.echo(f"View:   {page(port, host)} in a browser; Ctrl-C ends.")
    look_on(scenario, View(port, host), namespace, simulated=not real)


@app.command()
def scenarios(
    schema: Annotated[bool, typer.Option(help="Describe every entry of a scenario file instead.")] = False,
) -> None:
    """List the scenarios that come with the package."""
    if schema:
        typer.echo(describe_schema())
        return
    for name in (*available_scenarios(), *available_scenes()):
        typer.echo(f"{name:20s} {load_any(name).description}")


@app.command()
def scenes(
    names: Annotated[
        Optional[list[str]], typer.Argument(help="Scenes to run in lockstep; without, they are listed.")
    ] = None,
    check: Annotated[bool, typer.Option(help="Only say what stands against each, before anything moves.")] = False,
) -> None:
    """Run scenes with several arms and objects: predicted and found velocity, way of the object, peaks, outcome."""
    from impact_control.feasibility import check_scene
    from impact_control.scene_figures import HEADER, scene_figures
    from impact_control.scene_run import run_scene
    from impact_control.team import plan_scene

    if not names:
        for name in available_scenes():
            typer.echo(f"{name:16s} {load_scene(name).description}")
        return
    chosen = [load_scene(name) for name in names]
    if not check:
        typer.echo(HEADER)
    obstacles = 0
    for scene in chosen:
        findings = check_scene(scene)
        obstacles += len(findings)
        for finding in findings:
            typer.echo(f"{scene.name:16s} {finding}")
        if check and not findings:
            typer.echo(f"{scene.name:16s} nothing stands against it")
        if not check and not findings:
            plan = plan_scene(scene)
            typer.echo(scene_figures(plan, run_scene(plan)).line)
    if obstacles:
        raise typer.Exit(1)


@app.command()
def study(
    name: Annotated[
        Optional[str], typer.Argument(help="Name of a study, or all; without one, they are listed.")
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
) -> None:
    """Compute a result of the source documents again: tables, pictures, the published values beside ours.

    With all, exit code 0 says that every verdict holds, 1 that a study failed, 3 that a verdict does not hold. A study
    that needs a package of `make extras` where it is not installed is not run, and does not count.
    """
    from impact_control.studies import ALL, find_studies, open_place
    from impact_control.studies.computing import cores
    from impact_control.studies.terminal import studies_text

    if listed or name is None:
        typer.echo(studies_text(find_studies(ALL), color=sys.stdout.isatty()), nl=False)
        return
    chosen = find_studies(name)
    line = ProgressLine(name)
    try:
        with open_place(workers or (1 if quick else cores()), scheduler) as place:
            run = _every_study if name == ALL else _one_study
            run(chosen, output, line, seed=seed, quick=quick, place=place)
    finally:
        line.end()


def _one_study(chosen: "list[Study]", output: Path, line: ProgressLine, **options: Any) -> None:
    """Run a study and print what came out."""
    from impact_control.studies import run_study
    from impact_control.studies.terminal import study_text

    run = run_study(chosen[0], output, progress=line.part, **options)
    line.end()
    typer.echo(study_text(run.study, run.result, color=sys.stdout.isatty()), nl=False)
    typer.echo(f"Time:   {run.seconds / 60.0:.1f} min, {run.trial_seconds / 60.0:.1f} min of processor time in trials")
    typer.echo(f"Report: {run.report}")


def _every_study(chosen: "list[Study]", output: Path, line: ProgressLine, **options: Any) -> None:
    """Run all studies and print a line for each."""
    from impact_control.studies import ALL, Mark
    from impact_control.studies.every import Ended, Failure, mark, run_all
    from impact_control.studies.terminal import ended_text

    def tell(ended: Ended) -> None:
        line.end()
        typer.echo(ended_text(ended, color=sys.stdout.isatty()))

    ended = run_all(chosen, output, progress=line.part, tell=tell, **options)
    typer.echo(f"Report: {output / ALL / 'report.html'}")
    if any(mark(one) is Mark.BAD for one in ended):
        raise typer.Exit(1 if any(isinstance(one, Failure) for one in ended) else 3)


@app.command()
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
    from impact_control.benchmark.check import accept_ratios, run_short

    if accept:
        accept_ratios(typer.echo)
    elif short:
        if not all(check.passed for check in run_short(typer.echo)):
            raise typer.Exit(1)
    else:
        from impact_control.nodes.bench import run_bench

        length = seconds if minutes is None else 60.0 * minutes
        run_bench(length, minutes is not None, growth, measures, output, typer.echo)


@app.command()
def endure(
    minutes: Annotated[float, typer.Option(min=0.1, help="For how long tasks are run back to back.")] = 60.0,
    faults: Annotated[
        bool, typer.Option("--faults", help="Every other task with a fault at random, after which all has to be well.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Of the sensor noise and of the faults.")] = 0,
    output: OutputOption = Path("runs"),
) -> None:
    """Run tasks by the wall clock for a long time, with faults if wanted, and say what was not as it should be.

    Exit code 0 says that it went to its end, every task and every bag was as it should be and no process grew (looked
    at from ten tasks on); 1 that not.
    """
    from impact_control.endurance.summary import report_text
    from impact_control.nodes.endurance import endure as run
    from impact_control.nodes.runs import stoppable

    with stoppable() as stop:
        report, directory = run(minutes, seed, output, faults=faults, tell=typer.echo, stop_requested=stop)
    typer.echo(f"\n{report_text(report)}\n\nReport: {directory}")
    if not report.passed:
        raise typer.Exit(1)


@app.command()
def verdicts(namespace: NamespaceOption = "") -> None:
    """Print what the classifier of a running graph says, until Ctrl-C; what it said before comes first."""
    from impact_control.nodes.client import ImpactClient
    from impact_control.nodes.runs import stoppable

    with ImpactClient(namespace) as client, stoppable() as stop:
        for verdict in client.verdicts(stop):
            typer.echo(verdict)


@app.command()
def stop(namespace: NamespaceOption = "") -> None:
    """Stop the robot of a running graph: the supervisor keeps commands from it until `reset`."""
    from impact_control.nodes.client import ImpactClient

    with ImpactClient(namespace) as client:
        typer.echo(client.stop())


@app.command()
def reset(namespace: NamespaceOption = "") -> None:
    """Let commands through again after a stop, if nothing is wrong any more; the controller then holds the arm."""
    from impact_control.nodes.client import ImpactClient

    with ImpactClient(namespace) as client:
        typer.echo(client.reset())


@app.command()
def doctor(
    robot_ip: Annotated[Optional[str], typer.Option(help="Address of the robot, to see whether it answers.")] = None,
) -> None:
    """Look at machine, real-time permissions, network, packages, robot side, and say what to change."""
    from impact_control.doctor import Level, examine, worst

    colors = {Level.OK: typer.colors.GREEN, Level.WARN: typer.colors.YELLOW, Level.FAIL: typer.colors.RED}
    findings = []
    for finding in examine(robot_ip):
        findings.append(finding)
        line = str(finding)
        name = len(finding.level.name)
        typer.echo(typer.style(line[:name], fg=colors[finding.level]) + line[name:])
    if worst(findings) is Level.FAIL:
        raise typer.Exit(1)


@app.command()
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

    from impact_control.nodes.security import graph_policy, make_keystore

    text = graph_policy(scenario, namespace=namespace, **parts_of(load_any(scenario)))
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


def main() -> None:
    """Entry point: our own errors become one line. Exit code 130, as after Ctrl-C, when the user ended it."""
    try:
        app()
    except ImpactControlError as error:
        sys.stderr.write(f"impact-control: {words_of(error)}\n")
        sys.exit(130 if isinstance(error, InterruptedByUserError) else 1)


if __name__ == "__main__":
    main()
