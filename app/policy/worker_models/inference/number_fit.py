"""Fit all answers of a job whose answers are numbers: items, workers, and what workers have in common."""

from dataclasses import dataclass

import numpy as np

from app.policy.core.arrays import Array, Index, Mask
from app.policy.core.ballots import Ballots, sum_by
from app.policy.core.tuning import TUNED
from app.policy.worker_models.inference.number_parts import Gammas, Normal, NumberParts

_MAX_ITERATIONS = 200
_CONVERGED = 1e-5  # of the range, on average over the items
_EVEN = 10  # steps with items of one difficulty: else an item looks difficult by its typing error before that shows
_DAMPING = 0.5  # of how genuine answers are: all at once, two answers that differ could reject each other in turns


@dataclass(frozen=True)
class NumberCrowd:
    """What is known about items and workers before their answers, and then after them; one row each."""

    truth: Normal  # of the items
    easiness: Gammas  # of the items
    bias: Normal  # of the workers
    precision: Gammas  # of the workers


@dataclass(frozen=True)
class NumberFit:
    """The result, and how it was reached."""

    crowd: NumberCrowd
    iterations: int
    converged: bool


@dataclass
class _Messages:
    """What each answer says about a part: a normal of this mean, whose precision is `weight`."""

    mean: Array
    weight: Array

    def others(self, prior: Normal, group: Index) -> Normal:
        """What all answers but this one say about its item, or its worker; shape (answers,)."""
        posterior = self.posterior(prior, group)
        precision = 1 / posterior.variance[group] - self.weight
        weighted = (posterior.mean / posterior.variance)[group] - self.weight * self.mean
        return Normal(weighted / precision, 1 / precision)

    def posterior(self, prior: Normal, group: Index) -> Normal:
        """What all answers say about each item, or each worker."""
        rows = len(prior.mean)
        precision = 1 / prior.variance + sum_by(group, self.weight, rows)
        weighted = prior.mean / prior.variance + sum_by(group, self.weight * self.mean, rows)
        return Normal(weighted / precision, 1 / precision)


@dataclass(frozen=True)
class Unknown:
    """The rows of which nothing is known beforehand: they are like the others of their kind."""

    items: Mask
    workers: Mask


def fit_numbers(
    ballots: Ballots, before: NumberCrowd, unknown: Unknown, errors: float, ends: tuple[float, float]
) -> NumberFit:
    """Fit all answers at once, by messages between items and workers (Gaussian belief propagation).

    Every answer tells its item what the others tell about its worker's bias, and its worker what the others tell about
    its item, until the items move by no more than a hundred-thousandth of the range on average. The means are exact
    where precisions are known. Precisions follow in turn, each by the squares of the noise that its answers show.
    Items and workers of which nothing is known beforehand are like the others (`_items_of`, `_crowd_of`).
    """
    assert ballots.value is not None  # noqa: S101
    item, worker, value = ballots.item, ballots.worker, np.asarray(ballots.value, dtype=np.float64)
    low, high = ends
    new, heard, fresh = unknown.workers, unknown.workers & ballots.heard, unknown.items & ballots.answered
    truth_prior = before.truth
    bias_prior, precision_prior = before.bias, before.precision
    to_item = _Messages(value, 1 / (bias_prior.variance + precision_prior.inverse)[worker])
    to_worker = _Messages(np.zeros_like(value), np.zeros_like(value))
    easiness, precision, genuine = before.easiness, before.precision, np.ones_like(value)
    found, moved, iteration = before.truth, np.inf, 0
    while iteration < _MAX_ITERATIONS and moved > _CONVERGED * (high - low):
        parts = NumberParts(
            value,
            to_item.others(truth_prior, item),
            to_worker.others(bias_prior, worker),
            precision.rows(worker),
            easiness.rows(item),
            errors,
            1 / (high - low),
        )
        genuine = genuine + _DAMPING * (parts.genuine - genuine)
        squares, relative = parts.noise_seen(genuine)
        precision = Gammas(
            precision_prior.shape + sum_by(worker, squares, len(new)) / 2,
            precision_prior.rate + sum_by(worker, relative * parts.precision.inverse, len(new)) / 2,
        )
        if iteration >= _EVEN:
            easiness = Gammas(
                before.easiness.shape + sum_by(item, squares, ballots.items) / 2,
                before.easiness.rate + sum_by(item, relative * parts.easiness.inverse, ballots.items) / 2,
            )
        noise = precision.inverse[worker] * easiness.inverse[item]
        to_item = _Messages(value - parts.bias.mean, genuine / (noise + parts.bias.variance))
        truth = to_item.others(truth_prior, item)
        to_worker = _Messages(value - truth.mean, genuine / (noise + truth.variance))
        if heard.any():
            bias_prior, precision_prior = _crowd_of(
                before, to_worker.posterior(bias_prior, worker), precision, new, heard
            )
        last, found = found, to_item.posterior(truth_prior, item)
        truth_prior = _items_of(before.truth, found, fresh)
        moved, iteration = float(np.abs(found.mean - last.mean).mean()), iteration + 1
    crowd = NumberCrowd(found, easiness, to_worker.posterior(bias_prior, worker), precision)
    return NumberFit(crowd, iteration, converged=moved <= _CONVERGED * (high - low))


def _items_of(before: Normal, truth: Normal, fresh: Mask) -> Normal:
    """Where the true numbers of this job lie, by those of the answered items.

        t ~ N(m, V),        m = (i M + sum of E t) / (i + I)

    for I items, and a mean M that is expected beforehand, worth i items. The variance V stays: a smaller one would
    draw all estimates together. Without this, many items whose numbers are small would rather look like workers who all
    say too little.
    """
    if not fresh.any():
        return before
    worth = TUNED.numbers.items
    mean = (worth * before.mean[fresh].mean() + truth.mean[fresh].sum()) / (worth + fresh.sum())
    return Normal(np.where(fresh, mean, before.mean), before.variance)


def _crowd_of(before: NumberCrowd, bias: Normal, precision: Gammas, new: Mask, heard: Mask) -> tuple[Normal, Gammas]:
    """What the workers who were heard say about new workers: how far biases spread, and how precise workers are.

        Var bias = (c v + sum of E bias^2) / (c + W),        precision ~ Gamma(a, a n),
        1 / n = (s / m + sum of E precision) / (s + W)

    for W workers, a bias variance v and a noise variance m that are expected beforehand, worth c and s workers.
    """
    tuned, many = TUNED.numbers, heard.sum()
    expected = tuned.bias_workers * before.bias.variance[new].mean()
    spread = (expected + (bias.mean**2 + bias.variance)[heard].sum()) / (tuned.bias_workers + many)
    usual = tuned.noise_workers / before.precision.inverse[new].mean()
    noise = (tuned.noise_workers + many) / (usual + (1 / precision.inverse[heard]).sum())
    return (
        Normal(before.bias.mean, np.where(new, spread, before.bias.variance)),
        Gammas(
            np.where(new, tuned.alike, before.precision.shape),
            np.where(new, tuned.alike * noise, before.precision.rate),
        ),
    )
