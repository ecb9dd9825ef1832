"""The chart of the accuracy that each kind of requirement reaches with its labels."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.charts.canvas import COLOURS, Drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The order gives each kind its colour.
_KINDS = ("ratio", "significance", "margin", "posterior", "profit", "count", "online-majority")


@dataclass(frozen=True)
class KindCurve:
    """The points (labels per item, accuracy) that one kind of requirement reaches."""

    kind: str
    points: Sequence[tuple[float, float]]
    chosen: tuple[float, float] | None  # the cheapest that is accurate enough; None if there is none


@dataclass(frozen=True)
class RequirementView:
    """The curves, and the crowd and the share of resolved items that they assume."""

    curves: Sequence[KindCurve]
    required: float
    crowd: str  # in words
    min_resolved: float


def draw_requirement(view: RequirementView) -> Drawing:
    """Draw the accuracy of resolved items against labels per item, a line per kind, with the chosen ones marked."""

    def draw(figure: "Figure") -> None:
        axes = figure.subplots()
        colour = dict(zip(_KINDS, COLOURS, strict=False))
        for curve in sorted(view.curves, key=lambda each: _KINDS.index(each.kind)):
            if not curve.points:
                continue
            labels, accuracy = zip(*curve.points, strict=True)
            percent = [100 * each for each in accuracy]
            axes.plot(labels, percent, ".-", color=colour[curve.kind], label=curve.kind, markersize=3, linewidth=1.2)
            if curve.chosen:
                x, y = curve.chosen
                axes.plot(x, 100 * y, "o", color=colour[curve.kind], markersize=8)
        axes.axhline(100 * view.required, color="#555555", linestyle="--", linewidth=0.8, label="required")
        axes.plot([], [], "o", color="#555555", markersize=8, label="the cheapest of its kind")
        axes.set_xlim(left=0)
        axes.set_xlabel("labels per item")
        axes.set_ylabel("resolved items that are right (%)")
        axes.set_title(f"{view.crowd}; at least {view.min_resolved:.0%} of the items resolved")
        figure.legend(loc="outside lower center", ncols=4, fontsize="small")

    return draw
