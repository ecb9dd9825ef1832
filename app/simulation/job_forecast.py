"""Forecast how a job will end: simulate it many times, and report the interval that holds nine of ten outcomes."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from app.policy.core.belief import Array, IntArray, ItemContext
from app.policy.engine import Engine
from app.policy.job_policy import JobPolicy
from app.simulation.crowd_population import ALL_CROWDS, CrowdPopulation
from app.simulation.monte_carlo import JobSnapshot, MonteCarloSimulation, WorldTally
from app.simulation.sampled_worlds import Worlds, worlds_of_answers, worlds_of_population, worlds_of_prior

INTERVAL_PROBABILITY = 0.9
# Real crowds differ from simulated ones, so what a job's own answers say is less sure than it seems: on public sets
# that the population does not know, some nine of ten outcomes lay within the interval times this, before the start and
# of running jobs (`bench/forecast_coverage.py`).
STRETCH_OF_PLANS, STRETCH = 1.75, 2.5
QUICK = 4_000  # rows, items times runs: about two seconds
THOROUGH = 32_000
_RUNS, _FEW_RUNS = 39, 19
_FEWEST_ITEMS = 200  # of a sample; below it, fewer runs of more items are better
_USUAL_LABELS = 40  # further answers per item; above it, fewer items are simulated
_MOST_LABELS = 320
_POINTS = 20
_BEYOND = 2.0  # times the remaining budget is simulated, to show what more money would buy
_ANSWERS = 16
_MOST_SKILLS = 2_000_000  # numbers, of all workers in all runs: a larger crowd is simulated as one of this size
_FEWEST_WORKERS = 20
_LEAST_WIDTH = 10  # numbers that a worker takes at least
_MOST_ANSWERS = 1_000_000  # past answers, in all runs
_MOST_PLACES = 16_000_000  # items in all runs, times the most answers of an item


@dataclass(frozen=True)
class Range:
    """The expected value, and the interval that holds the outcome with a probability of 90 %."""

    expected: float
    low: float
    high: float

    @classmethod
    def of(cls, draws: Array) -> "Range":
        """The range of 20 k - 1 equally likely draws: the next one lies between the k-th from each end in exactly .9.

        The next of n draws falls into each of the n + 1 gaps between them with the same probability, whatever their
        distribution is (Wilks 1941). If the mean lies outside the interval, the interval is extended to it.

        >>> Range.of(np.arange(19.0)), Range.of(np.arange(39.0)).low
        (Range(expected=9.0, low=0.0, high=18.0), 1.0)
        """
        k = (len(draws) + 1) // 20
        ordered, mean = np.sort(draws), float(draws.mean())
        return cls(mean, min(float(ordered[k - 1]), mean), max(float(ordered[-k]), mean))

    def stretched(self, by: float, least: float, most: float) -> "Range":
        """The interval `by` times as far from the expected value, between the limits of what can be.

        Below the expected value in logarithms of what is above the least, which so stays out of reach.

        >>> Range(5.0, 2.5, 8.0).stretched(2, 0.0, 9.0)
        Range(expected=5.0, low=1.25, high=9.0)
        """
        above, highest = self.expected - min(least, self.low), self.expected + by * (self.high - self.expected)
        low = self.low if above <= 0 else self.expected - above + above * (1 - (self.expected - self.low) / above) ** by
        return Range(self.expected, min(low, self.low), min(highest, max(most, self.high)))


@dataclass(frozen=True)
class JobOutcome:
    """How a job ends that may spend up to `budget`; None: without a limit."""

    budget: float | None
    resolved: Range
    given_up: Range
    open: Range
    labels: Range
    cost: Range
    accuracy: Range | None  # share of resolved items that are right; None: some run resolves none


@dataclass(frozen=True)
class Forecast:
    """How a job ends at its own budget, and at others."""

    end: JobOutcome
    curve: tuple[JobOutcome, ...]  # by growing budget
    items: int
    runs: int
    simulated_items: int  # a random sample that represents all items
    truncated: bool  # some items needed more answers than are simulated, so the job costs more than this says
    to_finish: Range | None = None  # what the open items cost without a limit; only where that was simulated


@dataclass(frozen=True)
class JobTotals:
    """The current totals of the whole job, of which a sample is simulated."""

    items: int
    resolved: int = 0
    given_up: int = 0
    answers: int = 0
    spent: float = 0.0
    gold: int = 0  # resolved items whose label was given

    @property
    def open(self) -> int:
        return self.items - self.resolved - self.given_up


@dataclass(frozen=True)
class ForecastCrowd:
    """What is assumed about the workers."""

    workers: int = 50
    skill_spread: float = 0.6  # standard deviation of their log-odds of being right


def sizes(items: int, work: int, width: int = 2, labels: int = 0) -> tuple[int, int]:
    """The number of runs and of simulated items. It depends on sizes alone: the same question has the same answer.

    `width` is how many numbers are kept of an item or of a worker, `labels` how many answers an item may get: with more
    of them fewer items are simulated.

    >>> sizes(100, QUICK), sizes(1_000_000, QUICK), sizes(1_000_000, QUICK, width=100)
    ((39, 100), (19, 210), (19, 8))
    >>> sizes(1_000_000, QUICK, labels=160)
    (19, 52)
    """
    work = work * 4 // max(width, 4) * _USUAL_LABELS // max(labels, _USUAL_LABELS)
    runs = _RUNS if work // _RUNS >= min(items, _FEWEST_ITEMS) else _FEW_RUNS
    return runs, min(items, max(work // runs, 1))


def most_labels(policy: JobPolicy) -> int:
    """How many answers an item may get in a simulation: the limit of the policy, and at most 320.

    >>> most_labels(JobPolicy(labels=("a", "b"))), most_labels(JobPolicy(labels=("a", "b"), max_votes_per_label=None))
    (27, 320)
    """
    votes = policy.max_votes_per_label
    by_votes = _MOST_LABELS if votes is None else len(policy.labels) * (votes - 1) + 1
    return min(_MOST_LABELS if policy.max_labels is None else policy.max_labels, by_votes, _MOST_LABELS)


def bounded_by_answers(answers: IntArray, runs: int) -> tuple[int, int]:
    """The number of runs, and how many of these items fit into memory with all their past answers.

    >>> bounded_by_answers(np.full(800, 5), 39), bounded_by_answers(np.full(800, 1_000), 39)
    ((39, 800), (19, 52))
    """

    def bounded(runs: int) -> int:
        few = np.cumsum(answers) * runs <= _MOST_ANSWERS
        narrow = np.maximum.accumulate(answers) * np.arange(1, len(answers) + 1) * runs <= _MOST_PLACES
        return int((few & narrow).sum())

    return _fewer_runs_first(bounded, len(answers), runs)


def bounded_by_workers(first_seen: IntArray, runs: int, width: int) -> tuple[int, int]:
    """The same for the workers; `first_seen` is how many workers answered this item and none before it.

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
    """How many numbers are kept of an item or of a worker, whichever is more.

    A model that scores finished items keeps something of every answer: that counts as sixteen.
    """
    answers = _ANSWERS if engine.policy.worker_model.scores_finished_items else 0
    return max(len(engine.newcomer()), len(engine.policy.labels), answers)


