"""What accuracy costs, over HTTP."""

from dataclasses import dataclass
from math import inf

import numpy as np
from fastapi import APIRouter, Response

from app.api.dependencies import Database
from app.api.offers import AtStake, PlanOut, profit_offer
from app.api.plans.accuracy_cost_schemas import (
    AccuracyCostIn,
    AccuracyCostOut,
    AtIn,
    Ceiling,
    Chosen,
    Fixed,
    Point,
    Status,
    ToWin,
)
from app.api.plans.apart import apart
from app.api.plans.forms import Form, in_form, plan_at
from app.api.plans.priors import explained_prior
from app.api.wire import ReasonOut, money
from app.errors import InvalidInput
from app.plots.accuracy_cost import Seen, accuracy_cost_picture
from app.policy.belief import Mask
from app.policy.planning.accuracy_cost import (
    MOST_LOSS,
    Curve,
    accuracy_cost,
    ceiling_with_any_number,
    majority_of,
    statuses,
)
from app.policy.planning.value_functions import ROUNDING, Linear, Step

router = APIRouter()


@dataclass(frozen=True)
class _Choice:
    point: int
    loss: float  # in costs of an answer
    reason: ReasonOut


@plan_at(router, "/accuracy-cost", summary="See what accuracy costs", shows=AccuracyCostOut)
async def post_accuracy_cost(body: AccuracyCostIn, database: Database, form: Form) -> Response:
    """Ask before you spend: how accurate can results be, and what does each step cost? The answer is a whole curve.

    Each point is a strategy that asks on while it pays and is the best one at some loss (Gao et al., SIGMOD 2013,
    Algorithm 3). Say what a result is worth (`value`), what it may cost (`max_cost`, or `budget` and `items`) or how
    good it must be (`min_accuracy`), and one is chosen; or name one by `at`. The one that is chosen comes with its
    table: at which votes to stop, what to expect there, and how many votes win. Costs are expectations.
    """
    known = await explained_prior(body.prior, database)
    curve = await apart(accuracy_cost, known.prior, body.max_workers)
    choice = _choice(body, curve)
    odd = np.arange(1, body.max_workers + 1, 2)
    majorities = majority_of(known.prior, odd)
    plan = AccuracyCostOut(
        prior=known.shown(),
        cost=body.cost,
        max_workers=body.max_workers,
        ceiling=Ceiling(accuracy=curve.ceiling, with_any_number=ceiling_with_any_number(known.prior)),
        points=[_point(body, curve, point) for point in range(len(curve.accuracy))],
        fixed=[
            Fixed(answers=int(answers), accuracy=accuracy, cost=money(answers * float(body.cost)))
            for answers, accuracy in zip(odd, majorities, strict=True)
        ],
        chosen=choice and _chosen(body, curve, choice),
        offer=choice and _offer(body, curve, choice),
    )
    seen = Seen(curve, float(body.cost), odd, majorities, None if choice is None else choice.point)
    return await in_form(form, plan, accuracy_cost_picture(seen))


def _offer(body: AccuracyCostIn, curve: Curve, choice: _Choice) -> PlanOut | None:
    """The strategy as a requirement; None where it asks nobody."""
    if not curve.answers[choice.point]:
        return None
    unit = float(body.cost)
    loss = choice.loss * unit
    value = body.value.value if isinstance(body.value, Linear) else loss
    offer = profit_offer("accuracy-cost", AtStake(value, loss, unit, curve.prior), body.max_workers)
    if offer is None or body.budget is None:
        return offer
    return offer.model_copy(update={"budget": body.budget})


def _choice(body: AccuracyCostIn, curve: Curve) -> _Choice | None:
    """The point that was asked for, or that suits what was wished for best."""
    if body.at is not None:
        return _named(body.at, body, curve)
    if isinstance(body.value, Step):
        _check_attainable(body.value.accuracy, curve, "#/value/accuracy")
    allowed = _allowed(body, curve)
    if body.value is not None:
        best = curve.best(body.value.worth(curve.accuracy), float(body.cost), allowed)
        return _of_point(curve, best, "largest-profit", "Worth less cost is largest here")
    if body.min_accuracy is not None:
        return _of_point(curve, int(np.argmax(allowed)), "cheapest", "The cheapest strategy that is accurate enough")
    if body.most_per_item is not None:
        last = int(np.flatnonzero(allowed)[-1])
        return _of_point(curve, last, "most-accurate", "The most accurate strategy that the money covers")
    return None


