"""Requirements that compare the votes of the two strongest classes, with one extra vote per class."""

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from app.policy.core.arrays import Array, Index, Mask
from app.policy.core.belief import Belief, sole_leader
from app.policy.core.lookahead import Lookahead
from app.policy.core.policy import Uses
from app.policy.requirements.base import Requirement


class OnCounts(Requirement):
    """The base of these requirements: a member defines `missing` and `reason`, and everything else follows."""

    uses: ClassVar[Uses] = Uses.NOTHING

    @abstractmethod
    def missing(self, counts: Array) -> Array:
        """The votes that each class lacks against the strongest other, at most 0 if none; shape (items, classes)."""

    def satisfied(self, belief: Belief) -> Mask:
        return np.asarray(self.missing(belief.counts).min(axis=1) <= 0)

    def winner(self, belief: Belief) -> Index:
        return sole_leader(belief.weights)

    def shortfalls(self, lookahead: Lookahead) -> Array:
        """Computed by formula where every vote weighs one, else by adding votes one by one."""
        if not lookahead.votes_weigh_one:
            return super().shortfalls(lookahead)
        return np.maximum(np.ceil(self.missing(lookahead.now.counts)), 0.0)


def two_highest(votes: Array, item: int) -> tuple[float, float]:
    """The votes of the strongest and of the second strongest class of one item.

    >>> two_highest(np.array([[1.0, 4.0, 2.0]]), 0)
    (4.0, 2.0)
    """
    second, first = np.sort(votes[item])[-2:]
    return float(first), float(second)


def votes_in_words(first: float, second: float) -> str:
    """How the two strongest classes stand, for people.

    >>> votes_in_words(3, 1), votes_in_words(1, 0), votes_in_words(1.8685, 0.1315)
    ('3 votes to 1', '1 vote to 0', '1.87 votes to 0.13')
    """
    counted = "vote" if first == 1 else "votes"
    return f"{shown(first)} {counted} to {shown(second)}"


def shown(number: float) -> str:
    """A number of votes as people write it.

    >>> shown(3.0), shown(0.127), shown(1234.0)
    ('3', '0.13', '1234')
    """
    return f"{number:.0f}" if abs(number - round(number)) < 0.005 else f"{number:.2f}"  # noqa: PLR2004  two decimals
