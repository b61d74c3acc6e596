"""Pages held to the code: tables, topics, tests, links, targets and commands exist as named."""

from __future__ import annotations

import ast
import importlib
import itertools
import re
from pathlib import Path

import pytest
import typer
from ruamel.yaml import YAML

from documentation import DOCS, FOR_USERS, LAB, PAGES, ROOT, blocks
from impact_control import __version__
from impact_control.cli.main import app
from impact_control.pipeline import Outcome
from impact_control.scenario import available_scenarios
from impact_control_ros.bridge import qos, topics
from impact_control_ros.bridge.messages import type_name
from impact_control_ros.bridge.settings import Shape
from impact_control_ros.session.graph import View, describe_graph

PACKAGE = ROOT / "src" / "impact_control" / "impact_control"
BRIDGE = ROOT / "src" / "impact_control_ros" / "impact_control_ros" / "bridge"
QUALITIES = {
    "stream": "STREAM",
    "command": "COMMAND",
    "event": "EVENT",
    "latched": "LATCHED",
    "diagnostics": "DIAGNOSTICS",
}

COMMANDS = set(typer.main.get_command(app).commands)
TARGETS = set(re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(), re.MULTILINE))


def constants(file):
    """Texts that a module of plain assignments defines, by name."""
    assignments = (node for node in ast.parse(file.read_text()).body if isinstance(node, ast.Assign))
    return {node.targets[0].id: ast.literal_eval(node.value) for node in assignments}


def rows(page, section):
    """The cells of the table of a section, without the header; code marks are taken off."""
    text = page.read_text().split(f"\n## {section}\n")[1].split("\n## ")[0]
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in lines[2:]]


def code(text):
    """Text in code marks or code blocks."""
    return "\n".join(re.findall(r"```.*?```|`[^`\n]+`", text, re.DOTALL))


def test_the_pages_for_users_stay_short():
    """Rules of tables and other marks are no words."""
    assert sum(len(re.findall(r"\S*\w\S*", page.read_text())) for page in FOR_USERS) <= 12_000


def test_the_scenarios_are_listed_with_their_outcome():
    listed = {name: outcome for name, _, outcome in rows(DOCS / "scenarios.md", "Shipped scenarios")}
    assert sorted(listed) == list(available_scenarios())
    assert set(listed.values()) <= set(Outcome.__members__)


def test_every_violation_has_a_test():
    tests = YAML(typ="safe").load((LAB / "safety_tests.yaml").read_text())
    violations = [violation for violation, reaction in rows(DOCS / "safety.md", "Violations") if reaction]
    assert [violation.replace("`", "") for violation in tests] == [row.replace("`", "") for row in violations]
    assert all(tests.values())


def test_the_picture_of_the_architecture_is_that_of_the_sources(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "scripts" / "documentation")
    architecture = importlib.import_module("architecture")
    assert architecture.PICTURE.read_text() == architecture.draw(), f"run {architecture.__file__}"


