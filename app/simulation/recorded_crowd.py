"""Read recorded answers and the truth, so that a recorded crowd can be asked again."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from pathlib import Path
from typing import TypeAlias

import numpy as np
from propcache.api import cached_property

from app.policy.core.ballots import first_choice
from app.policy.core.belief import Array, IntArray, Mask
from app.policy.core.randomness import number_of
from app.simulation.csv_tables import Cell, WrongFile, read_table

UNKNOWN = -1
Notify: TypeAlias = Callable[[str], None]


def ignore_message(_message: str) -> None:
    """Do nothing: for callers that show no messages."""


@dataclass(frozen=True)
class RecordedAnswers:
    """Answers of the past; row i of `item`, `worker` and `label` is answer i, in the order of the file."""

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
        """The number of each worker in random draws, as in the service, shape (workers,)."""
        return np.array([number_of(name) for name in self.workers], dtype=np.int64)

    def only(self, which: Mask) -> "RecordedAnswers":
        """The answers on these items alone, shape (items,), with the workers who answered them."""
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

    def among(self, labels: tuple[str, ...]) -> "RecordedAnswers":
        """The same answers with these labels to choose from; the labels that were given must be among them."""
        place = np.array([labels.index(label) for label in self.labels])
        truth = np.where(self.truth == UNKNOWN, UNKNOWN, place[self.truth])
        return replace(self, labels=labels, label=place[self.label], truth=truth)

    def shuffled(self, rng: np.random.Generator) -> "RecordedAnswers":
        """The same answers in a random order."""
        order = rng.permutation(len(self.label))
        return replace(self, item=self.item[order], worker=self.worker[order], label=self.label[order])

    def accuracy(self, scores: Array) -> float:
        """The share of items with known truth whose highest score is the truth's; k that share it count 1/k.

        `scores` is (items, classes), for example a posterior, so an item without an answer counts 1/K.
        """
        known = self.truth != UNKNOWN
        return float(first_choice(scores)[known, self.truth[known]].mean())


@dataclass(frozen=True)
class RecordedCrowd:
    """A crowd that gives its recorded answers again; only recorded pairs of item and worker may be asked."""

    recorded: RecordedAnswers

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

    def answers(self, item: IntArray, worker: IntArray, rng: np.random.Generator) -> IntArray:  # noqa: ARG002  recorded answers are not random
        given = self.recorded.given
        return np.array([given[pair] for pair in zip(item.tolist(), worker.tolist(), strict=True)])


def read_crowd(folder: Path) -> RecordedAnswers:
    """Read `answers.csv` (item,worker,label) and `truth.csv` (item,truth) of a folder; either may be a .csv.gz."""
    answers, truth = (folder / name for name in ("answers.csv", "truth.csv"))
    return read_recorded(_compressed_or_plain(answers), _compressed_or_plain(truth))


def read_answers(folder: Path) -> RecordedAnswers:
    """Read `answers.csv` (item,worker,label) of a folder, or `answers.csv.gz`; no truth is known."""
    return read_recorded(_compressed_or_plain(folder / "answers.csv"))


def _compressed_or_plain(path: Path) -> Path:
    packed = path.with_name(path.name + ".gz")
    return packed if packed.exists() else path


def read_recorded(answers: Path, truth: Path | None = None, notify: Notify = ignore_message) -> RecordedAnswers:
    """Read answers from a table with item,worker,label, and the truth from one with item,truth.

    If a worker answered an item several times, the first answer counts. Answers that do not count in a job's export,
    and items without answers, are left out. A truth that no answer names is a label too. `notify` gets a message
    about each of these cases.
    """
    rows = _counted_answers(answers, notify)
    if not rows:
        raise WrongFile(answers, 2, "the file has no answers")
    first: dict[tuple[str, str], str] = {}
    for named, by, said, *_ in rows:
        first.setdefault((named.text, by.text), said.text)
    item, worker = zip(*first, strict=True)
    items, item_of = np.unique(item, return_inverse=True)
    workers, worker_of = np.unique(worker, return_inverse=True)
    given = [*first.values()]
    true = {} if truth is None else _truths(truth, set(item), set(given), notify)
    labels, label_of = np.unique([*given, *true.values()], return_inverse=True)
    if len(labels) == 1:
        raise WrongFile(answers, 2, f"all answers are {given[0]!r}, but at least two labels are needed")
    if len(first) < len(rows):
        notify(
            f"{answers}: only a worker's first answer on an item counts; {len(rows) - len(first)} others are left out"
        )
    for alike in _similar_labels(labels.tolist()):
        notify(f"{answers}: {' and '.join(map(repr, alike))} are treated as different labels")
    place = {name: position for position, name in enumerate(labels.tolist())}
    return RecordedAnswers(
        items=tuple(items.tolist()),
        workers=tuple(workers.tolist()),
        labels=tuple(labels.tolist()),
        item=item_of,
        worker=worker_of,
        label=label_of[: len(given)],
        truth=np.array([place[true[key]] if key in true else UNKNOWN for key in items.tolist()]),
    )


def _counted_answers(path: Path, notify: Notify) -> list[tuple[Cell, ...]]:
    """All answers, or those with `true` in the column `counts`, which a job's export has."""
    rows = read_table(path, ("item", "worker", "label"), optional="counts")
    counts = [cell.text.lower() for cells in rows for cell in cells[3:]]
    if not counts or not set(counts) <= {"true", "false"}:
        return rows
    if "false" in counts:
        notify(f"{path}: {counts.count('false')} answers are left out, because the column counts is false")
    return [cells for cells, counted in zip(rows, counts, strict=True) if counted == "true"]


def _truths(path: Path, answered: set[str], labels: set[str], notify: Notify) -> dict[str, str]:
    """The truth of the items that were answered."""
    found: dict[str, Cell] = {}
    rows = read_table(path, ("item", "truth"))
    if not rows:
        raise WrongFile(path, 2, "the file has no truths")
    for item, truth in rows:
        before = found.setdefault(item.text, truth)
        if before.text != truth.text:
            raise WrongFile(path, truth, f"{item.text!r} has another truth, {before.text!r}, in line {before.line}")
    true = {item: cell.text for item, cell in found.items() if item in answered}
    if not true:
        some = ", ".join(map(repr, sorted(answered)[:3]))
        raise WrongFile(path, rows[0][0], f"no item of this file has answers; items with answers are {some} ...")
    if labels.isdisjoint(true.values()):
        known = ", ".join(map(repr, sorted(labels)[:5]))
        raise WrongFile(
            path, rows[0][1], f"no truth of this file is among the labels of the answers, which are {known}"
        )
    if len(true) < len(answered):
        missing = len(answered) - len(true)
        notify(f"{path}: {missing} of {len(answered)} answered items have no truth; accuracy is measured on the others")
    if len(true) < len(found):
        notify(f"{path}: {len(found) - len(true)} items without answers are left out")
    if never_given := set(true.values()) - labels:
        named = ", ".join(map(repr, sorted(never_given)[:5]))
        notify(f"{path}: no answer is {named}; with it there are {len(labels | never_given)} labels")
    return true


def _similar_labels(labels: Sequence[str]) -> list[list[str]]:
    """Groups of labels that differ only by spaces or capitals.

    >>> _similar_labels(["No", "Yes", "no ", "perhaps"])
    [['No', 'no ']]
    """
    groups: dict[str, list[str]] = {}
    for label in labels:
        groups.setdefault(label.strip().casefold(), []).append(label)
    return [group for group in groups.values() if len(group) > 1]
