"""One legend above the panels of a figure."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.artist import Artist
from matplotlib.figure import Figure


def legend_above(
    figure: Figure, entries: Sequence[Artist], top: float, *, left: float = 0.85, columns: int = 0, **gaps: float
) -> None:
    """Put a legend in the `top` [inch] above the panels, and them in margins that do not depend on their content.

    left [inch]: of the panels. columns: of the legend, all entries beside each other for 0. gaps: `hspace` and `wspace`
    of the panels, in their heights and widths.
    """
    width, height = figure.get_size_inches()
    figure.legend(handles=list(entries), loc="upper center", ncols=columns or len(entries), bbox_to_anchor=(0.5, 1.0))
    figure.subplots_adjust(left=left / width, right=1 - 0.15 / width, bottom=0.5 / height, top=1 - top / height, **gaps)
