"""Learn a crowd from answers without truth: who is able, who guesses, which items are easy, what is common."""

import numpy as np
from scipy import special

from app.policy.core.ballots import Ballots
from app.policy.core.belief import Array, IntArray, Mask
from app.simulation.crowd_population import CrowdDraws, CrowdPopulation

_BINARY = 2
_ABILITIES = np.linspace(-2.0, 5.0, 11)  # log-odds of being right on an item that is neither easy nor hard
_BIASES = np.linspace(-2.4, 2.4, 5)  # added to them where the first of two classes is true, taken off where the second
_GUESSER_BIAS = 1.0  # standard deviation, of workers who guess
EASES = np.linspace(-3.0, 3.0, 9)  # added to them
_ITEM_SPREADS = np.array([0.25, 0.45, 0.7, 1.0, 1.4, 1.9, 2.6])
_CROWDS = 256  # drawn from the population; one of them is chosen in each sweep, by how well it explains the answers
EVEN_SHARES = 2.0  # pseudo-items of each class: sets are often balanced, and seldom quite lopsided
_START = 1.4  # the ability with which the sampler starts
_TINY = 1e-30
_SPREAD_STEP = 0.3  # how closely the spread of the items follows its crowd, in logarithms
_RARELY = -1.0  # the standardized log-activity of a worker who has not arrived yet
_LEAST_ACTIVITY_SPREAD = 0.5


def _normal(grid: Array, mean: Array | float, spread: Array | float) -> Array:
    """Normal distributions on a grid, shape (*, places); no place has probability zero."""
    apart = (grid - np.asarray(mean)[..., None]) / np.asarray(spread)[..., None]
    weight = np.exp(-0.5 * apart**2) + 1e-12
    return np.asarray(weight / weight.sum(axis=-1, keepdims=True))


_EASE_PRIORS = _normal(EASES, 0.0, _ITEM_SPREADS).astype(np.float32)  # (spreads, eases)


class WorkerSorts:
    """Sorts of workers, each with an ability and a bias; the last ones guess, whatever the item."""

    def __init__(self, classes: int) -> None:
        biases = _BIASES if classes == _BINARY else np.zeros(1)  # there is a bias only between two classes
        ability, bias = np.meshgrid(_ABILITIES, biases, indexing="ij")
        chance = np.full(len(biases), -np.log(classes - 1))
        self.ability = np.concatenate([ability.ravel(), chance])  # (sorts,)
        self.bias = np.concatenate([bias.ravel(), biases])
        self.attention = np.concatenate([np.ones(ability.size), np.zeros(len(biases))])
        self.careful = ability.size  # the number of sorts who do not guess
        self._biases = biases

    def shares(self, crowds: CrowdDraws) -> tuple[Array, Array]:
        """The share of each sort among careful workers, (crowds, careful sorts), and among guessers, (biases,)."""
        able = _normal(_ABILITIES, crowds.ability, np.exp(crowds.log_worker_spread))
        lean = _normal(self._biases, crowds.leaning, np.exp(crowds.log_bias_spread))
        careful = (able[:, :, None] * lean[:, None, :]).reshape(len(able), -1)
        return careful, _normal(self._biases, 0.0, _GUESSER_BIAS)


def chosen(weight: Array, rng: np.random.Generator) -> IntArray:
    """Draw one place of the last axis in proportion to the weights."""
    below = np.cumsum(weight, axis=-1)
    drawn = rng.random(below.shape[:-1]) * below[..., -1]
    return np.asarray(np.minimum((below <= drawn[..., None]).sum(axis=-1), below.shape[-1] - 1))


