"""The chart of a replay: accuracy against labels per item, a line per policy."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from app.charts.canvas import COLOURS, Drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MARKERS = "osD^vPX*"  # in addition to the colour, for prints in grey
_LINES = ("-", "--", ":")  # the next line style is used when the colours repeat
_FEW = 6  # up to this many curves, the legend fits into the axes


class ReplayPoint(NamedTuple):
    """The accuracy that a policy reaches with a budget."""

    labels_per_item: float  # bought, which may be less than the budget
    accuracy: float
    deviation: float | None  # between seeds


def draw_replay(curves: Mapping[str, Sequence[ReplayPoint]], seeds: int) -> Drawing:
    """Draw accuracy against labels per item; error bars are one standard deviation between seeds."""

    def draw(figure: "Figure") -> None:
        axes = figure.subplots()
        for place, (name, points) in enumerate(curves.items()):
            labels, accuracy, deviation = zip(*sorted(points), strict=True)
            bars = [each or 0.0 for each in deviation] if seeds > 1 else None
            marker, style = _MARKERS[place % len(_MARKERS)], _LINES[place // len(COLOURS) % len(_LINES)]
            axes.errorbar(labels, accuracy, bars, fmt=style, marker=marker, markersize=4, capsize=2, label=name)
        axes.set_xlabel("labels per item")
        axes.set_ylabel("accuracy")
        spread = f"{seeds} seeds, bars: one standard deviation" if seeds > 1 else "1 seed"
        axes.set_title(f"Accuracy by labels per item ({spread})")
        if len(curves) <= _FEW:
            axes.legend()
        else:
            figure.legend(loc="outside right center")

    return draw
