"""The Gittins index of a coin with unknown bias, without and with a horizon: for comparison, as it takes too long."""

from functools import lru_cache
from typing import Annotated, Literal

import numpy as np
from pydantic import Field
from scipy import special

from app.policy.allocation import Allocation, JobContext
from app.policy.core.belief import Array
from app.policy.core.lookahead import Lookahead

_CHARGES = 600
_FINEST = 1e-4  # of the largest reward: smaller differences of indices are ignored


def index_table(reward: Array, discount: float) -> Array:
    """The Gittins index at (successes, failures) from a uniform prior, shape of `reward`: (n, n), by calibration.

    The index is the charge nu per toss at which playing on and stopping are worth the same,

        V(s) = max(0, r(s) - nu + discount E V(s')),     r(s) - nu + discount E V(s') = 0  at  nu = index(s)

    (Gittins 1979). V is computed for a grid of charges at once, backwards from n tosses with V = 0, and the root is
    interpolated. With the success itself as reward, a discount of .9 gives the .7029, .8001
    and .5001 of Gittins' own table:

    >>> a, b = np.indices((120, 120)) + 1.0
    >>> index_table(a / (a + b), 0.9)[[0, 1, 0], [0, 0, 1]].round(3).tolist()
    [0.703, 0.8, 0.5]
    """
    size = len(reward)
    charge = _charges(reward)
    index = np.zeros_like(reward)
    beyond = np.zeros((size + 1, len(charge)))  # V on the diagonal of one toss more
    for tosses in range(size - 1, -1, -1):
        won = np.arange(tosses + 1)
        lost = tosses - won
        chance = ((won + 1) / (tosses + 2))[:, None]
        future = chance * beyond[won + 1] + (1 - chance) * beyond[won]
        advantage = reward[won, lost][:, None] - charge + discount * future  # falls with the charge
        index[won, lost] = _roots(charge, advantage)
        beyond = np.maximum(advantage, 0.0)
    return index


def finite_index_table(reward: Array, horizon: int) -> Array:
    """The index with at most d further tosses, shape (horizon, n, n): at [d - 1, successes, failures].

    The largest gain per toss that stopping within d tosses can earn (Niño-Mora, INFORMS J. on Computing 23, 2011),

        index_d(s) = max over stopping times 1 <= t <= d of  E[sum of the first t rewards] / E[t],

    by calibration, without discount: V_d(s) = max(0, r(s) - nu + E V_(d-1)(s')), V_0 = 0, and index_d(s) is the charge
    nu at which r(s) - nu + E V_(d-1)(s') = 0. `reward` is (n, n); beyond n tosses there is none, so where
    successes + failures + d > n the index is that of the largest d which fits.

    With the success itself as reward and two tosses left, 1/2 - nu + 1/2 (2/3 - nu) = 0 at nu = 5/9:

    >>> a, b = np.indices((5, 5)) + 1.0
    >>> finite_index_table(a / (a + b), 2)[:, 0, 0].round(4).tolist()
    [0.5, 0.5556]
    """
    size = len(reward)
    total = np.repeat(np.arange(size), np.arange(1, size + 1))  # states are ordered by tosses, then by successes
    won = np.arange(len(total)) - total * (total + 1) // 2
    lost = total - won
    failure = (total + 1) * (total + 2) // 2 + won  # the state that a failure leads to; a success leads to the next
    charge, chance = _charges(reward), ((won + 1) / (total + 2))[:, None]
    start, index = reward[won, lost][:, None] - charge, np.zeros(len(total))
    value = np.zeros((len(total) + size + 1, len(charge)))  # V, and 0 beyond n tosses
    table = np.zeros((horizon, *reward.shape))
    for tosses in range(horizon):
        fits = int((total < size - tosses).sum())
        up, down = value[failure[:fits] + 1], value[failure[:fits]]
        advantage = start[:fits] + chance[:fits] * up + (1 - chance[:fits]) * down
        index[:fits] = _roots(charge, advantage)
        value[:fits] = np.maximum(advantage, 0.0)
        table[tosses, won, lost] = index
    return table


