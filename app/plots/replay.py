"""How soon policies know the truth: accuracy over labels per item, a line per policy."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from app.plots.canvas import COLOURS, Paint

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MARKERS = "osD^vPX*"  # beside the colour, for those who print in grey
_LINES = ("-", "--", ":")  # another one when the colours begin again
_FEW = 6  # curves whose legend leaves room for them


class Point(NamedTuple):
    labels_per_item: float  # bought, which may be less than the budget
    accuracy: float
    deviation: float | None  # between seeds


def accuracy_over_labels(curves: Mapping[str, Sequence[Point]], seeds: int) -> Paint:
    """Bars reach one standard deviation between seeds to either side."""

    def paint(figure: "Figure") -> None:
        axes = figure.subplots()
        for place, (name, points) in enumerate(curves.items()):
            labels, accuracy, deviation = zip(*sorted(points), strict=True)
            bars = [each or 0.0 for each in deviation] if seeds > 1 else None
            marker, style = _MARKERS[place % len(_MARKERS)], _LINES[place // len(COLOURS) % len(_LINES)]
            axes.errorbar(labels, accuracy, bars, fmt=style, marker=marker, markersize=4, capsize=2, label=name)
        axes.set_xlabel("labels per item")
        axes.set_ylabel("accuracy")
        spread = f"{seeds} seeds, bars: one standard deviation" if seeds > 1 else "1 seed"
        axes.set_title(f"How soon the truth is known ({spread})")
        if len(curves) <= _FEW:
            axes.legend()
        else:
            figure.legend(loc="outside right center")

    return paint
