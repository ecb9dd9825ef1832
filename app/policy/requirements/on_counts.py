"""Requirements that compare the votes of the two strongest classes, with extra votes for every class."""

from abc import abstractmethod
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from app.policy.core.arrays import Array, Index, Mask
from app.policy.core.belief import PSEUDO_VOTE, Belief, sole_leader, strongest_other
from app.policy.core.lookahead import Lookahead
from app.policy.core.policy import Uses
from app.policy.requirements.base import Requirement


class OnCounts(Requirement):
    """The base of these requirements: a member defines `needed` and `reason`, and everything else follows."""

    uses: ClassVar[Uses] = Uses.NOTHING
    pseudo_votes: Annotated[
        float,
        Field(ge=0, le=1000, description="The extra votes that every label has from the start; 0: real votes only"),
    ] = PSEUDO_VOTE

    @abstractmethod
    def needed(self, against: Array) -> Array:
        """The votes that a class needs against so many for the strongest other, extra votes included; any shape."""

    @property
    def extra_votes(self) -> float | None:
        return self.pseudo_votes

    def satisfied(self, belief: Belief) -> Mask:
        return np.asarray(self._lacking(belief).min(axis=1) <= 0)

    def winner(self, belief: Belief) -> Index:
        return sole_leader(belief.weights)

    def shortfalls(self, lookahead: Lookahead) -> Array:
        """Computed by formula where every vote weighs one, else by adding votes one by one."""
        if not lookahead.votes_weigh_one:
            return super().shortfalls(lookahead)
        return np.maximum(np.ceil(self._lacking(lookahead.now)), 0.0)

    def missing(self, lookahead: Lookahead) -> Array:
        """Where votes have weights, by the real-valued r(x) (Li et al., WSDM 2016, Eq. 10)."""
        if lookahead.votes_weigh_one:
            return super().missing(lookahead)
        return np.maximum(self._lacking(lookahead.now), 0.0)

    def _lacking(self, belief: Belief) -> Array:
        """The votes that each class lacks against the strongest other, at most 0 if none; shape (items, classes)."""
        counts = self.counts(belief)
        return self.needed(strongest_other(counts)) - counts


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


def with_extra_votes(pseudo_votes: float, statement: str) -> str:
    """A statement about counts, which says how many extra votes they have.

    >>> with_extra_votes(1, "the ratio is 4"), with_extra_votes(0.5, "the ratio is 7"), with_extra_votes(0, "it is 4")
    ('With one extra vote per label the ratio is 4', 'With 0.5 extra votes per label the ratio is 7', 'It is 4')
    """
    if not pseudo_votes:
        return statement[0].upper() + statement[1:]
    extra = "one extra vote" if pseudo_votes == 1 else f"{pseudo_votes:g} extra votes"
    return f"With {extra} per label {statement}"


def shown(number: float) -> str:
    """A number of votes as people write it.

    >>> shown(3.0), shown(0.127), shown(1234.0)
    ('3', '0.13', '1234')
    """
    return f"{number:.0f}" if abs(number - round(number)) < 0.005 else f"{number:.2f}"  # noqa: PLR2004  two decimals
