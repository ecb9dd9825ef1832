"""The chart of what a budget buys: items resolved, and how many of them are right."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from app.charts.canvas import COLOURS, Drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class ForecastPoint(NamedTuple):
    """A share that a budget buys, with its interval."""

    budget: float
    expected: float
    low: float
    high: float


def draw_forecast(
    title: str, bands: Mapping[str, Sequence[ForecastPoint]], budget: float | None, level: float
) -> Drawing:
    """Draw each share against the budget, with its interval as a band, and a line at the job's budget."""

    def draw(figure: "Figure") -> None:
        axes = figure.subplots()
        axes.set_title(title)
        for colour, (name, points) in zip(COLOURS, bands.items(), strict=False):
            if points:
                money, expected, low, high = zip(*points, strict=True)
                axes.plot(money, expected, color=colour, label=name)
                axes.fill_between(money, low, high, color=colour, alpha=0.2, linewidth=0)
        if budget is not None:
            axes.axvline(budget, color=COLOURS[-1], linestyle=":", label="the budget")
        axes.set_xlabel("budget")
        axes.set_ylabel("share")
        axes.set_xlim(left=0)
        axes.set_ylim(0, 1.02)
        axes.yaxis.set_major_formatter("{x:.0%}")
        axes.xaxis.set_major_formatter("{x:,g}")
        axes.legend(loc="lower right", title=f"expected, and where {level:.0%} of outcomes lie")

    return draw
