"""What accuracy costs, over HTTP."""

import numpy as np
from fastapi import APIRouter, Response

from app.api.http.common_schemas import ReasonOut, money
from app.api.http.services import ServicesOf
from app.api.plans.accuracy_cost.schemas import (
    AccuracyCostIn,
    AccuracyCostOut,
    AccuracyCostPoint,
    ChosenStrategy,
    MajorityOut,
    MaxAccuracyOut,
    VoteStatus,
    VotesToWin,
)
from app.api.plans.default_job_schemas import default_job_out, default_offer
from app.api.plans.plan_route import Form, in_form, plan_at
from app.api.plans.plan_schemas import PlanOut, profit_offer
from app.api.plans.prior_schemas import prior_out
from app.charts.accuracy_cost_chart import AccuracyCostView, draw_accuracy_cost
from app.errors import InvalidInput
from app.policy.planning.accuracy_cost import (
    AccuracyCostCurve,
    accuracy_cost,
    majority_of,
    max_accuracy_with_any_number,
    statuses,
)
from app.policy.planning.value_functions import Linear
from app.use_cases.plans.choose_strategy import StrategyChoice, choose_strategy
from app.use_cases.plans.find_prior import find_prior
from app.use_cases.plans.forecast_default_job import DefaultJobRequest, forecast_default_job
from app.use_cases.plans.plan_threads import in_plan_thread
from app.use_cases.plans.profit_strategy import AnswerStakes, profit_strategy

router = APIRouter()


@plan_at(router, "/accuracy-cost", summary="See what accuracy costs", shows=AccuracyCostOut)
async def plan_accuracy_cost(services: ServicesOf, body: AccuracyCostIn, form: Form) -> Response:
    """Ask before you spend: how accurate can results be, and what does each step cost? The response is a whole curve.

    Each point is a strategy that asks while another answer pays, and that is the best one for some loss (Gao et al.,
    SIGMOD 2013, Algorithm 3). Send what a result is worth (`value`), what it may cost (`max_cost`, or `budget` and
    `items`) or how good it must be (`min_accuracy`), and the plan chooses a point; or choose one yourself with `at`.
    The chosen point comes with its table: at which votes to stop, what to expect there, and how many votes win. Costs
    are expectations. They are of a job that counts the votes of equally good workers. If an accuracy is asked for,
    `default_job` says what a default job would do, which is offered unless `job` is `counted-votes`.
    """
    found = await find_prior(services.database, body.prior.source())
    curve = await in_plan_thread(accuracy_cost, found.prior, body.max_workers)
    request = body.default_job_request()
    choice, out_of_reach = _chosen_or_why_not(body, curve, request)
    default_job, offer = None, choice and _offer(body, curve, choice)
    if request is not None:
        crowd = found if "prior" in body.model_fields_set else None
        forecast = await forecast_default_job(request, crowd)
        default_job = default_job_out(request, forecast, crowd_known=crowd is not None)
        offer = default_offer("accuracy-cost", request, forecast)
        offer = offer if body.budget is None else offer.model_copy(update={"budget": body.budget})
    odd = np.arange(1, body.max_workers + 1, 2)
    majorities = majority_of(found.prior, odd)
    plan = AccuracyCostOut(
        prior=prior_out(found),
        cost=body.cost,
        max_workers=body.max_workers,
        max_accuracy=MaxAccuracyOut(
            with_max_workers=curve.max_accuracy, with_any_number=max_accuracy_with_any_number(found.prior)
        ),
        points=[_point(body, curve, point) for point in range(len(curve.accuracy))],
        majorities=[
            MajorityOut(answers=int(answers), accuracy=accuracy, cost=money(answers * float(body.cost)))
            for answers, accuracy in zip(odd, majorities, strict=True)
        ],
        chosen=choice and _chosen(body, curve, choice),
        out_of_reach=out_of_reach,
        default_job=default_job,
        offer=offer,
    )
    seen = AccuracyCostView(curve, float(body.cost), odd, majorities, None if choice is None else choice.point)
    return await in_form(form, plan, draw_accuracy_cost(seen))


def _chosen_or_why_not(
    body: AccuracyCostIn, curve: AccuracyCostCurve, request: DefaultJobRequest | None
) -> tuple[StrategyChoice | None, str | None]:
    """The strategy, or why counted votes cannot do it. Without the forecast of a default job that is an error."""
    try:
        return choose_strategy(body.strategy_request(), curve), None
    except InvalidInput as error:
        if request is None:
            raise
        return None, "; ".join(f"{each.pointer[2:]}: {each.message}" for each in error.errors)


def _offer(body: AccuracyCostIn, curve: AccuracyCostCurve, choice: StrategyChoice) -> PlanOut | None:
    """Turn the strategy into a job's requirement; None if it asks for no answer."""
    if not curve.answers[choice.point]:
        return None
    unit = float(body.cost)
    loss = choice.loss * unit
    value = body.value.value if isinstance(body.value, Linear) else loss
    strategy = profit_strategy(AnswerStakes(value, loss, unit), curve.prior, body.max_workers)
    offer = profit_offer("accuracy-cost", strategy, body.cost)
    if offer is None or body.budget is None:
        return offer
    return offer.model_copy(update={"budget": body.budget})


def _point(body: AccuracyCostIn, curve: AccuracyCostCurve, point: int) -> AccuracyCostPoint:
    unit = float(body.cost)
    return AccuracyCostPoint(
        accuracy=curve.accuracy[point],
        answers=curve.answers[point],
        cost=money(curve.answers[point] * unit),
        loss=money(curve.loss[point] * unit),
    )


def _chosen(body: AccuracyCostIn, curve: AccuracyCostCurve, choice: StrategyChoice) -> ChosenStrategy:
    unit, following = float(body.cost), choice.point + 1
    there = statuses(curve.prior, choice.loss, curve.most_answers)
    worth = None if body.value is None else float(body.value.worth(curve.accuracy[[choice.point]])[0])
    return ChosenStrategy(
        **dict(_point(body, curve, choice.point)),
        loss_below=money(curve.loss[following] * unit) if following < len(curve.loss) else None,
        worth=None if worth is None else money(worth),
        profit=None if worth is None else money(worth - curve.answers[choice.point] * unit),
        reason=ReasonOut(code=choice.reason.code, message=choice.reason.message),
        votes_to_win=[
            VotesToWin(against=against, needed=needed) for against, needed in sorted(there.votes_to_win.items())
        ],
        statuses=[
            VoteStatus(
                first=there.first[row],
                second=there.second[row],
                action="continue" if there.goes_on[row] else "stop",
                confidence=there.right[row],
                accuracy=there.accuracy[row],
                answers=there.answers[row],
                cost=money(there.answers[row] * unit),
                reached=there.reached[row],
            )
            for row in range(len(there.first))
        ],
    )
