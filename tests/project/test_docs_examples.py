"""Execution of every code block of the documentation, page by page from top to bottom, by its language.

python: run, in one namespace for the page, in a directory of its own in the place of the clone. A block whose first
line is a comment with the name of a file is that file, for the blocks below it. output: what the block above printed.
yaml: loaded as what it is, a scenario or a part of one, a robot, an end-effector, the columns of a log. sh: see
`documented_commands`. math: set where the site is built, `test_docs_site.py`. text: nothing here; the output of
the demo in the README is held to what is printed in `test_recording_report.py`, the layout of the clone in
`test_docs.py`; drawings, files of the system and the layout of trial data are held to nothing.
"""

from __future__ import annotations

import importlib
import sys

import numpy as np
import pytest
from ruamel.yaml import YAML

from calibration_recordings import motion, trial_cases, write_guided, write_log, write_touch, write_trial_set
from documentation import DOCS, PAGES, ROOT, blocks, prose
from documented_commands import check_command, command_lines
from impact_control.planning import plan_scenario
from impact_control.recording.log import load_log_columns
from impact_control.recording.trials import Quantity, Source, Trial, TrialSet, write_trials
from impact_control.robots import load_robot
from impact_control.scenario import load_scenario
from impact_studies.frame.provenance import provenance
from impact_studies.frame.results import write_results
from impact_studies.frame.runner import find_study
from impact_studies.frame.study import Column, Comparison, StudyResult, Table

EXECUTED_ELSEWHERE = {DOCS / "clients.md": ROOT / "tests" / "impact_control_ros" / "nodes" / "test_client.py"}
"""Pages whose Python needs a running graph, and the test that runs it on one."""


class Reader:
    """Executes a page from top to bottom; later blocks see the names and files of earlier ones."""

    def __init__(self, page, directory, captured):
        self._page, self._directory, self._captured = page, directory, captured
        self._names = {"__name__": page.stem}
        self._printed = None

    def follow(self, block):
        """Execute one block."""
        if block.file:
            file = self._directory / block.file
            file.parent.mkdir(exist_ok=True)
            file.write_text(block.text)
            importlib.invalidate_caches()
        if block.language not in READERS:
            raise AssertionError(f"{block.place}: nothing executes {block.language or 'a block without a language'}")
        READERS[block.language](self, block)

    def python(self, block):
        if self._page in EXECUTED_ELSEWHERE:
            assert f'"{self._page.name}"' in EXECUTED_ELSEWHERE[self._page].read_text()
            return
        code = compile("\n" * block.line + block.text, block.page, "exec")
        if not block.file:
            exec(code, self._names)
            self._printed = self._captured.readouterr().out

    def output(self, block):
        assert self._printed == block.text

    def yaml(self, block):
        content = YAML(typ="safe").load(block.text)
        file = self._directory / (block.file or "example.yaml")
        file.write_text(block.text)
        if "extends" in content:
            load_scenario(file)
        elif "urdf" in content:
            load_robot(file)
        elif "contact_frame_offset" in content:
            load_robot("panda", file)
        elif "delimiter" in content:
            load_log_columns(file)
        else:
            load_scenario("tabletop").with_overrides(content)

    def toml(self, block):
        assert block.file, "a file, which a command below it reads"

    def sh(self, block):
        for words in command_lines(block.text):
            check_command(words, self._directory)

    def nothing(self, block):
        """Check nothing, see above."""


READERS = {
    "python": Reader.python,
    "output": Reader.output,
    "yaml": Reader.yaml,
    "toml": Reader.toml,
    "sh": Reader.sh,
    "math": Reader.nothing,
    "text": Reader.nothing,
}


def copy_scenarios(directory):
    """Provide the directory beside which the page puts a file."""
    for file in (ROOT / "config" / "scenarios").glob("*.yaml"):
        (directory / file.name).write_text(file.read_text())


def write_example_trials(directory):
    """Provide a file of trials, which the page reads."""
    feedback = {"acceleration": Quantity(np.ones((5, 3)), "m/s^2", "world frame A")}
    trial = Trial({"feedback": Source(np.arange(5) * 1e-3, feedback)}, {"impact_time": Quantity(np.float64(0.1), "s")})
    write_trials(directory / "trials.h5", TrialSet("name: push_parcel_1\n", 0, "0.1.0", (trial,)))


def write_example_results(directory):
    """Provide the results of a study, which would take half a minute."""
    study = find_study("rey_arias_tables")
    table = Table("joint_means", "", (Column("joint"), Column("error", "deg/s")), ((6, 2.95),))
    compared = (Comparison("Table III", "error of joint 6", 2.5, 2.95, "deg/s"),)
    result = StudyResult((table,), (), (), "It holds.", holds=True, comparisons=compared)
    file = directory / "runs" / study.name / "results.h5"
    file.parent.mkdir(parents=True)
    times = dict.fromkeys(("seconds", "trial_seconds", "found_seconds"), 1.0)
    write_results(file, study, result, provenance(0, quick=True), **times)


def write_example_calibration(directory):
    """Provide recordings of an arm, which the page reads."""
    write_log(directory / "free_motion.csv", *motion(11, 30.0))
    touching = next(iter(plan_scenario(load_scenario("tabletop")).arms.values())).reference.impact_configuration
    write_guided(directory / "guided.csv", [touching - 0.2, touching])
    write_trial_set(directory / "trials.h5", trial_cases(1, 10))
    for number, place in enumerate(((0.46, -0.06), (0.56, -0.04), (0.50, 0.08)), start=1):
        write_touch(directory / f"touch_{number}.csv", place, {"actual_environment.surface.point": "0.5, 0, 0.212 m"})


PREPARED = {
    "docs/calibration.md": write_example_calibration,
    "docs/scenarios.md": copy_scenarios,
    "docs/recordings.md": write_example_trials,
    "docs/lab/studies.md": write_example_results,
}

LONG = "docs/calibration.md"
"""Its commands are run by `tests/impact_control/calibration`, too."""

READ = [
    pytest.param(page, id=name, marks=pytest.mark.long if name == LONG else ())
    for page in PAGES
    if blocks(page) and (name := page.relative_to(ROOT).as_posix())
]


@pytest.mark.parametrize("page", READ)
def test_the_blocks_of_a_page_do_what_it_says(page, tmp_path, monkeypatch, capsys):
    (tmp_path / "config").symlink_to(ROOT / "config")
    PREPARED.get(page.relative_to(ROOT).as_posix(), lambda directory: None)(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "installed").mkdir()
    monkeypatch.syspath_prepend(tmp_path / "installed")
    loaded = set(sys.modules)
    reader = Reader(page, tmp_path, capsys)
    try:
        for block in blocks(page):
            reader.follow(block)
    finally:
        for name in set(sys.modules) - loaded:
            file = getattr(sys.modules[name], "__file__", None) or ""
            if file.startswith(str(tmp_path)):
                del sys.modules[name]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_no_block_hides_from_the_test(page):
    """Refuse fences of another kind or inside lists, and indented blocks, which the parser does not find."""
    lines = prose(page).splitlines()
    assert not [line for line in lines if line.lstrip().startswith(("```", "~~~"))]
    for before, line in zip(["", *lines], lines, strict=False):
        assert before or not line.startswith("    "), line
