"""The chart of wrong items against the budget, for each way to split it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from app.charts.canvas import COLOURS, Drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_NAMES = {"crowdbudget": "CrowdBudget", "uniform": "uniform: equal numbers", "by_value": "by value per cost"}
_HALF = 50  # percent of wrong labels, as many as with guessing
_STEEP = 20.0  # errors that fall by more than this factor need a logarithmic axis


class SplitPoint(NamedTuple):
    """The expected errors of a split at the requested budget."""

    split: str
    errors: float


@dataclass(frozen=True)
class SplitCurves:
    """Expected errors by budget."""

    items: int
    budget: Sequence[float]
    errors: dict[str, Sequence[float]]  # by split
    theorem_1: Sequence[float | None]  # None where it gives no bound
    asked: float  # the requested budget
    take: str  # the split with the fewest errors at that budget
    marks: Sequence[SplitPoint]
    target: float | None


def draw_split(curves: SplitCurves) -> Drawing:
    """Draw the expected share of wrong items against the budget, with a line at the requested budget."""

    def draw(figure: "Figure") -> None:
        axes = figure.subplots()
        share = 100 / curves.items
        colour = dict(zip(_NAMES, COLOURS, strict=False))
        for name, label in _NAMES.items():
            axes.plot(
                curves.budget, [share * errors for errors in curves.errors[name]], label=label, color=colour[name]
            )
        for mark in curves.marks:
            axes.plot(curves.asked, share * mark.errors, "o", color=colour[mark.split])
        known = [(b, share * e) for b, e in zip(curves.budget, curves.theorem_1, strict=True) if e is not None]
        if known:
            silent = min(errors for _, errors in known) > _HALF
            label = "Theorem 1 (no useful bound)" if silent else "Theorem 1: bound for CrowdBudget"
            axes.plot(*zip(*known, strict=True), ":", color="#555555", label=label)
        axes.axvline(curves.asked, color="#555555", linewidth=0.8, label=f"requested budget: {curves.asked:g}")
        if curves.target is not None:
            axes.axhline(share * curves.target, color="#555555", linestyle="--", linewidth=0.8, label="target")
        _scale(axes, [share * errors for row in curves.errors.values() for errors in row])
        axes.set_xlim(0, max(curves.budget))
        axes.set_xlabel("budget (money)")
        axes.set_ylabel("items that will be wrong (%)")
        axes.set_title(f"What a budget for {curves.items:,} items buys")
        figure.legend(loc="outside lower center", ncols=3, fontsize="small")

    return draw


def _scale(axes: "Axes", shares: Sequence[float]) -> None:
    """Use a logarithmic axis if errors fall far; cut off bounds above half of the items: they are useless."""
    lowest = min(shares)
    if 0 < lowest < max(shares) / _STEEP:
        axes.set_yscale("log")
        axes.set_ylim(max(lowest / 1.5, 1e-6), 60)
    else:
        axes.set_ylim(0, 55)
