"""How soon policies know the truth: accuracy over labels per item, a line per policy."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from app.plots.canvas import Paint

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MARKERS = "osD^vPX*"  # beside the colour, for those who print in grey


class Point(NamedTuple):
    labels_per_item: float
    accuracy: float
    deviation: float | None  # between seeds


def accuracy_over_labels(curves: Mapping[str, Sequence[Point]], seeds: int) -> Paint:
    """Bars reach one standard deviation between seeds to either side."""

    def paint(figure: "Figure") -> None:
        axes = figure.subplots()
        for place, (name, points) in enumerate(curves.items()):
            labels, accuracy, deviation = zip(*points, strict=True)
            bars = [each or 0.0 for each in deviation] if seeds > 1 else None
            marker = _MARKERS[place % len(_MARKERS)]
            axes.errorbar(labels, accuracy, yerr=bars, label=name, marker=marker, markersize=4, capsize=2)
        axes.set_xlabel("labels per item")
        axes.set_ylabel("accuracy")
        axes.set_title(f"How soon the truth is known ({seeds} seeds, bars: one standard deviation)")
        axes.legend()

    return paint
