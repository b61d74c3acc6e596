"""Modules of library and studies and their public names, read from the sources without running them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[2] / "src"
PACKAGE = SOURCES / "impact_control" / "impact_control"
MODELS = SOURCES / "impact_studies" / "impact_studies" / "models"
CLIENT = SOURCES / "impact_control_ros" / "impact_control_ros" / "session" / "client.py"

OUTSIDE = {"data"}
"""Directories without modules."""


@dataclass(frozen=True)
class Member:
    """A public name with its signature, its docstring and its members."""

    name: str
    signature: str
    docstring: str
    members: tuple[Member, ...] = ()


@dataclass(frozen=True)
class Module:
    """A module; name without the package of the library, e.g. `detection.scores`, with that of any other."""

    name: str
    docstring: str
    members: tuple[Member, ...]

    @property
    def part(self) -> str:
        """The subpackage, or the module itself, at the top of the package."""
        return self.name.partition(".")[0]


def modules() -> list[Module]:
    """Return every public module of the library and of the models of the studies, and the client, by their names."""
    found = []
    for file in (*PACKAGE.rglob("*.py"), *MODELS.rglob("*.py"), CLIENT):
        root = PACKAGE if PACKAGE in file.parents else SOURCES / file.relative_to(SOURCES).parts[0]
        parts = file.relative_to(root).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if name and not OUTSIDE.intersection(parts) and not any(part.startswith("_") for part in name.split(".")):
            tree = ast.parse(file.read_text(encoding="utf-8"))
            found.append(Module(name, ast.get_docstring(tree) or "", tuple(_members(tree.body))))
    return sorted(found, key=lambda module: module.name)


def _members(body: list[ast.stmt]) -> Iterator[Member]:
    for node, following in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            yield Member(node.name, _function(node), ast.get_docstring(node) or "")
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield Member(node.name, _class(node), ast.get_docstring(node) or "", tuple(_class_members(node)))
        elif isinstance(node, ast.Assign | ast.AnnAssign) and (text := _text_below(following)):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Name) and not target.id.startswith("_"):
                yield Member(target.id, target.id, text)


def _class_members(node: ast.ClassDef) -> Iterator[Member]:
    """Constructor, fields, methods and properties."""
    for child in node.body:
        if isinstance(child, ast.FunctionDef) and child.name == "__init__":
            yield Member("__init__", _function(child, node.name), ast.get_docstring(child) or "")
        elif isinstance(child, ast.AnnAssign) and isinstance(child.target, ast.Name) and child.target.id[0] != "_":
            yield Member(child.target.id, ast.unparse(child), "")
    yield from _members(node.body)


def _function(node: ast.FunctionDef, called: str = "") -> str:
    marks = {ast.unparse(mark) for mark in node.decorator_list}
    if "property" in marks:
        return f"{node.name} -> {ast.unparse(node.returns)}" if node.returns else node.name
    arguments = ast.unparse(node.args)
    for first in ("self", "cls"):
        arguments = arguments.removeprefix(f"{first}, ") if arguments != first else ""
    result = f" -> {ast.unparse(node.returns)}" if node.returns and not called else ""
    return f"{called or node.name}({arguments}){result}"


def _class(node: ast.ClassDef) -> str:
    bases = ", ".join(ast.unparse(base) for base in node.bases)
    return f"class {node.name}({bases})" if bases else f"class {node.name}"


def _text_below(node: ast.stmt | None) -> str:
    """Return the docstring that follows an assignment."""
    value = node.value if isinstance(node, ast.Expr) else None
    return value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else ""
