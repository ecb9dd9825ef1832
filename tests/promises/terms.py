"""When an item is good enough, and how many more labels it could use: a few lines of brute force, no formula."""

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import count
from math import inf, sqrt
from typing import Any

Votes = tuple[int, ...]


@dataclass(frozen=True)
class Terms:
    """A job's rules, as far as they decide about money, leases and states."""

    labels: tuple[str, ...]
    requirement: dict[str, Any]
    budget: Decimal | None
    lease_seconds: int
    min_labels: int = 1
    max_labels: int | None = None
    max_votes_per_label: int | None = None

    @property
    def body(self) -> dict[str, Any]:
        return {
            "labels": list(self.labels),
            "requirement": self.requirement,
            "worker_model": {"kind": "anonymous"},
            "aggregation": {"kind": "majority"},
            "budget": None if self.budget is None else str(self.budget),
            "lease_seconds": self.lease_seconds,
            "min_labels": self.min_labels,
            "max_labels": self.max_labels,
            "max_votes_per_label": self.max_votes_per_label,
        }

    @property
    def no_votes(self) -> Votes:
        return (0,) * len(self.labels)

    def state(self, votes: Votes) -> tuple[str, str | None]:
        """The state of an open item that has just got these votes, and its label."""
        if self.satisfied(votes):
            label = self._sole_leader(votes)
            return ("given_up", None) if label is None else ("resolved", label)
        return ("given_up", None) if self.room(votes) <= 0 else ("open", None)

    def wanted(self, votes: Votes) -> int:
        """How many copies of an open item may be out at once."""
        return int(min(self.shortfall(votes), self.room(votes)))

    def shortfall(self, votes: Votes) -> int:
        """The fewest further labels, all for one class, that could make it the accepted answer."""
        return next(more for more in count(1) if any(self._accepts(votes, c, more) for c in range(len(votes))))

    def room(self, votes: Votes) -> float:
        of_all = inf if self.max_labels is None else self.max_labels - sum(votes)
        of_one = inf if self.max_votes_per_label is None else self.max_votes_per_label - max(votes)
        return min(of_all, of_one)

    def satisfied(self, votes: Votes) -> bool:
        return sum(votes) >= self.min_labels and self._requirement_holds(votes)

    def _accepts(self, votes: Votes, c: int, more: int) -> bool:
        then = tuple(given + more * (position == c) for position, given in enumerate(votes))
        return self.satisfied(then) and self._sole_leader(then) == self.labels[c]

    def _sole_leader(self, votes: Votes) -> str | None:
        leaders = [label for label, given in zip(self.labels, votes, strict=True) if given == max(votes)]
        return leaders[0] if len(leaders) == 1 else None

    def _requirement_holds(self, votes: Votes) -> bool:
        second, first = sorted(votes)[-2:]
        total = sum(votes)
        match self.requirement:
            case {"kind": "count", "labels": labels}:
                return total >= labels
            case {"kind": "ratio", "min_ratio": ratio}:
                return first + 1 >= Fraction(str(ratio)) * (second + 1)
            case {"kind": "margin", "c": c, "epsilon": epsilon}:
                return total >= 1 and first - second >= c * sqrt(total) - epsilon * total - 1e-9
        raise NotImplementedError(self.requirement)
