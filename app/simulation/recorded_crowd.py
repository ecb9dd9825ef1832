"""Read recorded answers and the truth, so that a recorded crowd can be asked again."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from propcache.api import cached_property

from app.policy.answers import CHOICE, AnyAnswer, Said, WrongContent
from app.policy.core.ballots import first_choice
from app.policy.core.belief import Array, IntArray, Mask
from app.policy.core.randomness import number_of
from app.simulation.csv_tables import Cell, WrongFile, read_table

UNKNOWN = -1
Notify: TypeAlias = Callable[[str], None]
Truths: TypeAlias = npt.NDArray[Any]  # -1, or NaN where answers are numbers, where it is not known


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
    label: npt.NDArray[Any]  # (answers,) what each says: a position in labels, a set of them as bits, or a number
    truth: Truths  # (items,) the same
    answer: AnyAnswer = CHOICE
    features: Array | None = None  # (items, features); NaN for items without, None if no item has any

    @cached_property
    def known(self) -> Mask:
        """Of which items the truth is known, shape (items,)."""
        return known_truths(self.truth)

    @cached_property
    def given(self) -> dict[tuple[int, int], Said]:
        """What was answered, by (item, worker)."""
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
            features=None if self.features is None else self.features[which],
        )

    def among(self, labels: tuple[str, ...]) -> "RecordedAnswers":
        """The same answers with these labels to choose from; the labels that were given must be among them."""
        if labels == self.labels:
            return self
        kind, known = self.answer, self.known

        def renamed(said: npt.NDArray[Any]) -> npt.NDArray[Any]:
            every, which = np.unique(said, return_inverse=True)
            names = (kind.content(one, self.labels) for one in every.tolist())
            return np.array([kind.said(name, labels) for name in names], dtype=said.dtype)[which]

        truth = self.truth.copy()
        truth[known] = renamed(truth[known])
        return replace(self, labels=labels, label=renamed(self.label), truth=truth)

    def shuffled(self, rng: np.random.Generator) -> "RecordedAnswers":
        """The same answers in a random order."""
        order = rng.permutation(len(self.label))
        return replace(self, item=self.item[order], worker=self.worker[order], label=self.label[order])

    def accuracy(self, scores: Array) -> float:
        """The share of items with known truth whose highest score is the truth's; k that share it count 1/k.

        `scores` is (items, classes), for example a posterior, so an item without an answer counts 1/K. Answers are one
        label.
        """
        known = self.known
        return float(first_choice(scores)[known, self.truth[known]].mean())


@dataclass(frozen=True)
class RecordedCrowd:
    """A crowd that gives its recorded answers again; only recorded pairs of item and worker may be asked."""

    recorded: RecordedAnswers

    @property
    def truth(self) -> Truths:
        return self.recorded.truth

    @property
    def items(self) -> int:
        return len(self.recorded.items)

    @property
    def workers(self) -> int:
        return len(self.recorded.workers)

    @property
    def classes(self) -> int:
        return self.recorded.answer.classes(len(self.recorded.labels))

    def answers(self, item: IntArray, worker: IntArray, rng: np.random.Generator) -> npt.NDArray[Any]:  # noqa: ARG002  recorded answers are not random
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


def known_truths(truth: Truths) -> Mask:
    """Which of these truths are known."""
    return np.asarray(~np.isnan(truth) if truth.dtype.kind == "f" else truth != UNKNOWN)


def read_recorded(
    answers: Path, truth: Path | None = None, notify: Notify = ignore_message, kind: AnyAnswer = CHOICE
) -> RecordedAnswers:
    """Read answers of this kind from a table with item,worker,label, and the truth from one with item,truth.

    The column `label` may also be named like the field of the kind, `labels` or `value`, as in a job's export. If a
    worker answered an item several times, the first answer counts. Answers that do not count in a job's export, and
    items without answers, are left out. A truth that no answer names is a label too. `notify` gets a message about each
    of these cases.
    """
    rows = _counted_answers(answers, notify, kind)
    if not rows:
        raise WrongFile(answers, 2, "the file has no answers")
    first: dict[tuple[str, str], Cell] = {}
    for named, by, said, *_ in rows:
        first.setdefault((named.text, by.text), said)
    item, worker = zip(*first, strict=True)
    items, item_of = np.unique(item, return_inverse=True)
    workers, worker_of = np.unique(worker, return_inverse=True)
    given = _names(first.values(), kind)
    true = {} if truth is None else _truths(truth, set(item), given, notify, kind)
    labels = sorted(given | _names(true.values(), kind))
    if len(labels) < kind.fewest_names:
        said_by_all = next(iter(first.values())).text
        fewest = {1: "one label", 2: "two labels"}[kind.fewest_names]
        raise WrongFile(answers, 2, f"all answers are {said_by_all!r}, but at least {fewest} are needed")
    if len(first) < len(rows):
        notify(
            f"{answers}: only a worker's first answer on an item counts; {len(rows) - len(first)} others are left out"
        )
    for alike in _similar_labels(labels):
        notify(f"{answers}: {' and '.join(map(repr, alike))} are treated as different labels")
    unknown = np.nan if kind.field == "value" else UNKNOWN
    of_items = [_said(truth or answers, true[key], kind, labels) if key in true else unknown for key in items.tolist()]
    return RecordedAnswers(
        items=tuple(items.tolist()),
        workers=tuple(workers.tolist()),
        labels=tuple(labels),
        item=item_of,
        worker=worker_of,
        label=np.array([_said(answers, cell, kind, labels) for cell in first.values()]),
        truth=np.array(of_items),
        answer=kind,
    )


def _names(cells: Iterable[Cell], kind: AnyAnswer) -> set[str]:
    """The labels that these cells name."""
    return {name for text in {cell.text for cell in cells} for name in kind.names(text)}


def _said(path: Path, cell: Cell, kind: AnyAnswer, labels: Sequence[str]) -> Said:
    try:
        return kind.said(kind.from_text(cell.text), labels)
    except WrongContent as error:
        raise WrongFile(path, cell, f"{cell.text!r} is no answer. {error}") from error


def _counted_answers(path: Path, notify: Notify, kind: AnyAnswer) -> list[tuple[Cell, ...]]:
    """All answers, or those with `true` in the column `counts`, which a job's export has."""
    empty = "label" if kind.takes_no_label else ""
    rows = read_table(path, ("item", "worker", "label"), optional="counts", also_named=kind.field, empty=empty)
    counts = [cell.text.lower() for cells in rows for cell in cells[3:]]
    if not counts or not set(counts) <= {"true", "false"}:
        return rows
    if "false" in counts:
        notify(f"{path}: {counts.count('false')} answers are left out, because the column counts is false")
    return [cells for cells, counted in zip(rows, counts, strict=True) if counted == "true"]


