"""The crowd of Abraham et al. (SIGIR 2016, Table 1): nine groups of workers and nine groups of HITs."""

import numpy as np

from app.policy.core.belief import Array, IntArray
from app.simulation.crowds import Crowd, skilled, truths

# error(W_i, H_j) - error(W_0, H_j) in percent points, a row per group of HITs from the easiest, W_1 to W_8.
_WORSE_THAN_THE_BEST = np.array(
    [
        [0, 0, 0, 1, 1, 1, 2, 4],
        [1, 1, 2, 2, 3, 4, 6, 15],
        [1, 3, 3, 4, 6, 8, 11, 20],
        [1, 4, 4, 7, 7, 11, 16, 27],
        [4, 7, 8, 12, 13, 17, 23, 36],
        [5, 9, 11, 14, 18, 20, 26, 43],
        [7, 11, 15, 18, 22, 25, 30, 47],
        [11, 14, 19, 21, 25, 26, 33, 48],
        [19, 24, 27, 29, 31, 35, 39, 50],
    ]
)
# Not published, so these are ours: the mean error of a group of HITs rises from .01 to .43, and the bias, twice its
# distance from one half, falls evenly from .98 to .14, as in the paper (Figure 1).
_ERROR_OF_THE_BEST = np.array([0, 1, 2, 3, 4, 5, 6, 8, 15])

GROUPS = 9


def error_rates() -> Array:
    """The error rate of each group of workers on each group of HITs, shape (groups of workers, groups of HITs).

    >>> error_rates().mean(axis=0).round(2).tolist()
    [0.01, 0.05, 0.08, 0.12, 0.17, 0.21, 0.25, 0.3, 0.43]
    """
    worse = np.concatenate([np.zeros((GROUPS, 1)), _WORSE_THAN_THE_BEST], axis=1)
    return np.asarray((worse + _ERROR_OF_THE_BEST[:, None]).T / 100)


def graded_crowd(hits: int, workers_per_group: int, rng: np.random.Generator) -> Crowd:
    """Binary HITs and workers, evenly split over the groups; workers are ordered from the best group to the worst."""
    rates = np.repeat(1 - error_rates(), workers_per_group, axis=0)
    return Crowd(truths(hits, 2, rng), skilled(rates, 2), np.arange(hits) % GROUPS)


def tier_of_workers(workers_per_group: int) -> IntArray:
    """0 for the best three groups, 1 for the middle three, 2 for the last three: the paper's quality score."""
    return np.arange(GROUPS).repeat(workers_per_group) // 3
