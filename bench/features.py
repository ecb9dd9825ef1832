"""Compare jobs with and without features of their items: what telling features save, and what random ones cost.

Every line is a replay by the engine of a running job: of recorded answers, or of simulated people on items whose truth
depends on their features. The runs with and without features draw the same random numbers, so the difference comes
with the standard error of pairs.

    python bench/features.py random ../shared/data/rte ../shared/data/temp
    python bench/features.py telling
    python bench/features.py time
"""

import argparse
import resource
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from app.experiments.optimistic_kg_features import BUDGETS, accuracies, answered
from app.policy.core.arrays import Array
from app.policy.core.ballots import Ballots
from app.policy.core.belief import ItemContext
from app.policy.quality.item_features import opinions_of
from app.simulation.crowds import Crowd, skilled
from app.simulation.recorded_crowd import RecordedAnswers, read_crowd

RANDOM = 20  # numbers per item that tell nothing
ITEMS, PEOPLE = 400, 30  # simulated


def compared(crowd: RecordedAnswers, seed: int, runs: int) -> tuple[Array, Array]:
    """Without features and with them."""
    return accuracies(crowd, seed, runs, learns=False), accuracies(crowd, seed, runs, learns=True)


def with_random_features(folder: Path, runs: int, seed: int) -> tuple[Array, Array]:
    crowd = read_crowd(folder)
    features = np.random.default_rng(seed).normal(size=(len(crowd.items), RANDOM))
    return compared(replace(crowd, features=features), seed, runs)


def with_telling_features(classes: int, strength: float, columns: int, runs: int, seed: int) -> tuple[Array, Array]:
    """Five of the features tell: the logits of the classes differ by `strength` times a normal number for each."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(ITEMS, columns))
    logits = features[:, :5] @ rng.normal(size=(5, classes)) * strength
    truth = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    return compared(answered(truth, features, rng), seed, runs)


def settings_of(asked: argparse.Namespace) -> Iterator[tuple[str, "partial[tuple[Array, Array]]"]]:
    if asked.what == "random":
        for folder in asked.folders:
            yield folder.name, partial(with_random_features, folder, asked.runs)
    if asked.what == "telling":
        for classes, strength, columns in ((2, 1.5, 10), (2, 0.5, 10), (2, 1.5, 100), (4, 1.5, 10)):
            name = f"{classes} labels, strength {strength}, {columns} features"
            yield name, partial(with_telling_features, classes, strength, columns, asked.runs)


def show_times() -> None:
    """How long the features of a job take at a refit, and how much memory the process has taken."""
    for items, columns, classes in ((10_000, 100, 2), (100_000, 100, 2), (100_000, 100, 10), (20_000, 1000, 2)):
        rng = np.random.default_rng(1)
        features = rng.normal(size=(items, columns))
        truth = (features[:, :classes]).argmax(axis=1)
        crowd = Crowd(truth, skilled(rng.uniform(0.55, 0.9, PEOPLE), classes))
        item, worker = np.repeat(np.arange(items), 2), rng.integers(0, PEOPLE, 2 * items)
        label = crowd.answers(item, worker, rng)
        ballots = Ballots.of(item, worker, label, items=items, workers=PEOPLE, classes=classes)
        began = time.perf_counter()
        opinions_of(features, ballots, ItemContext.plain(items))
        took = time.perf_counter() - began
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(f"{items:7,} items x {columns:5,}, {classes:2} labels: {took:5.1f} s, {most:,} MB so far", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["random", "telling", "time"])
    parser.add_argument("folders", nargs="*", type=Path, help="of public sets")
    parser.add_argument("--seeds", type=int, default=4, help="draws of the features or of the crowd")
    parser.add_argument("--runs", type=int, default=2, help="for each seed")
    parser.add_argument("--processes", type=int, default=2)
    asked = parser.parse_args()
    if asked.what == "time":
        show_times()
        return
    with ProcessPoolExecutor(asked.processes) as pool:
        for name, one in settings_of(asked):
            found = np.concatenate(list(pool.map(one, range(asked.seeds))), axis=2)  # (2, budgets, runs)
            more = found[1] - found[0]
            error = more.std(axis=1, ddof=1) / np.sqrt(more.shape[1])
            columns = zip(BUDGETS, *found.mean(axis=2), more.mean(axis=1), error, strict=True)
            for budget, *figures in columns:
                print(f"{name}, {budget} per item:", "{:.3f} {:.3f} {:+.3f} ±{:.3f}".format(*figures), flush=True)


if __name__ == "__main__":
    main()
