"""The command line: help without imports, version, completion, names that were meant, errors of one line."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from impact_control import __version__
from impact_control.cli import __main__ as entry
from impact_control.cli import terminal
from impact_control.cli.main import app
from impact_control.recording.bag import BagWriter
from impact_control.scenario import available_scenarios, available_scenes
from impact_control.util.errors import ImpactControlError
from impact_studies.frame.runner import available_studies

HEAVY = {"numpy", "numba", "pinocchio", "matplotlib", "rich", "rclpy", "impact_msgs", "h5py", "ruamel"}


@pytest.fixture
def run(monkeypatch, capsys):
    """Run the command as the process would; return exit code, output, and error."""

    def run(*arguments):
        monkeypatch.setattr("sys.argv", ["impact-control", *map(str, arguments)])
        with pytest.raises(SystemExit) as caught:
            entry.main()
        out, error = capsys.readouterr()
        return caught.value.code or 0, out, error

    return run


def complete(*words):
    """Return what bash offers for the last of the words."""
    line = " ".join(["impact-control", *words])
    asked = {"_IMPACT_CONTROL_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words))}
    return CliRunner().invoke(app, prog_name="impact-control", env=asked).output.split()


def test_help_and_completion_of_commands_import_nothing_that_takes_long():
    code = (
        "import sys\nfrom typer.testing import CliRunner\nfrom impact_control.cli.main import app\n"
        "assert CliRunner().invoke(app, ['--help']).exit_code == 0\n"
        f"sys.exit(', '.join({HEAVY} & sys.modules.keys()))\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ran.stderr == "\n" and ran.returncode == 1  # exit with an empty text: nothing of it is imported


def test_the_version_is_that_of_the_package(run):
    assert run("--version") == (0, f"impact-control {__version__}\n", "")


def test_commands_scenarios_and_studies_are_completed():
    assert complete("pl") == ["plan"]
    names = [name for name in (*available_scenarios(), *available_scenes()) if name.startswith("push_j")]
    assert complete("plan", "push_j") == complete("demo", "--scenario", "push_j") == names
    assert complete("scenarios", "push_j") == complete("replay", "x.mcap", "-s", "push_j") == names
    assert complete("study", "a") == ["all", *(name for name in available_studies() if name.startswith("a"))]


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["pln", "x"], "id you mean 'plan'"),
        (["plan", "tabeltop"], "nearest: tabletop"),
        (["study", "net_feedbak"], "nearest: van_steen_net_feedback"),
    ],
)
def test_a_name_that_is_almost_right_is_answered_with_the_one_that_was_meant(run, arguments, name):
    code, _, error = run(*arguments)
    assert code == 2 and name in error


def test_colors_need_a_terminal_and_no_no_color(monkeypatch):
    assert not terminal.in_color()
    monkeypatch.setattr("sys.stdout", SimpleNamespace(isatty=lambda: True))
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert terminal.in_color()
    monkeypatch.setenv("NO_COLOR", "1")
    assert not terminal.in_color()


def test_names_to_choose_from_stand_in_columns_on_a_terminal(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "60")
    names = (*available_scenarios(), *available_scenes())
    error = ImpactControlError(f"'nowhere'; allowed: one of {', '.join(names)}; nearest: tabletop")
    terminal.complain(error)
    assert capsys.readouterr().err.count("\n") == 1
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    terminal.complain(error)
    head, *lines, nearest = capsys.readouterr().err.splitlines()
    assert nearest == "nearest: tabletop"
    assert head.endswith("one of") and " ".join(lines).split() == list(names)
    assert max(map(len, lines)) <= 60 and len(lines) <= len(names) / 2
    assert all(line.startswith("  ") for line in lines)


def test_lists_are_wrapped_to_the_terminal_and_whole_in_a_pipe(monkeypatch, run):
    monkeypatch.setenv("COLUMNS", "60")
    lines = run("scenarios")[1].splitlines()
    assert max(map(len, lines)) <= 60 and len(lines) > len(available_scenarios() + available_scenes())
    monkeypatch.delenv("COLUMNS")
    lines = run("scenarios")[1].splitlines()
    names = (*available_scenarios(), *available_scenes())
    assert [line.split()[0] for line in lines] == list(names)
    assert len({len(line) - len(line.split(maxsplit=1)[1]) for line in lines}) == 1


def test_ctrl_c_while_modules_are_imported_ends_in_one_line(run, monkeypatch):
    class Interrupted:
        def __getattr__(self, name):
            raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "impact_control.cli.main", Interrupted())
    assert run("--help") == (130, "", "impact-control: interrupted\n")


@pytest.fixture
def bag(tmp_path):
    """A bag without a message."""
    BagWriter(tmp_path / "bag").close()
    return tmp_path / "bag"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["report", "bag/bag_0.mcap"], "perhaps of the bag bag; allowed: the directory"),
        (["report", "none"], "no such directory"),
        (["report", "bag", "-o", "bag/metadata.yaml"], "bag"),
        (["replay", "empty.mcap"], "empty.mcap"),
        (["replay", "empty.csv", "-s", "tabletop"], "empty.csv"),
        (["replay", "empty.h5"], "empty.h5"),
        (["replay", "bag", "--trial", "5"], "no trial 5; allowed: 0"),
        (["replay", "bag", "--task-start", "nan"], "task_start = nan"),
        (["tune", "bag", "--task-start", "inf"], "task_start = inf"),
    ],
    ids=" ".join,
)
def test_what_cannot_be_done_is_said_in_one_line(run, bag, monkeypatch, arguments, words):
    monkeypatch.chdir(bag.parent)
    for suffix in ("mcap", "csv", "h5"):
        (bag.parent / f"empty.{suffix}").touch()
    code, out, error = run(*arguments)
    assert (code, out) == (2, "")
    assert error.startswith("impact-control: ") and error.count("\n") == 1 and words in error
