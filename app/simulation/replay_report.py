"""Report the scores of a replay, as JSON or as a table."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from app.policy.core.belief import Array
from app.simulation.scores import Scores

_COUNTS = {"labels_per_item", "labels", "resolved"}


@dataclass(frozen=True)
class ReplayLine:
    """One policy at one budget, means over the seeds; None: not known."""

    policy: str
    labels_per_item: float
    labels: float
    accuracy: float | None
    accuracy_sd: float | None  # between seeds
    resolved: float  # items
    resolved_accuracy: float | None
    seeds: int
    errors: Mapping[str, float | None] = field(default_factory=dict)  # what else the kind of the answers measures

    @classmethod
    def of(cls, policy: str, labels_per_item: float, scores: Scores) -> "ReplayLine":
        return cls(
            policy=policy,
            labels_per_item=labels_per_item,
            labels=float(scores.labels.mean()),
            accuracy=_mean(scores.accuracy),
            accuracy_sd=_deviation(scores.accuracy),
            resolved=float(scores.resolved.mean()),
            resolved_accuracy=_mean(scores.resolved_accuracy),
            seeds=len(scores.labels),
            errors={name: _mean(values) for name, values in scores.errors.items()},
        )

    def as_json(self) -> dict[str, Any]:
        """The row as JSON; whole counts are integers."""
        fields = asdict(self)
        fields |= fields.pop("errors")
        return {name: _plain(value) if name in _COUNTS else value for name, value in fields.items()}


def _mean(values: Array) -> float | None:
    """Over the seeds that have a value."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else None


def _deviation(values: Array) -> float | None:
    return float(values.std(ddof=1)) if len(values) > 1 and not np.isnan(values).any() else None


def _plain(number: float) -> float:
    return int(number) if float(number).is_integer() else number


_MANY = 10
_HEADINGS = ("policy", "labels/item", "labels", "accuracy", "sd", "resolved", "of those right")
_WORDS = {"mean_absolute_error": "mean error", "root_mean_squared_error": "rms error", "label_accuracy": "per label"}


def as_table(lines: Sequence[ReplayLine]) -> Iterable[str]:
    """The lines as a table for people.

    >>> for row in as_table([ReplayLine("opt-kg", 2, 1600, 0.784, 0.012, 0, None, 10)]):
    ...     print(row)
    policy  labels/item  labels  accuracy     sd  resolved  of those right
    opt-kg            2    1600     0.784  0.012         0               -
    """
    names = [*dict.fromkeys(name for line in lines for name in line.errors)]
    headings = [_WORDS.get(name, name.replace("_", " ")) for name in names]
    cells = [(*_HEADINGS, *headings), *((*_cells(line), *_errors(line, names)) for line in lines)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for first, *others in cells:
        yield "  ".join([first.ljust(widths[0]), *(c.rjust(w) for c, w in zip(others, widths[1:], strict=True))])


def _cells(line: ReplayLine) -> tuple[str, ...]:
    right = [f"{each:.3f}" if each is not None else "-" for each in (line.accuracy, line.accuracy_sd)]
    of_resolved = "-" if line.resolved_accuracy is None else f"{line.resolved_accuracy:.3f}"
    counts = f"{line.labels_per_item:g}", _count(line.labels)
    return (line.policy, *counts, *right, _count(line.resolved), of_resolved)


def _errors(line: ReplayLine, names: Sequence[str]) -> Iterable[str]:
    found = (line.errors.get(name) for name in names)
    return ("-" if each is None else f"{each:.3f}" for each in found)


def _count(mean: float) -> str:
    """Write a mean count: small ones are not rounded, because half an item on average is not none.

    >>> _count(0.5), _count(2), _count(126.3)
    ('0.5', '2', '126')
    """
    return f"{mean:.0f}" if mean >= _MANY or float(mean).is_integer() else f"{mean:.1f}"