class GibbsSampler:
    """A Gibbs sampler on grids of ability and ease; all worlds are drawn side by side.

    The crowd of each world is one of a few hundred that are drawn from the population once. The crowd, and the spread
    of items, are drawn with the individual values summed out: given each other, the two hardly move. Every answer
    counts: whom and what the job asks depends on earlier answers only, so it says nothing beyond them.

    An item's truth is one of the classes with votes, in the order of their first vote, or any other class: the last
    slot.
    """

    def __init__(
        self,
        ballots: Ballots,
        worlds: int,
        prior: Array | None,
        rng: np.random.Generator,
        population: CrowdPopulation,
        crowds: int = _CROWDS,
    ) -> None:
        self._rng, self._ballots = rng, ballots
        order = np.argsort(ballots.item, kind="stable")
        self._item, self._worker, label = ballots.item[order], ballots.worker[order], ballots.label[order]
        self._side = np.minimum(label, 1)
        self._classes = np.full((ballots.items, 1), -1)  # (items, slots) the class of each slot; -1: none
        self._slot = np.zeros(len(order), dtype=np.int64)
        self._fill_slots(label)
        self._chance = self._class_priors(prior)  # (items, classes), NaN where only the share of each class is known
        self._unknown: Mask = np.asarray(np.isnan(self._chance).any(axis=1))
        self.share = np.full((worlds, ballots.classes), 1 / ballots.classes)  # of each class among the items
        self._by_item = _ColumnSums(self._item)
        self._by_slot = _ColumnSums(self._item * (self._slots + 1) + self._slot)
        self.sorts = WorkerSorts(ballots.classes)
        self.crowds = population.draw(crowds, rng)
        careful, guessing = self.sorts.shares(self.crowds)
        self._careful, self._guessing = careful.astype(np.float32), guessing.astype(np.float32)
        self._guesses = self.crowds.guessing(self._activity()).astype(np.float32)  # (crowds, workers)
        self._log_ease_spread = -0.5 * (  # (crowds, spreads)
            ((np.log(_ITEM_SPREADS) - self.crowds.log_item_spread[:, None]) / _SPREAD_STEP) ** 2
        )
        able = self.sorts.ability[:, None] + self.sorts.attention[:, None] * EASES  # (sorts, eases)
        lean = self.sorts.bias[:, None] + 0 * EASES
        sides = (1, -1)  # of the label that is given: if it is wrong, the other class is true
        right = np.stack([special.log_expit(able + side * lean) for side in sides])  # (sides, sorts, eases)
        wrong = np.stack([special.log_expit(-able + side * lean) for side in sides]) - np.log(ballots.classes - 1)
        self._right, self._wrong = (
            right.astype(np.float32),
            wrong.astype(np.float32),
        )  # float32 is twice as fast, and exact enough
        self.crowd = rng.integers(crowds, size=worlds)  # (worlds,)
        typical = np.abs(self.sorts.ability - max(population.mean.ability, _START)) + np.abs(self.sorts.bias)
        start = (typical + 9 * (self.sorts.attention == 0)).argmin()  # all workers equal: the majority is right
        self.sort = np.full((worlds, ballots.workers), start)  # (worlds, workers)
        self.ease = np.zeros((worlds, ballots.items), dtype=np.int64)
        self.ease_spread = np.zeros(worlds, dtype=np.int64)
        self.slot = np.zeros((worlds, ballots.items), dtype=np.int64)

    @property
    def _slots(self) -> int:
        return self._classes.shape[1]

    def _activity(self) -> Array:
        """The standardized log-activity of each worker, shape (workers,)."""
        log = np.log(np.bincount(self._worker, minlength=self._ballots.workers) + 0.5)
        return np.asarray((log - log.mean()) / max(log.std(), _LEAST_ACTIVITY_SPREAD)) if len(log) else log

    def truth(self) -> IntArray:
        """The true class of each item in each world; in the last slot, one of the classes without votes."""
        items = self.slot.shape[1]
        named = self._classes[np.arange(items), np.minimum(self.slot, self._slots - 1)]
        elsewhere = (self.slot == self._slots) | (named < 0)
        chance = np.where(self._unknown[:, None], self.share[:, None], np.nan_to_num(self._chance))
        return np.where(elsewhere, self._drawn_by(chance * self._unvoted()), named)

    def workers(self, unseen: int) -> IntArray:
        """The sort of all workers, and of `unseen` more of the same crowd."""
        careful = np.repeat(self._careful[self.crowd][:, None], unseen, axis=1)
        guesses = self.crowds.guessing(np.full(unseen, _RARELY))[self.crowd][:, :, None]
        more = self._drawn_by(np.concatenate([careful * (1 - guesses), self._guessing * guesses], axis=2))
        return np.concatenate([self.sort, more], axis=1)

    def sweep(self) -> None:
        """Draw items, then workers: first how much they differ, then each one."""
        self._draw_items()
        self._draw_shares()
        if self.sort.size:
            self._draw_workers()

    def _draw_items(self) -> None:
        sort = self.sort[:, self._worker]  # (worlds, answers)
        wrong, right = self._wrong[self._side, sort], self._right[self._side, sort]  # (worlds, answers, eases)
        worlds, items = self.slot.shape
        found = np.repeat(self._slot_priors()[..., None], len(EASES), axis=3)
        found[:, self._by_item.keys] += self._by_item.sums(wrong)[:, :, None]
        item, slot = np.divmod(self._by_slot.keys, self._slots + 1)
        found[:, item, slot] += self._by_slot.sums(right - wrong)
        likely = np.exp(found - found.max(axis=(2, 3), keepdims=True))
        any_truth = likely.sum(axis=2).reshape(worlds * items, -1)
        together = np.log(any_truth @ _EASE_PRIORS.T).reshape(worlds, items, -1).sum(axis=1)
        self.ease_spread = self._drawn(together + self._log_ease_spread[self.crowd])
        likely *= _EASE_PRIORS[self.ease_spread][:, None, None]
        self.slot, self.ease = np.divmod(self._drawn_by(likely.reshape(worlds, items, -1)), len(EASES))

    def _draw_shares(self) -> None:
        """Draw how common each class is, from the truths of the items whose class nobody told."""
        items = self.slot.shape[1]
        named = self._classes[np.arange(items), np.minimum(self.slot, self._slots - 1)]  # (worlds, items)
        counted = self._unknown & (self.slot < self._slots) & (named >= 0)
        row, item = counted.nonzero()
        many = np.bincount(row * self._ballots.classes + named[row, item], minlength=self.share.size)
        drawn = self._rng.gamma(EVEN_SHARES + many.reshape(self.share.shape))
        self.share = drawn / drawn.sum(axis=1, keepdims=True)

    def _draw_workers(self) -> None:
        right = self.slot[:, self._item] == self._slot  # (worlds, answers)
        worlds, workers, eases = *self.sort.shape, len(EASES)
        who = np.arange(worlds)[:, None] * workers + self._worker
        cell = (who * 2 + self._side) * 2 + right
        counts = np.bincount((cell * eases + self.ease[:, self._item]).ravel(), minlength=worlds * workers * 4 * eases)
        said = np.stack([self._wrong, self._right], axis=1).transpose(0, 1, 3, 2).reshape(4 * eases, -1)
        found = counts.reshape(worlds * workers, 4 * eases).astype(np.float32) @ said  # (worlds * workers, sorts)
        likely = np.exp(found - found.max(axis=1, keepdims=True, initial=-np.inf)).reshape(worlds, workers, -1)
        careful, guessing = np.split(likely, [self.sorts.careful], axis=2)
        able = (careful.reshape(worlds * workers, -1) @ self._careful.T).reshape(worlds, workers, -1)
        guess = (guessing @ self._guessing)[:, :, None]  # (worlds, workers, 1)
        together = np.log(able * (1 - self._guesses.T) + guess * self._guesses.T + _TINY).sum(
            axis=1
        )  # (worlds, crowds)
        self.crowd = self._drawn(together + self._log_ease_spread[:, self.ease_spread].T)
        guesses = self._guesses[self.crowd][:, :, None]
        likely = np.concatenate(
            [careful * self._careful[self.crowd][:, None] * (1 - guesses), guessing * self._guessing * guesses], axis=2
        )
        self.sort = self._drawn_by(likely)

    def _drawn(self, logarithms: Array) -> IntArray:
        """Draw one place of the last axis from log-probabilities."""
        return self._drawn_by(np.exp(logarithms - logarithms.max(axis=-1, keepdims=True)))

    def _drawn_by(self, weight: Array) -> IntArray:
        return chosen(weight, self._rng)

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
        """The probability of each class before any vote: the item's prior, or known from gold; NaN: neither."""
        items, classes = self._ballots.items, self._ballots.classes
        chance = np.full((items, classes), np.nan) if prior is None else prior
        if self._ballots.gold is not None:
            known = self._ballots.gold[:, None]
            chance = np.where(known < 0, chance, known == np.arange(classes))
        return chance

    def _slot_priors(self) -> Array:
        """The logarithm of the probability of each slot before any vote, (worlds, items, slots + 1)."""
        place, has_class = np.maximum(self._classes, 0), self._classes >= 0
        by_share = self.share[:, place]  # (worlds, items, slots)
        by_prior = np.take_along_axis(self._chance, place, axis=1)
        named = np.where(self._unknown[:, None], by_share, by_prior) * has_class
        rest = np.maximum(1 - named.sum(axis=2, keepdims=True), 0.0)
        return np.asarray(np.log(np.maximum(np.concatenate([named, rest], axis=2), 1e-30)).astype(np.float32))


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
