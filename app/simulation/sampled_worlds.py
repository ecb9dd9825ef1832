"""Draw possible worlds, each with truths, eases and abilities: from a prior, or from a job's own answers."""

import math
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy import special

from app.policy.core.ballots import Ballots
from app.policy.core.belief import Array, IntArray

_BINARY = 2
_ABILITIES = np.linspace(-2.0, 5.0, 11)  # log-odds of being right on an item that is neither easy nor hard
_BIASES = np.linspace(-2.4, 2.4, 5)  # added to them where the first of two classes is true, taken off where the second
_EASES = np.linspace(-2.4, 2.4, 9)  # added to them
# Fitted to all recorded answers of seven public sets (RTE, TEMP, D_PosSent, bluebirds, adult2, weather, millionaire)
# with the truth known, the mean ability is .8 to 2.2, workers differ by .6 to 1.4, their biases by .4 to 1.2, items by
# .5 to 1.4. The priors are as wide as that.
_MEAN, _MEAN_SPREAD = 1.4, 0.5
_MEANS = np.linspace(0.0, 3.0, 11)
_SPREADS = np.array([0.25, 0.45, 0.7, 1.0, 1.4, 1.9])
_WORKER_SPREAD_PRIOR = -0.5 * (np.log(_SPREADS / 1.0) / 0.4) ** 2
_ITEM_SPREAD_PRIOR = -0.5 * (np.log(_SPREADS / 0.8) / 0.5) ** 2
_BIAS_SPREADS = np.array([0.3, 0.7, 1.2])
_SWEEPS = 60
_MOST_UNSEEN = 4  # per worker who has answered
_MOST_UNSEEN_AT_ALL = 1_000
_FEWEST_WORKERS = 20


def _normal(grid: Array, mean: float, spread: float) -> Array:
    """A normal distribution on a grid, shape (places,); no place has probability zero."""
    weight = np.exp(-0.5 * ((grid - mean) / spread) ** 2) + 1e-12
    return np.asarray(weight / weight.sum())


_EASE_PRIORS = np.stack([_normal(_EASES, 0.0, spread) for spread in _SPREADS]).astype(np.float32)  # (spreads, eases)
_TYPICAL_EASE = special.softmax(_ITEM_SPREAD_PRIOR).astype(np.float32) @ _EASE_PRIORS  # (eases,)
# Sorts of workers: ability and bias; populations: mean and spread of the abilities, spread of the biases.
_POPULATIONS = np.array(list(product(_MEANS, _SPREADS, _BIAS_SPREADS)))
_POPULATION_PRIOR = np.repeat(
    np.add.outer(-0.5 * ((_MEANS - _MEAN) / _MEAN_SPREAD) ** 2, _WORKER_SPREAD_PRIOR).ravel(), len(_BIAS_SPREADS)
)


def _sorts(classes: int) -> tuple[Array, Array]:
    """Ability and bias of each sort of worker, shape (sorts,); there is a bias only between two classes."""
    biases = _BIASES if classes == _BINARY else np.zeros(1)
    ability, bias = np.meshgrid(_ABILITIES, biases, indexing="ij")
    return ability.ravel(), bias.ravel()


def _sort_priors(classes: int) -> Array:
    """The share of each sort in each population, (populations, sorts)."""
    biases = _BIASES if classes == _BINARY else np.zeros(1)
    return np.stack([np.outer(_normal(_ABILITIES, m, s), _normal(biases, 0.0, b)).ravel() for m, s, b in _POPULATIONS])


@dataclass(frozen=True)
class Worlds:
    """Several possible worlds of the same items and workers; row r of every array is one of them.

    A worker of ability a is right on an item of ease e with probability 1 / (1 + exp(-a - e)) (Rasch 1960), and errs
    towards each other class equally often. Between two classes, workers have a bias b: their ability is a + b if the
    first class is true, and a - b if the second.
    """

    truth: IntArray  # (worlds, items)
    ease: Array  # (worlds, items)
    ability: Array  # (worlds, workers)
    bias: Array  # (worlds, workers)
    presence: Array  # (workers,) probability that each is the next to arrive; sums to 1
    classes: int

    def answers(self, world: IntArray, item: IntArray, worker: IntArray, rng: np.random.Generator) -> IntArray:
        """Draw an answer of worker[i] on item[i] in world[i]; shape (answers,)."""
        truth = self.truth[world, item]
        leaning = np.where(truth == 0, 1, -1) * self.bias[world, worker]
        right = rng.random(len(item)) < special.expit(self.ability[world, worker] + leaning + self.ease[world, item])
        wrong = rng.integers(1, self.classes, size=len(item))
        return np.where(right, truth, (truth + wrong) % self.classes)