def _named(at: AtIn, body: AccuracyCostIn, curve: Curve) -> _Choice:
    if at.loss is not None:
        loss = float(at.loss) / float(body.cost)
        point = curve.at_loss(loss)
        told = ReasonOut(code="best-at-loss", message=f"The largest profit where a wrong answer costs {at.loss:f}")
        return _Choice(point, loss if loss <= MOST_LOSS else curve.loss_within(point), told)
    if at.accuracy is not None:
        _check_attainable(at.accuracy, curve, "#/at/accuracy")
        enough = int(np.argmax(curve.accuracy >= at.accuracy - ROUNDING))
        return _of_point(curve, enough, "cheapest", "The cheapest strategy that is accurate enough")
    most = float(at.cost or 0)
    _check_covers_an_answer(most, body, "#/at/cost")
    last = int(np.flatnonzero(curve.answers * float(body.cost) <= most * (1 + ROUNDING))[-1])
    return _of_point(curve, last, "most-accurate", "The most accurate strategy that the money covers")


def _of_point(curve: Curve, point: int | None, code: str, message: str) -> _Choice:
    assert point is not None  # noqa: S101  what is allowed was looked at before
    return _Choice(point, curve.loss_within(point), ReasonOut(code=code, message=message))


def _allowed(body: AccuracyCostIn, curve: Curve) -> Mask:
    """The points within the constraints; refused where there is none."""
    costs = curve.answers * float(body.cost)
    field, most = body.most_per_item or ("max_cost", inf)
    if body.most_per_item is not None:
        _check_covers_an_answer(most, body, f"#/{field}")
    affordable = costs <= most * (1 + ROUNDING)
    if body.min_accuracy is None:
        return np.asarray(affordable)
    _check_attainable(body.min_accuracy, curve, "#/min_accuracy")
    good_enough = curve.accuracy >= body.min_accuracy - ROUNDING
    if not (affordable & good_enough).any():
        needed, reached = money(float(costs[good_enough][0])), curve.accuracy[affordable][-1]
        told = f"{needed:f} per item would be needed; what {field} allows reaches {_down(reached)}"
        raise InvalidInput.at("#/min_accuracy", told)
    return np.asarray(affordable & good_enough)


def _check_attainable(accuracy: float, curve: Curve, pointer: str) -> None:
    if accuracy > curve.ceiling + ROUNDING:
        prior = curve.prior
        told = (
            f"Must be at most {_down(curve.ceiling)}: under Beta({prior.a:.4g}, {prior.b:.4g}), "
            f"{curve.most_answers} answers reach no more, and no number of answers exceeds "
            f"{_down(ceiling_with_any_number(prior))}"
        )
        raise InvalidInput.at(pointer, told)


def _check_covers_an_answer(most: float, body: AccuracyCostIn, pointer: str) -> None:
    if most * (1 + ROUNDING) < float(body.cost):
        each = f" for each of {body.items} items" if pointer == "#/budget" else ""
        least = body.cost * (body.items or 1) if each else body.cost
        raise InvalidInput.at(pointer, f"Must be at least {least:f}, which covers one answer{each}")


def _down(accuracy: float) -> str:
    """Four decimals that are not too many."""
    return f"{np.floor(accuracy * 1e4) / 1e4:.4f}"


def _point(body: AccuracyCostIn, curve: Curve, point: int) -> Point:
    unit = float(body.cost)
    return Point(
        accuracy=curve.accuracy[point],
        answers=curve.answers[point],
        cost=money(curve.answers[point] * unit),
        loss=money(curve.loss[point] * unit),
    )


def _chosen(body: AccuracyCostIn, curve: Curve, choice: _Choice) -> Chosen:
    unit, following = float(body.cost), choice.point + 1
    there = statuses(curve.prior, choice.loss, curve.most_answers)
    worth = None if body.value is None else float(body.value.worth(curve.accuracy[[choice.point]])[0])
    return Chosen(
        **dict(_point(body, curve, choice.point)),
        loss_below=money(curve.loss[following] * unit) if following < len(curve.loss) else None,
        worth=None if worth is None else money(worth),
        profit=None if worth is None else money(worth - curve.answers[choice.point] * unit),
        reason=choice.reason,
        votes_to_win=[ToWin(against=against, needs=needs) for against, needs in sorted(there.votes_to_win.items())],
        statuses=[
            Status(
                first=there.first[row],
                second=there.second[row],
                action="continue" if there.goes_on[row] else "stop",
                right=there.right[row],
                accuracy=there.accuracy[row],
                answers=there.answers[row],
                cost=money(there.answers[row] * unit),
                reached=there.reached[row],
            )
            for row in range(len(there.first))
        ],
    )
