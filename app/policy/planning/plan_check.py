"""Compare a running job with the plan that it was made from."""

from dataclasses import dataclass
from typing import Literal

from app.policy.core.decision import Reason

_FEW_ANSWERS = 20
_LITTLE = 0.1  # with a smaller share of the work done, the money spent says nothing about the rest
_MARGIN = 0.2  # a projection, which has no interval, may miss a promise by this share
_ROUNDING = 1e-9

Basis = Literal["end", "forecast", "projection", "nothing"]


@dataclass(frozen=True)
class Promise:
    """What a plan promised; None: it says nothing about that."""

    cost_per_item: float | None = None
    answers_per_item: float | None = None
    accuracy: float | None = None  # the share of resolved items that are right
    resolved: float | None = None  # the share of items


@dataclass(frozen=True)
class SoFar:
    """The state of a job, by its counters."""

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
class ProjectedInterval:
    low: float
    high: float


@dataclass(frozen=True)
class ExpectedEnd:
    """How the job is expected to end, by its forecast, in the units of a promise."""

    cost_per_item: ProjectedInterval
    answers_per_item: ProjectedInterval
    resolved: ProjectedInterval
    accuracy: ProjectedInterval | None


@dataclass(frozen=True)
class Comparison:
    basis: Basis
    reason: Reason


def compare(promise: Promise, so_far: SoFar, forecast: ExpectedEnd | None = None) -> Comparison:
    """Whether the job keeps what its plan promised.

    A finished job is compared as it is. A running job is compared by its expected end: by its forecast's interval or,
    without a forecast, by what it has spent divided by the share of the work that is done. A job with a fifth of the
    work done is on track if it has spent a fifth. If several promises are broken, the worst is named: too few labels,
    then wrong labels, then money.

    >>> compare(Promise(cost_per_item=3.0), SoFar(100, 20, 0, 80, 80.0, 0.2)).reason.code
    'more-expensive'
    """
    basis, found = _expected_end(so_far, forecast)
    if found is None:
        return Comparison("nothing", Reason("too-early", "Too little is done to compare the job with its plan."))
    for code, promised, interval, less_is_worse, what in (
        ("fewer-resolved", promise.resolved, found.resolved, True, "share of items resolved"),
        ("less-accurate", promise.accuracy, found.accuracy, True, "accuracy"),
        ("more-expensive", promise.cost_per_item, found.cost_per_item, False, "cost per item"),
        ("more-answers", promise.answers_per_item, found.answers_per_item, False, "answers per item"),
        ("cheaper", promise.cost_per_item, found.cost_per_item, True, "cost per item"),
    ):
        if promised is not None and interval is not None and _misses(promised, interval, less_is_worse=less_is_worse):
            return Comparison(basis, Reason(code, _said(what, promised, interval, basis)))
    return Comparison(basis, Reason("on-track", f"{_BY[basis]}, the job keeps everything that its plan promised."))


_BY = {
    "end": "Now that the job is over",
    "forecast": "According to its forecast",
    "projection": "Projected from the work done so far",
}


def _misses(promised: float, interval: ProjectedInterval, *, less_is_worse: bool) -> bool:
    if less_is_worse:
        return interval.high < promised - _ROUNDING
    return interval.low > promised + _ROUNDING


def _said(what: str, promised: float, interval: ProjectedInterval, basis: Basis) -> str:
    low, high = f"{interval.low:.3g}", f"{interval.high:.3g}"
    found = low if low == high else f"{low} to {high}"
    return f"{_BY[basis]}, the {what} is {found}; the plan promised {promised:.3g}."


def _expected_end(so_far: SoFar, forecast: ExpectedEnd | None) -> tuple[Basis, ExpectedEnd | None]:
    if so_far.over:
        # The accuracy of a finished job is unknown; its costs are exact and get half of the margin.
        return "end", _projected(so_far, 1.0, _MARGIN / 2, resolved=True)
    if forecast is not None:
        return "forecast", forecast
    if so_far.answers < _FEW_ANSWERS or so_far.completeness < _LITTLE:
        return "nothing", None
    return "projection", _projected(so_far, so_far.completeness, _MARGIN, resolved=False)


def _projected(so_far: SoFar, done: float, margin: float, *, resolved: bool) -> ExpectedEnd:
    share = so_far.resolved / so_far.items
    return ExpectedEnd(
        cost_per_item=_around(so_far.spent / so_far.items / done, margin),
        answers_per_item=_around(so_far.answers / so_far.items / done, margin),
        resolved=ProjectedInterval(share, share if resolved else 1.0),
        accuracy=None,
    )


def _around(value: float, margin: float) -> ProjectedInterval:
    return ProjectedInterval(value * (1 - margin), value * (1 + margin))
