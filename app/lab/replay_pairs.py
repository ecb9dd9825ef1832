"""Let a policy choose among recorded answers, and see how soon it knows the truth."""

from collections.abc import Sequence

import numpy as np

from app.lab.job import Job
from app.lab.pairs import Pairs
from app.lab.recorded import Recorded
from app.policy.belief import Array, Facts
from app.policy.engine import Engine
from app.policy.rules import Rules


def accuracy_of_pairs(crowd: Recorded, rules: Rules, labels_per_item: Sequence[int], runs: int) -> Array:
    """The accuracy after so many labels per item, the best recorded pair asked each time, shape (runs, budgets).

    The final label is the likeliest class; k that are equally likely count 1/k, so an item without an answer counts
    1/K. Runs differ in how ties are drawn, and in nothing else: all of them are items and workers of one job, with
    numbers of their own, so that the arithmetic of a step is done once for all of them.
    """
    items, workers, answers = len(crowd.items), len(crowd.workers), len(crowd.label)
    item = np.concatenate([crowd.item + run * items for run in range(runs)])
    worker = np.concatenate([crowd.worker + run * workers for run in range(runs)])
    label = np.tile(crowd.label, runs)
    job = Job(Engine(rules), Facts.plain(items * runs), workers * runs)
    pairs = Pairs(job, item, worker)
    own = [slice(run * answers, (run + 1) * answers) for run in range(runs)]
    found = []
    for step in range(1, max(labels_per_item) * items + 1):
        chosen = np.array([best for run in own if (best := pairs.best(run)) is not None])
        pairs.take(chosen, label[chosen])
        if step % items == 0 and step // items in labels_per_item:
            posterior = job.posterior().reshape(runs, items, -1)
            found.append([crowd.accuracy(each) for each in posterior])
    return np.array(found).T
