"""Compare the speed of Dawid-Skene with crowd-kit: a million answers, three classes, twenty rounds, the same rows."""

import sys
import warnings
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

from app.policy.aggregation import Ballots, DawidSkene

ANSWERS, ITEMS, WORKERS, CLASSES, ROUNDS = 1_000_000, 200_000, 5_000, 3, 20
REPEATS = 3


def crowd() -> Ballots:
    """Workers of different confusions, with answers in random order."""
    rng = np.random.default_rng(0)
    truth = rng.integers(CLASSES, size=ITEMS)
    item = rng.permutation(np.repeat(np.arange(ITEMS), ANSWERS // ITEMS))
    worker = rng.integers(WORKERS, size=ANSWERS)
    skill = rng.uniform(0.4, 0.95, size=(WORKERS, CLASSES))
    right = rng.random(ANSWERS) < skill[worker, truth[item]]
    other = (truth[item] + rng.integers(1, CLASSES, size=ANSWERS)) % CLASSES
    return Ballots.of(item, worker, np.where(right, truth[item], other))


def best_of(fit: Callable[[], Any]) -> tuple[float, Any]:
    """Return the shortest of a few runs, in seconds, and the result of the last one."""
    seconds, found = [], None
    for _ in range(REPEATS):
        started = perf_counter()
        found = fit()
        seconds.append(perf_counter() - started)
    return min(seconds), found


def main() -> None:
    ballots = crowd()
    ours, consensus = best_of(lambda: DawidSkene(smoothing=1e-10, max_iterations=ROUNDS, tolerance=0).fit(ballots))
    rounds = f"{consensus.iterations} rounds over {ANSWERS:,} answers of {WORKERS:,} workers to {ITEMS:,} items"
    print(f"Dawid-Skene, {CLASSES} classes, {rounds}: {ours:.3f} s")
    warnings.simplefilter("ignore")  # hide warnings of crowd-kit's dependencies
    try:
        import pandas as pd  # noqa: PLC0415  only where there is something to compare with
        from crowdkit.aggregation import DawidSkene as Reference  # noqa: PLC0415
    except ImportError:
        print("crowd-kit is not installed: no ratio (pip install crowd-kit)")
        sys.exit(0)
    table = pd.DataFrame({"task": ballots.item, "worker": ballots.worker, "label": ballots.label})
    theirs, labels = best_of(lambda: Reference(n_iter=ROUNDS, tol=-np.inf).fit_predict(table))
    same = np.mean(labels.reindex(range(ITEMS)).to_numpy() == consensus.labels())
    print(f"crowd-kit on the same rows: {theirs:.3f} s, {theirs / ours:.1f} times as long; same labels: {same:.3%}")


if __name__ == "__main__":
    main()
