"""Stop when one class is likely enough to be the true one."""

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import ConfigDict, Field

from app.policy.core.arrays import Array, Mask
from app.policy.core.belief import Belief, strongest_other
from app.policy.core.binomial_tail import votes_that_outweigh
from app.policy.core.decision import Reason
from app.policy.core.dirichlet import chance_of_the_strongest
from app.policy.core.equal_rows import first_equal_rows
from app.policy.core.lookahead import Lookahead
from app.policy.core.policy import Uses
from app.policy.quality.calibration import Calibration, confidence_at
from app.policy.requirements.base import Requirement, fewest_votes
from app.policy.worker_models.base import PosteriorAfter

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
        alpha = lookahead.now.alpha
        if (after := lookahead.posterior_after_votes) is not None:
            return lookahead.per_class(lambda c: self._fewest_in_one_step(after, c, lookahead.state.votes))
        if not lookahead.only_counts:
            return super().shortfalls(lookahead)
        if alpha.shape[1] == _BINARY:
            return np.maximum(np.ceil(votes_that_outweigh(strongest_other(alpha), self._accepted) - alpha), 0.0)
        pooled = lookahead.distinct()
        if pooled is None:
            return self._search_each(alpha)
        representatives, stands_for = pooled
        return np.asarray(self._search_each(representatives.now.alpha)[stands_for])

    def calibrated(self, calibration: Calibration, *, favourable: bool = False) -> Requirement:
        needed = calibration.needed_for(self.min_probability, favourable=favourable)
        return CalibratedPosterior(min_probability=self.min_probability, calibration=calibration, needed=needed)

    def reason(self, belief: Belief, item: int) -> Reason:
        return Reason(
            "posterior" if self.satisfied(belief)[item] else "posterior-not-reached",
            f"The most likely label has probability {_rounded(float(belief.certainty[item]), self.min_probability)}; "
            f"the job asks for {self.min_probability:g}.",
        )

    def _fewest_in_one_step(self, posterior_after: PosteriorAfter, c: int, given: Array) -> Array:
        """The fewest votes for class c, where the model computes any number of votes in one step; shape (items,)."""
        items, classes = given.shape
        at_once = _MANY_AT_ONCE if items * classes <= _FEW else 2
        doubt = self._doubt(given.sum(axis=1) - given[:, c])
        return fewest_votes(lambda votes: np.asarray(1 - posterior_after(c, votes)[..., c] <= doubt), items, at_once)

    @property
    def _accepted(self) -> float:
        return (1 - self.min_probability) * (1 + _ROUNDING)

    def _doubt(self, dissent: Array) -> Array | float:  # noqa: ARG002  the model's word is taken
        """How likely a label with so many answers against it may be wrong by the model; shape (items,) or a number."""
        return self._accepted

    def _search_each(self, alpha: Array) -> Array:
        """Search once for all classes with equal parameters on these items: a handful among a thousand labels."""
        first, position = np.unique(first_equal_rows(alpha.T), return_inverse=True)
        found = np.stack([self._search(alpha, int(c)) for c in first], axis=1)
        return np.asarray(found[:, position.ravel()])

    def _search(self, alpha: Array, c: int) -> Array:
        def met(votes: Array) -> Mask:
            after = np.tile(alpha, (len(votes), 1))
            after[:, c] += votes.ravel()
            met = (after[:, c] > strongest_other(after)[:, c]) & self._likely_enough(after)
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
