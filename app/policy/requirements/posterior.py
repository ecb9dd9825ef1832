"""Stop when one class is likely enough to be the true one."""

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import ConfigDict, Field

from app.policy.core.arrays import Array, Index, Mask
from app.policy.core.belief import Belief, strongest_other
from app.policy.core.binomial_tail import votes_that_outweigh
from app.policy.core.decision import Reason
from app.policy.core.dirichlet import chance_of_the_strongest
from app.policy.core.lookahead import Lookahead
from app.policy.core.policy import Uses
from app.policy.quality.calibration import Calibration, confidence_at
from app.policy.requirements.base import HORIZON, Requirement, fewest_votes

_BINARY = 2  # two classes have a closed form
_MANY_AT_ONCE = 8  # numbers of votes that are tried together; the horizon is a power of it
_FEW = 640  # items times classes up to which that is faster than bisection
_ROUNDING = 1e-9  # relative to the accepted doubt: 57/64 does reach 0.890625


class Posterior(Requirement):
    """Stop when the most likely label is likely enough by the worker model (h of Chen et al., ICML 2013).

        max_c P(label c is the true one | answers) >= min_probability.

    `min_probability` is above one half, so at most one label reaches it. With four votes to one and no prior the
    probability is P(theta >= 1/2) under Beta(5, 2) = 57/64:

    >>> Posterior(min_probability=0.89).satisfied(Belief.of([[4, 1], [4, 2]]))
    array([ True, False])
    """

    kind: Literal["posterior"] = "posterior"
    min_probability: Annotated[
        float,
        Field(gt=0.5, le=0.999999, description="How probable the most likely label must be", examples=[0.95]),
    ] = 0.95

    uses: ClassVar[Uses] = Uses.NOTHING

    def satisfied(self, belief: Belief) -> Mask:
        return np.asarray(1 - belief.certainty <= self._doubt(belief.dissent))

    def shortfalls(self, lookahead: Lookahead) -> Array:
        """Computed by formula for two classes and counted votes: 1 - P(theta >= 1/2) = I_{1/2}(own, other)."""
        if not lookahead.only_counts:
            return lookahead.contenders.per_class(self._fewest_of_each(lookahead))
        alpha = lookahead.now.alpha
        if alpha.shape[1] == _BINARY:
            return np.maximum(np.ceil(votes_that_outweigh(strongest_other(alpha), self._accepted) - alpha), 0.0)
        pooled = lookahead.distinct()
        if pooled is None:
            return lookahead.contenders.per_class(self._search(lookahead))
        representatives, stands_for = pooled
        return np.asarray(representatives.contenders.per_class(self._search(representatives))[stands_for])

    def calibrated(self, calibration: Calibration, *, favourable: bool = False) -> Requirement:
        needed = calibration.needed_for(self.min_probability, favourable=favourable)
        return CalibratedPosterior(min_probability=self.min_probability, calibration=calibration, needed=needed)

    def reason(self, belief: Belief, item: int) -> Reason:
        return Reason(
            "posterior" if self.satisfied(belief)[item] else "posterior-not-reached",
            f"The most likely label has probability {_rounded(float(belief.certainty[item]), self.min_probability)}; "
            f"the job asks for {self.min_probability:g}.",
        )

    def _fewest_of_each(self, lookahead: Lookahead) -> Array:
        """The fewest votes for each of the contenders that make it the accepted label, shape (answers,)."""
        label, each = lookahead.contenders.label, lookahead.each_contender
        after, rows = each.posterior_after_votes(label), np.arange(len(label))
        if after is None:
            return self._fewest_by_steps(each, label)
        doubt = self._doubt(each.state.votes.sum(axis=1) - each.state.votes[rows, label])
        at_once = _MANY_AT_ONCE if each.state.votes.size <= _FEW else 2
        return fewest_votes(lambda votes: np.asarray(1 - after(votes)[..., rows, label] <= doubt), len(label), at_once)

    def _fewest_by_steps(self, lookahead: Lookahead, label: Index) -> Array:
        """The same where the model learns answer by answer: of many steps, few are looked at."""
        needed = np.where(self.satisfied(lookahead.now) & lookahead.now.leads_alone(label), 0.0, np.inf)
        for steps in (_MANY_AT_ONCE, HORIZON):  # few are enough for most items
            if len(pending := np.flatnonzero(np.isinf(needed))):
                found = 1 + self._fewest_within(lookahead.rows(pending), label[pending], steps)
                needed[pending] = np.where(found > steps, np.inf, found)
        return np.minimum(needed, HORIZON)

    def _fewest_within(self, lookahead: Lookahead, label: Index, steps: int) -> Array:
        """The fewest votes for class label[i] in addition to one, less than `steps`; shape (items,)."""
        ahead, each = lookahead.after_each(label, steps), np.arange(len(label))

        def met(votes: Array) -> Mask:
            looked_at = ahead.rows((votes.astype(np.intp) * len(label) + each).ravel()).now
            found = self.satisfied(looked_at) & looked_at.leads_alone(np.tile(label, len(votes)))
            return np.asarray(found.reshape(votes.shape))

        return fewest_votes(met, len(label), most=steps)

    @property
    def _accepted(self) -> float:
        return (1 - self.min_probability) * (1 + _ROUNDING)

    def _doubt(self, dissent: Array) -> Array | float:  # noqa: ARG002  the model's word is taken
        """How likely a label with so many answers against it may be wrong by the model; shape (items,) or a number."""
        return self._accepted

    def _search(self, lookahead: Lookahead) -> Array:
        """The same for counted votes: each adds one to the parameter of its class."""
        label, alpha = lookahead.contenders.label, lookahead.each_contender.now.alpha

        def met(votes: Array) -> Mask:
            after = np.tile(alpha, (len(votes), 1))
            rows, own = np.arange(votes.size), np.tile(label, len(votes))
            after[rows, own] += votes.ravel()
            met = (after[rows, own] > strongest_other(after)[rows, own]) & self._likely_enough(after)
            return np.asarray(met.reshape(votes.shape))

        return fewest_votes(met, len(alpha))

    def _likely_enough(self, alpha: Array) -> Mask:
        return np.asarray(1 - chance_of_the_strongest(alpha) <= self._accepted)


