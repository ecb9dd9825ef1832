"""Compare methods that trade cost for error: what one saves at equal error."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from app.experiments.gold_streams import StreamOutcome
from app.policy.core.belief import Array, IntArray

_LEVELS = 21
_RESAMPLED = 2000


@dataclass(frozen=True)
class CostErrorCurve:
    """Cost against error, one point per setting: the varying-C curve of Abraham et al. (SIGIR 2016, section 5.2)."""

    cost: Array  # (points,)
    error: Array  # (points,)

    @classmethod
    def of(cls, outcomes: Sequence[StreamOutcome]) -> "CostErrorCurve":
        """The curve of these outcomes; those without any error are left out, because their error is not known."""
        points = [(each.cost, each.error) for each in outcomes if each.error > 0]
        cost, error = np.array(points).T
        return cls(cost, error)

    def cost_at(self, error: npt.ArrayLike) -> Array:
        """The cost at this error rate, interpolated linearly in log error.

        The error falls exponentially with the lead of votes, so the curve is nearly straight.

        >>> CostErrorCurve(np.array([2.0, 4.0]), np.array([0.1, 0.001])).cost_at([0.01]).round(6).tolist()
        [3.0]
        """
        order = np.argsort(self.error)
        return np.asarray(np.interp(np.log(error), np.log(self.error[order]), self.cost[order]))

    def error_at(self, cost: npt.ArrayLike) -> Array:
        """The error rate at this cost, interpolated in the same way.

        >>> CostErrorCurve(np.array([2.0, 4.0]), np.array([0.1, 0.001])).error_at([3.0]).round(6).tolist()
        [0.01]
        """
        order = np.argsort(self.cost)
        return np.asarray(np.exp(np.interp(np.asarray(cost), self.cost[order], np.log(self.error[order]))))


def saving(of: CostErrorCurve, against: CostErrorCurve) -> Array:
    """1 - cost / cost of the other at errors that both reach, evenly spaced in their logarithm, shape (levels,).

    >>> error = np.array([0.1, 0.01])
    >>> half, full = CostErrorCurve(np.array([1.0, 2.0]), error), CostErrorCurve(np.array([2.0, 4.0]), error)
    >>> saving(half, full).round(6)[:3].tolist()
    [0.5, 0.5, 0.5]
    """
    low = max(of.error.min(), against.error.min())
    high = min(of.error.max(), against.error.max())
    if low >= high:
        raise ValueError("the curves have no error rate in common")
    error = np.geomspace(low, high, _LEVELS)
    return 1 - of.cost_at(error) / against.cost_at(error)


def mean_of_runs(values: npt.ArrayLike) -> tuple[float, float]:
    """The mean of independent runs, and half the width of its 95 % interval (Student's t).

    >>> [round(each, 3) for each in mean_of_runs([0.4, 0.5, 0.6])]
    [0.5, 0.248]
    """
    found = np.asarray(values, dtype=np.float64)
    error = found.std(ddof=1) / np.sqrt(len(found))
    return float(found.mean()), float(stats.t.ppf(0.975, len(found) - 1) * error)


def bootstrap_of_runs(figure: Callable[[IntArray], float], runs: int) -> tuple[float, float, float]:
    """A figure of many runs, and its 95 % bootstrap interval: runs are drawn with replacement.

    >>> cost = np.array([2.0, 3.0, 4.0])
    >>> bootstrap_of_runs(lambda chosen: float(cost[chosen].mean()), 3)[0]
    3.0
    """
    rng, all_runs = np.random.default_rng(0), np.arange(runs)
    low, high = np.quantile([figure(rng.choice(all_runs, runs)) for _ in range(_RESAMPLED)], [0.025, 0.975])
    return figure(all_runs), float(low), float(high)
