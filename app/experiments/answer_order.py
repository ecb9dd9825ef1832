"""Put recorded answers into random orders."""

import numpy as np

from app.experiments.anonymous_replay import NO_ANSWER
from app.policy.core.belief import IntArray
from app.simulation.recorded_crowd import RecordedAnswers


def shuffled_answers(crowd: RecordedAnswers, runs: int, rng: np.random.Generator, depth: int | None = None) -> IntArray:
    """The labels of each item in a random order for each run, shape (runs, items, depth); -1 after the last.

    `depth` keeps the first labels of each item; None: all.
    """
    per_item = np.bincount(crowd.item, minlength=len(crowd.items))
    deepest = int(per_item.max()) if depth is None else depth
    table = np.full((runs, len(crowd.items), deepest), NO_ANSWER)
    first = np.concatenate([[0], per_item.cumsum()[:-1]])
    for run in range(runs):
        order = np.lexsort((rng.random(len(crowd.item)), crowd.item))
        item = crowd.item[order]
        place = np.arange(len(item)) - first[item]
        kept = place < deepest
        table[run, item[kept], place[kept]] = crowd.label[order][kept]
    return table