def worlds_of_prior(
    shape: tuple[float, float],
    spread: float,
    size: tuple[int, int, int],
    classes: int,
    rng: np.random.Generator,
) -> Worlds:
    """Draw items on which a share from Beta(a, b) of the workers is right, and workers with log-odds of sd `spread`.

    `size` is worlds, items and workers; all workers arrive equally often.
    """
    worlds, items, workers = size
    share = np.clip(rng.beta(*shape, size=(worlds, items)), 1e-6, 1 - 1e-6)
    return Worlds(
        truth=rng.integers(classes, size=(worlds, items)),
        ease=special.logit(share),
        ability=spread * rng.standard_normal((worlds, workers)),
        bias=np.zeros((worlds, workers)),
        presence=np.full(workers, 1 / workers),
        classes=classes,
    )


def worlds_of_answers(ballots: Ballots, worlds: int, prior: Array | None, rng: np.random.Generator) -> Worlds:
    """Draw from the posterior given the answers: truths, eases, abilities, and how much workers and items differ.

    `prior` is (items, classes), NaN where there is none. The workers of the ballots are followed by workers who have
    not arrived yet: as many as Chao (1984) estimates, with the share of answers that Good (1953) estimates.
    """
    presence = _presence(np.bincount(ballots.worker, minlength=ballots.workers))
    gibbs = _Gibbs(ballots, worlds, prior, rng)
    for _ in range(_SWEEPS):
        gibbs.sweep()
    ability, bias = gibbs.workers(len(presence) - ballots.workers)
    return Worlds(gibbs.truth(), _EASES[gibbs.ease], ability, bias, presence, ballots.classes)


def _presence(answers: IntArray) -> Array:
    """The probability that each worker, seen or not seen yet, arrives next, shape (workers + unseen,).

    The crowd has at least twenty workers, even if fewer have answered.

    >>> _presence(np.array([4, 2, 1, 1])).round(3).tolist()[:5]  # a quarter of the answers is by workers seen once
    [0.375, 0.188, 0.094, 0.094, 0.016]
    """
    once, twice, total = int((answers == 1).sum()), int((answers == 2).sum()), int(answers.sum())  # noqa: PLR2004
    most = min(_MOST_UNSEEN * len(answers), _MOST_UNSEEN_AT_ALL)
    estimated = min(math.ceil(once * (once - 1) / (2 * (twice + 1))), most)
    unseen = max(estimated, _FEWEST_WORKERS - len(answers))
    if not unseen:
        return np.asarray(answers / total)
    share = max(once, 1) / max(total, 1)
    return np.concatenate([(1 - share) * answers / max(total, 1), np.full(unseen, share / unseen)])


