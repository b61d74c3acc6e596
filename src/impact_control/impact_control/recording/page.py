"""Building blocks of a self-contained page: style, pictures inside the file, the document around the body."""

from __future__ import annotations

import base64
from html import escape
from io import BytesIO

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

DOTS_PER_INCH = 150
"""Of every picture."""

STYLE = """
:root { --ink: #1f2933; --soft: #616e7c; --line: #e4e7eb; --good: #00794f; --bad: #b3261e; }
* { box-sizing: border-box; }
body { font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif;
  color: var(--ink); background: #fff; max-width: 62rem; margin: 0 auto; padding: 2.5rem 1.5rem 4rem; }
h1 { font-size: 1.9rem; margin: 0 0 .2rem; }
h2 { font-size: 1.25rem; margin: 2.8rem 0 .3rem; }
p.origin { color: var(--soft); margin: 0 0 1.4rem; font-size: .9rem; overflow-wrap: anywhere; }
p.verdict { border-left: .3rem solid; padding: .7rem 1rem; margin: 0 0 1.6rem; font-weight: 600; }
p.verdict.good { color: var(--good); background: #edf8f3; }
p.verdict.bad { color: var(--bad); background: #fdf0ee; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { border-bottom: 1px solid var(--line); }
th { font-weight: 400; }
table.facts th { text-align: left; color: var(--soft); width: 12rem; vertical-align: top; }
table.facts th, table.facts td { padding: .32rem .6rem .32rem 0; }
td.good { color: var(--good); font-weight: 600; }
td.bad { color: var(--bad); font-weight: 600; }
table.grid { font-size: .93rem; }
table.grid caption { text-align: left; padding: 1.8rem 0 .3rem; font-weight: 600; }
table.grid th, table.grid td { text-align: right; padding: .28rem .5rem; }
table.grid th:first-child { text-align: left; padding-left: 0; }
table.grid thead th { color: var(--soft); }
figure { margin: .2rem 0 0; }
figure img { width: 100%; height: auto; display: block; }
figcaption { color: var(--soft); font-size: .92rem; margin: 0 0 .8rem; }
details { margin-top: 3rem; }
pre { font-size: .82rem; background: #f5f7fa; padding: 1rem; overflow-x: auto; }
@media print {
  @page { size: A4; margin: 1.6cm; }
  body { font-size: 10.5pt; max-width: none; padding: 0; }
  h2 { break-after: avoid; }
  section, figure, table { break-inside: avoid; }
  figure img { max-height: 23cm; width: auto; max-width: 100%; margin: 0 auto; }
  details { display: none; }
}
"""
"""For screen and paper."""


def png(figure: Figure) -> bytes:
    """Return the figure as a PNG file."""
    output = BytesIO()
    FigureCanvasAgg(figure)
    figure.savefig(output, format="png", dpi=DOTS_PER_INCH)
    return output.getvalue()


def figure_section(title: str, caption: str, picture: bytes) -> str:
    """Return a heading with a PNG picture and what it shows."""
    data = base64.b64encode(picture).decode("ascii")
    return (
        f"<section>\n<h2>{escape(title)}</h2>\n<figure>\n<figcaption>{escape(caption)}</figcaption>\n"
        f'<img src="data:image/png;base64,{data}" alt="{escape(title)}">\n</figure>\n</section>'
    )


def document(title: str, body: str, extra_style: str = "") -> str:
    """Return the whole page; body and extra_style are taken as they are, the title is escaped."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}{extra_style}</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )
