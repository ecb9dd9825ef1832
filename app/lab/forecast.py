"""Tell how a job will end before it does: so many rehearsals, and the interval in which nine of ten ends lie."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from app.lab.prospects import Worlds, worlds_of_answers, worlds_of_prior
from app.lab.rehearsal import Rehearsal, Standing, Tally
from app.policy.belief import Array, Facts, IntArray
from app.policy.engine import Engine
from app.policy.rules import Rules

LEVEL = 0.9
QUICK = 8_000  # rows, items times runs: about two seconds
THOROUGH = 32_000
_RUNS, _FEW_RUNS = 39, 19
_FEWEST_ITEMS = 200  # of a sample, below which it is better to rehearse less often
_USUAL_LABELS = 40  # further answers per item, up to which nothing is saved elsewhere
_MOST_LABELS = 320
_POINTS = 20
_BEYOND = 2.0  # times the money that is left: how far a rehearsal looks, for what more money would buy
_ANSWERS = 16
_MOST_SKILLS = 2_000_000  # numbers, of all workers in all runs: a larger crowd is rehearsed as one of this size
_FEWEST_WORKERS = 20
_LEAST_WIDTH = 10  # numbers, for what a worker takes besides the skill
_MOST_ANSWERS = 1_000_000  # past answers, in all runs
_MOST_PLACES = 16_000_000  # items, in all runs, times the answers of the one with most


@dataclass(frozen=True)
class Range:
    """What is expected, and the interval that holds the outcome with a chance of 90 %."""

    expected: float
    low: float
    high: float

    @classmethod
    def of(cls, draws: Array) -> "Range":
        """From 20 k - 1 equally likely outcomes: the next one lies between the k-th from either end with .9 exactly.

        With n draws it is as likely in each of the n + 1 gaps between them, whatever their distribution (Wilks 1941).
        Where the mean lies outside, the interval is stretched to it.

        >>> Range.of(np.arange(19.0)), Range.of(np.arange(39.0)).low
        (Range(expected=9.0, low=0.0, high=18.0), 1.0)
        """
        k = (len(draws) + 1) // 20
        ordered, mean = np.sort(draws), float(draws.mean())
        return cls(mean, min(float(ordered[k - 1]), mean), max(float(ordered[-k]), mean))


@dataclass(frozen=True)
class Outlook:
    """Where a job ends that may spend up to `budget`; None: as much as it takes."""

    budget: float | None
    resolved: Range
    given_up: Range
    open: Range
    labels: Range
    cost: Range
    accuracy: Range | None  # of resolved items that are right; None where no run resolves any


@dataclass(frozen=True)
class Forecast:
    end: Outlook
    curve: tuple[Outlook, ...]  # by growing budget
    items: int
    runs: int
    sample: int  # items that were rehearsed and stand for all
    cut_off: (
        bool  # items wanted more answers than are rehearsed, and there was money left: it takes more than this says
    )


@dataclass(frozen=True)
class Totals:
    """The whole job, of which a sample is rehearsed, as it stands."""

    items: int
    resolved: int = 0
    given_up: int = 0
    answers: int = 0
    spent: float = 0.0

    @property
    def open(self) -> int:
        return self.items - self.resolved - self.given_up


@dataclass(frozen=True)
class Crowd:
    """What is assumed of the workers: how many, and by how much their log-odds of being right differ."""

    workers: int = 50
    spread: float = 0.6


def sizes(items: int, work: int, width: int = 2, labels: int = 0) -> tuple[int, int]:
    """How many runs of how many items; by the sizes alone, so that the same question has the same answer.

    `width` is how many numbers are kept of an item or of a worker, `labels` how many answers an item may get: with more
    of them fewer items are rehearsed.

    >>> sizes(100, QUICK), sizes(1_000_000, QUICK), sizes(1_000_000, QUICK, width=100)
    ((39, 100), (39, 205), (19, 16))
    >>> sizes(1_000_000, QUICK, labels=160)
    (19, 105)
    """
    work = work * 4 // max(width, 4) * _USUAL_LABELS // max(labels, _USUAL_LABELS)
    runs = _RUNS if work // _RUNS >= min(items, _FEWEST_ITEMS) else _FEW_RUNS
    return runs, min(items, max(work // runs, 1))


def most_labels(rules: Rules) -> int:
    """How many answers an item may get in a rehearsal: as many as the rules allow it, within reason.

    >>> most_labels(Rules(labels=("a", "b"))), most_labels(Rules(labels=("a", "b"), max_votes_per_label=None))
    (27, 320)
    """
    votes = rules.max_votes_per_label
    by_votes = _MOST_LABELS if votes is None else len(rules.labels) * (votes - 1) + 1
    return min(_MOST_LABELS if rules.max_labels is None else rules.max_labels, by_votes, _MOST_LABELS)


def bounded_by_answers(answers: IntArray, runs: int) -> tuple[int, int]:
    """In how many runs how many of these items, in their order, can be rehearsed with all their past answers.

    >>> bounded_by_answers(np.full(800, 5), 39), bounded_by_answers(np.full(800, 1_000), 39)
    ((39, 800), (19, 52))
    """

    def bounded(runs: int) -> int:
        few = np.cumsum(answers) * runs <= _MOST_ANSWERS
        narrow = np.maximum.accumulate(answers) * np.arange(1, len(answers) + 1) * runs <= _MOST_PLACES
        return int((few & narrow).sum())

    return _fewer_runs_first(bounded, len(answers), runs)


def bounded_by_workers(first_seen: IntArray, runs: int, width: int) -> tuple[int, int]:
    """The same for the workers; `first_seen` is how many answered this item and none before it.

    >>> bounded_by_workers(np.full(800, 2), 39, 2), bounded_by_workers(np.full(800, 2), 39, 100)
    ((39, 800), (19, 526))
    """
    most = _MOST_SKILLS // max(width, _LEAST_WIDTH)
    return _fewer_runs_first(lambda runs: int((np.cumsum(first_seen) * runs <= most).sum()), len(first_seen), runs)


def _fewer_runs_first(bounded: Callable[[int], int], items: int, runs: int) -> tuple[int, int]:
    if bounded(runs) < items and runs > _FEW_RUNS:
        runs = _FEW_RUNS
    return runs, max(bounded(runs), 1)


def width_of(engine: Engine) -> int:
    """How many numbers are kept of an item or of a worker, whichever are more.

    A model that scores finished items keeps something of every answer: taken for as much as sixteen.
    """
    answers = _ANSWERS if engine.rules.worker_model.scores_finished_items else 0
    return max(len(engine.newcomer()), len(engine.rules.labels), answers)


def forecast_plan(
    engine: Engine, cost: Array, prior: tuple[float, float], crowd: Crowd, *, work: int = QUICK, seed: int = 0
) -> Forecast:
    """Of a job that has not begun, with items of these costs; the engine's budget is the job's.

    `prior` is Beta(a, b) over how often workers are right on an item, and taken at its word: the intervals are those
    of chance, not of the doubt whether the prior is right.
    """
    rng = np.random.default_rng(seed)
    width, most = width_of(engine), most_labels(engine.rules)
    runs, sample = sizes(len(cost), work, width, min(most, crowd.workers))
    chosen = rng.choice(len(cost), sample, replace=False)
    classes = len(engine.rules.labels)
    workers = min(crowd.workers, max(_MOST_SKILLS // (runs * width), _FEWEST_WORKERS))
    if workers < crowd.workers:  # that nobody is left to ask would not be true
        most = min(most, workers - 1)
    worlds = worlds_of_prior(prior, crowd.spread, (runs, sample, workers), classes, rng)
    facts = replace(Facts.plain(sample), cost=cost[chosen], number=chosen + 1)
    return _rehearsed(engine, facts, worlds, Totals(len(cost)), rng, None, most)


def forecast_job(
    engine: Engine, facts: Facts, standing: Standing, totals: Totals, *, runs: int, seed: int = 0
) -> Forecast:
    """Of a running job, by a sample of its items or all of them, and what their answers leave possible."""
    return forecast_in(possible_worlds(facts, standing, runs, seed), engine, facts, standing, totals, seed)


def possible_worlds(facts: Facts, standing: Standing, runs: int, seed: int) -> Worlds:
    """The first half of a forecast: what the job has learned."""
    return worlds_of_answers(standing.answers, runs, facts.prior, np.random.default_rng(seed))


def forecast_in(
    worlds: Worlds, engine: Engine, facts: Facts, standing: Standing, totals: Totals, seed: int
) -> Forecast:
    """The second half: how the job goes on in each of these worlds."""
    return _rehearsed(
        engine, facts, worlds, totals, np.random.default_rng([seed, 1]), standing, most_labels(engine.rules)
    )


def _rehearsed(
    engine: Engine,
    facts: Facts,
    worlds: Worlds,
    totals: Totals,
    rng: np.random.Generator,
    standing: Standing | None,
    most: int,
) -> Forecast:
    runs, sample = worlds.truth.shape
    rehearsal = Rehearsal(engine, facts, worlds, rng, weight=totals.items / sample, standing=standing)
    weight, left = totals.items / sample, np.inf if engine.budget is None else engine.budget - totals.spent
    for _ in rehearsal.steps(most, _BEYOND * left / weight):
        pass
    paths = _Paths(rehearsal.tallies, totals, sample)
    return Forecast(
        end=paths.outlook(engine.budget),
        curve=tuple(paths.outlook(budget) for budget in paths.budgets(engine.budget).tolist()),
        items=totals.items,
        runs=runs,
        sample=sample,
        cut_off=paths.cut_off(rehearsal.cut_at, engine.budget),
    )


class _Paths:
    """How each run went, in the numbers of the whole job; rows are moments, columns runs."""

    def __init__(self, tallies: list[Tally], totals: Totals, sample: int) -> None:
        first = tallies[0]
        open_first = sample - first.resolved - first.given_up  # (runs,)
        scale = totals.open / np.maximum(open_first, 1)
        self._totals, self._scale = totals, scale
        table = {name: np.stack([getattr(tally, name) for tally in tallies]) for name in Tally.__dataclass_fields__}
        self._spent = totals.spent + scale * table["spent"]
        self._labels = totals.answers + scale * table["labels"]
        self._resolved = totals.resolved + scale * (table["resolved"] - first.resolved)
        self._given_up = totals.given_up + scale * (table["given_up"] - first.given_up)
        before = first.right / np.maximum(first.resolved, 1) * totals.resolved
        self._right = before + scale * (table["right"] - first.right)

    def budgets(self, budget: float | None) -> Array:
        """From what is spent to what nearly every run needs, and the job's own budget if it is more."""
        end = Range.of(self._spent[-1]).high
        end = end if budget is None else max(end, budget)
        return np.linspace(self._totals.spent, end, _POINTS + 1)[1:]

    def cut_off(self, cut_at: Array, budget: float | None) -> bool:
        """Whether in any run an item had all answers that are rehearsed while there was money for more."""
        spent = self._totals.spent + self._scale * cut_at
        return bool((spent < (np.inf if budget is None else budget)).any())

    def outlook(self, budget: float | None) -> Outlook:
        resolved, given_up, right, labels = (
            self._at(budget, path) for path in (self._resolved, self._given_up, self._right, self._labels)
        )
        some = resolved > 0
        return Outlook(
            budget=budget,
            resolved=Range.of(resolved),
            given_up=Range.of(given_up),
            open=Range.of(np.maximum(self._totals.items - resolved - given_up, 0.0)),
            labels=Range.of(labels),
            cost=Range.of(self._at(budget, self._spent)),
            accuracy=Range.of(np.where(some, right / np.maximum(resolved, 1e-9), np.nan)) if some.all() else None,
        )

    def _at(self, budget: float | None, path: Array) -> Array:
        """The numbers of a path when the budget is used up, shape (runs,); at its end where it is not."""
        if budget is None:
            return np.asarray(path[-1])
        return np.array([np.interp(budget, self._spent[:, run], path[:, run]) for run in range(path.shape[1])])
