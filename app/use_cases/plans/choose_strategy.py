"""Choose the point of an accuracy-cost curve that fits a request."""

from dataclasses import dataclass
from decimal import Decimal
from math import inf

import numpy as np

from app.errors import InvalidInput
from app.policy.core.belief import Mask
from app.policy.core.decision import Reason
from app.policy.planning.accuracy_cost import MOST_LOSS, AccuracyCostCurve, max_accuracy_with_any_number
from app.policy.planning.value_functions import ROUNDING, AnyValue, StepValue


@dataclass(frozen=True)
class NamedPoint:
    """A point by exactly one of its coordinates."""

    loss: Decimal | None = None
    accuracy: float | None = None
    cost: Decimal | None = None


@dataclass(frozen=True, kw_only=True)
class StrategyRequest:
    """The request: a point by a coordinate, or a value and constraints."""

    cost: Decimal  # of one answer
    at: NamedPoint | None = None
    value: AnyValue | None = None
    max_cost: Decimal | None = None  # per item
    budget: Decimal | None = None  # of all items together, with `items`
    items: int | None = None
    min_accuracy: float | None = None

    @property
    def most_per_item(self) -> tuple[str, float] | None:
        """Return the field that limits the cost of an item, and the limit."""
        if self.budget is not None and self.items is not None:
            return "budget", float(self.budget) / self.items
        return None if self.max_cost is None else ("max_cost", float(self.max_cost))


@dataclass(frozen=True)
class StrategyChoice:
    """The chosen point, a loss for which it is the best one, and the reason."""

    point: int
    loss: float  # in costs of an answer
    reason: Reason


def choose_strategy(request: StrategyRequest, curve: AccuracyCostCurve) -> StrategyChoice | None:
    """Return the point that was named, or the one that fits the request best; None if nothing is asked for."""
    if request.at is not None:
        return _named(request.at, request, curve)
    if isinstance(request.value, StepValue):
        _check_attainable(request.value.accuracy, curve, "#/value/accuracy")
    allowed = _allowed(request, curve)
    if request.value is not None:
        best = curve.best(request.value.worth(curve.accuracy), float(request.cost), allowed)
        return _of_point(curve, best, "largest-profit", "Value minus cost is largest here")
    if request.min_accuracy is not None:
        return _of_point(curve, int(np.argmax(allowed)), "cheapest", "The cheapest strategy that is accurate enough")
    if request.most_per_item is not None:
        last = int(np.flatnonzero(allowed)[-1])
        return _of_point(curve, last, "most-accurate", "The most accurate strategy that the money covers")
    return None


def _named(at: NamedPoint, request: StrategyRequest, curve: AccuracyCostCurve) -> StrategyChoice:
    if at.loss is not None:
        loss = float(at.loss) / float(request.cost)
        point = curve.at_loss(loss)
        reason = Reason("best-at-loss", f"The largest profit if a wrong answer costs {at.loss:f}")
        return StrategyChoice(point, loss if loss <= MOST_LOSS else curve.loss_within(point), reason)
    if at.accuracy is not None:
        _check_attainable(at.accuracy, curve, "#/at/accuracy")
        enough = int(np.argmax(curve.accuracy >= at.accuracy - ROUNDING))
        return _of_point(curve, enough, "cheapest", "The cheapest strategy that is accurate enough")
    most = float(at.cost or 0)
    _check_covers_an_answer(most, request, "#/at/cost")
    last = int(np.flatnonzero(curve.answers * float(request.cost) <= most * (1 + ROUNDING))[-1])
    return _of_point(curve, last, "most-accurate", "The most accurate strategy that the money covers")


def _of_point(curve: AccuracyCostCurve, point: int | None, code: str, message: str) -> StrategyChoice:
    assert point is not None  # noqa: S101  the constraints were checked before
    return StrategyChoice(point, curve.loss_within(point), Reason(code, message))


def _allowed(request: StrategyRequest, curve: AccuracyCostCurve) -> Mask:
    """Select the points within the constraints; raises if there is none."""
    costs = curve.answers * float(request.cost)
    field, most = request.most_per_item or ("max_cost", inf)
    if request.most_per_item is not None:
        _check_covers_an_answer(most, request, f"#/{field}")
    affordable = costs <= most * (1 + ROUNDING)
    if request.min_accuracy is None:
        return np.asarray(affordable)
    _check_attainable(request.min_accuracy, curve, "#/min_accuracy")
    good_enough = curve.accuracy >= request.min_accuracy - ROUNDING
    if not (affordable & good_enough).any():
        needed, reached = float(costs[good_enough][0]), curve.accuracy[affordable][-1]
        message = f"This accuracy costs {needed:.6g} per item; `{field}` allows an accuracy of {_down(reached)} at most"
        raise InvalidInput.at("#/min_accuracy", message)
    return np.asarray(affordable & good_enough)


def _check_attainable(accuracy: float, curve: AccuracyCostCurve, pointer: str) -> None:
    if accuracy <= curve.max_accuracy + ROUNDING:
        return
    prior = curve.prior
    message = (
        f"Must be at most {_down(curve.max_accuracy)}: under Beta({prior.a:.4g}, {prior.b:.4g}), "
        f"{curve.most_answers} answers cannot reach more, and no number of answers can exceed "
        f"{_down(max_accuracy_with_any_number(prior))}"
    )
    raise InvalidInput.at(pointer, message)


def _check_covers_an_answer(most: float, request: StrategyRequest, pointer: str) -> None:
    if most * (1 + ROUNDING) >= float(request.cost):
        return
    each = f" for each of {request.items} items" if pointer == "#/budget" else ""
    least = request.cost * (request.items or 1) if each else request.cost
    raise InvalidInput.at(pointer, f"Must be at least {least:f}, which pays for one answer{each}")


def _down(accuracy: float) -> str:
    """Round down to four decimals, so that the accuracy in a message can be reached."""
    return f"{np.floor(accuracy * 1e4) / 1e4:.4f}"