def forecast_plan(
    engine: Engine,
    cost: Array,
    prior: tuple[float, float] | CrowdPopulation,
    crowd: ForecastCrowd,
    *,
    work: int = QUICK,
    seed: int = 0,
    reach: IntArray | None = None,
) -> Forecast:
    """Forecast a job that has not begun, with items of these costs and the engine's budget.

    `prior` is a population of crowds, or Beta(a, b) over how often workers are right on an item. Then the intervals
    show random variation only, and not the uncertainty about the prior. `reach` is as in `forecast_job`.
    """
    rng = np.random.default_rng(seed)
    width, most = width_of(engine), most_labels(engine.policy)
    runs, sample = sizes(len(cost), work, width, min(most, crowd.workers))
    chosen = rng.choice(len(cost), sample, replace=False)
    classes = len(engine.policy.labels)
    workers = min(crowd.workers, max(_MOST_SKILLS // (runs * width), _FEWEST_WORKERS))
    if workers < crowd.workers:  # the real crowd would still have workers to ask
        most = min(most, workers - 1)
    size = (runs, sample, workers)
    if isinstance(prior, CrowdPopulation):
        worlds = worlds_of_population(prior, size, classes, rng)
    else:
        worlds = worlds_of_prior(prior, crowd.skill_spread, size, classes, rng)
    callers = None if reach is None else reach[chosen]
    context = replace(ItemContext.plain(sample), cost=cost[chosen], number=chosen + 1)
    stretch = STRETCH_OF_PLANS if isinstance(prior, CrowdPopulation) else 1.0
    return _simulate(engine, context, worlds, JobTotals(len(cost)), rng, None, _Room(most, callers), stretch)


def forecast_job(
    engine: Engine,
    context: ItemContext,
    snapshot: JobSnapshot,
    totals: JobTotals,
    *,
    runs: int,
    seed: int = 0,
    population: CrowdPopulation = ALL_CROWDS,
    reach: IntArray | None = None,
) -> Forecast:
    """Forecast a running job from all or a sample of its items, and the worlds that their answers leave possible.

    `reach` is how many workers ever come by each item, (items,); None: all of them.
    """
    worlds = possible_worlds(context, snapshot, runs, seed, population)
    return forecast_in(worlds, engine, context, snapshot, totals, seed, reach)


def possible_worlds(
    context: ItemContext, snapshot: JobSnapshot, runs: int, seed: int, population: CrowdPopulation = ALL_CROWDS
) -> Worlds:
    """The first half of a forecast: draw worlds from what the job has learned."""
    return worlds_of_answers(snapshot.answers, runs, context.prior, np.random.default_rng(seed), population)


def forecast_in(
    worlds: Worlds,
    engine: Engine,
    context: ItemContext,
    snapshot: JobSnapshot,
    totals: JobTotals,
    seed: int,
    reach: IntArray | None = None,
) -> Forecast:
    """The second half of a forecast: simulate the rest of the job in each of these worlds."""
    room = _Room(most_labels(engine.policy), reach)
    return _simulate(engine, context, worlds, totals, np.random.default_rng([seed, 1]), snapshot, room)


class _Room(NamedTuple):
    """What bounds a simulation: the answers that an item may get, the workers who come by it, and the money."""

    most_labels: int
    reach: IntArray | None = None  # (items,); None: all workers
    to_finish: bool = False  # without the budget


def forecast_to_finish(
    worlds: Worlds, engine: Engine, context: ItemContext, snapshot: JobSnapshot, totals: JobTotals, seed: int
) -> Forecast:
    """The same for a job whose money is spent: simulate it without a budget, for what the open items would cost."""
    room = _Room(most_labels(engine.policy), to_finish=True)
    return _simulate(engine, context, worlds, totals, np.random.default_rng([seed, 1]), snapshot, room)


def _simulate(
    engine: Engine,
    context: ItemContext,
    worlds: Worlds,
    totals: JobTotals,
    rng: np.random.Generator,
    snapshot: JobSnapshot | None,
    room: _Room,
    stretch: float = STRETCH,
) -> Forecast:
    runs, sample = worlds.truth.shape
    simulated = replace(engine, budget=None) if room.to_finish else engine
    simulation = MonteCarloSimulation(
        simulated, context, worlds, rng, weight=totals.items / sample, snapshot=snapshot, reach=room.reach
    )
    weight, left = totals.items / sample, np.inf if simulated.budget is None else simulated.budget - totals.spent
    for _ in simulation.steps(room.most_labels, _BEYOND * left / weight):
        pass
    paths = _Paths(simulation.tallies, totals, sample, stretch)
    return Forecast(
        end=paths.outcome(engine.budget),
        curve=tuple(paths.outcome(budget) for budget in paths.budgets(engine.budget).tolist()),
        items=totals.items,
        runs=runs,
        simulated_items=sample,
        truncated=paths.truncated(simulation.truncated_at, simulated.budget),
        to_finish=paths.cost_to_finish() if room.to_finish else None,
    )


class _Paths:
    """The course of each run, scaled to the whole job; rows are moments, columns are runs."""

    def __init__(self, tallies: list[WorldTally], totals: JobTotals, sample: int, stretch: float) -> None:
        first = tallies[0]
        open_first = sample - first.resolved - first.given_up  # (runs,)
        scale = totals.open / np.maximum(open_first, 1)
        self._totals, self._scale, self._stretch = totals, scale, stretch
        table = {
            name: np.stack([getattr(tally, name) for tally in tallies]) for name in WorldTally.__dataclass_fields__
        }
        self._spent = totals.spent + scale * table["spent"]
        self._labels = totals.answers + scale * table["labels"]
        self._resolved = totals.resolved + scale * (table["resolved"] - first.resolved)
        self._given_up = totals.given_up + scale * (table["given_up"] - first.given_up)
        made = np.maximum(first.resolved - first.gold, 1)  # labels that answers made
        before = first.right / made * (totals.resolved - totals.gold)
        self._right = before + scale * (table["right"] - first.right)

    def budgets(self, budget: float | None) -> Array:
        """Budgets from what is spent to what nearly every run needs, or to the job's own budget if that is more."""
        end = Range.of(self._spent[-1]).high
        end = end if budget is None else max(end, budget)
        return np.linspace(self._totals.spent, end, _POINTS + 1)[1:]

    def cost_to_finish(self) -> Range:
        """What all further answers cost, where nothing but the items ends a run."""
        return self._range(self._spent[-1] - self._totals.spent, 0.0, np.inf)

    def truncated(self, truncated_at: Array, budget: float | None) -> bool:
        """Whether in any run an item had all answers that are simulated while the budget allowed more."""
        if not np.any(self._scale):  # no item is open
            return False
        spent = self._totals.spent + self._scale * truncated_at
        return bool((spent < (np.inf if budget is None else budget)).any())

    def outcome(self, budget: float | None) -> JobOutcome:
        resolved, given_up, right, labels = (
            self._at(budget, path) for path in (self._resolved, self._given_up, self._right, self._labels)
        )
        made, items = resolved - self._totals.gold, self._totals.items
        return JobOutcome(
            budget=budget,
            resolved=self._range(resolved, self._totals.resolved, items),
            given_up=self._range(given_up, self._totals.given_up, items),
            open=self._range(np.maximum(items - resolved - given_up, 0.0), 0.0, items),
            labels=self._range(labels, self._totals.answers, np.inf),
            cost=self._range(self._at(budget, self._spent), self._totals.spent, np.inf if budget is None else budget),
            accuracy=self._range(right / np.maximum(made, 1e-9), 0.0, 1.0) if (made > 0).all() else None,
        )

    def _range(self, draws: Array, least: float, most: float) -> Range:
        return Range.of(draws).stretched(self._stretch, least, most)

    def _at(self, budget: float | None, path: Array) -> Array:
        """The values of a path when the budget is used up, shape (runs,); at its end if it never is."""
        if budget is None:
            return np.asarray(path[-1])
        return np.array([np.interp(budget, self._spent[:, run], path[:, run]) for run in range(path.shape[1])])
