"""Learn from items of known truth how often labels of a given confidence and dissent are right."""

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from app.policy.core.arrays import Array, Mask
from app.policy.core.tuning import TUNED

_LOW, _HIGH = 0.025, 0.975  # of the interval that people see
_SHOWN = (_LOW, TUNED.calibration.cautious, TUNED.calibration.favourable, _HIGH)
_SURE = 1e-9  # no confidence is closer to 0 or 1

_KNOTS: Array = np.arange(-10.0, 16.01, 0.5)  # discounted logits at which a map is kept
_LEVELS, _LOG_SLOPES = (
    each.ravel() for each in np.meshgrid(np.linspace(-1.5, 6.0, 61), np.linspace(-3.0, 1.2, 43))
)  # (pairs,)
_SLOPES: Array = np.exp(_LOG_SLOPES)


class CalibrationPrior(NamedTuple):
    """How the maps of crowds differ: normal distributions of their level and of the logarithm of their slope."""

    level: float  # of the logit of the accuracy at the centre
    level_spread: float
    log_slope: float
    log_slope_spread: float

    def log_density(self) -> Array:
        """At each pair of the grid, up to a constant, shape (pairs,)."""
        level, slope = (
            (_LEVELS - self.level) / self.level_spread,
            (_LOG_SLOPES - self.log_slope) / self.log_slope_spread,
        )
        return np.asarray(-0.5 * (level**2 + slope**2))

    def widened(self) -> "CalibrationPrior":
        """The prior of a job with truth of its own, which says less than other crowds do.

        An unknown crowd may be further from these than they are from each other. With 50 gold items on 14 public sets,
        each calibrated by the others, this prior keeps .95 - .02 on 12 sets, for fewer labels on the good ones, and the
        fitted one on 9.
        """
        by = TUNED.calibration.widening
        return self._replace(level_spread=by * self.level_spread, log_slope_spread=by * self.log_slope_spread)


@dataclass(frozen=True)
class Calibration:
    """A map from a model's confidence and the dissent to accuracy, as learned from `checked` items of known truth.

    It is a function of the discounted logit alone, and a straight line between knots: more confidence never means less
    accuracy, and more dissent never more.
    """

    accuracy: tuple[float, ...]  # at each knot: the accuracy is above this with probability 2/3
    favourable: tuple[float, ...]  # at each knot: the accuracy is below this with probability 1/2
    low: tuple[float, ...]  # the 95 % interval at each knot
    high: tuple[float, ...]
    checked: int
    right: int

    def of(self, confidence: Array, dissent: Array) -> Array:
        """How accurate labels of this confidence are, against so many dissenting answers; of the same shape."""
        return np.asarray(np.interp(discounted(confidence, dissent), _KNOTS, self.accuracy))

    def interval(self, accuracy: float) -> tuple[float, float]:
        """The 95 % interval of the accuracy of labels whose expected accuracy is this."""
        at = np.interp(accuracy, self.accuracy, _KNOTS)
        low, high = (float(np.interp(at, _KNOTS, each)) for each in (self.low, self.high))
        return low, high

    def needed_for(self, accuracy: float, *, favourable: bool = False) -> float:
        """The lowest discounted logit whose labels are right this often; infinite if none is enough.

        >>> calibration = calibrate(np.full(50, 0.99), np.zeros(50), np.arange(50) >= 10)
        >>> round(calibration.needed_for(0.8), 1), calibration.needed_for(0.99999)
        (4.4, inf)
        """
        at_knots: Array = np.array(self.favourable if favourable else self.accuracy)
        return float(np.interp(accuracy, at_knots, _KNOTS)) if at_knots[-1] >= accuracy else np.inf

    def as_json(self) -> dict[str, Any]:
        """The calibration as it is stored."""
        return asdict(self)

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "Calibration":
        """The calibration that was stored."""
        maps = {name: tuple(stored[name]) for name in ("accuracy", "favourable", "low", "high")}
        return cls(checked=stored["checked"], right=stored["right"], **maps)


