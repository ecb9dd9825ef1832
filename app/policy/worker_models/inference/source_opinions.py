"""What a source's opinion about an item says, as far as the source is reliable, and what it says about the source.

An opinion is a soft answer: the source states how likely it would give each label l, s_l. Given the true class t and
the source's error rates,

    P(opinion | t) ~ sum over l of s_l P(l | t),        P(it meant l | opinion, t) ~ s_l P(l | t).

So an opinion says at most what its probabilities state, and at most what the source's skill allows. A certain opinion
is an ordinary answer. The second formula says what the opinion adds to the source's Dirichlet rows.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from app.policy.core.arrays import Array, Index, Mask
from app.policy.core.opinions import Opinions

_MOST_NUMBERS = 4_000_000  # of skills held at a time, one skill for each opinion


def opinion_likelihood(rows: Array, shares: Array) -> Array:
    """P(opinion | true class), up to a factor that makes each row sum to 1; shape (items, classes).

    `rows` are expected Dirichlet rows, (items or 1, rows, answers): one of (right, wrong), or one per true class.

    >>> opinion_likelihood(np.array([[[0.8, 0.2]]]), np.array([[0.97, 0.03], [1.0, 0.0]])).round(3).tolist()
    [[0.782, 0.218], [0.8, 0.2]]
    """
    if rows.shape[1] == 1:
        right, wrong = rows[:, 0, :1], rows[:, 0, 1:] / (shares.shape[1] - 1)
        found = wrong + (right - wrong) * shares
    else:
        found = (rows @ shares[:, :, None])[:, :, 0]
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def counts_of_opinions(rows: Array, shares: Array, posterior: Array) -> Array:
    """What each opinion adds to the Dirichlet rows of its source, shape (items, rows, answers).

    `posterior`, (items, classes), is the probability of each true class.

    >>> counts_of_opinions(np.array([[[0.8, 0.2]]]), np.array([[1.0, 0.0]]), np.array([[0.9, 0.1]])).round(3).tolist()
    [[[0.9, 0.1]]]
    """
    if rows.shape[1] == 1:
        right, wrong = rows[:, 0, :1], rows[:, 0, 1:] / (shares.shape[1] - 1)
        meant_it = right * shares / (wrong + (right - wrong) * shares)
        agreed = (posterior * meant_it).sum(axis=1)
        return np.stack([agreed, 1 - agreed], axis=1)[:, None]
    meant = rows * shares[:, None, :]
    return np.asarray(meant * (posterior / meant.sum(axis=2))[:, :, None])


@dataclass(frozen=True)
class GivenOpinions:
    """The opinions of a fit, without the items that have none; row i of every array is an opinion."""

    item: Index
    source: Index
    shares: Array  # (opinions, classes)

    @classmethod
    def of(cls, opinions: Opinions, informed: Mask) -> "GivenOpinions":
        """Those about items of which something else is known: only they teach anything about their source."""
        source, item = np.nonzero(opinions.given & informed)
        return cls(item, opinions.source[source], opinions.shares[source, item])

    def parts(self, width: int) -> Iterator["GivenOpinions"]:
        """The opinions in parts that fit into memory with a skill of `width` numbers each."""
        size = max(_MOST_NUMBERS // width, 1)
        for start in range(0, len(self.item), size):
            part = slice(start, start + size)
            yield GivenOpinions(self.item[part], self.source[part], self.shares[part])

    def added_to(self, skill: Array, own: Array) -> None:
        """Add to the skill of each source what its opinions say, `own`, shape (opinions, parameters)."""
        for source in np.unique(self.source).tolist():
            skill[source] += own[self.source == source].sum(axis=0)
