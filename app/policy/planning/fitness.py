"""Who should answer a kind of question: crowd, expert, model, or one after the other (Gao et al., Section 6.2)."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.policy.core.arrays import Array
from app.policy.planning.cost_sensitive import Prior
from app.policy.planning.stopping_policy import Expert, chances, expected_outcome, reached, stopping_policy

_EVEN = 0.5
_ROUNDING = 1e-9  # profits that differ by less count as equal, and then the simpler way is taken


@dataclass(frozen=True)
class Model:
    """A model that labels without the crowd, with its accuracy and its price in costs of an answer."""

    accuracy: float
    price: float = 0.0


@dataclass(frozen=True)
class Way:
    """A way to get an answer, and what to expect of it for each loss; money in costs of an answer."""

    name: str
    accuracy: Array  # (losses,)
    cost: Array  # (losses,)
    answers: Array  # (losses,) of the crowd
    expert_share: Array  # (losses,) how likely the expert is asked
    guess: float = _EVEN  # how likely the label with which the crowd begins is right
    expert: Expert | None = None  # the crowd may hand a question over to this expert

    def shortfall(self, losses: npt.ArrayLike) -> Array:
        """(1 - A) L + C: the least value of an answer at which the way pays, shape (losses,)."""
        return np.asarray((1 - self.accuracy) * np.asarray(losses, dtype=np.float64) + self.cost)


@dataclass(frozen=True)
class Market:
    """Who can answer, at what price."""

    prior: Prior
    most_answers: int
    expert: Expert | None = None
    model: Model | None = None


@dataclass(frozen=True)
class Visit:
    """What to do at some votes: for and against a model's label, or for the stronger and the weaker class."""

    votes_for: int
    votes_against: int
    action: int
    right: float  # how likely the more likely label is right
    reached: float  # how likely a question reaches this status


def ways(market: Market, losses: npt.ArrayLike) -> list[Way]:
    """Every available way, the simplest first, each with its best strategy.

    In a mix with the expert, the crowd's strategy may hand over at any votes. In a mix with a model, the crowd begins
    with the model's label, which is right with the model's accuracy. Models and workers are assumed to err
    independently.

    >>> found = ways(Market(Prior(6, 2), 40, expert=Expert(price=12)), 100)
    >>> [(way.name, round(float(way.shortfall(100)[0]), 2)) for way in found]
    [('guess', 50.0), ('expert', 12.0), ('crowd', 16.67), ('crowd-expert', 11.81)]
    """
    at = np.atleast_1d(np.asarray(losses, dtype=np.float64))
    return [*_without_the_crowd(market, at), *_with_the_crowd(market, at)]


def best_way(found: list[Way], losses: npt.ArrayLike, at: int = 0) -> Way:
    """The way with the largest profit, which is the one with the least shortfall, whatever an answer is worth."""
    least = min(way.shortfall(losses)[at] for way in found)
    return next(way for way in found if way.shortfall(losses)[at] <= least + _ROUNDING * (1 + abs(least)))


def visits(market: Market, way: Way, loss: float) -> Iterator[Visit]:
    """Every status that a way with the crowd can reach; where no label is favoured, the stronger class comes first.

    >>> market = Market(Prior(6, 2), 4, expert=Expert(price=7))  # the expert breaks a tie
    >>> [(at.votes_for, at.votes_against, at.action) for at in visits(market, ways(market, 30)[-1], 30)]
    [(0, 0, 1), (1, 0, 1), (1, 1, 2), (2, 0, 0)]
    """
    stages = stopping_policy(market.prior, loss, market.most_answers, guess=way.guess, expert=way.expert)
    known = chances(market.prior, market.most_answers, way.guess)
    favours = way.guess != _EVEN
    for votes, (stage, likely) in enumerate(zip(stages, reached(market.prior, stages, guess=way.guess), strict=True)):
        for count in range(0 if favours else -(-votes // 2), votes + 1):
            mirrored = 0.0 if favours or 2 * count == votes else likely[votes - count]
            if likely[count] > 0:
                chance = float(likely[count] + mirrored)
                right = float(known[votes].right[count])
                yield Visit(count, votes - count, int(stage.action[count, 0]), right, chance)


def _without_the_crowd(market: Market, losses: Array) -> Iterator[Way]:
    expert, model = market.expert, market.model
    none, always = np.zeros_like(losses), np.ones_like(losses)
    yield Way("guess", _EVEN * always, none, none, none)
    if model is not None:
        yield Way("model", model.accuracy * always, model.price * always, none, none)
    if expert is not None:
        yield Way("expert", expert.accuracy * always, expert.price * always, none, always)


def _with_the_crowd(market: Market, losses: Array) -> Iterator[Way]:
    for first in (None, market.model) if market.model else (None,):
        for last in (None, market.expert) if market.expert else (None,):
            guess, paid = (first.accuracy, first.price) if first else (_EVEN, 0.0)
            seen = expected_outcome(market.prior, losses, market.most_answers, guess=guess, expert=last)
            cost = paid + seen.answers + seen.expert_share * (last.price if last else 0.0)
            name = "-".join([*(["model"] if first else []), "crowd", *(["expert"] if last else [])])
            yield Way(name, seen.accuracy, cost, seen.answers, seen.expert_share, guess, last)
