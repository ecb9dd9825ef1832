"""What one answer that is a number says about its item and about its worker: the arithmetic of one answer."""

from dataclasses import dataclass

import numpy as np
from propcache.api import cached_property

from app.policy.core.arrays import Array, Index


@dataclass(frozen=True)
class Normal:
    """Independent normal distributions, one per row."""

    mean: Array
    variance: Array

    def moved(self, gain: Array, deviation: Array, genuine: Array) -> "Normal":
        """After an observation that is genuine with this probability, and says nothing otherwise.

        The mixture of the normal after it and the one before it, replaced by a normal with the same moments.

        >>> one, half = np.ones(1), np.full(1, 0.5)
        >>> after = Normal(np.zeros(1), one).moved(half, 2 * one, half)
        >>> after.mean.tolist(), after.variance.tolist()
        ([0.5], [1.0])
        """
        step = gain * deviation
        return Normal(
            self.mean + genuine * step,
            self.variance * (1 - genuine * gain) + genuine * (1 - genuine) * step**2,
        )


@dataclass(frozen=True)
class Gammas:
    """Independent Gamma distributions of precisions, one per row: their shape and their rate."""

    shape: Array
    rate: Array

    @property
    def inverse(self) -> Array:
        """One over the expected precision."""
        return self.rate / self.shape

    def rows(self, which: Index) -> "Gammas":
        return Gammas(self.shape[which], self.rate[which])


def unpacked(rows: Array) -> tuple[Normal, Gammas]:
    """What is kept of each item, or of each worker: mean and variance, shape and rate."""
    mean, variance, shape, rate = rows.T
    return Normal(mean, variance), Gammas(shape, rate)


def packed(normal: Normal, gammas: Gammas) -> Array:
    """The inverse of `unpacked`, shape (rows, 4)."""
    return np.column_stack([normal.mean, normal.variance, gammas.shape, gammas.rate])


@dataclass(frozen=True)
class NumberParts:
    """An answer x = t + bias + noise, split into what it says about each part; one per row.

        x - E t - E bias ~ N(0, T),    T = Var t + Var bias + n,    n = 1 / (E precision E easiness),

    unless it is a typing error, whose density is the same everywhere.
    """

    value: Array  # x
    truth: Normal
    bias: Normal
    precision: Gammas  # of the worker's noise on an item of ordinary difficulty
    easiness: Gammas  # of the item: by what it multiplies that precision
    errors: float  # how often an answer is a typing error
    density: float  # of a typing error, one over the range

    @cached_property
    def noise(self) -> Array:
        return self.precision.inverse * self.easiness.inverse

    @cached_property
    def total(self) -> Array:
        """T."""
        return self.truth.variance + self.bias.variance + self.noise

    @cached_property
    def deviation(self) -> Array:
        """What truth and bias do not explain: x - E t - E bias."""
        return self.value - self.truth.mean - self.bias.mean

    @cached_property
    def genuine(self) -> Array:
        """The probability that the answer is no typing error."""
        if not self.errors:
            return np.ones_like(self.total)
        log_right = -(self.deviation**2 / self.total + np.log(2 * np.pi * self.total)) / 2
        log_odds = log_right + np.log((1 - self.errors) / (self.errors * self.density))
        return np.asarray(1 / (1 + np.exp(-np.clip(log_odds, -_LARGE, _LARGE))))

    @property
    def next_truth(self) -> Normal:
        return self.truth.moved(self.truth.variance / self.total, self.deviation, self.genuine)

    @property
    def next_bias(self) -> Normal:
        return self.bias.moved(self.bias.variance / self.total, self.deviation, self.genuine)

    def noise_seen(self, genuine: Array) -> tuple[Array, Array]:
        """How many squares of the noise the answer shows, and how large they are relative to the expected noise.

            g n / T    and    g (n / T)(d^2 / T),    d the deviation, g the probability that the answer is genuine.

        Where truth and bias are known, that is one square, d^2 / n. Otherwise a part of the deviation belongs to them.
        """
        share = genuine * self.noise / self.total
        return share, share * self.deviation**2 / self.total

    @property
    def next_precision(self) -> Gammas:
        return _seen(self.precision, *self.noise_seen(self.genuine))

    @property
    def next_easiness(self) -> Gammas:
        return _seen(self.easiness, *self.noise_seen(self.genuine))


def _seen(before: Gammas, squares: Array, relative: Array) -> Gammas:
    return Gammas(before.shape + squares / 2, before.rate + relative * before.inverse / 2)


_LARGE = 700.0  # exp of it is still a float
