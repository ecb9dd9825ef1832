"""What every kind of answer says about itself: how it is written, and which policies can decide about it."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np

from app.policy.allocation import Allocation
from app.policy.answers.questions import Questions
from app.policy.core.arrays import Array, IntArray
from app.policy.core.ballots import first_choice
from app.policy.core.belief import Belief, ItemContext
from app.policy.core.policy import Policy
from app.policy.requirements import Requirement
from app.policy.worker_models import WorkerModel

Said = int | float  # what an answer says: the position of a label, a set of labels as bits, or the number itself
Content = str | Sequence[str] | float  # the same as it is written on the wire


class WrongContent(ValueError):
    """An answer that names no label of the job, or a number that the job does not take; says what would be right."""

    def __init__(self, message: str, unknown: str | None = None) -> None:
        super().__init__(message)
        self.unknown = unknown  # the name that is no label


class AnswerKind(Policy, ABC):
    """What a worker answers, and what a result is.

    Inside, an answer is one number (`Said`), so that it is stored, compared and learned like any other. A kind turns it
    into what is written on the wire and back. A job's own policies decide about questions: usually an item is one
    question. Where it is several, the kind puts its own model, requirement and allocation around them.
    """

    field: ClassVar[Literal["label", "labels", "value"]]  # of an answer on the wire
    is_one_label: ClassVar[bool] = False
    in_order: ClassVar[bool] = False  # the labels are
    takes_no_label: ClassVar[bool] = False  # an answer may name none
    fewest_names: ClassVar[int] = 2  # labels that a job of this kind must have
    most_names: ClassVar[int] = 1000
    takes_words: ClassVar[str]  # what an answer of a job of this kind is, for people

    @abstractmethod
    def said(self, content: Content, labels: Sequence[str]) -> Said:
        """The content of an answer as one number; raises `WrongContent`."""

    @abstractmethod
    def content(self, said: Said, labels: Sequence[str]) -> Content:
        """What is written for it."""

    def text(self, content: Any) -> str:  # noqa: ANN401  of this kind
        """The content of an answer as the cell of a table."""
        return str(content)

    def from_text(self, text: str) -> Content:
        """The content of an answer in a cell of a table."""
        return text

    def names(self, text: str) -> Sequence[str]:
        """The labels that the cell of a table names."""
        return (text,)

    def scores(self, belief: Belief) -> Array:
        """How strongly each side of each question is supported, shape (questions, sides)."""
        return belief.posterior

    def right(self, scores: Array, truth: Array | IntArray) -> Array:
        """How likely the result by these scores is right, shape (items,): k sides of a question that tie count 1/k."""
        return np.asarray(first_choice(scores)[np.arange(len(truth)), truth])

    def errors(self, scores: Array, truth: Array | IntArray) -> dict[str, float]:  # noqa: ARG002  right or wrong
        """What else tells how good results of this kind are, by its name in a report; items are all of known truth."""
        return {}

    def with_gold(self, context: ItemContext, gold: Array | IntArray) -> ItemContext:
        """The items with their known truths, shape (items,); -1, or NaN where answers are numbers: not known."""
        return replace(context, gold=np.asarray(gold))

    def chances(self, belief: Belief) -> Array:
        """How likely each label is right, shape (items, labels)."""
        return belief.posterior

    def votes(self, counts: Sequence[int]) -> Sequence[int]:
        """How many counted answers name each label, by the votes that are kept of an item."""
        return counts

    def dissent(self, votes: Sequence[int], label: int) -> float:
        """How many answers are against this label, by the votes of its item."""
        return sum(votes) - votes[label]

    def agrees(self, said: Said, truth: Said) -> bool:
        """Whether an answer is right."""
        return said == truth

    def classes(self, labels: int) -> int:
        """Between how many classes a question decides."""
        return labels

    def chance_of_guess(self, labels: int) -> float:
        """How likely a guess is right."""
        return 1 / labels

    def questions(self, labels: int) -> Questions | None:  # noqa: ARG002  one
        """The questions that an item is; None: it is one."""
        return None

    def learner(self, model: WorkerModel, labels: int) -> WorkerModel:  # noqa: ARG002  as it is
        """The job's worker model with what this kind says about answers: it is what fits and skills are about."""
        return model

    def model(self, model: WorkerModel, labels: int) -> WorkerModel:  # noqa: ARG002  as it is
        """A stage of that model, as it learns and decides about items of this kind."""
        return model

    def requirement(self, requirement: Requirement, labels: Sequence[str]) -> Requirement:  # noqa: ARG002  as it is
        """The requirement on an item."""
        return requirement

    def allocation(self, allocation: Allocation) -> Allocation:
        """The allocation between items."""
        return allocation
