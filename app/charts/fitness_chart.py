"""The chart of profit against the loss of a wrong answer, for the crowd, experts and models."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from app.charts.canvas import COLOURS, Drawing
from app.policy.planning.fitness import Market, ways

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LOSSES = 61  # points of each line
_STEEP = {"guess", "model"}  # the chart may cut these lines off, so that the others can be distinguished
_LOOKS = {
    "guess": (COLOURS[6], ":"),
    "model": (COLOURS[3], "--"),
    "expert": (COLOURS[1], "--"),
    "crowd": (COLOURS[0], "-"),
    "crowd-expert": (COLOURS[2], "-"),
    "model-crowd": (COLOURS[5], "-"),
    "model-crowd-expert": (COLOURS[4], "-"),
}


@dataclass(frozen=True)
class FitnessStakes:
    """The value of an answer and the loss of a wrong one, in units of the cost of an answer, which is `unit`."""

    value: float
    loss: float
    unit: float


def draw_fitness(market: Market, stakes: FitnessStakes) -> Drawing:
    """Draw the expected profit per item against the loss of a wrong answer, a line per way to answer."""

    def draw(figure: "Figure") -> None:
        unit, losses = stakes.unit, np.linspace(0, 2 * stakes.loss or 40.0, _LOSSES)
        axes = figure.subplots()
        lowest = 0.0
        for way in ways(market, losses):
            colour, line = _LOOKS[way.name]
            profit = (stakes.value - way.shortfall(losses)) * unit
            axes.plot(losses * unit, profit, line, color=colour, label=way.name.replace("-", " + "))
            lowest = lowest if way.name in _STEEP else min(lowest, profit.min())
        axes.set_ylim(bottom=lowest - 0.1 * (axes.get_ylim()[1] - lowest))
        axes.axhline(0, color="#777777", linewidth=0.8)
        axes.axvline(stakes.loss * unit, color="#777777", linestyle=":", label=f"loss {stakes.loss * unit:.4g}")
        axes.set_xlabel("loss of a wrong answer (money)")
        axes.set_ylabel("expected profit per item (money)")
        axes.set_title(f"Who should answer, if an answer is worth {stakes.value * unit:.4g}")
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))

    return draw
