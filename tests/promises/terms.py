"""When an item is good enough, and how many more labels it could use: a few lines of brute force, no formula."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import count
from math import inf, sqrt
from typing import Any, ClassVar

Votes = tuple[int, ...]
Sent = dict[str, Any]  # an answer as it is sent: one of `label`, `labels` and `value`
Content = str | frozenset[str] | float  # what an answer says, whatever the order in which it is written

FIELDS = ("label", "labels", "value")
WORKERS_ALIKE = {"worker_model": {"kind": "anonymous"}, "aggregation": {"kind": "majority"}}


@dataclass(frozen=True)
class Terms:
    """A job's rules, as far as they decide about money, leases and states. An answer is one label."""

    labels: tuple[str, ...]
    requirement: dict[str, Any]
    budget: Decimal | None
    lease_seconds: int
    min_labels: int = 1
    max_labels: int | None = None
    max_votes_per_label: int | None = None

    answer: ClassVar[dict[str, Any]] = {"kind": "choice"}
    field: ClassVar[str] = "label"
    models: ClassVar[dict[str, Any]] = WORKERS_ALIKE
    requirements: ClassVar[frozenset[str]] = frozenset({"count", "ratio", "margin"})
    allocations: ClassVar[tuple[str, ...]] = (
        *("information", "round-robin", "requallo", "opt-kg"),
        *("random", "label-uncertainty", "dispatch", "crowdbudget"),
    )

    @property
    def body(self) -> dict[str, Any]:
        return self.models | {
            "answer": self.answer,
            "labels": list(self.labels),
            "requirement": self.requirement,
            "budget": None if self.budget is None else str(self.budget),
            "lease_seconds": self.lease_seconds,
            "min_labels": self.min_labels,
            "max_labels": self.max_labels,
            "max_votes_per_label": self.max_votes_per_label,
        }

    # --- what an answer is

    def sent(self, number: int) -> Sent:
        """The answer of this number: most numbers are 0."""
        return {"label": self.labels[number % len(self.labels)]}

    @property
    def unknown(self) -> Sent:
        """An answer of the right kind that says what the job does not know."""
        return {"label": "unicorn"}

    unknown_code: ClassVar[str] = "label-unknown"

    @property
    def of_another_kind(self) -> Sent:
        return {"value": 1.5}

    def refusal(self, sent: Sent) -> str | None:
        """The code of the refusal of what cannot be an answer of this job."""
        said = {name: sent[name] for name in FIELDS if name in sent}
        if list(said) != [self.field]:
            return "answer-kind"
        return self.unknown_code if said == self.unknown else None

    def content(self, sent: Sent) -> Content:
        return sent["label"]

    def shown(self, content: Any) -> Any:
        """The result of an item that says this, as the service writes it."""
        return content

    # --- what follows from answers

    @property
    def no_votes(self) -> Votes:
        return (0,) * len(self.labels)

    def with_vote(self, votes: Votes, content: Content) -> Votes:
        return tuple(given + (name == content) for name, given in zip(self.labels, votes, strict=True))

    def named(self, votes: Votes) -> Votes:
        """How many answers name each label."""
        return votes

    def state(self, votes: Votes) -> tuple[str, Any]:
        """The state of an open item that has just got these votes, and its result."""
        if self.satisfied(votes):
            result = self.result(votes)
            return ("given_up", None) if result is None else ("resolved", self.shown(result))
        return ("given_up", None) if self.room(votes) <= 0 else ("open", None)

    def wanted(self, votes: Votes) -> int:
        """How many copies of an open item may be out at once."""
        return int(min(self.shortfall(votes), self.room(votes)))

    def shortfall(self, votes: Votes) -> int:
        """The fewest further labels, all for one class, that could make it the accepted answer."""
        return next(more for more in count(1) if any(self._accepts(votes, c, more) for c in range(len(votes))))

    def room(self, votes: Votes) -> float:
        of_all = inf if self.max_labels is None else self.max_labels - self.total(votes)
        of_one = inf if self.max_votes_per_label is None else self.max_votes_per_label - max(votes)
        return min(of_all, of_one)

    def total(self, votes: Votes) -> int:
        return sum(votes)

    def satisfied(self, votes: Votes) -> bool:
        return self.total(votes) >= self.min_labels and self.requirement_holds(votes)

    def result(self, votes: Votes) -> Any:
        """The single leading label; None where several lead."""
        leaders = [label for label, given in zip(self.labels, votes, strict=True) if given == max(votes)]
        return leaders[0] if len(leaders) == 1 else None

    def _accepts(self, votes: Votes, c: int, more: int) -> bool:
        then = tuple(given + more * (position == c) for position, given in enumerate(votes))
        return self.satisfied(then) and self.result(then) == self.labels[c]

    def requirement_holds(self, votes: Votes) -> bool:
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


