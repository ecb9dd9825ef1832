"""The answers of many items and workers as arrays, and the consensus that an aggregation finds in them."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from propcache.api import cached_property

from app.policy.core.arrays import Array, Index, Mask
from app.policy.core.belief import NOBODY, sole_leader
from app.policy.core.opinions import Opinions

NO_LABEL = NOBODY
UNKNOWN = -1  # an item without a gold label
_TIE = 1e-9  # scores that are equal on paper differ in the last bits of a float; ties must stay ties
_JEFFREYS = 0.5


@dataclass(frozen=True)
class Ballots:
    """Answers by position: entry a of every array of shape (answers,) is answer a."""

    item: Index  # (answers,)
    worker: Index  # (answers,)
    label: Index  # (answers,)
    items: int
    workers: int
    classes: int
    gold: Index | None = None  # (items,) the known class, or -1
    opinions: Opinions | None = None  # that sources gave beforehand
    value: npt.NDArray[Any] | None = None  # (answers,) what each says where that is no class: a set, or a number

    @classmethod
    def of(
        cls,
        item: npt.ArrayLike,
        worker: npt.ArrayLike,
        label: npt.ArrayLike,
        *,
        items: int | None = None,
        workers: int | None = None,
        classes: int | None = None,
        gold: npt.ArrayLike | None = None,
    ) -> "Ballots":
        """Answers by position; counts that are not given follow from the largest positions.

        >>> ballots = Ballots.of(item=[0, 0, 1], worker=[0, 1, 1], label=[2, 0, 1], items=3)
        >>> ballots.items, ballots.workers, ballots.classes
        (3, 2, 3)
        """
        which, who, what = (np.asarray(column, dtype=np.intp) for column in (item, worker, label))
        if not which.shape == who.shape == what.shape == (which.size,):
            raise ValueError("item, worker and label must have the same length")
        known = None if gold is None else np.asarray(gold, dtype=np.intp)
        ballots = cls(
            item=which,
            worker=who,
            label=what,
            items=_count(which, items, "item"),
            workers=_count(who, workers, "worker"),
            classes=_count(what, classes, "label"),
            gold=known,
        )
        if ballots.classes < 1:
            raise ValueError("without answers, `classes` must be given")
        if known is not None and (known.shape != (ballots.items,) or (known >= ballots.classes).any()):
            raise ValueError("gold must have one class, or -1, for each item")
        return ballots

    @property
    def said(self) -> npt.NDArray[Any]:
        """What each answer says, shape (answers,)."""
        return self.label if self.value is None else self.value

    def only(self, which: Mask) -> "Ballots":
        """Only these answers, of the same items, workers and classes.

        >>> Ballots.of(item=[0, 0, 1], worker=[0, 1, 1], label=[1, 1, 0]).only(np.array([True, False, False])).votes()
        array([[0., 1.],
               [0., 0.]])
        """
        value = None if self.value is None else self.value[which]
        return replace(self, item=self.item[which], worker=self.worker[which], label=self.label[which], value=value)

    def on(self, items: Mask) -> "Ballots":
        """Only the answers on these items, shape (items,), which are renumbered in their order.

        >>> Ballots.of(item=[0, 2, 3], worker=[0, 1, 1], label=[1, 1, 0]).on(np.array([True, False, True, False])).item
        array([0, 1])
        """
        position, kept = np.cumsum(items) - 1, self.only(items[self.item])
        gold = None if self.gold is None else self.gold[items]
        opinions = None if self.opinions is None else self.opinions.rows(items)
        return replace(kept, item=position[kept.item], items=int(items.sum()), gold=gold, opinions=opinions)

    def with_opinions(self, opinions: Opinions | None, echoes: Mask | None = None) -> "Ballots":
        """The same answers with those of the opinions that no answer of the source, or of its echoes, replaces.

        `echoes` is (sources, workers).
        """
        if opinions is None:
            return self
        return replace(self, opinions=opinions.unless_answered(self.item, self.worker, echoes))

    @cached_property
    def cell(self) -> Index:
        """The position of each answer in a flat (items, classes) array, shape (answers,)."""
        return self.item * self.classes + self.label

    def votes(self) -> Array:
        """How many answers each class of each item has, shape (items, classes).

        >>> Ballots.of(item=[0, 0, 1], worker=[0, 1, 1], label=[1, 1, 0]).votes()
        array([[0., 2.],
               [1., 0.]])
        """
        counts = np.bincount(self.cell, minlength=self.items * self.classes)
        return counts.astype(np.float64).reshape(self.items, self.classes)

    def shares(self) -> Array:
        """Each class's share of an item's votes, shape (items, classes): uniform without votes, certain where gold.

        >>> Ballots.of(item=[0, 0, 0, 1], worker=[0, 1, 2, 0], label=[1, 1, 0, 0], items=3, gold=[-1, 1, -1]).shares()
        array([[0.33333333, 0.66666667],
               [0.        , 1.        ],
               [0.5       , 0.5       ]])
        """
        votes = self.votes()
        total = votes.sum(axis=1, keepdims=True)
        return self.clamped(np.where(total > 0, votes / np.maximum(total, 1.0), 1.0 / self.classes))

    def clamped(self, posterior: Array) -> Array:
        """The posterior with certainty where the truth is known."""
        if self.gold is None:
            return posterior
        return np.where((self.gold == UNKNOWN)[:, None], posterior, self.gold[:, None] == np.arange(self.classes))

    @cached_property
    def answered(self) -> Mask:
        """Which items have an answer, shape (items,)."""
        return np.bincount(self.item, minlength=self.items) > 0

    @cached_property
    def informed(self) -> Mask:
        """Which items have an answer or a gold label, shape (items,)."""
        return self.answered if self.gold is None else self.answered | (self.gold != UNKNOWN)

    @cached_property
    def given(self) -> Index:
        """How many answers each worker has given, shape (workers,)."""
        return np.bincount(self.worker, minlength=self.workers)

    @cached_property
    def heard(self) -> Mask:
        """Which workers have an answer, shape (workers,)."""
        return self.given > 0

    def with_favourites(self, informed: Mask) -> "Ballots":
        """The answers, and each source's favourite label as its answer to every one of these items with an opinion.

        >>> opinions = Opinions.of(np.array([[0.7, 0.3], [np.nan, np.nan]]), source=1)
        >>> ballots = Ballots.of(item=[0, 1], worker=[0, 0], label=[1, 1], workers=2).with_opinions(opinions)
        >>> ballots.with_favourites(ballots.answered).votes()
        array([[1., 1.],
               [0., 1.]])
        """
        if self.opinions is None:
            return self
        source, item = np.nonzero(self.opinions.given & informed)
        return replace(
            self,
            item=np.concatenate([self.item, item]),
            worker=np.concatenate([self.worker, self.opinions.source[source]]),
            label=np.concatenate([self.label, self.opinions.shares[source, item].argmax(axis=1)]),
            opinions=None,
        )

    def fitted(self, informed: Mask) -> Mask:
        """Which workers a fit says something about, (workers,): by an answer, or by opinions on informed items."""
        if self.opinions is None:
            return self.heard
        heard = self.heard.copy()
        speaks = (self.opinions.given & informed).any(axis=1)
        heard[self.opinions.source[speaks]] = True
        return heard

    def right_and_wrong(self, posterior: Array) -> Array:
        """How many answers of each worker are expected to be right, and wrong, shape (workers, 2)."""
        right = sum_by(self.worker, posterior.ravel()[self.cell], self.workers)
        given = np.bincount(self.worker, minlength=self.workers)
        return np.stack([right, given - right], axis=1)


def sum_by(group: Index, amount: Array, groups: int) -> Array:
    """The total amount of each group, shape (groups,).

    >>> sum_by(np.array([2, 0, 2]), np.array([0.5, 1.0, 0.25]), 3)
    array([1.  , 0.  , 0.75])
    """
    # np.bincount returns integers where there are no entries.
    return np.bincount(group, weights=amount, minlength=groups).astype(np.float64, copy=False)


def _count(column: Index, given: int | None, name: str) -> int:
    reach = int(column.max(initial=-1)) + 1
    if column.min(initial=0) < 0 or (given is not None and reach > given):
        raise ValueError(f"a {name} is outside 0..{reach - 1 if given is None else given - 1}")
    return reach if given is None else given


@dataclass(frozen=True)
class Consensus:
    """What the answers say about every item and every worker.

    A worker's skill is the probability of a right answer. With r right and w wrong answers expected under the
    posterior, pseudo-answers of the worker's prior included, it has the distribution Beta(r + 1/2, w + 1/2)
    (Jeffreys); `skill` is its mean.
    """

    posterior: Array  # (items, classes)
    informed: Mask  # (items,) the item has an answer or a gold label
    right_and_wrong: Array  # (workers, 2) expected answers of each worker, pseudo-answers included
    iterations: int
    converged: bool
    log_likelihood: float = np.nan  # priors and pseudo-answers included; NaN if the aggregation has none
    confusion: Array | None = None  # (workers, classes, classes) P(answer | truth), truth first

    def labels(self) -> Index:
        """The most likely class of each item, shape (items,); -1 for a tie at the top and for an item without answers.

        >>> counts, chances = np.zeros((0, 2)), np.array([[0.7, 0.3], [0.5, 0.5], [0.9, 0.1]])
        >>> Consensus(chances, np.array([True, True, False]), counts, iterations=1, converged=True).labels()
        array([ 0, -1, -1])
        """
        return np.where(self.informed, sole_leader(self.posterior), NO_LABEL)

    @cached_property
    def skill(self) -> Array:
        """The expected probability of a right answer, shape (workers,).

        >>> counts, items = np.array([[8.0, 2.0], [0.0, 0.0]]), np.zeros((0, 2))
        >>> workers = Consensus(items, np.zeros(0, dtype=bool), counts, iterations=1, converged=True)
        >>> workers.skill.round(4)
        array([0.7727, 0.5   ])
        """
        right, wrong = self.right_and_wrong.T + _JEFFREYS
        return np.asarray(right / (right + wrong))


def tied_for_first(scores: Array) -> Mask:
    """Which classes of each item share the highest score, shape (items, classes).

    >>> tied_for_first(np.array([[0.2, 0.4, 0.4 - 1e-12]]))
    array([[False,  True,  True]])
    """
    return np.asarray(scores >= scores.max(axis=1, keepdims=True) - _TIE)


def first_choice(scores: Array) -> Array:
    """Probability 1 on the highest score of each item, in equal parts where several share it; (items, classes).

    >>> first_choice(np.array([[3.0, 1.0], [2.0, 2.0]]))
    array([[1. , 0. ],
           [0.5, 0.5]])
    """
    tied = tied_for_first(scores)
    return np.asarray(tied / tied.sum(axis=1, keepdims=True))