def _truths(path: Path, answered: set[str], labels: set[str], notify: Notify, kind: AnyAnswer) -> dict[str, Cell]:
    """The truth of the items that were answered."""
    found: dict[str, Cell] = {}
    rows = read_table(path, ("item", "truth"), empty="truth" if kind.takes_no_label else "")
    if not rows:
        raise WrongFile(path, 2, "the file has no truths")
    for item, truth in rows:
        before = found.setdefault(item.text, truth)
        if before.text != truth.text:
            raise WrongFile(path, truth, f"{item.text!r} has another truth, {before.text!r}, in line {before.line}")
    true = {item: cell for item, cell in found.items() if item in answered}
    if not true:
        some = ", ".join(map(repr, sorted(answered)[:3]))
        raise WrongFile(path, rows[0][0], f"no item of this file has answers; items with answers are {some} ...")
    named = _names(true.values(), kind)
    if named and labels.isdisjoint(named):
        known = ", ".join(map(repr, sorted(labels)[:5]))
        raise WrongFile(
            path, rows[0][1], f"no truth of this file is among the labels of the answers, which are {known}"
        )
    if len(true) < len(answered):
        missing = len(answered) - len(true)
        notify(f"{path}: {missing} of {len(answered)} answered items have no truth; accuracy is measured on the others")
    if len(true) < len(found):
        notify(f"{path}: {len(found) - len(true)} items without answers are left out")
    if never_given := named - labels:
        listed = ", ".join(map(repr, sorted(never_given)[:5]))
        notify(f"{path}: no answer is {listed}; with it there are {len(labels | never_given)} labels")
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