class _Gibbs:
    """A Gibbs sampler on grids of ability and ease; all worlds are drawn side by side.

        mean ~ N(1.4, .5),   abilities ~ N(mean, s_w),   biases ~ N(0, s_b),   eases ~ N(0, s_i),
        log s_w ~ N(0, .4),   log s_i ~ N(log .8, .5),   s_b one of .3, .7 and 1.2.

    The spread of workers, or of items, is drawn with the individual values summed out: given each other, the two
    hardly move.
    Workers are judged only by answers that can be compared with another answer or with gold. A single answer shows only
    how often its worker gives each label, which says as much about the items as about the worker, so it has no effect
    on the worker (a cut; Plummer 2015). An item with several answers counts for its workers as P(answers) / P(the
    first): whether it got a second answer may depend on the first one and its worker.

    An item's truth is one of the classes with votes, in the order of their first vote, or any other class: the last
    slot.
    """

    def __init__(self, ballots: Ballots, worlds: int, prior: Array | None, rng: np.random.Generator) -> None:
        self._rng, self._ballots = rng, ballots
        order = np.argsort(ballots.item, kind="stable")
        self._item, self._worker, label = ballots.item[order], ballots.worker[order], ballots.label[order]
        self._side = np.minimum(label, 1)
        self._classes = np.full((ballots.items, 1), -1)  # (items, slots) the class of each slot; -1: none
        self._slot = np.zeros(len(order), dtype=np.int64)
        self._fill_slots(label)
        several = np.bincount(self._item, minlength=ballots.items) > 1
        known = np.zeros(ballots.items, dtype=bool) if ballots.gold is None else ballots.gold >= 0
        self._comparable = np.flatnonzero((several | known)[self._item])
        first = np.flatnonzero((np.diff(self._item, prepend=-1) > 0) & (several & ~known)[self._item])
        self._first = np.zeros((ballots.workers, 2), dtype=np.float32)  # (workers, sides) of items with several answers
        np.add.at(self._first, (self._worker[first], self._side[first]), 1)
        self._chance = self._class_priors(prior)  # (items, classes)
        self._log_prior = self._slot_priors()  # (items, slots + 1)
        self._by_item = _ColumnSums(self._item)
        self._by_slot = _ColumnSums(self._item * (self._slots + 1) + self._slot)
        self._ability, self._bias = _sorts(ballots.classes)
        self._priors = _sort_priors(ballots.classes).astype(np.float32)
        able, lean = self._ability[:, None] + _EASES, self._bias[:, None] + 0 * _EASES  # (sorts, eases)
        sides = (1, -1)  # of the label that is given: if it is wrong, the other class is true
        right = np.stack([special.log_expit(able + side * lean) for side in sides])  # (sides, sorts, eases)
        wrong = np.stack([special.log_expit(-able + side * lean) for side in sides]) - np.log(ballots.classes - 1)
        self._right, self._wrong = (
            right.astype(np.float32),
            wrong.astype(np.float32),
        )  # float32 is twice as fast, and exact enough
        named = (np.exp(self._right) + (ballots.classes - 1) * np.exp(self._wrong)) / ballots.classes
        self._log_named = np.log(named @ _TYPICAL_EASE)  # (sides, sorts) averaged over the truth
        self.population = self._drawn(np.tile(_POPULATION_PRIOR, (worlds, 1)))  # (worlds,)
        typical = np.abs(self._ability - _POPULATIONS[self.population, :1]) + np.abs(self._bias)  # (worlds, sorts)
        start = typical.argmin(axis=1)  # all workers equal: the majority is right at first
        self.sort = np.tile(start[:, None], ballots.workers)  # (worlds, workers)
        self.ease = np.zeros((worlds, ballots.items), dtype=np.int64)
        self.slot = np.zeros((worlds, ballots.items), dtype=np.int64)

    @property
    def _slots(self) -> int:
        return self._classes.shape[1]

    def truth(self) -> IntArray:
        """The true class of each item in each world; in the last slot, one of the classes without votes."""
        worlds, items = self.slot.shape
        named = self._classes[np.arange(items), np.minimum(self.slot, self._slots - 1)]
        elsewhere = (self.slot == self._slots) | (named < 0)
        weight = np.broadcast_to(self._chance * self._unvoted(), (worlds, items, self._ballots.classes))
        return np.where(elsewhere, self._chosen(weight), named)

    def workers(self, unseen: int) -> tuple[Array, Array]:
        """Ability and bias of all workers, and of `unseen` more from the same population."""
        more = self._chosen(np.repeat(self._priors[self.population][:, None], unseen, axis=1))
        sort = np.concatenate([self.sort, more], axis=1)
        return self._ability[sort], self._bias[sort]

    def sweep(self) -> None:
        """Draw items, then workers: first how much they differ, then each one."""
        self._draw_items()
        if self.sort.size:
            self._draw_workers()

    def _draw_items(self) -> None:
        sort = self.sort[:, self._worker]  # (worlds, answers)
        wrong, right = self._wrong[self._side, sort], self._right[self._side, sort]  # (worlds, answers, eases)
        worlds, items = self.slot.shape
        found = np.tile(self._log_prior[:, :, None], (worlds, 1, 1, len(_EASES)))
        found[:, self._by_item.keys] += self._by_item.sums(wrong)[:, :, None]
        item, slot = np.divmod(self._by_slot.keys, self._slots + 1)
        found[:, item, slot] += self._by_slot.sums(right - wrong)
        likely = np.exp(found - found.max(axis=(2, 3), keepdims=True))
        any_truth = likely.sum(axis=2).reshape(worlds * items, -1)
        together = np.log(any_truth @ _EASE_PRIORS.T).reshape(worlds, items, -1).sum(axis=1)
        likely *= _EASE_PRIORS[self._drawn(together + _ITEM_SPREAD_PRIOR)][:, None, None]
        self.slot, self.ease = np.divmod(self._chosen(likely.reshape(worlds, items, -1)), len(_EASES))

    def _draw_workers(self) -> None:
        item = self._item[self._comparable]
        right = self.slot[:, item] == self._slot[self._comparable]  # (worlds, answers)
        worlds, workers, eases = *self.sort.shape, len(_EASES)
        who = np.arange(worlds)[:, None] * workers + self._worker[self._comparable]
        cell = (who * 2 + self._side[self._comparable]) * 2 + right
        counts = np.bincount((cell * eases + self.ease[:, item]).ravel(), minlength=worlds * workers * 4 * eases)
        said = np.stack([self._wrong, self._right], axis=1).transpose(0, 1, 3, 2).reshape(4 * eases, -1)
        found = counts.reshape(worlds * workers, 4 * eases).astype(np.float32) @ said  # (worlds * workers, sorts)
        found -= np.tile(self._first @ self._log_named, (worlds, 1))
        likely = np.exp(found - found.max(axis=1, keepdims=True, initial=-np.inf))
        together = np.log(likely @ self._priors.T).reshape(worlds, workers, -1).sum(axis=1)
        self.population = self._drawn(together + _POPULATION_PRIOR)
        likely = likely.reshape(worlds, workers, -1)
        self.sort = self._chosen(likely * self._priors[self.population][:, None])

    def _drawn(self, logarithms: Array) -> IntArray:
        """Draw one place of the last axis from log-probabilities."""
        return self._chosen(np.exp(logarithms - logarithms.max(axis=-1, keepdims=True)))

    def _chosen(self, weight: Array) -> IntArray:
        """Draw one place of the last axis in proportion to the weights."""
        below = np.cumsum(weight, axis=-1)
        drawn = self._rng.random(below.shape[:-1]) * below[..., -1]
        return np.asarray(np.minimum((below <= drawn[..., None]).sum(axis=-1), below.shape[-1] - 1))

    def _fill_slots(self, label: IntArray) -> None:
        for place, (item, said) in enumerate(zip(self._item.tolist(), label.tolist(), strict=True)):
            row = self._classes[item]
            found = np.flatnonzero(row == said)
            free = found if len(found) else np.flatnonzero(row < 0)
            if not len(free):
                self._classes = np.pad(self._classes, ((0, 0), (0, 1)), constant_values=-1)
                free = np.array([self._slots - 1])
            self._classes[item, free[0]] = said
            self._slot[place] = free[0]

    def _unvoted(self) -> Array:
        """1 where a class has no vote on the item, (items, classes)."""
        free = np.ones((self._ballots.items, self._ballots.classes))
        item, slot = (self._classes >= 0).nonzero()
        free[item, self._classes[item, slot]] = 0.0
        return free

    def _class_priors(self, prior: Array | None) -> Array:
        """The probability of each class before any vote: uniform, the item's prior, or known from gold."""
        items, classes = self._ballots.items, self._ballots.classes
        chance = np.full((items, classes), 1 / classes)
        if prior is not None:
            chance = np.where(np.isnan(prior), chance, prior)
        if self._ballots.gold is not None:
            known = self._ballots.gold[:, None]
            chance = np.where(known < 0, chance, known == np.arange(classes))
        return chance

    def _slot_priors(self) -> Array:
        chance = self._chance
        named = np.take_along_axis(chance, np.maximum(self._classes, 0), axis=1) * (self._classes >= 0)
        rest = (chance * self._unvoted()).sum(axis=1, keepdims=True)
        return np.asarray(np.log(np.maximum(np.concatenate([named, rest], axis=1), 1e-30)).astype(np.float32))


class _ColumnSums:
    """Sums over the columns with the same key."""

    def __init__(self, key: IntArray) -> None:
        self._order = np.argsort(key, kind="stable")
        self.keys, self._start = np.unique(key[self._order], return_index=True)

    def sums(self, values: Array) -> Array:
        """Of values (worlds, answers, *), shape (worlds, keys, *)."""
        if not len(self.keys):
            return np.zeros((values.shape[0], 0, values.shape[2]))
        return np.asarray(np.add.reduceat(values[:, self._order], self._start, axis=1))