class OrdinalTerms(Terms):
    """Labels are in order. Counted votes know nothing of that: the most frequent label is the result."""

    answer: ClassVar[dict[str, Any]] = {"kind": "ordinal"}

    @property
    def of_another_kind(self) -> Sent:
        return {"label": self.labels[0], "value": 1}


class ChoicesTerms(Terms):
    """An answer is several labels. Votes are those for no and for yes, label by label."""

    answer: ClassVar[dict[str, Any]] = {"kind": "choices"}
    field: ClassVar[str] = "labels"

    def sent(self, number: int) -> Sent:
        first, *others = self.labels
        return {"labels": ([first], [others[-1], first], [], [*others], [others[0]])[number % 5]}

    @property
    def unknown(self) -> Sent:
        return {"labels": [self.labels[0], "unicorn"]}

    @property
    def of_another_kind(self) -> Sent:
        return {"label": self.labels[0]}

    def content(self, sent: Sent) -> Content:
        return frozenset(sent["labels"])

    def shown(self, content: Any) -> Any:
        return [label for label in self.labels if label in content]

    @property
    def no_votes(self) -> Votes:
        return (0, 0) * len(self.labels)

    def with_vote(self, votes: Votes, content: Content) -> Votes:
        assert isinstance(content, frozenset)
        said = [side for label in self.labels for side in (label not in content, label in content)]
        return tuple(given + one for given, one in zip(votes, said, strict=True))

    def named(self, votes: Votes) -> Votes:
        return votes[1::2]

    def total(self, votes: Votes) -> int:
        return votes[0] + votes[1]

    def requirement_holds(self, votes: Votes) -> bool:
        return all(super(ChoicesTerms, self).requirement_holds(question) for question in self._questions(votes))

    def result(self, votes: Votes) -> Any:
        if any(no == yes for no, yes in self._questions(votes)):
            return None
        return {label for label, (no, yes) in zip(self.labels, self._questions(votes), strict=True) if yes > no}

    def shortfall(self, votes: Votes) -> int:
        """That of the question that lacks most: an answer is one to each."""
        return max(yes_or_no(self).shortfall(question) for question in self._questions(votes))

    def _questions(self, votes: Votes) -> Iterator[Votes]:
        return zip(votes[::2], votes[1::2], strict=True)


def yes_or_no(terms: Terms) -> Terms:
    """The rules of one label of a job whose answers are several: does it apply?"""
    return Terms(**vars(terms) | {"labels": ("no", "yes")})


class NumberTerms(Terms):
    """An answer is a number, and an item is finished after so many."""

    answer: ClassVar[dict[str, Any]] = {"kind": "number", "low": 0, "high": 100}
    field: ClassVar[str] = "value"
    models: ClassVar[dict[str, Any]] = {"refit": None}  # a worker's answers would be learned from at a random moment
    requirements: ClassVar[frozenset[str]] = frozenset({"count"})
    allocations: ClassVar[tuple[str, ...]] = ("round-robin", "random", "label-uncertainty")
    unknown_code: ClassVar[str] = "answer-kind"

    def sent(self, number: int) -> Sent:
        return {"value": 12.5 * number}

    @property
    def unknown(self) -> Sent:
        return {"value": 100.5}

    @property
    def of_another_kind(self) -> Sent:
        return {"labels": []}

    def content(self, sent: Sent) -> Content:
        return sent["value"]

    @property
    def no_votes(self) -> Votes:
        return (0,)

    def with_vote(self, votes: Votes, content: Content) -> Votes:  # noqa: ARG002  each counts
        return (votes[0] + 1,)

    def named(self, votes: Votes) -> Votes:  # noqa: ARG002  there are none
        return ()

    def room(self, votes: Votes) -> float:
        return inf if self.max_labels is None else self.max_labels - votes[0]

    def requirement_holds(self, votes: Votes) -> bool:
        return votes[0] >= self.requirement["labels"]

    def shortfall(self, votes: Votes) -> int:
        return max(self.min_labels, self.requirement["labels"]) - votes[0]

    def result(self, votes: Votes) -> Any:  # noqa: ARG002  that is an estimate, not a count
        return Estimate()


@dataclass(frozen=True)
class Estimate:
    """Equal to any number of the range: how it is computed is tested elsewhere."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, float | int) and 0 <= other <= 100

    __hash__ = None  # type: ignore[assignment]


EVERY_KIND: tuple[type[Terms], ...] = (Terms, ChoicesTerms, OrdinalTerms, NumberTerms)
