"""Fitness plans over HTTP: should the crowd, an expert or a model solve a problem?"""

from collections.abc import Sequence
from decimal import Decimal
from typing import Literal

from fastapi import APIRouter, Response

from app.api.http.common_schemas import ReasonOut, money
from app.api.http.services import ServicesOf
from app.api.plans.fitness.schemas import ExpertIn, FitnessIn, FitnessOut, FitnessStep, OfferedWorker, WayOut
from app.api.plans.plan_route import Form, in_form, plan_at
from app.api.plans.plan_schemas import PlanOut, profit_offer
from app.api.plans.prior_schemas import prior_out
from app.charts.fitness_chart import FitnessStakes, draw_fitness
from app.domain.money import amount_text
from app.policy.planning.cost_sensitive import Prior
from app.policy.planning.fitness import Market, Model, Visit, Way, best_way, visits, ways
from app.policy.planning.stopping_policy import ACCEPT, ASK, REFER, Expert
from app.use_cases.plans.find_prior import find_prior
from app.use_cases.plans.plan_threads import in_plan_thread
from app.use_cases.plans.profit_strategy import AnswerStakes, profit_strategy, strategy_with_expert

router = APIRouter()

_IN_WORDS = {
    "guess": "to guess without asking anyone",
    "model": "to take the model's label",
    "expert": "to ask the expert directly",
    "crowd": "to ask the crowd while it pays",
    "crowd-expert": "to ask the crowd, and the expert if doubt remains",
    "model-crowd": "to let the crowd check the model's label while it pays",
    "model-crowd-expert": "to let the crowd check the model's label, and ask the expert if doubt remains",
}
_ACTIONS: dict[int, Literal["ask", "accept", "expert"]] = {ASK: "ask", ACCEPT: "accept", REFER: "expert"}


@plan_at(router, "/fitness", summary="See whether the crowd should solve a problem", shows=FitnessOut)
async def plan_fitness(services: ServicesOf, body: FitnessIn, form: Form) -> Response:
    """Ask before you start: is this a problem for the crowd, for an expert, for a model, or for a combination?

    Each way uses its best strategy: the crowd is asked while the next answer saves more than it costs, an item may go
    to the expert after any votes, and the model's label may come first. `min_value` is what an answer must be worth for
    a way to pay (Gao et al., SIGMOD 2013, Section 6.2). Profits are expectations per item.
    """
    known = await find_prior(services.database, body.prior.source())
    market, stakes = _market(body, known.prior), _stakes(body)
    found = await in_plan_thread(ways, market, stakes.loss)
    best = best_way(found, stakes.loss)
    crowd = next(way for way in found if way.name == "crowd")
    pays = _profit(body, best) > 0
    seen = list(visits(market, best, stakes.loss)) if pays and best.answers[0] > 0 else []
    offer = _offer(body, market, best, seen) if pays else None
    plan = FitnessOut(
        prior=prior_out(known),
        value=body.value,
        loss=body.loss,
        cost=body.cost,
        crowd_pays=bool(crowd.answers[0] > 0 and _profit(body, crowd) > 0),
        best=best.name if pays else None,
        reason=_reason(body, best, crowd),
        min_value=_min_value(body, crowd),
        ways=[_way_out(body, way) for way in found],
        steps=[_step(at) for at in seen],
        offer=offer,
        workers=[] if offer is None else _workers(body, best),
    )
    return await in_form(form, plan, draw_fitness(market, stakes))


def _offer(body: FitnessIn, market: Market, best: Way, seen: Sequence[Visit]) -> PlanOut | None:
    """Make an offer if the crowd is best, or crowd first and then the expert; no job begins with a model like this."""
    stakes = AnswerStakes(float(body.value), float(body.loss), float(body.cost))
    if best.name == "crowd":
        return profit_offer("fitness", profit_strategy(stakes, market.prior, body.max_workers), body.cost)
    if best.name == "crowd-expert" and body.expert is not None:
        price = float(_expert_price(body.expert, body.cost))
        return profit_offer("fitness", strategy_with_expert(stakes, market, best, seen, price), body.cost)
    return None


def _workers(body: FitnessIn, best: Way) -> list[OfferedWorker]:
    if best.expert is None or body.expert is None:
        return []
    return [OfferedWorker(worker="expert", price=_expert_price(body.expert, body.cost), trusted=True)]


def _expert_price(expert: ExpertIn, cost: Decimal) -> Decimal:
    return money(expert.price / cost)


def _stakes(body: FitnessIn) -> FitnessStakes:
    unit = float(body.cost)
    return FitnessStakes(float(body.value) / unit, float(body.loss) / unit, unit)


def _market(body: FitnessIn, prior: Prior) -> Market:
    """Convert all money to units of the cost of an answer."""
    unit, expert, model = float(body.cost), body.expert, body.model
    return Market(
        prior,
        body.max_workers,
        None if expert is None else Expert(float(expert.price) / unit, expert.accuracy),
        None if model is None else Model(model.accuracy, float(model.price) / unit),
    )


def _min_value(body: FitnessIn, way: Way) -> Decimal:
    stakes = _stakes(body)
    return money(float(way.shortfall(stakes.loss)[0]) * stakes.unit)


def _profit(body: FitnessIn, way: Way) -> Decimal:
    return body.value - _min_value(body, way)


def _way_out(body: FitnessIn, way: Way) -> WayOut:
    return WayOut(
        name=way.name,
        profit=_profit(body, way),
        accuracy=way.accuracy[0],
        cost=money(way.cost[0] * float(body.cost)),
        answers=way.answers[0],
        expert_share=way.expert_share[0],
        min_value=_min_value(body, way),
    )


def _reason(body: FitnessIn, best: Way, crowd: Way) -> ReasonOut:
    earned = _profit(body, best)
    how = f"the best way is {_IN_WORDS[best.name]}, for a profit of {amount_text(earned)} per item"
    if earned <= 0:
        worth = amount_text(_min_value(body, best))
        message = f"No way makes a profit: an answer would have to be worth more than {worth}"
        return ReasonOut(code="nothing-pays", message=message)
    if best.answers[0] > 0:
        alone = best.name == "crowd"
        return ReasonOut(code="crowd" if alone else "crowd-in-part", message=how[0].upper() + how[1:])
    if crowd.answers[0] == 0:
        message = f"An answer of the crowd saves less than it costs; {how}"
        return ReasonOut(code="asking-does-not-pay", message=message)
    message = f"The crowd would earn {amount_text(_profit(body, crowd))}; {how}"
    return ReasonOut(code=f"{best.name}-is-better", message=message)


def _step(at: Visit) -> FitnessStep:
    return FitnessStep(
        votes_for=at.votes_for,
        votes_against=at.votes_against,
        action=_ACTIONS[at.action],
        confidence=at.right,
        reached=at.reached,
    )
