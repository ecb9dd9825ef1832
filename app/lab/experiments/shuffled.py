"""Recorded answers in an order drawn by chance: the order in which they came is lost."""

import numpy as np

from app.lab.experiments.spending import NO_ANSWER
from app.lab.recorded import Recorded
from app.policy.belief import IntArray


def shuffled(crowd: Recorded, runs: int, rng: np.random.Generator, depth: int | None = None) -> IntArray:
    """The labels of each item in another random order for each run, shape (runs, items, depth); -1 behind the last.

    `depth` keeps the first so many of each; None: all.
    """
    per_item = np.bincount(crowd.item, minlength=len(crowd.items))
    deepest = int(per_item.max())
    table = np.full((runs, len(crowd.items), deepest), NO_ANSWER)
    first = np.concatenate([[0], per_item.cumsum()[:-1]])
    for run in range(runs):
        order = np.lexsort((rng.random(len(crowd.item)), crowd.item))
        item = crowd.item[order]
        table[run, item, np.arange(len(item)) - first[item]] = crowd.label[order]
    return table[:, :, :depth]
