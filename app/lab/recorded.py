"""Let a crowd of the past answer again: its recorded answers, and what turned out to be true."""

import csv
import gzip
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from app.policy.aggregation.ballots import first_choice
from app.policy.belief import Array, IntArray

UNKNOWN = -1


@dataclass(frozen=True)
class Recorded:
    """Answers that were given once; row i of `item`, `worker` and `label` is answer i, in the order of the file."""

    items: tuple[str, ...]
    workers: tuple[str, ...]
    labels: tuple[str, ...]
    item: IntArray  # (answers,) position in items
    worker: IntArray  # (answers,) position in workers
    label: IntArray  # (answers,) position in labels
    truth: IntArray  # (items,) position in labels; -1 where it is not known

    @cached_property
    def given(self) -> dict[tuple[int, int], int]:
        """The label that was given, by (item, worker)."""
        pairs = zip(self.item.tolist(), self.worker.tolist(), strict=True)
        return dict(zip(pairs, self.label.tolist(), strict=True))

    def accuracy(self, scores: Array) -> float:
        """The share of items with known truth whose highest score is the truth's; k that share it count 1/k each.

        `scores` is (items, classes), for example a posterior, so an item without an answer counts 1/K.
        """
        known = self.truth != UNKNOWN
        return float(first_choice(scores)[known, self.truth[known]].mean())


@dataclass(frozen=True)
class Witnesses:
    """A recorded crowd that is asked again, and says what it said; only pairs on record may be asked."""

    recorded: Recorded

    @property
    def truth(self) -> IntArray:
        return self.recorded.truth

    @property
    def items(self) -> int:
        return len(self.recorded.items)

    @property
    def workers(self) -> int:
        return len(self.recorded.workers)

    @property
    def classes(self) -> int:
        return len(self.recorded.labels)

    def answers(self, item: IntArray, worker: IntArray, rng: np.random.Generator) -> IntArray:  # noqa: ARG002  no chance here
        given = self.recorded.given
        return np.array([given[pair] for pair in zip(item.tolist(), worker.tolist(), strict=True)])


def read_crowd(folder: Path) -> Recorded:
    """`answers.csv` with item,worker,label and `truth.csv` with item,truth; either may be packed, as .csv.gz.

    Of several answers of one worker on one item the first counts. Items that nobody answered are left out.
    """
    rows = {(row["item"], row["worker"]): row["label"] for row in reversed(_rows(folder / "answers.csv"))}
    item, worker = zip(*reversed(rows), strict=True)
    truth = {row["item"]: row["truth"] for row in _rows(folder / "truth.csv")}
    items, item_of = np.unique(item, return_inverse=True)
    workers, worker_of = np.unique(worker, return_inverse=True)
    labels, label_of = np.unique([*reversed(rows.values())], return_inverse=True)
    place = {name: position for position, name in enumerate(labels.tolist())}
    return Recorded(
        items=tuple(items.tolist()),
        workers=tuple(workers.tolist()),
        labels=tuple(labels.tolist()),
        item=item_of,
        worker=worker_of,
        label=label_of,
        truth=np.array([place.get(truth.get(key, ""), UNKNOWN) for key in items.tolist()]),
    )


def _rows(path: Path) -> list[dict[str, str]]:
    packed = path.with_name(path.name + ".gz")
    text = gzip.decompress(packed.read_bytes()).decode() if packed.exists() else path.read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))
