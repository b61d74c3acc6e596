"""Draw docs/images/architecture.svg from the sources: the tick in its order, and who imports whom.

Run it after a change of the imports between packages: `python scripts/documentation/architecture.py`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs" / "images" / "architecture.svg"
LIBRARY = "impact_control"

TICK = {
    "observation": "momentum residual",
    "detection": "impact?",
    "classification": "as planned?",
    "reaction": "go on, stop, yield",
    "references": "ante or post impact",
    "control": "mode, QP, limits",
}
"""Subpackages that a sample passes, in this order, and what each contributes."""
USERS = {"impact_control_ros": "ROS 2 nodes", "impact_studies": "results of papers", "tools": "benchmark, fuzz"}
COMMON = ("util", "cli")
"""Used by all, and using all: not drawn."""

WIDTH, BOX_WIDTH, USER_WIDTH, BOX_HEIGHT, GAP = 960, 128, 250, 34, 26
Box = tuple[float, float]


def imports() -> dict[str, set[str]]:
    """Return the subpackages of the library, each with those that it imports."""
    top = ROOT / "src" / LIBRARY / LIBRARY
    names = {path.parent.name for path in top.glob("*/__init__.py")} - set(COMMON)
    return {name: set(_imported(top / name)) & names - {name} for name in sorted(names)}


def _imported(package: Path) -> Iterator[str]:
    for file in package.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            modules = [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
            modules += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            yield from (name.split(".")[1] for name in modules if name.startswith(f"{LIBRARY}."))


def reduced(graph: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """Return a graph without circles less the edges that follow from others."""

    def reached(name: str) -> set[str]:
        return set().union(*({other} | reached(other) for other in graph[name]))

    return {name: others - set().union(*map(reached, others)) for name, others in graph.items()}


def layers(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Return names by the longest chain of imports below them, the lowest first."""
    depth: dict[str, int] = {}
    while len(depth) < len(graph):
        ready = [name for name in graph if name not in depth and graph[name] <= depth.keys()]
        depth |= {name: 1 + max((depth[other] for other in graph[name]), default=-1) for name in ready}
    rows = [[name for name in graph if depth[name] == level] for level in range(max(depth.values()) + 1)]
    place: dict[str, float] = {}
    for row in rows:  # above the middle of what each imports, so that few arrows cross
        row.sort(key=lambda name: sum(place[other] for other in graph[name]) / max(len(graph[name]), 1))
        place |= {name: (k + 0.5) / len(row) for k, name in enumerate(row)}
    return rows


def draw() -> str:
    """Return the picture."""
    graph = reduced(imports())
    parts = [_text(20, 24, "One sample: from joint position, velocity and torque to the commanded torque", "start")]
    step = (WIDTH - 40) / len(TICK)
    for k, (name, share) in enumerate(TICK.items()):
        left = 20 + k * step
        parts += [_box((left, 40), name, "tick"), _text(left + BOX_WIDTH / 2, 90, share, "middle", "small")]
        if k:
            parts.append(_arrow((left - step + BOX_WIDTH, 57), (left, 57)))
    parts.append(_text(20, 134, "Packages: arrows lead to what is imported", "start"))
    top = 150.0
    for k, (name, text) in enumerate(USERS.items()):
        left = 20 + k * (USER_WIDTH + GAP)
        parts.append(_box((left, top), f"{name}: {text}", "user", USER_WIDTH))
    top += BOX_HEIGHT + 22
    rows = layers(graph)[::-1]
    height = len(rows) * (BOX_HEIGHT + GAP) + 34
    frame = f'<rect class="frame" x="10" y="{top:g}" width="{WIDTH - 20}" height="{height:g}" rx="8"/>'
    parts += [frame, _text(WIDTH - 22, top + 20, f"{LIBRARY}: library, no ROS", "end")]
    for k in range(len(USERS)):
        middle = 20 + k * (USER_WIDTH + GAP) + USER_WIDTH / 2
        parts.append(_arrow((middle, top - 22), (middle, top)))
    places = {
        name: (_left(k, len(row)), top + 34 + level * (BOX_HEIGHT + GAP))
        for level, row in enumerate(rows)
        for k, name in enumerate(row)
    }
    for name, others in graph.items():
        for other in sorted(others):
            start, end = places[name], places[other]
            parts.append(_arrow((start[0] + BOX_WIDTH / 2, start[1] + BOX_HEIGHT), (end[0] + BOX_WIDTH / 2, end[1])))
    parts += [_box(place, name, "tick" if name in TICK else "part") for name, place in places.items()]
    return _SVG.format(width=WIDTH, height=top + height + 10, body="\n".join(parts))


def _left(k: int, count: int) -> float:
    return WIDTH * (k + 0.5) / count - BOX_WIDTH / 2


def _box(place: Box, text: str, kind: str, width: float = BOX_WIDTH) -> str:
    x, y = place
    shape = f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{width:g}" height="{BOX_HEIGHT}" rx="5"/>'
    return shape + _text(x + width / 2, y + 22, text, "middle", "small")


def _text(x: float, y: float, text: str, anchor: str, kind: str = "head") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{text}</text>'


def _arrow(start: Box, end: Box) -> str:
    return f'<line x1="{start[0]:.1f}" y1="{start[1]:.1f}" x2="{end[0]:.1f}" y2="{end[1]:.1f}"/>'


_SVG = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height:g}" font-family="sans-serif">
<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">
<path d="M0 0 L8 4 L0 8 z" fill="#667"/></marker></defs>
<style>
rect {{ stroke: #667; fill: #f4f6fa }} rect.tick {{ fill: #d9e8fb; stroke: #3568a8 }} rect.user {{ fill: #fdf1d8 }}
rect.frame {{ fill: #fff }} line {{ stroke: #667; stroke-width: 1.1; marker-end: url(#tip) }}
text.head {{ font-size: 15px; font-weight: bold }} text.small {{ font-size: 13px }}
</style>
<rect class="frame" x="0" y="0" width="{width}" height="{height:g}" stroke="none"/>
{body}
</svg>
"""

if __name__ == "__main__":
    PICTURE.write_text(draw(), encoding="utf-8")