OTHER_CROWDS = CalibrationPrior(
    level=TUNED.calibration.level,
    level_spread=TUNED.calibration.level_spread,
    log_slope=TUNED.calibration.log_slope,
    log_slope_spread=TUNED.calibration.log_slope_spread,
)
WITH_GOLD = OTHER_CROWDS.widened()


def discounted(confidence: Array, dissent: Array) -> Array:
    """The logit of the confidence less 2.5 log(1 + dissent), where dissent counts the answers against the label.

    Of two items of equal confidence, the one on which workers disagree is more often wrong: models take items for
    equally hard, and an item that is asked until its label is likely enough gets there by chance, too.
    """
    return np.asarray(
        special.logit(np.clip(confidence, _SURE, 1 - _SURE)) - TUNED.calibration.dissent * np.log1p(dissent)
    )


def confidence_at(needed: float, dissent: Array) -> Array:
    """The confidence whose discounted logit is `needed`, at this dissent."""
    return np.asarray(special.expit(needed + TUNED.calibration.dissent * np.log1p(dissent)))


def calibrate(confidence: Array, dissent: Array, right: Mask, prior: CalibrationPrior = WITH_GOLD) -> Calibration:
    """The map that these items of known truth teach: right[i] says whether label i, of confidence[i], is the truth.

        logit accuracy = s + b (logit confidence - 2.5 log(1 + dissent) - 1.5),

    with normal priors for s and log b. This is beta calibration with one slope (Kull, Silva Filho and Flach, AISTATS
    2017), a discount for dissent, and a prior over crowds, so that a few dozen items help and none hurt: without any,
    the map is near that of the crowds on which the prior was fitted. The posterior of s and b is computed on a grid.
    The map is its mean, or its lower third where that is less; both are monotone, as each map of the grid is.
    Confidences must come from fits that did not know the item's truth.

    >>> before, after = (calibrate(np.full(n, 0.98), np.zeros(n), np.full(n, True)) for n in (0, 50))
    >>> [round(float(each.of(np.array([0.98]), np.zeros(1))[0]), 2) for each in (before, after)]
    [0.89, 0.97]
    """
    weight = special.softmax(prior.log_density() + log_likelihood(confidence, dissent, right))
    maps = special.expit(_logits(_KNOTS))  # (pairs, knots)
    expected = weight @ maps
    low, cautious, favourable, high = (
        np.array(each) for each in zip(*(_quantiles(at, weight) for at in maps.T), strict=True)
    )
    return Calibration(
        accuracy=tuple(np.minimum(expected, cautious).tolist()),
        favourable=tuple(np.maximum(expected, favourable).tolist()),
        low=tuple(low.tolist()),
        high=tuple(high.tolist()),
        checked=len(confidence),
        right=int(np.count_nonzero(right)),
    )


def log_likelihood(confidence: Array, dissent: Array, right: Mask) -> Array:
    """The log-probability of these items by each map of the grid, shape (pairs,)."""
    at = _logits(discounted(confidence, dissent))  # (pairs, items)
    return np.asarray(special.log_expit(np.where(right, at, -at)).sum(axis=1))


def _quantiles(values: Array, weight: Array) -> Array:
    """The lower end of the interval, the cautious and the favourable value, and the upper end."""
    order = np.argsort(values)
    places = np.searchsorted(np.cumsum(weight[order]), _SHOWN)
    return np.asarray(values[order[np.minimum(places, len(order) - 1)]])


def expected_accuracy(confidence: Array, dissent: Array, prior: CalibrationPrior = OTHER_CROWDS) -> Array:
    """How often labels like these are right in a crowd without known truth: on average over crowds, (items,).

    >>> expected_accuracy(np.array([0.98]), np.zeros(1)).round(2).tolist()
    [0.91]
    """
    weight = special.softmax(prior.log_density())
    return np.asarray(weight @ special.expit(_logits(discounted(confidence, dissent))))


def _logits(discounted_logit: Array) -> Array:
    """The logit of the accuracy by each map of the grid, shape (pairs, *)."""
    return np.asarray(_LEVELS[:, None] + _SLOPES[:, None] * (discounted_logit - TUNED.calibration.centre))
