"""Accuracy against cost: the best strategies, the one that was chosen, and fixed numbers of answers."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.plots.canvas import COLOURS, Paint
from app.policy.belief import Array, IntArray
from app.policy.planning.accuracy_cost import Curve, ceiling_with_any_number

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Seen:
    curve: Curve
    cost: float  # of an answer
    fixed: IntArray  # numbers of answers
    fixed_accuracy: Array
    chosen: int | None


def accuracy_cost_picture(seen: Seen) -> Paint:
    def paint(figure: "Figure") -> None:
        curve, blue, orange = seen.curve, COLOURS[0], COLOURS[1]
        axes = figure.subplots()
        axes.plot(
            curve.answers * seen.cost, curve.accuracy, "-o", color=blue, markersize=3, label="ask on while it pays"
        )
        axes.plot(
            seen.fixed * seen.cost,
            seen.fixed_accuracy,
            "s--",
            color=orange,
            markersize=4,
            label="majority of 1, 3, 5, ...",
        )
        limit = ceiling_with_any_number(curve.prior)
        axes.axhline(limit, color="#777777", linestyle=":", label=f"no number of answers exceeds {limit:.3f}")
        if seen.chosen is not None:
            accuracy, cost = curve.accuracy[seen.chosen], curve.answers[seen.chosen] * seen.cost
            told = f"chosen: right with {accuracy:.3f} at {cost:.4g}"
            axes.plot([cost], [accuracy], "*", color=COLOURS[2], markersize=16, label=told, zorder=3)
        axes.set_xlabel("expected cost per item (money)")
        axes.set_ylabel("accuracy of the result")
        axes.set_title(f"What accuracy costs, workers as Beta({curve.prior.a:.4g}, {curve.prior.b:.4g})")
        axes.legend(loc="lower right")

    return paint
