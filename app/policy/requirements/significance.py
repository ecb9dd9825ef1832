"""Stop when the votes are unlikely to be the result of guessing."""

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from app.policy.core.arrays import Array, Mask
from app.policy.core.belief import Belief, two_strongest
from app.policy.core.binomial_tail import chance_of_so_few, votes_that_outweigh
from app.policy.core.decision import Reason
from app.policy.requirements.on_counts import OnCounts, two_highest, votes_in_words, with_extra_votes

_STRICTLY_BELOW = 1 - 1e-9  # p = alpha is not below alpha, whatever the last bit of a float says


class Significance(OnCounts):
    """Stop when Fisher's exact test rules out guessing (Li et al., WSDM 2016, section 3.1).

        p = P(X <= b) < alpha,    X ~ Bin(a + b, 1/2),

    with a >= b the votes of the two strongest labels plus one extra vote each, unless `pseudo_votes` says otherwise.
    Weighted votes make a and b real; then p = I_{1/2}(a, b + 1). With alpha = 0.2 and one (extra) vote for the losing
    label, r(1) = 5 are needed in total (Table 2), which are three real votes. Without extra votes the printed Example 4
    holds for real votes: four to none have p = 1/16.

    >>> Significance(alpha=0.2).satisfied(Belief.of([[2, 0], [3, 0]]))
    array([False,  True])
    >>> Significance(alpha=0.1, pseudo_votes=0).satisfied(Belief.of([[1, 4], [0, 4], [0, 3]]))
    array([False,  True, False])
    """

    kind: Literal["significance"] = "significance"
    alpha: Annotated[
        float,
        Field(
            gt=0,
            le=0.5,
            description="The largest accepted probability that mere guessing gives votes as uneven as these",
            examples=[0.05],
        ),
    ] = 0.05

    def satisfied(self, belief: Belief) -> Mask:
        """Whole votes are looked up in a table; weighted ones are tested, which takes less than finding the bound."""
        if belief.weights is belief.votes:
            return super().satisfied(belief)
        counts, rows = self.counts(belief), np.arange(len(belief.votes))
        many, few = (counts[rows, label] for label in two_strongest(counts))
        return np.asarray(chance_of_so_few(few, many) <= self.alpha * _STRICTLY_BELOW)

    def reason(self, belief: Belief, item: int) -> Reason:
        first, second = two_highest(belief.weights, item)
        a, b = np.array([first, second]) + self.pseudo_votes
        p = float(chance_of_so_few(b, a))
        found = with_extra_votes(self.pseudo_votes, f"guessing gives votes this uneven with probability {p:.2g}")
        return Reason(
            "significance" if self.satisfied(belief)[item] else "significance-not-reached",
            f"{votes_in_words(first, second)}. {found}; the job asks for less than {self.alpha:g}.",
        )

    def needed(self, against: Array) -> Array:
        return votes_that_outweigh(against + 1, self.alpha * _STRICTLY_BELOW)
