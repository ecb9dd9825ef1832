"""Stop at a fixed number of labels, as most platforms do today."""

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from app.policy.core.arrays import Array, Index, Mask
from app.policy.core.belief import Belief, strongest_other
from app.policy.core.decision import Reason
from app.policy.core.lookahead import Lookahead
from app.policy.core.policy import EVERY_KIND, Uses
from app.policy.requirements.base import HORIZON, Requirement, fewest_votes
from app.policy.worker_models.base import PosteriorAfter

_TIE = 1e-9  # a smaller lead is none


class Count(Requirement):
    """Stop at a fixed number of labels, whatever they say (the minimum label count of Li et al., WSDM 2016).

        sum_c v_c >= labels.

    >>> Count(labels=3).satisfied(Belief.of([[1, 1], [2, 1]]))
    array([False,  True])
    """

    kind: Literal["count"] = "count"
    answer_kinds: ClassVar[frozenset[str]] = EVERY_KIND
    picks_a_class: ClassVar[bool] = False
    labels: Annotated[int, Field(ge=1, le=10_000, description="How many labels every item gets", examples=[3])]

    uses: ClassVar[Uses] = Uses.NOTHING

    def satisfied(self, belief: Belief) -> Mask:
        return np.asarray(belief.total >= self.labels)

    def shortfalls(self, lookahead: Lookahead) -> Array:
        """The votes that are missing, or those that class c needs to lead alone, an item's own prior included."""
        if lookahead.state.votes.shape[1] == 1:  # one estimate: nothing has to lead
            return np.maximum(self.labels - lookahead.now.votes, 0.0)
        contenders = lookahead.contenders
        if (after := lookahead.each_contender.posterior_after_votes(contenders.label)) is not None:
            missing = np.maximum(self.labels - lookahead.now.total, 0.0)[contenders.item]
            return contenders.per_class(_fewest_to_lead(after, contenders.label, missing))
        if not lookahead.only_counts or lookahead.now.probability is not None:
            return super().shortfalls(lookahead)
        alpha = lookahead.now.alpha
        votes_to_lead = np.floor(strongest_other(alpha) - alpha + _TIE) + 1
        votes_to_count = self.labels - lookahead.now.total[:, None]
        return np.asarray(np.maximum(np.maximum(votes_to_lead, votes_to_count), 0.0))

    def reason(self, belief: Belief, item: int) -> Reason:
        given = belief.total[item]
        code = "count" if given >= self.labels else "count-not-reached"
        return Reason(code, f"The item has {given:g} of {self.labels} labels.")


def _fewest_to_lead(posterior_after: PosteriorAfter, label: Index, missing: Array) -> Array:
    """The fewest votes for class label[i], at least those missing[i], after which it leads alone; shape (items,)."""
    each = np.arange(len(label))

    def leads(votes: Array) -> Mask:
        others = posterior_after(missing + votes)
        own = others[..., each, label].copy()
        others[..., each, label] = 0.0
        return np.asarray(own - others.max(axis=-1) > _TIE)

    return np.minimum(missing + fewest_votes(leads, len(missing)), HORIZON)
