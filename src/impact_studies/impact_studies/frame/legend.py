"""One legend above the panels of a figure."""

from __future__ import annotations

from collections.abc import Iterable

from matplotlib.artist import Artist
from matplotlib.figure import Figure


def legend_above(
    figure: Figure,
    entries: Iterable[Artist],
    top: float = 0.0,
    *,
    left: float = 0.85,
    columns: int = 0,
    align: bool = False,
    **margins: float,
) -> None:
    """Put a legend above the panels.

    top [inch] above the panels; 0 where the figure has a constrained layout. left [inch]: of the panels. columns: of
    the legend, all entries beside each other for 0. align: the labels of the vertical axes. margins: of
    `subplots_adjust`, besides or in place of those that do not depend on what is in the panels; none: a tight layout.
    """
    handles = list(entries)
    beside = columns or len(handles)
    if not top:
        figure.legend(handles=handles, loc="outside upper center", ncols=beside)
        return
    width, height = figure.get_size_inches()
    figure.legend(handles=handles, loc="upper center", ncols=beside, bbox_to_anchor=(0.5, 1.0))
    if margins:
        fixed = {"left": left / width, "right": 1 - 0.15 / width, "bottom": 0.5 / height, "top": 1 - top / height}
        figure.subplots_adjust(**(fixed | margins))
    else:
        figure.tight_layout(rect=(0.0, 0.0, 1.0, 1.0 - top / height))
    if align:
        figure.align_ylabels()
