"""The bare Debian of `make fresh-machine`: it says why it is not made, and leaves nothing behind however it ends."""

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "fresh_machine.sh"
COMMANDS = (
    "awk",
    "cksum",
    "cut",
    "date",
    "env",
    "find",
    "flock",
    "git",
    "grep",
    "id",
    "install",
    "mkdir",
    "mktemp",
    "mount",
    "mv",
    "rm",
    "setpriv",
    "sh",
    "sleep",
    "tail",
    "tar",
    "tee",
    "true",
    "unshare",
    "xargs",
)

MAY_MOUNT = os.geteuid() == 0 and subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"]).returncode == 0
needs_root = pytest.mark.skipif(not MAY_MOUNT, reason="only root may make a machine, and where mounts are allowed")


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """Return the commands of a machine on which the script finds all it needs, but for `debootstrap`."""
    path = tmp_path / "bin"
    path.mkdir()
    for name in COMMANDS:
        found = shutil.which(name)
        assert found, name
        (path / name).symlink_to(found)
    (tmp_path / "temporary").mkdir()
    return path


def command(machine: Path, name: str, lines: str) -> None:
    """Put a command of these lines there."""
    (machine / name).unlink(missing_ok=True)
    (machine / name).write_text(f"#!/bin/sh\n{lines}\n")
    (machine / name).chmod(0o755)


def start(machine: Path) -> "subprocess.Popen[str]":
    """Start the script as `make fresh-machine` does."""
    home, temporary = machine.parent, machine.parent / "temporary"
    environment = {"PATH": str(machine), "HOME": str(home), "TMPDIR": str(temporary)}
    output = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.Popen([str(SCRIPT), "trixie", "demo"], cwd=ROOT, env=environment, **output)


def command_lines() -> list[bytes]:
    """Return the command lines of all processes."""
    lines = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            lines.append(file.read_bytes())
    return lines


def run(machine: Path) -> tuple[int, str]:
    """Return exit code and output of the script."""
    with start(machine) as script:
        output, _ = script.communicate(timeout=60)
    return script.returncode, output


def test_without_debootstrap_it_says_so(machine: Path) -> None:
    reason = "fresh machine: skipped, debootstrap is not installed (Debian: apt-get install debootstrap)\n"
    assert run(machine) == (0, reason)


def test_without_root_it_says_so(machine: Path) -> None:
    command(machine, "debootstrap", "exit 1")
    command(machine, "id", "echo 1000")
    assert run(machine) == (0, "fresh machine: skipped, only root may make one\n")


def test_where_mounts_are_not_allowed_it_says_so(machine: Path) -> None:
    command(machine, "debootstrap", "exit 1")
    command(machine, "id", "echo 0")
    command(machine, "unshare", "exit 1")
    assert run(machine) == (0, "fresh machine: skipped, mounts are not allowed here\n")


def test_with_little_memory_it_says_so(machine: Path) -> None:
    command(machine, "debootstrap", "exit 1")
    for name, answer in {"id": "0", "unshare": "", "awk": "2"}.items():
        command(machine, name, f"echo {answer}")
    _, output = run(machine)
    assert output.endswith("fresh machine: skipped, it takes up to 6 GB of memory, of which 2 are free\n")


@needs_root
def test_a_debian_that_cannot_be_made_is_a_failure(machine: Path) -> None:
    command(machine, "debootstrap", "echo 'E: no such suite'; exit 1")
    code, output = run(machine)
    assert code != 0
    assert output.startswith("E: no such suite\nfresh machine: debootstrap cannot make a Debian trixie from http")
    assert list((machine.parent / "temporary").iterdir()) == []


@needs_root
@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_however_it_is_ended(machine: Path, end: signal.Signals) -> None:
    """No process, no mount, and no file but an empty directory, which a script that is killed cannot remove."""
    begun = machine.parent / "begun"
    command(machine, "debootstrap", f"echo content >$4/file; echo >{begun}; {machine}/sleep 987")

    def processes() -> list[bytes]:
        return [line for line in command_lines() if os.fsencode(machine.parent) in line]

    with start(machine) as script:
        while not begun.exists():
            assert script.poll() is None
            time.sleep(0.01)
        assert processes()
        script.send_signal(end)
        script.wait(timeout=30)
    assert script.returncode == (130 if end != signal.SIGKILL else -signal.SIGKILL)
    latest = time.monotonic() + 10.0
    while processes():
        assert time.monotonic() < latest, processes()
        time.sleep(0.05)
    assert str(machine.parent) not in Path("/proc/mounts").read_text()
    left = [path for path in (machine.parent / "temporary").rglob("*") if not path.is_dir()]
    assert left == []
    if end != signal.SIGKILL:
        assert list((machine.parent / "temporary").iterdir()) == []


@needs_root
@pytest.mark.parametrize(
    ("said", "failures", "runs", "succeeds"),
    [
        ("as expected", 0, 1, True),
        ("fault: STATE_STALE: 35.0 ms between the stamps of two samples", 2, 3, True),
        ("fault: STATE_STALE: 35.0 ms between the stamps of two samples", 3, 3, False),
        ("no rule to make target", 1, 1, False),
    ],
)
def test_only_a_task_in_which_the_machine_stood_still_is_run_again(
    machine: Path, said: str, failures: int, runs: int, succeeds: bool
) -> None:
    """A stand-in for the commands inside the Debian counts the runs of make and fails in the first ones."""
    counted = machine.parent / "counted"
    command(machine, "debootstrap", "mkdir -p $4/dev/shm $4/proc $4/home/newcomer")
    failing = f"[ $(grep -c run {counted}) -gt {failures} ]"
    command(machine, "chroot", f'case $1 in --userspec*) echo run >>{counted}; echo "{said}"; {failing} ;; esac')
    code, output = run(machine)
    assert counted.read_text().split() == runs * ["run"]
    assert (code == 0) == succeeds, output
    assert output.count(said) == runs
    assert (output.count("fresh machine: make demo took") == 1) == succeeds


def test_make_test_runs_the_demo_and_tests_that_are_there() -> None:
    asked = subprocess.run(["make", "-n", "test"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    (line,) = (line for line in asked.splitlines() if SCRIPT.name in line)
    program, suite, demo, tests = shlex.split(line)
    assert (program, suite, demo) == ("scripts/fresh_machine.sh", "trixie", "demo")
    target, files = shlex.split(tests)
    assert target == "unit"
    name, _, chosen = files.partition("=")
    assert name == "FILES"
    assert len(chosen.split()) > 5
    assert all((ROOT / file).exists() for file in chosen.split())
