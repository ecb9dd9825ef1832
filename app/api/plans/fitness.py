"""Whether a problem is one for the crowd, over HTTP."""

from decimal import Decimal
from typing import Literal

from fastapi import APIRouter, Response

from app.api.dependencies import Database
from app.api.offers import AtStake, PlanOut, profit_offer
from app.api.plans.apart import apart
from app.api.plans.fitness_schemas import FitnessIn, FitnessOut, Step, WayOut
from app.api.plans.forms import Form, in_form, plan_at
from app.api.plans.priors import explained_prior
from app.api.wire import ReasonOut, money
from app.plots.fitness import Stakes, fitness_picture
from app.policy.planning.cost_sensitive import Prior
from app.policy.planning.courses import ACCEPT, ASK, REFER, Expert
from app.policy.planning.fitness import Market, Model, Visit, Way, best_way, visits, ways

router = APIRouter()

_IN_WORDS = {
    "guess": "to guess without asking anybody",
    "model": "to take the model's label",
    "expert": "to ask the expert at once",
    "crowd": "to ask the crowd for as long as it pays",
    "crowd-expert": "to ask the crowd, and the expert where it stays in doubt",
    "model-crowd": "to let the crowd check the model's label for as long as it pays",
    "model-crowd-expert": "to let the crowd check the model's label, and ask the expert where doubt remains",
}
_ACTIONS: dict[int, Literal["ask", "accept", "expert"]] = {ASK: "ask", ACCEPT: "accept", REFER: "expert"}


@plan_at(router, "/fitness", summary="See whether a problem is one for the crowd", shows=FitnessOut)
async def post_fitness(body: FitnessIn, database: Database, form: Form) -> Response:
    """Ask before you start: is this a problem for the crowd, for an expert, for a model, or for one after the other?

    Each way is followed as well as can be: the crowd is asked for as long as the next answer saves more than it costs,
    may hand over to the expert at any votes, and may begin with the model's label. `least_value` is what an answer
    must be worth for a way to pay (Gao et al., SIGMOD 2013, Section 6.2). Profits are expectations per item.
    """
    known = await explained_prior(body.prior, database)
    market, stakes = _market(body, known.prior), _stakes(body)
    found = await apart(ways, market, stakes.loss)
    best = best_way(found, stakes.loss)
    crowd = next(way for way in found if way.name == "crowd")
    pays = _profit(body, best) > 0
    plan = FitnessOut(
        prior=known.shown(),
        value=body.value,
        loss=body.loss,
        cost=body.cost,
        fit=bool(crowd.answers[0] > 0 and _profit(body, crowd) > 0),
        best=best.name if pays else None,
        reason=_reason(body, best, crowd),
        least_value=_least_value(body, crowd),
        ways=[_shown(body, way) for way in found],
        steps=[_step(at) for at in visits(market, best, stakes.loss)] if pays and best.answers[0] > 0 else [],
        offer=_offer(body, known.prior, best) if pays else None,
    )
    return await in_form(form, plan, fitness_picture(market, stakes))


def _offer(body: FitnessIn, prior: Prior, best: Way) -> PlanOut | None:
    """Where the crowd alone is best; no job asks a model or an expert by a strategy like these."""
    if best.name != "crowd":
        return None
    stakes = AtStake(float(body.value), float(body.loss), float(body.cost), prior)
    return profit_offer("fitness", stakes, body.max_workers)


def _stakes(body: FitnessIn) -> Stakes:
    unit = float(body.cost)
    return Stakes(float(body.value) / unit, float(body.loss) / unit, unit)


def _market(body: FitnessIn, prior: Prior) -> Market:
    """All money in the cost of an answer."""
    unit, expert, model = float(body.cost), body.expert, body.model
    return Market(
        prior,
        body.max_workers,
        None if expert is None else Expert(float(expert.price) / unit, expert.accuracy),
        None if model is None else Model(model.accuracy, float(model.price) / unit),
    )


def _least_value(body: FitnessIn, way: Way) -> Decimal:
    stakes = _stakes(body)
    return money(float(way.shortfall(stakes.loss)[0]) * stakes.unit)


def _profit(body: FitnessIn, way: Way) -> Decimal:
    return body.value - _least_value(body, way)


def _shown(body: FitnessIn, way: Way) -> WayOut:
    return WayOut(
        name=way.name,
        profit=_profit(body, way),
        accuracy=way.accuracy[0],
        cost=money(way.cost[0] * float(body.cost)),
        answers=way.answers[0],
        referred=way.referred[0],
        least_value=_least_value(body, way),
    )


def _reason(body: FitnessIn, best: Way, crowd: Way) -> ReasonOut:
    earned = _profit(body, best)
    how = f"best is {_IN_WORDS[best.name]}, for a profit of {earned:f} per item"
    if earned <= 0:
        told = f"Nothing pays: an answer would have to be worth more than {_least_value(body, best):f}"
        return ReasonOut(code="nothing-pays", message=told)
    if best.answers[0] > 0:
        alone = best.name == "crowd"
        return ReasonOut(code="crowd" if alone else "crowd-in-part", message=how[0].upper() + how[1:])
    if crowd.answers[0] == 0:
        told = f"No answer of the crowd saves what it costs; {how}"
        return ReasonOut(code="asking-does-not-pay", message=told)
    told = f"The crowd would earn {_profit(body, crowd):f}; {how}"
    return ReasonOut(code=f"{best.name}-is-better", message=told)


def _step(at: Visit) -> Step:
    return Step(
        votes_for=at.votes_for,
        votes_against=at.votes_against,
        action=_ACTIONS[at.action],
        right=at.right,
        reached=at.reached,
    )
