"""The pages of the documentation, and the code blocks in them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
LAB = DOCS / "lab"
FOR_USERS = [ROOT / "README.md", *(page for page in sorted(DOCS.rglob("*.md")) if LAB not in page.parents)]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]

_FENCED = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_FILE = re.compile(r"# ([\w/]+\.\w+)\n")


@dataclass(frozen=True)
class Block:
    """A code block with its page, first line, language and text."""

    page: Path
    line: int
    language: str
    text: str

    @property
    def file(self) -> str | None:
        """The file that the block is, when its first line is a comment that names one."""
        named = _FILE.match(self.text)
        return named[1] if named else None

    @property
    def place(self) -> str:
        """Page and line, for messages."""
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(page: Path) -> list[Block]:
    """Return the code blocks of a page in their order."""
    text = page.read_text(encoding="utf-8")
    found = _FENCED.finditer(text)
    return [Block(page, text.count("\n", 0, block.start()) + 1, block[1], block[2]) for block in found]


def prose(page: Path) -> str:
    """Return a page without its code blocks."""
    return _FENCED.sub("", page.read_text(encoding="utf-8"))
