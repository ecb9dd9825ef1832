"""Curves in panels side by side."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from app.plots.canvas import Paint

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MARKERS = "osD^v<>Px*"


class Curve(Protocol):
    """A named line through points, perhaps with a spread to either side."""

    @property
    def name(self) -> str: ...
    @property
    def x(self) -> Sequence[float]: ...
    @property
    def y(self) -> Sequence[float]: ...
    @property
    def spread(self) -> Sequence[float] | None: ...


class Curves(Protocol):
    """Curves that share two axes."""

    @property
    def title(self) -> str: ...
    @property
    def x_label(self) -> str: ...
    @property
    def y_label(self) -> str: ...
    @property
    def lines(self) -> Sequence[Curve]: ...
    @property
    def log_y(self) -> bool: ...


def side_by_side(panels: Sequence[Curves]) -> Paint:
    """One panel next to the other, each with its own legend."""

    def paint(figure: "Figure") -> None:
        for axes, panel in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
            for marker, line in zip(MARKERS * len(panel.lines), panel.lines, strict=False):
                axes.errorbar(line.x, line.y, line.spread, marker=marker, markersize=4, capsize=2, label=line.name)
            axes.set(title=panel.title, xlabel=panel.x_label, ylabel=panel.y_label)
            if panel.log_y:
                axes.set_yscale("log")
            axes.legend(fontsize="small")

    return paint