class CalibratedPosterior(Posterior):
    """`posterior` in a job whose items of known truth show how often labels of a given confidence are right.

        accuracy(max_c P(label c is the true one | answers), dissent) >= min_probability.

    The map is monotone, so this is the same rule with another bound on the model's probability, which rises with the
    dissent. Calibrated jobs have models that compute any number of further votes in one step.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    calibration: Calibration
    needed: float  # discounted logit

    def reason(self, belief: Belief, item: int) -> Reason:
        accuracy = float(self.calibration.of(belief.certainty[item : item + 1], belief.dissent[item : item + 1])[0])
        return Reason(
            "posterior" if self.satisfied(belief)[item] else "posterior-not-reached",
            f"The most likely label is right with probability {_rounded(accuracy, self.min_probability)}, "
            f"by {_truth(self.calibration.checked)}; the job asks for {self.min_probability:g}.",
        )

    def _doubt(self, dissent: Array) -> Array:
        return np.asarray((1 - confidence_at(self.needed, dissent)) * (1 + _ROUNDING))


def _truth(checked: int) -> str:
    return f"{checked:,} items of known truth" if checked else "the items of known truth of an earlier job"


def _rounded(probability: float, required: float) -> str:
    """Two decimals, or as many more as it takes to see on which side of the required probability it is.

    >>> _rounded(0.7123, 0.95), _rounded(0.9499, 0.95), _rounded(1.0, 0.95), _rounded(0.99999999, 0.95)
    ('0.71', '0.9499', '1.00', '1.00')
    """
    for decimals in (2, 3, 4, 5):
        text = f"{probability:.{decimals}f}"
        if (float(text) >= required) == (probability >= required):
            return text
    return f"{probability:.7g}"
