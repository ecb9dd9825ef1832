"""Two tests of whether a worker guesses: the exact binomial one, and one by a confidence interval."""

from abc import ABC, abstractmethod
from typing import Annotated, Literal

import numpy as np
from pydantic import Field
from pydantic_core import PydanticCustomError
from scipy import special

from app.policy.core.arrays import Array, Mask

_NOTHING = 1e-300  # stands for 0, which the beta function does not take

GuessTestName = Annotated[
    Literal["exact", "interval"],
    Field(
        description="Test against guessing: the exact binomial test (exact), or whether Wilson's interval of the "
        "worker's accuracy contains the share of a guesser (interval), which blocks a little fewer workers"
    ),
]


class GuessTest(ABC):
    """Whether the share of right answers differs from that of a guesser.

    A worker guesses if p >= alpha. Counts may be real numbers, of any shape.
    """

    @abstractmethod
    def p_value(self, agreed: Array, answered: Array, classes: int) -> Array:
        """How likely a guesser's answers are as far from 1 / classes as these; 1 without answers."""

    @abstractmethod
    def evidence(self, agreed: float, answered: float, classes: int, alpha: float) -> dict[str, float]:
        """The numbers of the test for one worker."""

    @abstractmethod
    def in_words(self, evidence: dict[str, float], classes: int, alpha: float) -> str:
        """What these numbers say about a worker who is blocked."""

    def guesses(self, agreed: Array, answered: Array, classes: int, alpha: float) -> Mask:
        """Which workers do not differ from guessing at level alpha."""
        return self.p_value(agreed, answered, classes) >= alpha


class ExactTest(GuessTest):
    """The exact two-sided binomial test, the smaller tail doubled.

        p = min(1, 2 P(X <= k), 2 P(X >= k)),    P(X <= k) = I_{1-p}(n - k, k + 1),    P(X >= k) = I_p(k, n - k + 1).

    Between two classes this is the usual test of a coin, and the same as asking whether the interval of Clopper and
    Pearson contains 1/2.

    >>> ExactTest().p_value(np.array([8.0, 5.0, 0.0]), np.array([10.0, 10.0, 0.0]), classes=2).round(6).tolist()
    [0.109375, 1.0, 1.0]
    """

    def p_value(self, agreed: Array, answered: Array, classes: int) -> Array:
        missed, rate = answered - agreed, 1 / classes
        at_most = np.where(missed > 0, special.betainc(np.maximum(missed, _NOTHING), agreed + 1, 1 - rate), 1.0)
        at_least = np.where(agreed > 0, special.betainc(np.maximum(agreed, _NOTHING), missed + 1, rate), 1.0)
        return np.asarray(np.minimum(1.0, 2 * np.minimum(at_most, at_least)))

    def evidence(self, agreed: float, answered: float, classes: int, alpha: float) -> dict[str, float]:  # noqa: ARG002  as the interval has it
        p_value = self.p_value(np.array([agreed]), np.array([answered]), classes)
        return {"agreed": agreed, "answered": answered, "p_value": float(p_value[0])}

    def in_words(self, evidence: dict[str, float], classes: int, alpha: float) -> str:
        return (
            f"guessing would give about {evidence['answered'] / classes:.3g}, so this worker may be guessing "
            f"(p = {evidence['p_value']:.2g}; the job blocks at {alpha:g} or more)"
        )


class IntervalTest(GuessTest):
    """Whether Wilson's interval of the worker's accuracy contains that of a guesser (Wilson, JASA 22, 1927).

    The interval at confidence 1 - alpha has all shares q with |k - n q| <= z sqrt(n q (1 - q)), where z is the quantile
    of 1 - alpha/2 of the normal distribution. It contains 1 / classes where

        p = 2 (1 - Phi(|k - n / classes| / sqrt(n (classes - 1)) * classes)) >= alpha.

    >>> IntervalTest().p_value(np.array([8.0, 5.0, 0.0]), np.array([10.0, 10.0, 0.0]), classes=2).round(6).tolist()
    [0.05778, 1.0, 1.0]
    >>> [round(end, 4) for end in IntervalTest().interval(8, 10, alpha=0.05)]
    [0.4902, 0.9433]
    """

    def p_value(self, agreed: Array, answered: Array, classes: int) -> Array:
        spread = np.sqrt(np.maximum(answered, _NOTHING) * (classes - 1)) / classes
        return np.asarray(2 * special.ndtr(-np.abs(agreed - answered / classes) / spread))

    def interval(self, agreed: float, answered: float, alpha: float) -> tuple[float, float]:
        """The ends of the interval at confidence 1 - alpha.

        (k + z^2/2 -+ z sqrt(k (n - k) / n + z^2/4)) / (n + z^2).
        """
        z = float(special.ndtri(1 - alpha / 2))
        middle = agreed + z**2 / 2
        half = z * float(np.sqrt(agreed * (answered - agreed) / answered + z**2 / 4))
        return (middle - half) / (answered + z**2), (middle + half) / (answered + z**2)

    def evidence(self, agreed: float, answered: float, classes: int, alpha: float) -> dict[str, float]:
        p_value = self.p_value(np.array([agreed]), np.array([answered]), classes)
        low, high = self.interval(agreed, answered, alpha)
        return {"agreed": agreed, "answered": answered, "p_value": float(p_value[0]), "low": low, "high": high}

    def in_words(self, evidence: dict[str, float], classes: int, alpha: float) -> str:
        low, high = evidence["low"], evidence["high"]
        return (
            f"the {100 * (1 - alpha):.3g} % interval of this worker's accuracy, {low:.2f} to {high:.2f}, contains "
            f"{1 / classes:.2g}, that of a guesser"
        )


GUESS_TESTS: dict[str, GuessTest] = {"exact": ExactTest(), "interval": IntervalTest()}


def refuse_test_too_early(test: str, answers: int, alpha: float) -> None:
    """Refuse a test that even a perfect worker fails, with two labels."""
    perfect = np.array([float(answers)])
    if GUESS_TESTS[test].guesses(perfect, perfect, 2, alpha)[0]:
        raise PydanticCustomError(
            "test_too_early",
            "{labels} answers are too few to reject guessing at level {alpha}: even a perfect worker would count as a "
            "spammer. Raise the number of answers or alpha",
            {"labels": answers, "alpha": alpha},
        )
