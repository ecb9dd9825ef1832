"""Curves in panels, for comparison with a figure of a paper."""

from collections.abc import Sequence
from itertools import cycle, zip_longest
from math import ceil
from typing import TYPE_CHECKING, Protocol

from app.charts.canvas import render_chart

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARKERS = "osD^v<>Px*"
PER_ROW = 3
INCHES = (6.0, 4.5)  # of a panel


class PanelCurve(Protocol):
    """A named line through points, optionally with error bars; or single points with names."""

    @property
    def name(self) -> str: ...
    @property
    def x(self) -> Sequence[float]: ...
    @property
    def y(self) -> Sequence[float]: ...
    @property
    def spread(self) -> Sequence[float] | None: ...
    @property
    def marks(self) -> Sequence[str] | None: ...


class PanelCurves(Protocol):
    """Curves that share two axes."""

    @property
    def title(self) -> str: ...
    @property
    def x_label(self) -> str: ...
    @property
    def y_label(self) -> str: ...
    @property
    def lines(self) -> Sequence[PanelCurve]: ...
    @property
    def log_y(self) -> bool: ...


def render_panels(panels: Sequence[PanelCurves]) -> bytes:
    """Render all panels as SVG, three in a row, each with its own legend."""
    columns = min(len(panels), PER_ROW)
    rows = ceil(len(panels) / columns)

    def draw(figure: "Figure") -> None:
        places = figure.subplots(rows, columns, squeeze=False).flat
        for axes, panel in zip_longest(places, panels):
            if panel is None:
                axes.set_axis_off()
            else:
                _draw(axes, panel)

    return render_chart(draw, width=INCHES[0] * columns, height=INCHES[1] * rows)


def _draw(axes: "Axes", panel: PanelCurves) -> None:
    for marker, above, line in zip(cycle(MARKERS), cycle((False, True)), panel.lines, strict=False):
        style = "-" if line.marks is None else "none"
        drawn = axes.errorbar(
            line.x, line.y, line.spread, ls=style, marker=marker, markersize=4, capsize=2, label=line.name
        )
        for mark, x, y in zip(line.marks or (), line.x, line.y, strict=False):
            place, colour = (4, 4 if above else -9), drawn.lines[0].get_color()
            axes.annotate(mark, (x, y), place, textcoords="offset points", fontsize="small", color=colour)
    axes.set(title=panel.title, xlabel=panel.x_label, ylabel=panel.y_label)
    if panel.log_y:
        axes.set_yscale("log", nonpositive="mask")  # an error of 0 is left out
    axes.legend(fontsize="small")
