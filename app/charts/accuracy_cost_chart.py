"""The chart of accuracy against cost: the best strategies, the chosen one, and fixed numbers of answers."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.charts.canvas import COLOURS, Drawing
from app.policy.core.belief import Array, IntArray
from app.policy.planning.accuracy_cost import AccuracyCostCurve, max_accuracy_with_any_number

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class AccuracyCostView:
    """The curve, the cost of an answer, the fixed numbers of answers, and the chosen point."""

    curve: AccuracyCostCurve
    cost: float  # of an answer
    fixed: IntArray  # numbers of answers
    fixed_accuracy: Array
    chosen: int | None


def draw_accuracy_cost(view: AccuracyCostView) -> Drawing:
    """Draw accuracy against the expected cost per item."""

    def draw(figure: "Figure") -> None:
        curve, blue, orange = view.curve, COLOURS[0], COLOURS[1]
        axes = figure.subplots()
        axes.plot(curve.answers * view.cost, curve.accuracy, "-o", color=blue, markersize=3, label="ask while it pays")
        axes.plot(
            view.fixed * view.cost,
            view.fixed_accuracy,
            "s--",
            color=orange,
            markersize=4,
            label="majority of 1, 3, 5, ...",
        )
        limit = max_accuracy_with_any_number(curve.prior)
        axes.axhline(limit, color="#777777", linestyle=":", label=f"no number of answers exceeds {limit:.3f}")
        if view.chosen is not None:
            accuracy, cost = curve.accuracy[view.chosen], curve.answers[view.chosen] * view.cost
            label = f"chosen: accuracy {accuracy:.3f} at cost {cost:.4g}"
            axes.plot([cost], [accuracy], "*", color=COLOURS[2], markersize=16, label=label, zorder=3)
        axes.set_xlabel("expected cost per item (money)")
        axes.set_ylabel("accuracy of the result")
        axes.set_title(f"What accuracy costs, workers as Beta({curve.prior.a:.4g}, {curve.prior.b:.4g})")
        axes.legend(loc="lower right")

    return draw
