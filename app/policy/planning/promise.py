"""Hold a running job to the plan that it was made from."""

from dataclasses import dataclass
from typing import Literal

from app.domain import Reason

_FEW_ANSWERS = 20
_LITTLE = 0.1  # of the work done, below which what was spent says nothing of what will be
_MARGIN = 0.2  # by which a projection may miss a promise that it has no interval for
_ROUNDING = 1e-9

Basis = Literal["end", "forecast", "projection", "nothing"]


@dataclass(frozen=True)
class Promise:
    """What a plan has led to expect; None: it says nothing of that."""

    cost_per_item: float | None = None
    labels_per_item: float | None = None
    accuracy: float | None = None  # the share of resolved items that are right
    resolved: float | None = None  # the share of items


@dataclass(frozen=True)
class SoFar:
    """How a job stands, by its counters."""

    items: int
    resolved: int
    given_up: int
    answers: int
    spent: float
    completeness: float  # of all items on average, 0..1
    out_of_money: bool = False

    @property
    def over(self) -> bool:
        return self.items > 0 and (self.out_of_money or self.resolved + self.given_up >= self.items)


@dataclass(frozen=True)
class Interval:
    low: float
    high: float


@dataclass(frozen=True)
class Expected:
    """Where the job ends, by its forecast, in the units of a promise."""

    cost_per_item: Interval
    labels_per_item: Interval
    resolved: Interval
    accuracy: Interval | None


@dataclass(frozen=True)
class Comparison:
    basis: Basis
    reason: Reason


def compare(promise: Promise, so_far: SoFar, forecast: Expected | None = None) -> Comparison:
    """Whether the job keeps what its plan promised, like held to like.

    What is over is held to the promise itself; what runs, to where it is going: to its forecast's interval, or, where
    there is none, to what it has spent divided by the share of the work that is done. A job of which a fifth is done is
    on track if it has spent a fifth. Of several broken promises the worst is named: fewer labels, then wrong ones, then
    money.

    >>> compare(Promise(cost_per_item=3.0), SoFar(100, 20, 0, 80, 80.0, 0.2)).reason.code
    'dearer'
    """
    basis, found = _outlook(so_far, forecast)
    if found is None:
        return Comparison("nothing", Reason("too-early", "so little is done that nothing can be said yet"))
    for code, promised, interval, less_is_worse, what in (
        ("fewer-resolved", promise.resolved, found.resolved, True, "share of items resolved"),
        ("less-accurate", promise.accuracy, found.accuracy, True, "accuracy"),
        ("dearer", promise.cost_per_item, found.cost_per_item, False, "cost per item"),
        ("more-labels", promise.labels_per_item, found.labels_per_item, False, "labels per item"),
        ("cheaper", promise.cost_per_item, found.cost_per_item, True, "cost per item"),
    ):
        if promised is not None and interval is not None and _misses(promised, interval, less_is_worse=less_is_worse):
            return Comparison(basis, Reason(code, _said(what, promised, interval, basis)))
    return Comparison(basis, Reason("on-track", f"{_BY[basis]}, everything that was promised can be kept"))


_BY = {
    "end": "now that the job is over",
    "forecast": "by its forecast",
    "projection": "by what was spent for what is done",
}


def _misses(promised: float, interval: Interval, *, less_is_worse: bool) -> bool:
    if less_is_worse:
        return interval.high < promised - _ROUNDING
    return interval.low > promised + _ROUNDING


def _said(what: str, promised: float, interval: Interval, basis: Basis) -> str:
    low, high = f"{interval.low:.3g}", f"{interval.high:.3g}"
    found = low if low == high else f"{low} to {high}"
    return f"{_BY[basis]}, the {what} is {found}; {promised:.3g} was promised"


def _outlook(so_far: SoFar, forecast: Expected | None) -> tuple[Basis, Expected | None]:
    if so_far.over:
        # What is over has no accuracy that anybody could know; costs are what they are, within a tenth of the margin.
        return "end", _projected(so_far, 1.0, _MARGIN / 2, resolved=True)
    if forecast is not None:
        return "forecast", forecast
    if so_far.answers < _FEW_ANSWERS or so_far.completeness < _LITTLE:
        return "nothing", None
    return "projection", _projected(so_far, so_far.completeness, _MARGIN, resolved=False)


def _projected(so_far: SoFar, done: float, margin: float, *, resolved: bool) -> Expected:
    share = so_far.resolved / so_far.items
    return Expected(
        cost_per_item=_around(so_far.spent / so_far.items / done, margin),
        labels_per_item=_around(so_far.answers / so_far.items / done, margin),
        resolved=Interval(share, share if resolved else 1.0),
        accuracy=None,
    )


def _around(value: float, margin: float) -> Interval:
    return Interval(value * (1 - margin), value * (1 + margin))
