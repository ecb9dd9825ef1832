"""The Gittins index of a coin with unknown bias, for comparison: it takes too long for the service."""

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
    charge = np.concatenate([[0.0], np.geomspace(_FINEST, 1.0, _CHARGES)]) * reward.max()  # (charges,)
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


@lru_cache(maxsize=32)
def _gain_index(budget: int, furthest: int) -> Array:
    a, b = np.indices((furthest + 1, furthest + 1)) + 1.0
    certainty = special.betainc(np.minimum(a, b), np.maximum(a, b), 0.5)
    chance = (a / (a + b))[:-1, :-1]
    gain = chance * certainty[1:, :-1] + (1 - chance) * certainty[:-1, 1:] - certainty[:-1, :-1]
    return index_table(np.maximum(gain, 0.0), 1 - 1 / budget)