def test_the_version_is_the_same_everywhere():
    found = [re.search(r"<version>(.*)<", file.read_text())[1] for file in ROOT.glob("src/*/package.xml")]
    found += re.findall(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    found += re.findall(r"^## \[([\d.]+)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[:1]
    assert len(found) >= 5 and set(found) == {__version__}


def test_topics_services_and_actions_are_listed_with_their_types():
    listed = [row for section in ("Topics", "Services", "Actions") for row in rows(DOCS / "topics.md", section)]
    assert {name for name, *_ in listed} == set(constants(BRIDGE / "topics.py").values())
    for package, kind, name in (row[1].split("/") for row in listed):
        assert package != "impact_msgs" or (ROOT / "src" / package / kind / f"{name}.{kind}").is_file(), name


def test_types_and_qualities_of_service_are_those_of_the_publishers():
    published = {}
    names = {f"topics.{constant}": name for constant, name in constants(BRIDGE / "topics.py").items()}
    for file in BRIDGE.parent.rglob("*.py"):
        name = r"(?:topics\.of_arm\(\w+, |f\"\{)?(topics\.\w+)(?:\)|\}/\{\w+\}\")?"
        calls = rf"publisher\(\w+, {name}, qos\.(\w+)\)"
        published |= {names[topic]: profile for topic, profile in re.findall(calls, file.read_text())}
    documented = {name: QUALITIES[quality] for name, _, quality, *_ in rows(DOCS / "topics.md", "Topics")}
    guard = (ROOT / "src/impact_guard/src/impact_guard.cpp").read_text()
    assert 'create_publisher<UInt8>("~/state", rclcpp::QoS(1).transient_local())' in guard
    assert documented == {**published, topics.GUARD: "LATCHED"}
    kinds = {name: kind for name, kind, *_ in rows(DOCS / "topics.md", "Topics") if name in qos.OFFERED}
    assert kinds == {name: type_name(kind) for name, (kind, _) in qos.OFFERED.items()}
    profiles = {name: getattr(qos, profile) for name, profile in published.items()}
    offered = {name: profile for name, (_, profile) in qos.OFFERED.items()}
    assert profiles == {"simulation/objects": qos.STREAM, "/clock": qos.STREAM, **offered}


def test_every_outcome_is_listed():
    assert [row[0] for row in rows(DOCS / "topics.md", "Outcomes")] == list(Outcome.__members__)


def test_every_node_is_listed_with_its_parameters():
    kinds = itertools.product(Shape, (False, True))
    graphs = (describe_graph("tabletop", shape=shape, lockstep=step, view=View(8080)) for shape, step in kinds)
    described = [spec for graph in graphs for spec in graph]
    listed = {name: (executable, cell) for name, executable, cell in rows(DOCS / "topics.md", "Nodes")}
    assert listed.keys() == {spec.name for spec in described}
    for name, spec in ((spec.name, spec) for spec in described):
        executable, cell = listed[name]
        parameters = listed["impact_loop"][1] if "as `loop" in cell else cell
        assert executable == spec.executable
        assert all(parameter in parameters for parameter in spec.parameters), name


def test_every_test_named_exists():
    texts = [page.read_text() for page in (*PAGES, LAB / "safety_tests.yaml")]
    named = re.findall(r"(tests/[\w/]+\.py)(?:::(\w+))?", "".join(texts))
    assert len(named) > 20
    for file, function in set(named):
        assert f"def {function}" in (ROOT / file).read_text(), f"{file}::{function}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_what_a_page_names_exists(page):
    """Links, make targets, commands and places in the repository."""
    text = page.read_text()
    for target in re.findall(r"\]\(([^)]+)\)", text):
        if not target.startswith("http"):
            assert "#" not in target, "headings change"
            assert (page.parent / target).exists(), target
    assert set(re.findall(r"(?:^|`)make ([a-z-]+)\b", code(text), re.MULTILINE)) <= TARGETS
    assert set(re.findall(r"impact-control ([a-z]+(?:-[a-z]+)*)\b", code(text))) <= COMMANDS
    for place in re.findall(r"`((?:src|config|launch|scripts|requirements|tests|docs|examples)/[\w./]*)`", text):
        assert (ROOT / place).exists(), place


@pytest.mark.parametrize("workflow", sorted((ROOT / ".github" / "workflows").glob("*.yml")), ids=lambda file: file.stem)
def test_workflows_call_make(workflow):
    jobs = YAML(typ="safe").load(workflow.read_text())["jobs"]
    called = re.findall(r"run: make ([a-z-]+)", workflow.read_text())
    assert called and set(called) <= TARGETS
    assert all(job["steps"] for job in jobs.values())


def test_equations_are_named_where_they_live():
    """The module of an equation names its document and number itself."""
    named = re.findall(r"^- Source: (.*?)\. In code: `([\w.]+)`\.$", (LAB / "equations.md").read_text(), re.MULTILINE)
    assert len(named) > 15
    for sources, module in named:
        root = PACKAGE if not module.startswith("impact_studies.") else ROOT / "src" / "impact_studies"
        source = (root / Path(*module.split("."))).with_suffix(".py").read_text()
        for document, numbers in (part.split(" (", 1) for part in sources.split("; ")):
            assert document in source, f"{module}: {document}"
            for number in numbers.strip("()").split("), ("):
                assert names_equation(source, number), f"{module}: {document} ({number})"


def names_equation(source, number):
    """Tell whether a text has (3.6), or a range around it, (3.5)-(3.7) or (3.5) to (3.7)."""
    if re.search(rf"\({re.escape(number)}[a-d]?\)", source):
        return True
    *chapter, last = map(int, number.split("."))
    ranges = re.findall(r"\(([\d.]+)\)(?:-| to )\(([\d.]+)\)", source)
    bounds = ([list(map(int, end.split("."))) for end in both] for both in ranges)
    return any(low[:-1] == high[:-1] == chapter and low[-1] <= last <= high[-1] for low, high in bounds)


def test_the_layout_is_that_of_the_repository():
    (layout,) = (block.text for block in blocks(LAB / "development.md") if block.language == "text")
    inside = {0: ROOT}
    places = []
    for line in layout.splitlines():
        indent = len(line) - len(line.lstrip())
        named = list(itertools.takewhile(lambda word: word.endswith(("/", ".py")), line.split()))
        places += [inside[indent] / word for word in named]
        if named:
            inside[indent + 2] = places[-1]
    assert len(places) > 40
    assert [place for place in places if not place.exists()] == []


def test_every_command_and_target_is_documented():
    text = code((LAB / "development.md").read_text())
    assert [name for name in COMMANDS if f"impact-control {name}" not in text] == []
    assert [name for name in TARGETS if f"make {name}" not in text] == []
