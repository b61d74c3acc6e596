"""Commands of the library: recordings, scenarios, calibration.

Annotations are not postponed here: Typer 0.9, which Ubuntu 24.04 has, does not evaluate them.
"""

import math
import shlex
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from impact_control.cli.progress_line import ProgressLine
from impact_control.cli.terminal import in_color, listing, width
from impact_control.util.errors import ImpactControlError, InvalidInputError, RecordingError
from impact_control.util.settings import HOST, PORT, SCENARIO, Setting


def scenario_names(incomplete: str) -> list[str]:
    """Return the names of scenarios and scenes that begin so, for the shell to complete."""
    from impact_control.scenario import available_scenarios, available_scenes

    return [name for name in (*available_scenarios(), *available_scenes()) if name.startswith(incomplete)]


def option(setting: Setting, *names: str, **more: Any) -> Any:
    """Return the option of a setting. names: in place of its own."""
    low, high = (bound if math.isfinite(bound) else None for bound in setting.bounds)
    words = setting.words("default")
    return typer.Option(*names, min=low, max=high, help=f"{words[0].upper()}{words[1:]}.", **more)


ScenarioArgument = Annotated[str, option(SCENARIO, "--scenario", "-s", autocompletion=scenario_names)]
NamespaceOption = Annotated[str, typer.Option(help="Namespace of the arm, or of one arm of a scene.")]
PortOption = Annotated[int, option(PORT)]
HostOption = Annotated[str, option(HOST)]
FilesArgument = Annotated[list[Path], typer.Argument(help="Bags (MCAP, sqlite3), trials in HDF5, logs in columns.")]
TuningOption = Annotated[
    Optional[str],
    typer.Option(
        "--scenario",
        "-s",
        help="Scenario with the tuning; default: the recorded one.",
        autocompletion=scenario_names,
    ),
]
ColumnsOption = Annotated[
    Optional[Path], typer.Option(help="YAML file that names the columns of a log; default: those of libfranka.")
]
TaskStartOption = Annotated[
    Optional[float],
    typer.Option(help="Seconds since the first sample at which the task began, where no reference is recorded."),
]
ResultOption = Annotated[Path, typer.Option("--output", "-o", help="File to write, for scenarios to include.")]
ForceOption = Annotated[bool, typer.Option("--force", help="Write it in spite of objections.")]
AlarmOption = Annotated[float, typer.Option(help="Alarms an hour, of all detectors together.")]
OutputOption = Annotated[Path, typer.Option("--output", "-o", help="Directory of the runs.")]

if TYPE_CHECKING:
    from impact_control.calibration import Result
    from impact_control.recording.log import LogColumns
    from impact_control.recording.summary import RunSummary


def add(app: typer.Typer) -> None:
    """Add the commands of this module to an application of Typer."""
    app.command("report")(report_again)
    app.command("explain")(explain_verdict)
    app.command("animate")(animate_impacts)
    app.command()(replay)
    app.command()(new)
    app.command()(plan)
    app.command()(scenarios)
    calibrate = typer.Typer(help="Calibrate a scenario from recordings.", no_args_is_help=True)
    calibrate.command("thresholds")(calibrate_thresholds)
    calibrate.command("detector")(calibrate_whitened_detector)
    calibrate.command("friction")(calibrate_joint_friction)
    calibrate.command("surface")(calibrate_expected_surface)
    calibrate.command("pose")(calibrate_taught_pose)
    app.add_typer(calibrate, name="calibrate")
    app.command()(tune)


def report_again(
    bag: Annotated[Path, typer.Argument(help="Directory of a bag, or of a run that holds one.")],
    output: Annotated[Optional[Path], typer.Option("--output", "-o", help="Directory of the report.")] = None,
) -> None:
    """Write the report of a recorded run again.

    Exit code 1 says that it did not go as the scenario is meant to.
    """
    from impact_control.replay.evaluation import evaluate_arms
    from impact_control.view.interactive import report

    directory = _whole_bag(bag)
    good = True
    for arm, evaluation in evaluate_arms(directory).items():
        target = (output or directory.parent) / arm
        summary = report(evaluation, target, arm)
        good = good and summary.good
        _show(summary)
        typer.echo(f"\nReport: {target / 'report.html'}")
    print_objects(directory)
    if not good:
        raise typer.Exit(1)


def explain_verdict(
    run: Annotated[Path, typer.Argument(help="Directory of a run, or of its bag.")],
) -> None:
    """Explain the verdict on the impact of a recorded run: the decisive quantity and its limit."""
    from impact_control.replay.evaluation import evaluate
    from impact_control.replay.explanation import explain

    bag = _whole_bag(run)
    for paragraph in explain(evaluate(bag)):
        typer.echo(textwrap.fill(paragraph, width(80)) + "\n")
    if not (bag.parent / "figures").is_dir():
        typer.echo(f"Figures: impact-control report {bag}")


