"""Find workers whose answers cannot be distinguished from guesses, and say what happens to their votes."""

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError
from scipy import special

from app.policy.core.arrays import Array, Mask
from app.policy.core.decision import Reason
from app.policy.core.policy import ONE_LABEL, without_doctests

_NOTHING = 1e-300  # stands for 0, which the beta function does not take


class Spammers(BaseModel):
    """Block workers who agree with final labels no more than guesses would (Li et al., WSDM 2016, section 3.2).

        spammer if  n >= min_answers  and  min(1, 2 P(X <= k), 2 P(X >= k)) >= alpha,    X ~ Bin(n, 1 / classes).

    k of a worker's n answers on finished items agree with the final label. The exact test is two-sided, with the
    smaller tail doubled: a worker who agrees too rarely is no spammer, since wrong answers between two labels also show
    the truth. A higher `alpha` blocks fewer workers. If a worker is tested after each answer, with two labels, the
    probability of being blocked within 200 answers is

        accuracy     .5     .6     .65    .7     .75    .8     .9
        blocked      .989   .809   .591   .356   .166   .054   .001

    With min_answers = 30, a worker with an accuracy of .8 would be blocked with probability .011.

    Workers can only be tested on finished items. So items with answers come before fresh ones (`finish_first`), and
    guessers are found while most of the job is still to do.

    >>> Spammers().guesses(np.array([29.0, 16.0, 24.0, 2.0]), np.array([29.0, 30.0, 30.0, 30.0]), classes=2).tolist()
    [False, True, False, False]
    """

    model_config = ConfigDict(frozen=True, extra="forbid", json_schema_extra=without_doctests)

    answer_kinds: ClassVar[frozenset[str]] = ONE_LABEL

    alpha: Annotated[
        float,
        Field(
            gt=0,
            lt=1,
            description="Level at which a worker must differ from guessing; a higher value blocks fewer workers",
        ),
    ] = 0.3
    min_answers: Annotated[
        int,
        Field(ge=1, le=10_000, description="Answers on finished items that a worker must have given before the test"),
    ] = 20
    votes: Annotated[
        Literal["discount", "remove", "keep"],
        Field(
            description="What happens to the earlier votes of a spammer: weigh them again, remove them, or keep them"
        ),
    ] = "remove"
    finish_first: Annotated[
        bool, Field(description="Finish items that have answers before fresh ones, so that workers are soon tested")
    ] = True

    @model_validator(mode="after")
    def _perfect_workers_pass(self) -> "Spammers":
        refuse_test_too_early(self.min_answers, self.alpha)
        return self

    def p_value(self, agreed: Array, answered: Array, classes: int) -> Array:
        """The p-value of the test against guessing, shape (workers,)."""
        return chance_of_guessing(agreed, answered, classes)

    def guesses(self, agreed: Array, answered: Array, classes: int) -> Mask:
        """Which workers were tested and do not differ from guessing, shape (workers,)."""
        return np.asarray((answered >= self.min_answers) & (self.p_value(agreed, answered, classes) >= self.alpha))

    def evidence(self, agreed: float, answered: float, classes: int) -> dict[str, float]:
        """The numbers of the test for one worker.

        >>> Spammers().evidence(8, 10, classes=2)
        {'agreed': 8, 'answered': 10, 'p_value': 0.109375}
        """
        p_value = self.p_value(np.array([agreed], dtype=float), np.array([answered], dtype=float), classes)
        return {"agreed": agreed, "answered": answered, "p_value": float(p_value[0])}

    def reason(self, agreed: float, answered: float, classes: int) -> Reason:
        """Why this worker counts as a spammer.

        >>> print(Spammers().reason(16, 30, classes=2).message)
        16 of 30 answers agree with the final labels; guessing would give about 15, so this worker may be guessing \
(p = 0.86; the job blocks at 0.3 or more)
        """
        p_value = self.evidence(agreed, answered, classes)["p_value"]
        return Reason(
            "spammer",
            f"{agreed:g} of {answered:g} answers agree with the final labels; guessing would give about "
            f"{answered / classes:.3g}, so this worker may be guessing "
            f"(p = {p_value:.2g}; the job blocks at {self.alpha:g} or more)",
        )


def chance_of_guessing(agreed: Array, answered: Array, classes: int) -> Array:
    """The p-value of the exact two-sided binomial test against 1 / classes, shape (workers,); 1 without answers.

    The smaller tail is doubled, min(1, 2 P(X <= k), 2 P(X >= k)), with P(X <= k) = I_{1-p}(n - k, k + 1) and
    P(X >= k) = I_p(k, n - k + 1). Between two classes this is the usual test of a coin.

    >>> chance_of_guessing(np.array([8.0, 5.0, 0.0]), np.array([10.0, 10.0, 0.0]), classes=2).round(6).tolist()
    [0.109375, 1.0, 1.0]
    """
    missed, rate = answered - agreed, 1 / classes
    at_most = np.where(missed > 0, special.betainc(np.maximum(missed, _NOTHING), agreed + 1, 1 - rate), 1.0)
    at_least = np.where(agreed > 0, special.betainc(np.maximum(agreed, _NOTHING), missed + 1, rate), 1.0)
    return np.asarray(np.minimum(1.0, 2 * np.minimum(at_most, at_least)))


def refuse_test_too_early(answers: int, alpha: float) -> None:
    """Refuse a test that even a perfect worker fails: with two labels the p-value after n answers is 2^(1 - n)."""
    if 2.0 ** (1 - answers) >= alpha:
        raise PydanticCustomError(
            "test_too_early",
            "{labels} answers are too few to reject guessing at level {alpha}: even a perfect worker would count as a "
            "spammer. Raise the number of answers or alpha",
            {"labels": answers, "alpha": alpha},
        )
