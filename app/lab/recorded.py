"""Let a crowd of the past answer again: its recorded answers, and what turned out to be true."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress
from pathlib import Path
from typing import TypeAlias

import numpy as np

from app.lab.tables import Cell, WrongFile, read_table
from app.policy.aggregation.ballots import first_choice
from app.policy.belief import Array, IntArray, Mask
from app.policy.chance import number_of

UNKNOWN = -1
Tell: TypeAlias = Callable[[str], None]


def unheard(_words: str) -> None:
    """Nobody listens."""


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

    @cached_property
    def numbers(self) -> IntArray:
        """What chance hangs on for each worker, as in the service, shape (workers,)."""
        return np.array([number_of(name) for name in self.workers], dtype=np.int64)

    def only(self, which: Mask) -> "Recorded":
        """These items alone, shape (items,), and whoever answered them."""
        kept = which[self.item]
        workers, worker = np.unique(self.worker[kept], return_inverse=True)
        return replace(
            self,
            items=tuple(compress(self.items, which)),
            workers=tuple(self.workers[each] for each in workers),
            item=(np.cumsum(which) - 1)[self.item[kept]],
            worker=worker,
            label=self.label[kept],
            truth=self.truth[which],
        )

    def among(self, labels: tuple[str, ...]) -> "Recorded":
        """The same answers where these labels could have been given, all that were among them."""
        place = np.array([labels.index(label) for label in self.labels])
        truth = np.where(self.truth == UNKNOWN, UNKNOWN, place[self.truth])
        return replace(self, labels=labels, label=place[self.label], truth=truth)

    def shuffled(self, rng: np.random.Generator) -> "Recorded":
        """The same answers in another order."""
        order = rng.permutation(len(self.label))
        return replace(self, item=self.item[order], worker=self.worker[order], label=self.label[order])

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
    """`answers.csv` with item,worker,label and `truth.csv` with item,truth; either may be packed, as .csv.gz."""
    answers, truth = (folder / name for name in ("answers.csv", "truth.csv"))
    return read_recorded(_packed_or_not(answers), _packed_or_not(truth))


def _packed_or_not(path: Path) -> Path:
    packed = path.with_name(path.name + ".gz")
    return packed if packed.exists() else path


def read_recorded(answers: Path, truth: Path | None = None, tell: Tell = unheard) -> Recorded:
    """Answers from a table with item,worker,label, and the truth from one with item,truth.

    Of several answers of one worker on one item the first counts. Answers that a job says do not count, items that
    nobody answered are left out. A truth that no answer names is a label all the same. Whatever of this was done is
    told.
    """
    rows = _that_count(answers, tell)
    if not rows:
        raise WrongFile(answers, 2, "there is no answer in it")
    first: dict[tuple[str, str], str] = {}
    for named, by, said, *_ in rows:
        first.setdefault((named.text, by.text), said.text)
    item, worker = zip(*first, strict=True)
    items, item_of = np.unique(item, return_inverse=True)
    workers, worker_of = np.unique(worker, return_inverse=True)
    given = [*first.values()]
    true = {} if truth is None else _truths(truth, set(item), set(given), tell)
    labels, label_of = np.unique([*given, *true.values()], return_inverse=True)
    if len(labels) == 1:
        raise WrongFile(answers, 2, f"all answers are {given[0]!r}, and there must be two labels at least")
    if len(first) < len(rows):
        tell(f"{answers}: a worker's first answer on an item counts; {len(rows) - len(first)} later ones are left out")
    for alike in _nearly_the_same(labels.tolist()):
        tell(f"{answers}: {' and '.join(map(repr, alike))} are taken for different labels")
    place = {name: position for position, name in enumerate(labels.tolist())}
    return Recorded(
        items=tuple(items.tolist()),
        workers=tuple(workers.tolist()),
        labels=tuple(labels.tolist()),
        item=item_of,
        worker=worker_of,
        label=label_of[: len(given)],
        truth=np.array([place[true[key]] if key in true else UNKNOWN for key in items.tolist()]),
    )


def _that_count(path: Path, tell: Tell) -> list[tuple[Cell, ...]]:
    """All answers, or those that count where a column `counts` says true or false of each, as in a job's export."""
    rows = read_table(path, ("item", "worker", "label"), perhaps="counts")
    told = [cell.text.lower() for cells in rows for cell in cells[3:]]
    if not told or not set(told) <= {"true", "false"}:
        return rows
    if "false" in told:
        tell(f"{path}: {told.count('false')} answers are left out, which by the column counts do not count")
    return [cells for cells, counts in zip(rows, told, strict=True) if counts == "true"]


def _truths(path: Path, answered: set[str], labels: set[str], tell: Tell) -> dict[str, str]:
    """The truth of the items that were answered."""
    found: dict[str, Cell] = {}
    rows = read_table(path, ("item", "truth"))
    if not rows:
        raise WrongFile(path, 2, "there is no truth in it")
    for item, truth in rows:
        before = found.setdefault(item.text, truth)
        if before.text != truth.text:
            raise WrongFile(path, truth, f"{item.text!r} is {before.text!r} in line {before.line}")
    true = {item: cell.text for item, cell in found.items() if item in answered}
    if not true:
        some = ", ".join(map(repr, sorted(answered)[:3]))
        raise WrongFile(path, rows[0][0], f"no item of this file was answered; those that were are {some} ...")
    if labels.isdisjoint(true.values()):
        known = ", ".join(map(repr, sorted(labels)[:5]))
        raise WrongFile(path, rows[0][1], f"no truth of this file is a label that was given; those are {known}")
    if len(true) < len(answered):
        missing = len(answered) - len(true)
        tell(f"{path}: {missing} of {len(answered)} answered items have no truth; accuracy is that of the others")
    if len(true) < len(found):
        tell(f"{path}: {len(found) - len(true)} items are left out, which nobody answered")
    if unheard_of := set(true.values()) - labels:
        named = ", ".join(map(repr, sorted(unheard_of)[:5]))
        tell(f"{path}: nobody gave {named}, yet there are {len(labels | unheard_of)} labels with it")
    return true


def _nearly_the_same(labels: Sequence[str]) -> list[list[str]]:
    """Labels that differ by blanks or capitals alone.

    >>> _nearly_the_same(["No", "Yes", "no ", "perhaps"])
    [['No', 'no ']]
    """
    groups: dict[str, list[str]] = {}
    for label in labels:
        groups.setdefault(label.strip().casefold(), []).append(label)
    return [group for group in groups.values() if len(group) > 1]
