"""How much information a worker's answers give for their price, compared with the other answers of the job."""

import numpy as np

from app.policy.core.arrays import Array, IntArray
from app.policy.core.decision import Reason
from app.policy.core.prices import MIN_PRICE

_NOTHING = 0.005  # less than one percent


def relative_information(optimistic: Array, expected: Array, price: Array, answers: Array | IntArray) -> Array:
    """Information per cost of one more answer of each worker, relative to the job's average; shape (*, workers).

        (optimistic_w / price_w) / (sum over v of n_v expected_v / sum over v of n_v price_v),    n_v = answers of v.

    `expected` is the information that an answer gives about a fresh item, `optimistic` an optimistic estimate of it.
    Where no answer gives any information, the result is 1 for all workers.

    >>> half = np.array([0.3, 0.1])
    >>> relative_information(half, half, np.array([1.0, 0.5]), np.array([10, 10])).round(6).tolist()
    [1.125, 0.75]
    """
    paid = np.maximum(price, MIN_PRICE)
    gained, spent = ((answers * each).sum(axis=-1, keepdims=True) for each in (expected, paid))
    found = np.divide(optimistic / paid * spent, gained, out=np.ones_like(optimistic), where=gained > 0)
    return np.asarray(found)


def low_information_reason(information: float, answers: int) -> Reason:
    """Why a worker with this `relative_information` after this many answers gets no new work.

    >>> print(low_information_reason(0.16, 20).message)
    By the 20 answers so far, one more answer of this worker is worth at most 16 % of an average answer for the same \
money, so others are asked first
    """
    so_far = "the answer" if answers == 1 else f"the {answers:,} answers"
    worth = "almost nothing" if information < _NOTHING else f"at most {100 * information:.2g} % of an average answer"
    message = f"By {so_far} so far, one more answer of this worker is worth {worth} for the same money"
    return Reason("low-information", f"{message}, so others are asked first")
