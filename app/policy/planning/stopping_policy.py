"""The best stopping policy for a question: after each answer accept the crowd's label, ask again, or ask an expert.

A status is (votes for, votes against) some label, which is right with a given probability before any vote: 1/2 in
general, more where a model has proposed the label. Money is in costs of an answer.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy import special

from app.policy.core.arrays import Array
from app.policy.planning.cost_sensitive import ROUNDING, Prior

ACCEPT: Final = 0
ASK: Final = 1
REFER: Final = 2
Actions = npt.NDArray[np.int8]


@dataclass(frozen=True)
class Expert:
    """An expert whose answer ends a question, with a price in costs of an answer."""

    price: float
    accuracy: float = 1.0


@dataclass(frozen=True)
class Stage:
    """All statuses with one number of votes, for several losses; each shape (votes + 1, losses), at [votes for]."""

    action: Actions
    accuracy: Array  # of the result in the end
    answers: Array  # still to come
    expert_share: Array  # how likely it ends with the expert


@dataclass(frozen=True)
class ExpectedOutcome:
    """What to expect of a question before any vote, shape (losses,) each."""

    accuracy: Array
    answers: Array
    expert_share: Array


@dataclass(frozen=True)
class Chances:
    """The probabilities at all statuses with one number of votes, shape (votes + 1,) each, at [votes for]."""

    right: Array  # E[A_R]: that the more likely label is right
    agreement: Array  # that the next vote is for the label
    rise: Array  # MI: by how much the next vote raises E[A_R]


def expected_outcome(
    prior: Prior, losses: npt.ArrayLike, most_answers: int, *, guess: float = 0.5, expert: Expert | None = None
) -> ExpectedOutcome:
    """The expected outcome of the policies with the largest profit, one for each loss.

    >>> expected_outcome(Prior(6, 2), [4.0, 4.1], 40).answers.tolist()  # an answer is worth a quarter of the loss
    [0.0, 1.0]
    """
    stages = _backwards(prior, np.atleast_1d(np.asarray(losses, dtype=np.float64)), most_answers, guess, expert)
    *_, start = stages
    return ExpectedOutcome(start.accuracy[0], start.answers[0], start.expert_share[0])


def stopping_policy(
    prior: Prior, loss: float, most_answers: int, *, guess: float = 0.5, expert: Expert | None = None
) -> list[Stage]:
    """The policy with the largest profit for one loss, as a stage for each number of votes, 0 to the most."""
    return list(_backwards(prior, np.array([loss]), most_answers, guess, expert))[::-1]


def reached(prior: Prior, stages: list[Stage], *, guess: float = 0.5) -> list[Array]:
    """How likely a question reaches each status of a policy, shape (votes + 1,) for each number of votes."""
    known = chances(prior, len(stages) - 1, guess)
    ways = [np.ones(1)]
    for stage, here in zip(stages[:-1], known, strict=False):
        asked = np.where(stage.action[:, 0] == ASK, ways[-1], 0.0)
        ways.append(np.append(0.0, asked * here.agreement) + np.append(asked * (1 - here.agreement), 0.0))
    return ways


def _backwards(prior: Prior, losses: Array, most_answers: int, guess: float, expert: Expert | None) -> Iterator[Stage]:
    """From the last answer to the first: Algorithm 2 of Gao et al. (SIGMOD 2013), with an expert as a third option.

    The gain over accepting at once is G = max(0, MI L - 1 + E[G after the next answer], (e - A_R) L - price), e being
    how often the expert is right. The cost of the next answer counts once, unlike in the printed algorithm.
    """
    known = chances(prior, most_answers, guess)
    beyond = np.zeros((most_answers + 2, len(losses)))
    gain, after = beyond, Stage(beyond.astype(np.int8), beyond, beyond, beyond)
    for votes in range(most_answers, -1, -1):
        here = known[votes]
        right, agreement = here.right[:, None], here.agreement[:, None]
        asking = here.rise[:, None] * losses - 1 + _mean(agreement, gain)
        if votes == most_answers:
            asking = np.full_like(asking, -1.0)
        referring = np.full_like(asking, -1.0) if expert is None else (expert.accuracy - right) * losses - expert.price
        ask, refer = asking > ROUNDING, referring > np.maximum(asking, 0) + ROUNDING
        ask &= ~refer
        end = np.broadcast_to(right, ask.shape) if expert is None else np.where(refer, expert.accuracy, right)
        gain = np.where(refer, referring, np.where(ask, asking, 0.0))
        after = Stage(
            np.where(refer, REFER, np.where(ask, ASK, ACCEPT)).astype(np.int8),
            np.where(ask, _mean(agreement, after.accuracy), end),
            np.where(ask, 1 + _mean(agreement, after.answers), 0.0),
            np.where(ask, _mean(agreement, after.expert_share), refer),
        )
        yield after


def _mean(agreement: Array, following: Array) -> Array:
    """Over the next vote: for the label, or against it."""
    return agreement * following[1:] + (1 - agreement) * following[:-1]


@lru_cache(maxsize=64)
def chances(prior: Prior, most_answers: int, guess: float) -> list[Chances]:
    """Theorems 4.2 to 4.4, with the label's own probability as one more factor of its odds."""
    label = [_chance_of_label(prior, votes, guess) for votes in range(most_answers + 2)]
    found = []
    for votes in range(most_answers + 1):
        likely, after = label[votes], label[votes + 1]
        count = np.arange(votes + 1)
        agreement = (likely * (prior.a + count) + (1 - likely) * (prior.b + count)) / (prior.a + prior.b + votes)
        # Only a vote that changes the result changes how likely the result is right.
        turned_down = (1 - agreement) * np.maximum(0, 1 - 2 * after[:-1])
        turned_up = agreement * np.maximum(0, 2 * after[1:] - 1)
        rise = np.where(likely >= 1 - likely, turned_down, turned_up)
        found.append(Chances(np.maximum(likely, 1 - likely), agreement, rise))
    return found


def _chance_of_label(prior: Prior, votes: int, guess: float) -> Array:
    count = np.arange(votes + 1.0)
    if_right = special.gammaln(prior.a + count) - special.gammaln(prior.a + count[::-1])
    if_wrong = special.gammaln(prior.b + count) - special.gammaln(prior.b + count[::-1])
    return np.asarray(special.expit(special.logit(guess) + if_right - if_wrong))
