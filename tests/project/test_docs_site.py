"""Build of the site without a warning, complete and without anything from other machines."""

from __future__ import annotations

import posixpath
import re
import subprocess
import sys

import pytest

from documentation import DOCS, LAB, ROOT, blocks
from impact_control.scenario import ObjectScene, describe_schema

pytest.importorskip("mkdocs", reason="comes with `make test`; the site does not depend on the versions of ROS packages")

PACKAGE = ROOT / "src" / "impact_control" / "impact_control"
SCHEMAS = (describe_schema(), describe_schema(ObjectScene))


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    directory = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(directory)]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout + done.stderr == ""
    return directory


@pytest.fixture(scope="module")
def pages(site):
    return {file.relative_to(site).as_posix(): file.read_text() for file in site.rglob("*.html")}


def test_every_page_is_there(site, pages):
    own = {file.relative_to(DOCS).with_suffix(".html").as_posix() for file in DOCS.rglob("*.md")}
    assert own | {"index.html", "changelog.html", "contributing.html"} <= set(pages)
    for page, text in pages.items():
        for target in re.findall(r'<a [^>]*href="([^"#:]+)(?:#[^"]*)?"', text):
            assert page == "404.html" or ((site / page).parent / target).exists(), f"{page}: {target}"


def test_every_scenario_key_is_in_the_reference(pages):
    page = pages["reference/scenario_keys.html"]
    keys = {line.split("`")[1] for schema in SCHEMAS for line in schema.splitlines() if line.startswith("| `")}
    assert len(keys) > 150
    assert not [key for key in keys if f"<code>{key}</code>" not in page]


def test_nothing_comes_from_another_machine(site, pages):
    for page, text in pages.items():
        brought = re.findall(r'<(?:script|link|img|iframe|source)\b[^>]*?(?:src|href)="([^"]*)"', text)
        assert brought
        assert not [place for place in brought if "//" in place], page
    for file in site.rglob("*.css"):
        assert not re.search(r"(?:url\(|@import)\s*['\"]?(?:https?:)?//", file.read_text()), file.name


def test_equations_are_set(pages):
    written = [block for file in sorted(DOCS.rglob("*.md")) for block in blocks(file) if block.language == "math"]
    assert len(written) > 10
    assert sum(text.count('<div class="equation"><math') for text in pages.values()) == len(written)
    for page, text in pages.items():
        assert "$<code>" not in text and "\\frac" not in text and "\\dot" not in text, page


def test_every_module_of_the_core_is_in_the_api(pages):
    api = "".join(text for page, text in pages.items() if page.startswith("api/"))
    for file in PACKAGE.rglob("*.py"):
        parts = file.relative_to(PACKAGE).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if name and "data" not in parts and not parts[-1].startswith("__main__"):
            assert f'id="{name}"' in api, name
    for name in (
        "detection.scores.Score.evaluate",
        "simulation.scenario_run.run_scenario",
        "impact_control_ros.session.client.ImpactClient",
    ):
        assert f'id="{name}"' in api, name


def test_names_lead_to_the_api(pages):
    equations = pages["lab/equations.html"]
    for module in re.findall(r"In code: `([\w.]+)`", (LAB / "equations.md").read_text()):
        (place,) = set(re.findall(rf'<a href="([^"]*)"><code>{re.escape(module)}</code></a>', equations))
        page, _, anchor = posixpath.normpath(f"lab/{place}").partition("#")
        assert f'id="{anchor}"' in pages[page]
