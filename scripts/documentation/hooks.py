"""Hooks of MkDocs: generated pages, equations, and links from names to the API."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import api
import scenario_keys
import sources
from equations import blocks_to_mathml, inline_to_mathml
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]

FROM_THE_ROOT = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CODE_OF_CONDUCT.md": "code_of_conduct.md",
    "QUALITY_DECLARATION.md": "quality_declaration.md",
    "CITATION.cff": "CITATION.cff",
    "LICENSE": "LICENSE",
}
"""Files beside `docs`, and their places in the site."""

LINK = re.compile(r"(?<=\]\()[^)#:\s]+(?=\))")
NAME = re.compile(r"<code>([A-Za-z_][\w.]*)</code>(?!</a>)")


@cache
def _modules() -> tuple[sources.Module, ...]:
    return tuple(sources.modules())


@cache
def _places() -> Mapping[str, str]:
    return api.places(_modules())


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the scenario keys and the pages of the API into the navigation, below Reference."""
    (reference,) = (entry["Reference"] for entry in config.nav if "Reference" in entry)
    reference.append({"Scenario keys": scenario_keys.PAGE})
    reference += [{Path(page).stem: page} for page in api.pages(_modules())]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the files that are not in `docs`."""
    for name, place in FROM_THE_ROOT.items():
        files.append(File.generated(config, place, content=(ROOT / name).read_text(encoding="utf-8")))
    for place, text in {scenario_keys.PAGE: scenario_keys.page(), **api.pages(_modules())}.items():
        files.append(File.generated(config, place, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Convert display equations, and redirect links between files to the same ones in the site."""
    place = page.file.src_uri
    origin = next((name for name, target in FROM_THE_ROOT.items() if target == place), f"docs/{place}")

    def placed(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(origin), found[0]))
        in_site = FROM_THE_ROOT.get(target, target.removeprefix("docs/"))
        return posixpath.relpath(in_site, posixpath.dirname(place) or ".")

    return blocks_to_mathml(LINK.sub(placed, markdown))


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Convert inline equations, and link names in code marks to the API."""

    def linked(found: re.Match[str]) -> str:
        place = _places().get(found[1])
        if place is None:
            return found[0]
        return f'<a href="{posixpath.relpath(place, posixpath.dirname(page.url) or ".")}">{found[0]}</a>'

    return NAME.sub(linked, inline_to_mathml(html))
