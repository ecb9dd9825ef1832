"""What the calibration of an earlier job says about a new one with the same labels: where its map starts."""

from math import exp, log, sqrt

import numpy as np
from scipy import special

from app.policy.core.tuning import TUNED
from app.policy.quality.calibration import OTHER_CROWDS, WITH_GOLD, Calibration, CalibrationPrior, calibrate

_DEVIATIONS = 3.92  # standard deviations between the two ends of a 95 % interval
_FLATTEST, _STEEPEST = 0.05, 3.3  # slopes that a map has


def prior_from(earlier: Calibration) -> CalibrationPrior:
    """The maps that are expected of the next job: those that the earlier job leaves possible, a little wider.

    The logit of the accuracy is a line with a level and a slope. Both are read from the interval of the earlier map at
    its centre, where the two are nearly independent, and well above it. Their variances grow by that between two jobs,
    and are at most those of a crowd of which nothing is known.

    >>> sure = calibrate(np.full(200, 0.98), np.zeros(200), np.arange(200) >= 60)
    >>> start = starting_map(prior_from(sure))
    >>> [round(float(each.of(np.array([0.98]), np.zeros(1))[0]), 2) for each in (sure, start)]
    [0.7, 0.68]
    """
    centre, further = TUNED.calibration.centre, TUNED.earlier_job.above
    level, level_spread = _logit_at(earlier, centre)
    above, above_spread = _logit_at(earlier, centre + further)
    slope = min(max((above - level) / further, _FLATTEST), _STEEPEST)
    slope_spread = sqrt(max(above_spread**2 - level_spread**2, 0.0)) / further
    return CalibrationPrior(
        level=level,
        level_spread=_wider(level_spread, OTHER_CROWDS.level_spread, WITH_GOLD.level_spread),
        log_slope=log(slope),
        log_slope_spread=_wider(slope_spread / slope, OTHER_CROWDS.log_slope_spread, WITH_GOLD.log_slope_spread),
    )


def starting_map(prior: CalibrationPrior) -> Calibration:
    """The map of a job of whose own items none is known to be right or wrong."""
    return calibrate(np.empty(0), np.empty(0), np.empty(0, dtype=bool), prior)


def _logit_at(earlier: Calibration, logit: float) -> tuple[float, float]:
    """The mean and the standard deviation of the logit of the accuracy of undisputed labels of this confidence."""
    accuracy = float(earlier.of(np.array([1 / (1 + exp(-logit))]), np.zeros(1))[0])
    low, high = special.logit(np.array(earlier.interval(accuracy))).tolist()
    return (low + high) / 2, (high - low) / _DEVIATIONS


def _wider(spread: float, between_crowds: float, most: float) -> float:
    return min(sqrt(spread**2 + (TUNED.earlier_job.between_jobs * between_crowds) ** 2), most)