def animate_impacts(
    runs: Annotated[list[Path], typer.Argument(help="Directories of 1 to 3 runs, or of their bags.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="GIF file to write.")] = Path("impact.gif"),
) -> None:
    """Animate the impacts of recorded runs, side by side and 20 times slower."""
    from impact_control.replay.evaluation import evaluate
    from impact_control.view.animation import animate

    evaluations = [evaluate(_whole_bag(run)) for run in runs]
    titles = [each.scenario.name.replace("_", " ") for each in evaluations]
    if len(set(titles)) < len(titles):
        titles = [f"{title}, run {number}" for number, title in enumerate(titles, start=1)]
    animate(dict(zip(titles, evaluations, strict=True)), output)
    typer.echo(f"Animation: {output}, {output.stat().st_size / 1e6:.1f} MB")


def _whole_bag(path: Path) -> Path:
    """Return the bag of a run, or a bag itself; what was cut off is recovered. Raises RecordingError."""
    from impact_control.recording.bag import recover

    directory = path / "bag" if (path / "bag").is_dir() else path
    if not directory.is_dir():
        found = f"a file, perhaps of the bag {path.parent}" if path.is_file() else "no such directory"
        raise RecordingError(str(path), found, "the directory of a bag, or of a run that holds one")
    recovered = recover(directory)
    if recovered:
        typer.echo(f"the recording was cut off; {recovered} messages were recovered, the old file ends in .damaged")
    return directory


def replay(
    file: Annotated[Path, typer.Argument(help="Bag (MCAP or sqlite3), trials in HDF5, or log in columns.")],
    scenario: TuningOption = None,
    columns: ColumnsOption = None,
    trial: Annotated[int, typer.Option(min=0, help="Number of the trial in an HDF5 file.")] = 0,
    task_start: TaskStartOption = None,
    output: Annotated[
        Optional[Path], typer.Option("--output", "-o", help="Also write a report with figures there.")
    ] = None,
    view: Annotated[bool, typer.Option("--view", help="Play it in the browser.")] = False,
    port: PortOption = PORT.default,
    host: HostOption = HOST.default,
    free_motion: Annotated[
        bool, typer.Option("--free-motion", help="A recording without contact: check it against the thresholds.")
    ] = False,
) -> None:
    """Repeat detection, classification and prediction over a recording, and compare with the recorded ones.

    With --free-motion, exit code 1: a threshold is reached.
    """
    from impact_control.replay import replay_file, summarise_replay, write_replay_report

    chosen = log_columns(columns)
    if free_motion:
        from impact_control.calibration import check_thresholds, open_motions

        found = check_thresholds(*open_motions([file], scenario, chosen))
        _show(found)
        if not found.good:
            raise typer.Exit(1)
        return
    if view:
        from impact_control.view.player import page, play_replay

        page(port, host)
    runs = replay_file(file, scenario=scenario, columns=chosen, trial=trial, task_start=task_start)
    for arm, run in runs.items():
        _show(summarise_replay(run))
        if output is not None:
            write_replay_report(run, output / arm)
            typer.echo(f"Report: {output / arm / 'replay.html'}")
    if view:
        play_replay(runs, port, host, typer.echo)


def new(
    file: Annotated[Path, typer.Argument(help="Scenario file to write; must not exist.")],
    answers: Annotated[
        Optional[list[str]],
        typer.Argument(
            metavar="NAME=VALUE", help="robot, x, y, z, tilt, towards, friction, speed, angle, heading, force, slide."
        ),
    ] = None,
    nearest: Annotated[bool, typer.Option(help="Take the nearest values that work where these do not.")] = False,
) -> None:
    """Write a commented scenario that the planner accepts: from NAME=VALUE, or by asking where none is given.

    Exit code 1: the task cannot be done; what would do is printed, and nothing is written.
    """
    from impact_control.planning import outlook_of
    from impact_control.planning.proposals import proposals_text
    from impact_control.planning.summary import outlook_text
    from impact_control.recording.page import WIDTH
    from impact_control.scenario.draft import QUESTIONS, ScenarioDraft, draft_from, draft_text

    if file.exists() or file.suffix != ".yaml":
        raise InvalidInputError("file", file, "a .yaml file that does not exist yet")
    given = dict(one.partition("=")[::2] for one in answers or ())
    if not given and sys.stdin.isatty():
        defaults = ScenarioDraft()
        given = {name: typer.prompt(text, default=str(getattr(defaults, name))) for name, text in QUESTIONS.items()}
    draft = draft_from(given)
    outlook, changes = outlook_of(draft.scenario({})), {}
    if not outlook.feasible and outlook.proposals and nearest:
        changes = dict(outlook.proposals[0].changes)
        outlook = outlook_of(draft.scenario(changes))
    if not outlook.feasible:
        for refusal in outlook.refusals:
            typer.echo(str(refusal), err=True)
        how = "\n(--nearest takes the first)" if outlook.proposals else ""
        typer.echo(f"{proposals_text(outlook.proposals)}{how}", err=True)
        raise typer.Exit(1)
    file.write_text(draft_text(draft.entries() | changes, file))
    typer.echo(outlook_text(outlook, width(WIDTH), in_color()), nl=False)
    typer.echo(f"Scenario: {file}" + "".join(f", with {key} = {value}" for key, value in changes.items()))


def plan(
    scenario: Annotated[
        str, typer.Argument(help="Name of a scenario or a scene, or path of a file.", autocompletion=scenario_names)
    ],
    changes: Annotated[
        Optional[list[str]],
        typer.Option("--set", metavar="KEY=VALUE", help="Another value, as it would stand in the file; repeatable."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON, in SI units.")] = False,
) -> None:
    """Plan a task and print its use of each limit and its predicted impact; nothing moves.

    Exit code 0: feasible; 1: infeasible, with the violated limits; 2: the file or a value is wrong.
    """
    import json

    from impact_control.detection import score_class
    from impact_control.planning import outlook_of
    from impact_control.planning.summary import outlook_text, outlook_values
    from impact_control.recording.page import WIDTH
    from impact_control.scenario import load_scenario, parse_overrides

    scene = load_scenario(scenario).with_overrides(parse_overrides(changes or ()))
    for arm in map(scene.arm, scene.arm_names):
        if arm.detection.own is not None:
            score_class(arm.detection.own.score)
    outlook = outlook_of(scene)
    if as_json:
        typer.echo(json.dumps(outlook_values(outlook), indent=2))
    else:
        typer.echo(outlook_text(outlook, width(WIDTH), in_color()), nl=False)
    if not outlook.feasible:
        raise typer.Exit(1)


def scenarios(
    names: Annotated[
        Optional[list[str]],
        typer.Argument(help="Those to run in lockstep; without, all are listed.", autocompletion=scenario_names),
    ] = None,
    check: Annotated[bool, typer.Option(help="Only check feasibility; nothing moves.")] = False,
    schema: Annotated[bool, typer.Option(help="Describe every entry of a scenario file instead.")] = False,
) -> None:
    """List the scenarios that come with the package, or run some: predicted and found velocity, peaks, outcome."""
    from impact_control.planning import plan_scenario
    from impact_control.planning.feasibility import check_scene
    from impact_control.scenario import (
        ObjectScene,
        Scenario,
        available_scenarios,
        available_scenes,
        describe_schema,
        load_scenario,
    )
    from impact_control.simulation.run_figures import HEADER, run_figures
    from impact_control.simulation.scenario_run import run_scenario

    if schema:
        others = describe_schema(ObjectScene, beside=Scenario)
        typer.echo(f"One arm:\n\n{describe_schema()}\nSeveral arms and objects, beside those:\n\n{others}")
        return
    if not names:
        names = [*available_scenarios(), *available_scenes()]
        typer.echo(listing((name, load_scenario(name).description) for name in names))
        return
    chosen = [load_scenario(name) for name in names]
    if not check:
        typer.echo(HEADER)
    obstacles = 0
    for scene in chosen:
        findings = check_scene(scene)
        obstacles += len(findings)
        for finding in findings:
            typer.echo(f"{scene.name:20s} {finding}")
        if check and not findings:
            typer.echo(f"{scene.name:20s} feasible")
        if not check and not findings:
            plan = plan_scenario(scene)
            typer.echo(run_figures(plan, run_scenario(scene, plan=plan)).line)
    if obstacles:
        raise typer.Exit(1)


def _show(summary: "RunSummary") -> None:
    """Print a summary, as wide as the terminal."""
    from impact_control.recording.page import WIDTH, summary_text

    typer.echo(summary_text(summary, width(WIDTH), in_color()), nl=False)


def log_columns(path: Optional[Path]) -> "Optional[LogColumns]":
    """Return the columns of a log that a file names, None without a file."""
    from impact_control.recording.log import load_log_columns

    return None if path is None else load_log_columns(path)


def print_objects(bag: Path) -> None:
    """Print the motion of the objects of a scene."""
    from impact_control.replay.evaluation import object_moves

    for name, (way, turn) in object_moves(bag).items():
        x, y, z = way
        typer.echo(f"Object {name}: moved by {x:.3f}, {y:.3f}, {z:.3f} m, turned by {math.degrees(turn):.1f} deg")


def calibrate_thresholds(
    context: typer.Context,
    files: FilesArgument,
    scenario: TuningOption = None,
    false_alarm_rate: AlarmOption = 1.0,
    columns: ColumnsOption = None,
    output: ResultOption = Path("thresholds.yaml"),
    force: ForceOption = False,
) -> None:
    """Thresholds of the scenario's detectors from recordings of free motion."""
    from impact_control.calibration import calibrate_detectors, open_motions

    chosen, motions = open_motions(files, scenario, log_columns(columns))
    _keep(context, calibrate_detectors(chosen, motions, false_alarm_rate), output, force)


def calibrate_whitened_detector(
    context: typer.Context,
    files: FilesArgument,
    scenario: TuningOption = None,
    false_alarm_rate: AlarmOption = 1.0,
    columns: ColumnsOption = None,
    output: ResultOption = Path("detector.yaml"),
    force: ForceOption = False,
) -> None:
    """Detector on all joints at once, in place of the others, from recordings of free motion of the arm."""
    from impact_control.calibration import calibrate_detector, open_motions

    chosen, motions = open_motions(files, scenario, log_columns(columns))
    _keep(context, calibrate_detector(chosen, motions, false_alarm_rate), output, force)


def calibrate_joint_friction(
    context: typer.Context,
    files: FilesArgument,
    scenario: TuningOption = None,
    columns: ColumnsOption = None,
    output: ResultOption = Path("friction.yaml"),
    force: ForceOption = False,
) -> None:
    """Friction of the joints from recordings of free motion."""
    from impact_control.calibration import calibrate_friction, open_motions

    chosen, motions = open_motions(files, scenario, log_columns(columns))
    _keep(context, calibrate_friction(chosen, motions), output, force)


def calibrate_expected_surface(
    context: typer.Context,
    files: FilesArgument,
    scenario: TuningOption = None,
    columns: ColumnsOption = None,
    output: ResultOption = Path("surface.yaml"),
    force: ForceOption = False,
) -> None:
    """Surface that a scenario expects, from recordings of at least three contacts with the real one."""
    from impact_control.calibration import calibrate_surface

    _keep(context, calibrate_surface(files, scenario, log_columns(columns)), output, force)


def calibrate_taught_pose(
    context: typer.Context,
    files: FilesArgument,
    home: Annotated[bool, typer.Option("--home", help="The home configuration instead of the impact.")] = False,
    scenario: TuningOption = None,
    columns: ColumnsOption = None,
    output: ResultOption = Path("pose.yaml"),
    force: ForceOption = False,
) -> None:
    """Impact or home configuration, from a recording at whose end the arm is held still by hand."""
    from impact_control.calibration import calibrate_pose

    _keep(context, calibrate_pose(files, scenario, log_columns(columns), as_home=home), output, force)


def tune(
    context: typer.Context,
    files: FilesArgument,
    scenario: TuningOption = None,
    labels: Annotated[
        Optional[Path], typer.Option(help="YAML file: expected or unexpected for each file, a list for its trials.")
    ] = None,
    columns: ColumnsOption = None,
    task_start: TaskStartOption = None,
    output: ResultOption = Path("tuning.yaml"),
    force: ForceOption = False,
) -> None:
    """Tune the scenario's classifier on recorded trials that are labelled as expected or unexpected."""
    from impact_control.calibration import tune_classifier

    line = ProgressLine("tune")
    try:
        result = tune_classifier(files, scenario, labels, log_columns(columns), task_start, line.part)
    finally:
        line.end()
    _keep(context, result, output, force)


def _keep(context: typer.Context, result: "Result", output: Path, force: bool) -> None:
    """Print the report of a calibration, and write its file without objections."""
    _show(result.summary)
    if result.objections and not force:
        raise ImpactControlError(f"{output} is not written without --force: {'; '.join(result.objections)}")
    typer.echo(f"Report: {result.write(output, _command_line(context))}")
    typer.echo(f"File:   {output}")


def _command_line(context: typer.Context) -> str:
    """Return the command that is being run, without what is at its default."""
    words = ["impact-control", *context.command_path.split()[1:]]
    for parameter in context.command.params:
        value = context.params.get(parameter.name or "")
        if value is None or value == parameter.default:
            continue
        if parameter.param_type_name == "option":
            words.append(parameter.opts[0])
        if value is not True:
            words += map(str, value if isinstance(value, (list, tuple)) else [value])
    return shlex.join(words)
