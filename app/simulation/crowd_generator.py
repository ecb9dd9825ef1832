"""Generate synthetic sets of answers: with hard items, spammers, liars, workers who drift, and copiers."""

from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from app.policy.answers import CHOICE, AnyAnswer, NumberAnswer
from app.policy.answers.questions import Questions
from app.policy.core.belief import Array, IntArray, Mask
from app.simulation.crowds import Crowd
from app.simulation.graded_crowd import GROUPS, graded_crowd
from app.simulation.recorded_crowd import RecordedAnswers

_Drawn: TypeAlias = tuple[IntArray, IntArray, npt.NDArray[Any], npt.NDArray[Any]]  # item, worker, said, truth
_MOST_PAIRS = 50_000_000  # about a gigabyte
_ROUNDING = 1e-9  # .2 + .4 + .3 + .1 is the whole crowd, although floats give more


@dataclass(frozen=True)
class Distribution:
    """The distribution of a number between 0 and 1: Beta(a, b), uniform from a to b, or always a.

    >>> Distribution("uniform", 0.5, 1.0).draw(2, np.random.default_rng(1)).round(2).tolist()
    [0.76, 0.98]
    """

    shape: Literal["beta", "uniform", "fixed"]
    a: float
    b: float = 0.0

    def draw(self, size: int, rng: np.random.Generator) -> Array:
        if self.shape == "beta":
            return rng.beta(self.a, self.b, size)
        return rng.uniform(self.a, self.b if self.shape == "uniform" else self.a, size)


@dataclass(frozen=True)
class Recipe:
    """What a synthetic set of answers is made of.

    An honest worker is right at an individual rate, and errs towards each other class equally often; a share of the
    answers on an item, its difficulty, is a guess instead. With two classes, full skill and difficulties uniform on
    (0, 1) this is theta ~ U(0, 1) of Chen et al. (ICML 2013): a perfect worker is right with 1 - difficulty / 2.
    Spammers guess. Liars know as much as others, but give another answer. Drifters begin like others and end by
    guessing; their rate falls linearly over their answers. Copiers repeat one source, which is wrong on `source_error`
    of the items. The share of each sort is exact, and its members are drawn at random.
    """

    items: int = 500
    classes: int = 2
    workers: int = 50
    answers_per_item: int | None = None  # None: every worker answers every item
    skill: Distribution = field(default=Distribution("beta", 8, 2))
    difficulty: Distribution = field(default=Distribution("fixed", 0))
    class_weights: tuple[float, ...] | None = None  # None: all classes are equally common
    spammers: float = 0.0
    liars: float = 0.0
    drifters: float = 0.0
    copiers: float = 0.0
    source_error: float = 0.4

    def __post_init__(self) -> None:
        if self.spammers + self.liars + self.drifters + self.copiers > 1 + _ROUNDING:
            raise ValueError("the shares of spammers, liars, drifters and copiers must sum to at most 1")
        if self.class_weights is not None and len(self.class_weights) != self.classes:
            raise ValueError(f"{self.classes} classes need {self.classes} class weights, not {len(self.class_weights)}")
        if self.answers_per_item is not None and self.answers_per_item > self.workers:
            raise ValueError(
                f"{self.answers_per_item} answers per item need at least as many workers, not {self.workers}"
            )
        if self.items * self.workers > _MOST_PAIRS:
            raise ValueError(
                f"{self.items:,} items times {self.workers:,} workers exceed {_MOST_PAIRS:,} pairs: choose fewer"
            )


def generate_answers(recipe: Recipe, rng: np.random.Generator, answer: AnyAnswer = CHOICE) -> RecordedAnswers:
    """Generate a set of answers of this kind, in a random order of arrival."""
    draw = _DRAWS[answer.field]
    names = _names("c", recipe.classes) if answer.most_names else ()
    return _recorded(*draw(recipe, rng, answer), recipe.workers, names, answer)


def _draw_labels(recipe: Recipe, rng: np.random.Generator, _answer: AnyAnswer) -> _Drawn:
    """One of the labels."""
    truth = _true_classes(recipe, rng)
    item, worker = _who_answers_what(recipe.items, recipe.workers, recipe.answers_per_item, rng)
    return item, worker, _labels(recipe, item, worker, truth, rng), truth


def _draw_sets(recipe: Recipe, rng: np.random.Generator, _answer: AnyAnswer) -> _Drawn:
    """Any number of the labels: each is a question with the classes no and yes, which the same workers answer."""
    if recipe.class_weights is not None:
        raise ValueError("class weights are for answers that are one label")
    questions = Questions(recipe.classes)
    each = replace(recipe, items=recipe.items * recipe.classes, classes=2)
    truth = _true_classes(each, rng)
    item, worker = _who_answers_what(recipe.items, recipe.workers, recipe.answers_per_item, rng)
    said = _labels(each, questions.rows(item), questions.of(worker), truth, rng)
    sets, true = (questions.sets(questions.by_item(bits)) for bits in (said, truth))
    return item, worker, sets, true


