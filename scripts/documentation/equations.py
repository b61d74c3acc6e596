"""Conversion of equations from LaTeX, as on GitHub, to MathML, which browsers render natively."""

from __future__ import annotations

import html
import re

from latex2mathml.converter import convert

BLOCK = re.compile(r"^```math\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LETTER = re.compile(r"<mi>(\w|&#x[0-9A-F]+;)</mi>")
INLINE = re.compile(r"\$<code>(.*?)</code>\$")


def blocks_to_mathml(markdown: str) -> str:
    """Replace the blocks ```math of a page by lines of their own."""
    return BLOCK.sub(lambda found: f'<div class="equation">{_one_line(found[1], "block")}</div>\n', markdown)


def inline_to_mathml(page: str) -> str:
    """Replace inline equations, $`...`$, in the HTML of a page."""
    return INLINE.sub(lambda found: _one_line(html.unescape(found[1]), "inline"), page)


def _one_line(latex: str, display: str) -> str:
    """Return MathML in one line; letters are slanted by style, as few fonts have slanted mathematical characters."""
    mathml = convert(" ".join(latex.split()), display=display).replace("\n", "")
    return LETTER.sub(r'<mi class="letter" mathvariant="normal">\1</mi>', mathml)
