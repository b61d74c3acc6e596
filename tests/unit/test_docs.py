"""The documentation says what the code says: tables, topics, tests, links, targets and commands exist as named."""

from __future__ import annotations

import ast
import itertools
import re
from pathlib import Path

import pytest
import typer
from documentation import DOCS, PAGES, ROOT, blocks

from impact_control.cli import app
from impact_control.graph import Shape, View, describe_graph
from impact_control.pipeline import Outcome
from impact_control.scenario import SceneScenario, available_scenarios, describe_schema

PACKAGE = ROOT / "src" / "impact_control" / "impact_control"
NODES = PACKAGE / "nodes"
QUALITIES = {
    "stream": "STREAM",
    "command": "COMMAND",
    "event": "EVENT",
    "latched": "LATCHED",
    "diagnostics": "DIAGNOSTICS",
}

pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def constants(file):
    """The texts that a module of plain assignments defines, by name."""
    assignments = (node for node in ast.parse(file.read_text()).body if isinstance(node, ast.Assign))
    return {node.targets[0].id: ast.literal_eval(node.value) for node in assignments}


def rows(page, section):
    """The cells of the table of a section, without the header; code marks are taken off."""
    text = page.read_text().split(f"\n## {section}\n")[1].split("\n## ")[0]
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in lines[2:]]


def code(text):
    """What stands in code marks or code blocks."""
    return "\n".join(re.findall(r"```.*?```|`[^`\n]+`", text, re.DOTALL))


def test_schema_table_is_that_of_the_code():
    _, _, table = (DOCS / "scenarios.md").read_text().partition("| key |")
    assert f"| key |{table}".strip() == describe_schema().strip()


def test_scene_schema_table_is_that_of_the_code():
    _, _, table = (DOCS / "scenes.md").read_text().partition("| key |")
    own = describe_schema(SceneScenario).splitlines(keepends=True)
    shared = ("robot", "control", "detection", "classification", "reaction", "simulation")
    expected = "".join(line for line in own if not line.startswith(tuple(f"| `{key}." for key in shared)))
    assert f"| key |{table}".strip() == expected.strip()


def test_the_scenarios_are_listed_with_their_end():
    listed = {name: end for name, _, end in rows(DOCS / "scenarios.md", "Those that come with the package")}
    assert sorted(listed) == list(available_scenarios())
    assert set(listed.values()) <= set(Outcome.__members__)


def test_every_topic_service_and_action_is_listed():
    names = {name for section in ("Topics", "Services", "Action") for name, *_ in rows(DOCS / "topics.md", section)}
    assert names == set(constants(NODES / "topics.py").values())


def test_interfaces_exist():
    for section in ("Topics", "Services", "Action"):
        for row in rows(DOCS / "topics.md", section):
            package, *place = row[1].split("/")
            if package == "impact_msgs":
                assert (ROOT / "src" / package / Path(*place).with_suffix(f".{place[0]}")).is_file(), row[1]


def test_qualities_of_service_are_those_of_the_publishers():
    published = {}
    names = {f"topics.{constant}": name for constant, name in constants(NODES / "topics.py").items()}
    for file in NODES.glob("*.py"):
        name = r"(?:topics\.of_arm\(\w+, |f\"\{)?(topics\.\w+)(?:\)|\}/\{\w+\}\")?"
        calls = rf"(?:publish|create_publisher)\(\w+, {name}, qos\.(\w+)\)"
        published |= {names[topic]: profile for topic, profile in re.findall(calls, file.read_text())}
    documented = {name: QUALITIES[quality] for name, _, quality, *_ in rows(DOCS / "topics.md", "Topics")}
    assert documented == published


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
    named = re.findall(r"(tests/[\w/]+\.py)(?:::(\w+))?", "".join(page.read_text() for page in PAGES))
    assert len(named) > 20
    for file, function in set(named):
        assert f"def {function}" in (ROOT / file).read_text(), f"{file}::{function}"


@pages
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)]+)\)", page.read_text()):
        if not target.startswith("http"):
            path, _, anchor = target.partition("#")
            assert not anchor, "headings change"
            assert (page.parent / path).exists(), target


@pages
def test_make_targets_exist(page):
    targets = set(re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = re.findall(r"(?:^|`)make ([a-z-]+)\b", code(page.read_text()), re.MULTILINE)
    assert set(named) <= targets


@pages
def test_commands_exist(page):
    commands = set(typer.main.get_command(app).commands)
    named = re.findall(r"impact-control ([a-z]+)\b", code(page.read_text()))
    assert set(named) <= commands


@pages
def test_places_in_the_repository_exist(page):
    places = r"`((?:src|config|launch|scripts|requirements|tests|docs)/[\w./]*)`"
    for place in re.findall(places, page.read_text()):
        assert (ROOT / place).exists(), place


def test_equations_are_named_where_they_live():
    """The module of an equation names its document and number itself."""
    named = re.findall(r"^- Source: (.*?)\. In code: `([\w.]+)`\.$", (DOCS / "equations.md").read_text(), re.MULTILINE)
    assert len(named) > 15
    for sources, module in named:
        source = (PACKAGE / Path(*module.split("."))).with_suffix(".py").read_text()
        for document, numbers in (part.split(" (", 1) for part in sources.split("; ")):
            assert document in source, f"{module}: {document}"
            for number in numbers.strip("()").split("), ("):
                assert names_equation(source, number), f"{module}: {document} ({number})"


def names_equation(source, number):
    """Whether a text has (3.6), or a range around it, (3.5)-(3.7) or (3.5) to (3.7)."""
    if re.search(rf"\({re.escape(number)}[a-d]?\)", source):
        return True
    *chapter, last = map(int, number.split("."))
    ranges = re.findall(r"\(([\d.]+)\)(?:-| to )\(([\d.]+)\)", source)
    bounds = ([list(map(int, end.split("."))) for end in both] for both in ranges)
    return any(low[:-1] == high[:-1] == chapter and low[-1] <= last <= high[-1] for low, high in bounds)


def test_the_layout_is_that_of_the_repository():
    (layout,) = (block.text for block in blocks(DOCS / "development.md") if block.language == "text")
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
    text = code((DOCS / "development.md").read_text())
    for command in typer.main.get_command(app).commands:
        assert f"impact-control {command}" in text
    for target in re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(), re.MULTILINE):
        assert f"make {target}" in text
