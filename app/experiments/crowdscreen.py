"""CrowdScreen, for comparison: the cheapest strategy with a bounded error and a bounded number of answers."""

from functools import lru_cache

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from app.experiments.stopping_grid import Difficulty
from app.policy.core.belief import Array, IntArray
from app.policy.planning.cost_sensitive import Prior

_NEVER = 1e-12  # statuses less likely than this count as not reached


@lru_cache(maxsize=512)
def cheapest(belief: Difficulty, error: float, most: int) -> tuple[float, Array]:
    """The expected number of answers, and P(stop) at the votes of the two answers, shape (most + 1, most + 1).

    Parameswaran et al. (SIGMOD 2012): over all strategies on the grid of votes, random ones included,
    minimise the expected number of answers such that the expected error is at most `error` and no more than
    `most` answers are asked: a linear program in g(m, l), the probability that (m, l), m >= l, is reached and another
    answer is asked,

        min sum g,    0 <= g(s) <= inflow(s; g),    sum over s of (inflow(s) - g(s)) (1 - accuracy(s)) <= error.

    CrowdScreen assumes that all questions are equally hard, so `belief` is a number; the program takes any belief.
    Raises a ValueError if even `most` answers exceed the error.
    """
    first, second = _statuses(most)
    right, agreement = _read(belief, first, second)
    asking = np.flatnonzero(first + second < most)
    inflow = _inflow(first, second, asking, agreement)
    own = sparse.csr_array((np.ones(len(asking)), (asking, np.arange(len(asking)))), shape=inflow.shape)
    stopping, start = inflow - own, np.eye(1, len(first))[0]  # P(stop at s) = start + stopping @ g
    found = linprog(  # type: ignore[call-overload]  # the stubs know of no sparse matrices
        np.ones(len(asking)),
        A_ub=sparse.vstack([-stopping, sparse.csr_array(((1 - right) @ stopping)[None, :])]),
        b_ub=np.concatenate([start, [error - (1 - right) @ start]]),
        method="highs",
    )
    if not found.success:
        raise ValueError(f"no strategy with at most {most} answers has an error of at most {error:g}")
    reached = start + inflow @ found.x
    stop = np.divide(start + stopping @ found.x, reached, out=np.ones(len(first)), where=reached > _NEVER)
    table = np.ones((most + 1, most + 1))
    table[first, second] = table[second, first] = np.clip(stop, 0.0, 1.0)
    return float(found.fun), table


def _inflow(first: IntArray, second: IntArray, asking: IntArray, agreement: Array) -> sparse.csr_array:
    """The flow from each asking status to others, shape (statuses, asking); (m, m) leads to (m + 1, m)."""
    size = int(first.max()) + 2
    place = np.full((size, size), -1)
    place[first, second] = np.arange(len(first))
    tied = first[asking] == second[asking]
    up = place[first[asking] + 1, second[asking]]
    down = np.where(tied, up, place[first[asking], second[asking] + ~tied])
    share = np.concatenate([agreement[asking], 1 - agreement[asking]])
    arrows = (np.concatenate([up, down]), np.tile(np.arange(len(asking)), 2))
    return sparse.coo_array((share, arrows), shape=(len(first), len(asking))).tocsr()


def _statuses(most: int) -> tuple[IntArray, IntArray]:
    first, second = np.indices((most + 1, most + 1))
    kept = (first >= second) & (first + second <= most)
    return first[kept], second[kept]


def _read(belief: Difficulty, first: IntArray, second: IntArray) -> tuple[Array, Array]:
    """The probability that the leading answer is right, and that the next answer agrees with it."""
    if isinstance(belief, Prior):
        return belief.result_accuracy(first, second), belief.chance_of_agreement(first, second)
    right = 1 / (1 + ((1 - belief) / belief) ** (first - second).astype(np.float64))
    return right, right * belief + (1 - right) * (1 - belief)
