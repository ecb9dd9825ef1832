"""A strategy that asks while the next answer saves more than it costs, as a job can carry it out."""

from dataclasses import dataclass

from app.policy.planning.cost_sensitive import Prior
from app.policy.planning.stopping import Limits, stopping_outcomes
from app.policy.requirements import Profit
from app.policy.requirements.profit import MOST_MONEY


@dataclass(frozen=True)
class AnswerStakes:
    """What an answer is worth, what a wrong one costs, and what asking for one costs, all in money."""

    value: float
    loss: float
    cost: float


@dataclass(frozen=True)
class ProfitStrategy:
    """The requirement that carries the strategy out, and what it is expected to lead to, per item."""

    requirement: Profit
    max_answers: int
    cost_per_item: float
    answers_per_item: float
    accuracy: float
    resolved: float


def profit_strategy(stakes: AnswerStakes, prior: Prior, max_answers: int) -> ProfitStrategy | None:
    """The strategy with what a job expects of it; None if the stakes are beyond what a job takes.

    A job resolves no item that ends in a tie, so that `resolved` may be less than 1.
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
