"""The strategy that asks while the next answer saves more than it costs, as a requirement of a job."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.policy.planning.cost_sensitive import Prior
from app.policy.planning.fitness import Market, Visit, Way
from app.policy.planning.stopping import Limits, stopping_outcomes
from app.policy.planning.stopping_policy import ACCEPT
from app.policy.requirements import Profit
from app.policy.requirements.profit import MOST_MONEY, LastExpert


@dataclass(frozen=True)
class AnswerStakes:
    """What an answer is worth, what a wrong one costs, and what asking for one costs, all in money."""

    value: float
    loss: float
    cost: float


@dataclass(frozen=True)
class ProfitStrategy:
    """The requirement for the strategy, and what to expect from it per item."""

    requirement: Profit
    max_answers: int
    cost_per_item: float
    answers_per_item: float
    accuracy: float
    resolved: float


def strategy_with_expert(
    stakes: AnswerStakes, market: Market, way: Way, seen: Sequence[Visit], price: float
) -> ProfitStrategy | None:
    """Build the strategy of a way from the crowd to an expert of this price; None if the stakes exceed a job's limits.

    `seen` are the statuses that the way reaches. A job gives no label where the way accepts a tie.
    """
    if way.expert is None or not 0 < price <= MOST_MONEY or max(stakes.value, stakes.loss) > MOST_MONEY:
        return None
    expert = LastExpert(price=price, accuracy=way.expert.accuracy)
    prior = (market.prior.a, market.prior.b)
    most = market.most_answers
    labels = [(at.reached, at.right) for at in seen if at.action == ACCEPT and at.votes_for > at.votes_against]
    labels.append((float(way.expert_share[0]), way.expert.accuracy))
    resolved = sum(reached for reached, _ in labels)
    return ProfitStrategy(
        requirement=Profit(value=stakes.value, loss=stakes.loss, prior=prior, most_answers=most, expert=expert),
        max_answers=most,
        cost_per_item=float(way.cost[0]) * stakes.cost,
        answers_per_item=float(way.answers[0] + way.expert_share[0]),
        accuracy=sum(reached * right for reached, right in labels) / resolved,
        resolved=resolved,
    )


def profit_strategy(stakes: AnswerStakes, prior: Prior, max_answers: int) -> ProfitStrategy | None:
    """Build the strategy with its expectations; None if the stakes exceed a job's limits.

    A job does not resolve an item that ends in a tie, so `resolved` may be less than 1.
    """
    if max(stakes.value, stakes.loss) > MOST_MONEY:
        return None
    requirement = Profit(value=stakes.value, loss=stakes.loss, prior=(prior.a, prior.b), most_answers=max_answers)
    (expected,) = stopping_outcomes([requirement], Limits(1, max_answers, max_answers), prior, stakes.cost)
    return ProfitStrategy(
        requirement=requirement,
        max_answers=max_answers,
        cost_per_item=expected.labels * stakes.cost,
        answers_per_item=expected.labels,
        accuracy=expected.accuracy,
        resolved=expected.resolved,
    )