def _charges(reward: Array) -> Array:
    return np.asarray(np.concatenate([[0.0], np.geomspace(_FINEST, 1.0, _CHARGES)]) * reward.max())


def _roots(charge: Array, advantage: Array) -> Array:
    """Where each falling row of `advantage` crosses 0, in a straight line between charges."""
    last = np.maximum((advantage > 0).sum(axis=1) - 1, 0)
    after = np.minimum(last + 1, len(charge) - 1)
    rows = np.arange(len(advantage))
    high, low = advantage[rows, last], advantage[rows, after]
    part = np.divide(high, high - low, out=np.zeros_like(high), where=high > low)
    return np.asarray(np.where(high > 0, charge[last] + part * (charge[after] - charge[last]), 0.0))


class GittinsIndex(Allocation):
    """The index of the expected gain in certainty, without a horizon (Xie & Frazier 2012; Chen et al., section 7).

        r(a, b) = E h(P after an answer) - h(P now),    discount = 1 - 1 / budget.

    Unlike the knowledge gradient it sees that two answers may change what one cannot. It needs two classes and votes
    alone.
    """

    kind: Literal["gittins"] = "gittins"
    budget: Annotated[int, Field(ge=2)]  # labels in all
    furthest: int = 150  # votes of an item that the table looks ahead

    def value(self, lookahead: Lookahead, job: JobContext) -> Array:  # noqa: ARG002  accuracy is the goal
        table = _gain_index(self.budget, self.furthest)
        votes = np.minimum(lookahead.now.votes.astype(np.int64), self.furthest - 1)
        inside = votes.sum(axis=1) < self.furthest
        return np.where(inside, table[tuple(votes.T)], 0.0)


class FiniteGittins(Allocation):
    """The index of the expected gain in certainty with so many labels left (Chen et al., section 7).

        r(a, b) = E h(P after an answer) - h(P now),    index_d of r with d labels left.

    The number of labels left falls with every answer, so whoever replays a job with it must value all items each time.
    It looks ahead until an item has `furthest` votes.
    """

    kind: Literal["gittins-finite"] = "gittins-finite"
    left: Annotated[int, Field(ge=1)]  # labels
    furthest: int = 100  # votes of an item that the table looks ahead

    def value(self, lookahead: Lookahead, job: JobContext) -> Array:  # noqa: ARG002  accuracy is the goal
        table = _finite_gain_index(self.furthest)
        votes = np.sort(lookahead.now.votes.astype(np.int64), axis=1)  # both orders are worth exactly the same
        inside = votes.sum(axis=1) < self.furthest
        few, many = np.minimum(votes, self.furthest - 1).T
        return np.where(inside, table[min(self.left, self.furthest) - 1, many, few], 0.0)


@lru_cache(maxsize=32)
def _gain_index(budget: int, furthest: int) -> Array:
    return index_table(gains(furthest), 1 - 1 / budget)


@lru_cache(maxsize=4)
def _finite_gain_index(furthest: int) -> Array:
    return finite_index_table(gains(furthest), furthest)


def gains(size: int) -> Array:
    """r: by how much one more answer is expected to raise the certainty from a uniform prior, shape (size, size).

    >>> gains(2).round(4).tolist()  # at 1 : 0 one answer cannot change the leader
    [[0.25, 0.0], [0.0, 0.1875]]
    """
    a, b = np.indices((size + 1, size + 1)) + 1.0
    certainty = special.betainc(np.minimum(a, b), np.maximum(a, b), 0.5)
    chance = (a / (a + b))[:-1, :-1]
    gain = chance * certainty[1:, :-1] + (1 - chance) * certainty[:-1, 1:] - certainty[:-1, :-1]
    return np.asarray(np.maximum(gain, 0.0))
