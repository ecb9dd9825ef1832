"""Invent a whole set of answers: hard items, spammers, liars, the tired, and those who copy from one another."""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from app.lab.crowd import Crowd
from app.lab.graded import GROUPS, graded_crowd
from app.lab.recorded import Recorded
from app.policy.belief import Array, IntArray, Mask

_MOST_PAIRS = 50_000_000  # a gigabyte
_ROUNDING = 1e-9  # .2 + .4 + .3 + .1 are the whole crowd, whatever floats say


@dataclass(frozen=True)
class Spread:
    """How a number between 0 and 1 is distributed: Beta(a, b), evenly from a to b, or always a.

    >>> Spread("uniform", 0.5, 1.0).drawn(2, np.random.default_rng(1)).round(2).tolist()
    [0.76, 0.98]
    """

    shape: Literal["beta", "uniform", "fixed"]
    a: float
    b: float = 0.0

    def drawn(self, many: int, rng: np.random.Generator) -> Array:
        if self.shape == "beta":
            return rng.beta(self.a, self.b, many)
        return rng.uniform(self.a, self.b if self.shape == "uniform" else self.a, many)


@dataclass(frozen=True)
class Recipe:
    """What a set of answers is made of.

    An honest worker is right at a rate of their own, and names any other class alike; a share of the answers on an
    item, its difficulty, is a guess instead. With two classes, full skill and difficulties spread evenly over (0, 1)
    this is theta ~ U(0, 1) of Chen et al. (ICML 2013): a perfect worker is right with 1 - difficulty / 2.
    Spammers guess. Liars know as much as others, and say something else. Drifters begin like others, and end guessing,
    in a straight line over their answers. Copiers all say what one source says, which is wrong about `source_error` of
    the items. Who is what is drawn, so many of each sort as its share says.
    """

    items: int = 500
    classes: int = 2
    workers: int = 50
    answers_per_item: int | None = None  # None: everybody answers everything
    skill: Spread = field(default=Spread("beta", 8, 2))
    difficulty: Spread = field(default=Spread("fixed", 0))
    class_weights: tuple[float, ...] | None = None  # None: every class is as common as any other
    spammers: float = 0.0
    liars: float = 0.0
    drifters: float = 0.0
    copiers: float = 0.0
    source_error: float = 0.4

    def __post_init__(self) -> None:
        if self.spammers + self.liars + self.drifters + self.copiers > 1 + _ROUNDING:
            raise ValueError("spammers, liars, drifters and copiers are more than the whole crowd")
        if self.class_weights is not None and len(self.class_weights) != self.classes:
            raise ValueError(f"{len(self.class_weights)} weights are given for {self.classes} classes")
        if self.answers_per_item is not None and self.answers_per_item > self.workers:
            raise ValueError(f"{self.answers_per_item} answers per item take more than {self.workers} workers")
        if self.items * self.workers > _MOST_PAIRS:
            raise ValueError(f"{self.items} items and {self.workers} workers are more than {_MOST_PAIRS:,} pairs")


def invented(recipe: Recipe, rng: np.random.Generator) -> Recorded:
    """A set of answers by this recipe, in a random order of arrival."""
    weights = np.array(recipe.class_weights or (1.0,) * recipe.classes)
    truth = rng.choice(recipe.classes, recipe.items, p=weights / weights.sum())
    item, worker = _who_answers_what(recipe.items, recipe.workers, recipe.answers_per_item, rng)
    sort = _sorts(recipe, rng)
    knows = recipe.skill.drawn(recipe.workers, rng)[worker]
    knows = np.where((sort == "drifter")[worker], _tired(knows, worker, recipe.classes), knows)
    knows = np.where((sort == "liar")[worker], 1 - knows, knows)
    guesses = (rng.random(len(item)) < recipe.difficulty.drawn(recipe.items, rng)[item]) | (sort == "spammer")[worker]
    label = _named(truth[item], rng.random(len(item)) < knows, recipe.classes, rng)
    label = np.where(guesses, rng.integers(recipe.classes, size=len(item)), label)
    source = _named(truth, rng.random(recipe.items) >= recipe.source_error, recipe.classes, rng)
    label = np.where((sort == "copier")[worker], source[item], label)
    return _recorded(item, worker, label, truth, recipe.workers, recipe.classes)


def graded(hits: int, workers_per_group: int, answers_per_item: int | None, rng: np.random.Generator) -> Recorded:
    """The nine groups of workers and HITs of Abraham et al. (SIGIR 2016, Table 1), in a random order of arrival."""
    crowd: Crowd = graded_crowd(hits, workers_per_group, rng)
    item, worker = _who_answers_what(hits, GROUPS * workers_per_group, answers_per_item, rng)
    return _recorded(item, worker, crowd.answers(item, worker, rng), crowd.truth, crowd.workers, crowd.classes)


def _who_answers_what(
    items: int, workers: int, each: int | None, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """So many different workers on every item, or all, shuffled."""
    asked = np.argsort(rng.random((items, workers)), axis=1)[:, :each]
    order = rng.permutation(asked.size)
    return np.repeat(np.arange(items), asked.shape[1])[order], asked.ravel()[order]


def _sorts(recipe: Recipe, rng: np.random.Generator) -> npt.NDArray[np.str_]:
    """Which sort each worker is of, shape (workers,)."""
    shares = {"spammer": recipe.spammers, "liar": recipe.liars, "drifter": recipe.drifters, "copier": recipe.copiers}
    ends = np.round(np.cumsum([*shares.values()]) * recipe.workers).astype(int)
    sorts = np.array([*shares, "honest"])
    return rng.permutation(sorts[np.searchsorted(ends, np.arange(recipe.workers), side="right")])


def _tired(knows: Array, worker: IntArray, classes: int) -> Array:
    """Rates that fall from what they are, at a worker's first answer, to a guess's at the last."""
    order = np.argsort(worker, kind="stable")
    many = np.bincount(worker)
    place = np.empty(len(worker))
    place[order] = np.arange(len(worker)) - (np.cumsum(many) - many)[worker[order]]
    done = place / np.maximum(many[worker] - 1, 1)
    return np.asarray(knows + done * (1 / classes - knows))


def _named(truth: IntArray, right: Mask, classes: int, rng: np.random.Generator) -> IntArray:
    """The true class where it is right, any other one elsewhere."""
    other = (truth + rng.integers(1, classes, size=len(truth))) % classes
    return np.where(right, truth, other)


def _recorded(
    item: IntArray, worker: IntArray, label: IntArray, truth: IntArray, workers: int, classes: int
) -> Recorded:
    return Recorded(_names("i", len(truth)), _names("w", workers), _names("c", classes), item, worker, label, truth)


def _names(sort: str, many: int) -> tuple[str, ...]:
    """Names whose order is that of their numbers, as files are read.

    >>> _names("w", 11)[-2:]
    ('w09', 'w10')
    """
    digits = len(str(many - 1))
    return tuple(f"{sort}{place:0{digits}}" for place in range(many))
