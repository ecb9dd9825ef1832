"""Measure how long plans take: the whole curve by number of workers (Figure 14: 80 ms at 40), fitness, a pilot."""

from collections.abc import Callable
from time import perf_counter

import numpy as np

from app.policy.planning.accuracy_cost import MOST_LOSS, accuracy_cost, statuses
from app.policy.planning.cost_sensitive import Prior
from app.policy.planning.difficulty import DifficultyVotes, estimated
from app.policy.planning.fitness import Market, Model, ways
from app.policy.planning.stopping_policy import Expert, chances

PRIOR = Prior(6, 2)
REPEATS = 3


def milliseconds(work: Callable[[], object]) -> float:
    """Return the shortest of a few runs, without caches from earlier runs."""
    taken = []
    for _ in range(REPEATS):
        accuracy_cost.cache_clear()
        chances.cache_clear()
        started = perf_counter()
        work()
        taken.append(perf_counter() - started)
    return 1000 * min(taken)


def step_by_step(most: int) -> None:
    """Algorithm 3 as printed, with a correction: one strategy after another, down to the loss that asks no one."""
    loss = MOST_LOSS
    while (there := statuses(PRIOR, loss, most)).goes_on.any():
        ties = there.answers[there.goes_on] / (there.accuracy - there.right)[there.goes_on]
        loss = float(ties.max()) * (1 - 1e-9)


def main() -> None:
    print("workers  points  curve ms  one table ms  fitness ms")
    for most in (10, 20, 40, 70, 100):
        market = Market(PRIOR, most, Expert(20.0, 0.98), Model(0.7, 0.2))
        curve = milliseconds(lambda most=most: accuracy_cost(PRIOR, most))
        table = milliseconds(lambda most=most: statuses(PRIOR, 100.0, most))
        fitness = milliseconds(lambda market=market: ways(market, 100.0))
        points = len(accuracy_cost(PRIOR, most).accuracy)
        print(f"{most:7}  {points:6}  {curve:8.1f}  {table:12.1f}  {fitness:10.1f}")
    share = milliseconds(lambda: accuracy_cost(PRIOR, 40)) / milliseconds(lambda: step_by_step(40))
    print(f"the curve for 40 workers takes {share:.2f} of the time of Algorithm 3 step by step")
    rng = np.random.default_rng(0)
    for items, answers in ((100, 10), (1000, 10), (10_000, 30)):
        right = rng.binomial(answers, rng.beta(6, 2, items))
        votes = DifficultyVotes.of(np.maximum(right, answers - right), np.minimum(right, answers - right))
        found = estimated(votes)
        low, high = found.interval
        taken = milliseconds(lambda votes=votes: estimated(votes))
        print(
            f"pilot of {items} items, {answers} answers each: {taken:.0f} ms, "
            f"Beta({found.prior.a:.2f}, {found.prior.b:.2f}), mean {found.prior.mean:.3f} [{low:.3f}, {high:.3f}]"
        )


if __name__ == "__main__":
    main()
