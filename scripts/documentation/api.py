"""Pages of the API, one for each subpackage, and the place of each module and class in them."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping

from sources import Member, Module

TOP = "modules"
"""Name of the page of the modules that lie in no subpackage."""


def pages(modules: Iterable[Module]) -> dict[str, str]:
    """Return the Markdown of each page by its path in the site."""
    parts: dict[str, list[Module]] = {}
    for module in modules:
        parts.setdefault(_page(module, modules), []).append(module)
    return {page: _text(page, own) for page, own in sorted(parts.items())}


def places(modules: Iterable[Module]) -> Mapping[str, str]:
    """Return the target of a name in code marks: modules and their members by path, with or without the package.

    A class also by its name alone, where only one has it.
    """
    found: dict[str, str] = {}
    shorter: dict[str, set[str]] = {}
    for module in modules:
        page = _page(module, modules).removesuffix(".md") + ".html"
        found[module.name] = f"{page}#{module.name}"
        for member in module.members:
            whole = f"{module.name}.{member.name}"
            found[whole] = f"{page}#{whole}"
            if member.signature.startswith("class "):
                found |= {f"{whole}.{inner.name}": f"{page}#{whole}.{inner.name}" for inner in member.members}
                for name in (member.name, f"{module.part}.{member.name}"):
                    shorter.setdefault(name, set()).add(whole)
    single = {name: wholes.pop() for name, wholes in shorter.items() if len(wholes) == 1}
    found = {name: found[whole] for name, whole in single.items()} | found
    # A word without a dot is more often an entry of a scenario than a module.
    found = {name: place for name, place in found.items() if "." in name or name[0].isupper()}
    return found | {f"impact_control.{name}": place for name, place in found.items()}


def _page(module: Module, modules: Iterable[Module]) -> str:
    inside = any(other.name.startswith(f"{module.part}.") for other in modules)
    return f"api/{module.part if inside else TOP}.md"


def _text(page: str, modules: list[Module]) -> str:
    title = page.removeprefix("api/").removesuffix(".md")
    lines = [f"# {title if title == TOP else f'impact_control.{title}'}", ""]
    for module in modules:
        lines += [f"## {module.name} {{: #{module.name} }}", "", f"<div>{_prose(module.docstring)}</div>", ""]
        lines += [_entry(member, module.name) for member in module.members]
        lines.append("")
    return "\n".join(lines)


def _entry(member: Member, above: str) -> str:
    place = f"{above}.{member.name}"
    below = "".join(_entry(inner, place) for inner in member.members)
    signature = f"<code>{html.escape(member.signature)}</code>"
    return f'<div class="api" id="{html.escape(place)}">{signature}{_prose(member.docstring)}{below}</div>'


def _prose(docstring: str) -> str:
    """Return paragraphs of a docstring; lines that are indented or begin a list keep their breaks."""
    found = []
    for paragraph in re.split(r"\n\s*\n", docstring.strip()):
        if paragraph.strip():
            broken = re.sub(r"\n(?=\s|- )", "\0", html.escape(paragraph, quote=False).strip("\n"))
            joined = broken.replace("\n", " ").replace("\0", "<br>\n")
            found.append("<p>" + re.sub("`([^`]+)`", r"<code>\1</code>", joined) + "</p>")
    return "".join(found)