def _draw_numbers(recipe: Recipe, rng: np.random.Generator, answer: AnyAnswer) -> _Drawn:
    """A number: truths and guesses are anywhere in the range, errors are normal, liars mirror what they know."""
    assert isinstance(answer, NumberAnswer)  # noqa: S101
    low, high = answer.low, answer.high
    truth = rng.uniform(low, high, recipe.items)
    item, worker = _who_answers_what(recipe.items, recipe.workers, recipe.answers_per_item, rng)
    sort, knows, guesses = _habits(recipe, item, worker, 0.0, rng)
    value = truth[item] + rng.normal(0, (high - low) / 2, len(item)) * (1 - knows)
    value = np.where((sort == "liar")[worker], low + high - value, value)
    value = np.where(guesses, rng.uniform(low, high, len(item)), value)
    is_right = rng.random(recipe.items) >= recipe.source_error
    source = np.where(is_right, truth, rng.uniform(low, high, recipe.items))
    value = np.where((sort == "copier")[worker], source[item], value)
    return item, worker, np.clip(value, low, high), truth


_DRAWS = {"label": _draw_labels, "labels": _draw_sets, "value": _draw_numbers}


def _true_classes(recipe: Recipe, rng: np.random.Generator) -> IntArray:
    weights = np.array(recipe.class_weights or (1.0,) * recipe.classes)
    return rng.choice(recipe.classes, recipe.items, p=weights / weights.sum())


def _labels(recipe: Recipe, item: IntArray, worker: IntArray, truth: IntArray, rng: np.random.Generator) -> IntArray:
    """What these workers say about these items, shape (answers,)."""
    sort, knows, guesses = _habits(recipe, item, worker, 1 / recipe.classes, rng)
    knows = np.where((sort == "liar")[worker], 1 - knows, knows)
    label = _named(truth[item], rng.random(len(item)) < knows, recipe.classes, rng)
    label = np.where(guesses, rng.integers(recipe.classes, size=len(item)), label)
    source = _named(truth, rng.random(recipe.items) >= recipe.source_error, recipe.classes, rng)
    return np.where((sort == "copier")[worker], source[item], label)


def _habits(
    recipe: Recipe, item: IntArray, worker: IntArray, worst: float, rng: np.random.Generator
) -> tuple[npt.NDArray[np.str_], Array, Mask]:
    """The sort of each worker; of each answer, the skill behind it, and whether it is a guess."""
    sort = _sorts(recipe, rng)
    knows = recipe.skill.draw(recipe.workers, rng)[worker]
    knows = np.where((sort == "drifter")[worker], _drifting(knows, worker, worst), knows)
    hard = rng.random(len(item)) < recipe.difficulty.draw(recipe.items, rng)[item]
    return sort, knows, hard | (sort == "spammer")[worker]


def generate_graded_answers(
    hits: int, workers_per_group: int, answers_per_item: int | None, rng: np.random.Generator
) -> RecordedAnswers:
    """The nine groups of workers and HITs of Abraham et al. (SIGIR 2016, Table 1), in a random order of arrival."""
    crowd: Crowd = graded_crowd(hits, workers_per_group, rng)
    item, worker = _who_answers_what(hits, GROUPS * workers_per_group, answers_per_item, rng)
    names = _names("c", crowd.classes)
    return _recorded(item, worker, crowd.answers(item, worker, rng), crowd.truth, crowd.workers, names)


def _who_answers_what(
    items: int, workers: int, each: int | None, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Draw `each` different workers for every item, or all workers, in random order."""
    asked = np.argsort(rng.random((items, workers)), axis=1)[:, :each]
    order = rng.permutation(asked.size)
    return np.repeat(np.arange(items), asked.shape[1])[order], asked.ravel()[order]


def _sorts(recipe: Recipe, rng: np.random.Generator) -> npt.NDArray[np.str_]:
    """The sort of each worker, shape (workers,)."""
    shares = {"spammer": recipe.spammers, "liar": recipe.liars, "drifter": recipe.drifters, "copier": recipe.copiers}
    ends = np.round(np.cumsum([*shares.values()]) * recipe.workers).astype(int)
    sorts = np.array([*shares, "honest"])
    return rng.permutation(sorts[np.searchsorted(ends, np.arange(recipe.workers), side="right")])


def _drifting(knows: Array, worker: IntArray, worst: float) -> Array:
    """Rates that fall linearly from a worker's first answer to that of guessing at the last."""
    order = np.argsort(worker, kind="stable")
    many = np.bincount(worker)
    place = np.empty(len(worker))
    place[order] = np.arange(len(worker)) - (np.cumsum(many) - many)[worker[order]]
    done = place / np.maximum(many[worker] - 1, 1)
    return np.asarray(knows + done * (worst - knows))


def _named(truth: IntArray, right: Mask, classes: int, rng: np.random.Generator) -> IntArray:
    """The true class where `right`, and a random other one elsewhere."""
    other = (truth + rng.integers(1, classes, size=len(truth))) % classes
    return np.where(right, truth, other)


def _recorded(
    item: IntArray,
    worker: IntArray,
    said: npt.NDArray[Any],
    truth: npt.NDArray[Any],
    workers: int,
    labels: tuple[str, ...],
    answer: AnyAnswer = CHOICE,
) -> RecordedAnswers:
    return RecordedAnswers(_names("i", len(truth)), _names("w", workers), labels, item, worker, said, truth, answer)


def _names(sort: str, many: int) -> tuple[str, ...]:
    """Names that sort in the order of their numbers, because files are read in sorted order.

    >>> _names("w", 11)[-2:]
    ('w09', 'w10')
    """
    digits = len(str(many - 1))
    return tuple(f"{sort}{place:0{digits}}" for place in range(many))
