"""Compare methods that trade cost for error: what the one saves where both err equally often."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from app.lab.streams import Outcome
from app.policy.belief import Array, IntArray

_LEVELS = 21
_RESAMPLED = 2000


@dataclass(frozen=True)
class Curve:
    """Cost against error, one point per setting: the varying-C curve of Abraham et al. (SIGIR 2016, section 5.2)."""

    cost: Array  # (points,)
    error: Array  # (points,)

    @classmethod
    def of(cls, outcomes: Sequence[Outcome]) -> "Curve":
        """Where no error was seen, nothing is known of how small it is, and the point is left out."""
        points = [(each.cost, each.error) for each in outcomes if each.error > 0]
        cost, error = np.array(points).T
        return cls(cost, error)

    def cost_at(self, error: npt.ArrayLike) -> Array:
        """The cost at which it errs this often: in a straight line between points, cost against log error.

        A lead of votes makes the error fall exponentially, so the line is nearly straight there.

        >>> Curve(np.array([2.0, 4.0]), np.array([0.1, 0.001])).cost_at([0.01]).round(6).tolist()
        [3.0]
        """
        order = np.argsort(self.error)
        return np.asarray(np.interp(np.log(error), np.log(self.error[order]), self.cost[order]))


def saving(of: Curve, against: Curve) -> Array:
    """1 - cost / cost of the other at errors that both reach, evenly spaced in their logarithm, shape (levels,).

    >>> error = np.array([0.1, 0.01])
    >>> saving(Curve(np.array([1.0, 2.0]), error), Curve(np.array([2.0, 4.0]), error)).round(6)[:3].tolist()
    [0.5, 0.5, 0.5]
    """
    low = max(of.error.min(), against.error.min())
    high = min(of.error.max(), against.error.max())
    if low >= high:
        raise ValueError("no error is reached by both")
    error = np.geomspace(low, high, _LEVELS)
    return 1 - of.cost_at(error) / against.cost_at(error)


def of_several_runs(values: npt.ArrayLike) -> tuple[float, float]:
    """The mean of what independent runs gave, and how far the 95 % interval reaches to either side (Student's t).

    >>> [round(each, 3) for each in of_several_runs([0.4, 0.5, 0.6])]
    [0.5, 0.248]
    """
    found = np.asarray(values, dtype=np.float64)
    error = found.std(ddof=1) / np.sqrt(len(found))
    return float(found.mean()), float(stats.t.ppf(0.975, len(found) - 1) * error)


def of_resampled_runs(figure: Callable[[IntArray], float], runs: int) -> tuple[float, float, float]:
    """A figure that takes many runs to tell, and its 95 % interval: the numbers of the runs are drawn with return.

    >>> cost = np.array([2.0, 3.0, 4.0])
    >>> of_resampled_runs(lambda chosen: float(cost[chosen].mean()), 3)[0]
    3.0
    """
    rng, all_runs = np.random.default_rng(0), np.arange(runs)
    low, high = np.quantile([figure(rng.choice(all_runs, runs)) for _ in range(_RESAMPLED)], [0.025, 0.975])
    return figure(all_runs), float(low), float(high)
