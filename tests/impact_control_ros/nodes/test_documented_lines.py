"""The lines in the `sh` blocks of the documentation, run as they stand, page by page, in a directory of their own.

Left out is what cannot be here, or runs elsewhere, see `ELSEWHERE`; `tests/support/documented_commands.py` reads those.
"""

from __future__ import annotations

import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from documentation import PAGES, blocks
from impact_control.scenario import config_directory
from machine import ATTEMPTS, stood_still

ROOT = Path(__file__).resolve().parents[3]

pytestmark = [pytest.mark.wall_clock, pytest.mark.timeout(600)]

ELSEWHERE = {
    r"make test\b": "this is run by it",
    r"make demo VIEW=1": "tests/browser/test_live_view.py",
    r"(\.venv/bin/)?python -m pip": "tests/project/test_docs_examples.py",
    r"(\.venv/bin/)?impact-control study all .*--scheduler": "tests/impact_studies/cluster/test_study_command.py",
    r"(\.venv/bin/)?impact-control study all": "tests/impact_studies/cluster/test_study_command.py",  # 11 minutes
    r"\S*impact-control (calibrate|tune)": "tests/project/test_docs_examples.py",  # on recordings it makes
    r"impact-control security": "tests/impact_control_ros/nodes/test_security.py",  # a Fast DDS with security
    r"ros2 launch": "tests/impact_control_ros/nodes/test_real_launch.py",  # an installation of ROS 2
    r"ros2 (topic|action)": "tests/impact_control_ros/nodes/test_client.py",  # the same, by rclpy
    r"(rosdep|colcon|source|PIP_BREAK_SYSTEM_PACKAGES=1 pip)\b": "tests/project/test_docs_examples.py",  # the same
    r"(mkdir|chmod)\b": "tests/project/test_docs_examples.py",  # say nothing
    r"(ROBOT_IP=\S+ )?docker": "tests/project/test_docker.py",  # Docker
}
"""Beginnings of lines that are not run here, and what runs or reads them."""

SECOND_TERMINAL = re.compile(r"\S*impact-control verdicts")
"""Commands that listen while something else runs, and end by Ctrl-C."""

ADVICE = re.compile(r"\S*impact-control doctor")
"""Commands that may find something missing, with exit code 1."""


def lines(page):
    """The commands of a page that are run here, without comments, and those that listen."""
    text = "\n".join(block.text for block in blocks(page) if block.language == "sh").replace("\\\n", " ")
    said = [line for line in (re.sub(r"(^|\s+)#.*", "", line) for line in text.splitlines()) if line]
    own = [line for line in said if not any(re.match(other, line) for other in ELSEWHERE)]
    own = [line for line in own if not line.startswith("export ")]
    return [line for line in own if not SECOND_TERMINAL.match(line)], [one for one in own if SECOND_TERMINAL.match(one)]


def as_called(line):
    """Return the command for a line, in another directory than the clone: for `make` that of the Makefile."""
    if not line.startswith("make "):
        return line
    asked = subprocess.run(["make", "-n", *shlex.split(line)[1:]], cwd=ROOT, capture_output=True, text=True, check=True)
    recipe = [one for one in asked.stdout.splitlines() if "impact-control" in one]
    assert len(recipe) == 1, asked.stdout
    return recipe[0]


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """A directory with what the lines of a page take for there: environment, configuration, the page's own files."""
    (tmp_path / ".venv").symlink_to(sys.prefix)
    (tmp_path / "config").symlink_to(ROOT / "config")
    monkeypatch.setenv("PATH", f"{sys.prefix}/bin", prepend=":")
    (tmp_path / "my").mkdir()
    tabletop = config_directory() / "scenarios" / "tabletop.yaml"
    (tmp_path / "my" / "file.yaml").write_text(f"extends: {tabletop}\nname: file\n")
    return tmp_path


def run(line, directory):
    """Run a line; once more where the machine stood still in the task that it runs."""
    for _ in range(ATTEMPTS):
        done = subprocess.run(["bash", "-c", as_called(line)], cwd=directory, capture_output=True, text=True)
        if not stood_still(done.stdout):
            break
    return done


RUN = {page: found for page in PAGES if any(found := lines(page))}

ALWAYS = ("README",)
"""Pages whose lines are run by `make test`; those of the others, which are alike, by `make verify`."""


def test_every_line_is_run_here_or_where_it_is_said():
    assert sum(len(called) + len(listening) for called, listening in RUN.values()) > 8
    for place in ELSEWHERE.values():
        assert place == "this is run by it" or (ROOT / place).is_file()


@pytest.mark.parametrize(
    "page", [pytest.param(page, id=page.stem, marks=[] if page.stem in ALWAYS else pytest.mark.long) for page in RUN]
)
def test_the_lines_of_a_page_do_what_it_says(page, clone):
    for block in blocks(page):
        if block.file:
            (clone / block.file).parent.mkdir(exist_ok=True)
            (clone / block.file).write_text(block.text)
    called, listening = RUN[page]
    # Somebody has to say what a page only listens to.
    demo = "make demo"
    listeners = [
        subprocess.Popen(["bash", "-c", f"exec {line}"], cwd=clone, stdout=subprocess.PIPE, text=True)
        for line in listening
    ]
    try:
        for line in called or [demo]:
            done = run(line, clone)
            allowed = (0, 1) if ADVICE.match(line) else (0,)
            assert done.returncode in allowed, f"{line}\n{done.stdout}{done.stderr}"
            assert done.stdout.strip() and not done.stderr.startswith("Traceback"), line
    finally:
        for listener in listeners:
            listener.send_signal(signal.SIGINT)
        heard = [listener.communicate(timeout=30.0)[0] for listener in listeners]
    for line, text in zip(listening, heard, strict=True):
        assert "impact" in text.lower(), f"{line}: heard {text!r}"
    reports = list(clone.glob("runs/*/report.html"))
    assert bool(reports) == any("demo" in line or "study" in line for line in called or [demo])
