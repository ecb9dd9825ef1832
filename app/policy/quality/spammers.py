"""Find workers whose answers cannot be distinguished from guesses, and say what happens to their votes."""

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, model_validator

from app.policy.core.arrays import Array, Mask
from app.policy.core.decision import Reason
from app.policy.core.policy import ONE_LABEL, without_doctests
from app.policy.quality.guess_tests import GUESS_TESTS, GuessTestName, refuse_test_too_early


class Spammers(BaseModel):
    """Block workers who agree with final labels no more than guesses would (Li et al., WSDM 2016, section 3.2).

        spammer if  n >= min_answers  and  p >= alpha,
        exact:      p = min(1, 2 P(X <= k), 2 P(X >= k)),    X ~ Bin(n, 1 / classes),
        interval:   p >= alpha where Wilson's interval of the accuracy at confidence 1 - alpha contains 1 / classes.

    k of a worker's n answers on finished items agree with the final label. The paper offers both: an exact test, or
    whether .5 falls into the confidence interval of the accuracy. Both are two-sided: a worker who agrees too rarely is
    no spammer, since wrong answers between two labels also show the truth. A higher `alpha` blocks fewer workers. If a
    worker is tested after each answer, with two labels, the probability of being blocked within 200 answers is

        accuracy     .5     .6     .65    .7     .75    .8     .9
        exact        .989   .809   .591   .356   .166   .054   .001
        interval     .984   .760   .523   .295   .128   .039   .001

    With min_answers = 30, a worker with an accuracy of .8 would be blocked with probability .011 (interval: .006).

    Workers can only be tested on finished items. So items with answers come before fresh ones (`finish_first`), and
    guessers are found while most of the job is still to do.

    >>> Spammers().guesses(np.array([29.0, 16.0, 24.0, 2.0]), np.array([29.0, 30.0, 30.0, 30.0]), classes=2).tolist()
    [False, True, False, False]
    """

    model_config = ConfigDict(frozen=True, extra="forbid", json_schema_extra=without_doctests)

    answer_kinds: ClassVar[frozenset[str]] = ONE_LABEL

    test: GuessTestName = "exact"
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
        refuse_test_too_early(self.test, self.min_answers, self.alpha)
        return self

    def p_value(self, agreed: Array, answered: Array, classes: int) -> Array:
        """The p-value of the test against guessing, shape (workers,)."""
        return GUESS_TESTS[self.test].p_value(agreed, answered, classes)

    def guesses(self, agreed: Array, answered: Array, classes: int) -> Mask:
        """Which workers were tested and do not differ from guessing, shape (workers,)."""
        tested = answered >= self.min_answers
        return np.asarray(tested & GUESS_TESTS[self.test].guesses(agreed, answered, classes, self.alpha))

    def evidence(self, agreed: float, answered: float, classes: int) -> dict[str, float]:
        """The numbers of the test for one worker.

        >>> Spammers().evidence(8, 10, classes=2)
        {'agreed': 8, 'answered': 10, 'p_value': 0.109375}
        """
        return GUESS_TESTS[self.test].evidence(agreed, answered, classes, self.alpha)

    def reason(self, agreed: float, answered: float, classes: int) -> Reason:
        """Why this worker counts as a spammer.

        >>> print(Spammers().reason(16, 30, classes=2).message)
        16 of 30 answers agree with the final labels; guessing would give about 15, so this worker may be guessing \
(p = 0.86; the job blocks at 0.3 or more)
        >>> print(Spammers(test="interval").reason(16, 30, classes=2).message)
        16 of 30 answers agree with the final labels; the 70 % interval of this worker's accuracy, 0.44 to 0.62, \
contains 0.5, that of a guesser
        """
        found = GUESS_TESTS[self.test].in_words(self.evidence(agreed, answered, classes), classes, self.alpha)
        return Reason("spammer", f"{agreed:g} of {answered:g} answers agree with the final labels; {found}")
