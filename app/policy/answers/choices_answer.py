"""Any number of the labels."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from app.policy.allocation import Allocation
from app.policy.answers.base import AnswerKind, Content, Said, WrongContent
from app.policy.answers.choice_answer import position_of
from app.policy.answers.each_label import EachLabelModel, EveryLabel, MeanOverLabels, SetBelief
from app.policy.answers.questions import SIDES, Questions
from app.policy.core.arrays import Array, IntArray
from app.policy.core.ballots import first_choice
from app.policy.core.belief import Belief
from app.policy.requirements import Requirement
from app.policy.worker_models import WorkerModel

SEPARATOR = "|"  # of labels in the cell of a table


class ChoicesAnswer(AnswerKind):
    """An answer is any number of the labels, perhaps none (future work of Abraham et al., SIGIR 2016, section 8).

        item = one question per label: does it apply?        finished when every question meets the requirement.

    Every answer is an answer to all questions of its item. A worker has one skill for all of them.
    """

    kind: Literal["choices"] = "choices"
    field: ClassVar[Literal["labels"]] = "labels"
    takes_no_label: ClassVar[bool] = True
    fewest_names: ClassVar[int] = 1
    most_names: ClassVar[int] = 50  # a set is stored as the bits of one number
    takes_words: ClassVar[str] = "any number of labels, in `labels`"

    def said(self, content: Content, labels: Sequence[str]) -> Said:
        if isinstance(content, str) or not isinstance(content, Sequence):
            raise WrongContent("Must be a list of the job's labels, perhaps an empty one")
        positions = [position_of(name, labels) for name in content]
        if len(set(positions)) < len(positions):
            raise WrongContent("Must name every label at most once")
        return sum(1 << position for position in positions)

    def content(self, said: Said, labels: Sequence[str]) -> Content:
        return [label for position, label in enumerate(labels) if int(said) >> position & 1]

    def text(self, content: Any) -> str:  # noqa: ANN401  of this kind
        return SEPARATOR.join(content)

    def from_text(self, text: str) -> Sequence[str]:
        return [name for name in text.split(SEPARATOR) if name]

    def names(self, text: str) -> Sequence[str]:
        return self.from_text(text)

    def scores(self, belief: Belief) -> Array:
        assert isinstance(belief, SetBelief)  # noqa: S101
        return belief.each.posterior

    def right(self, scores: Array, truth: Array | IntArray) -> Array:
        return np.asarray(_right_labels(scores, truth).prod(axis=1))

    def errors(self, scores: Array, truth: Array | IntArray) -> dict[str, float]:
        """How many labels of the job are right about an item, as a share."""
        return {"label_accuracy": float(_right_labels(scores, truth).mean())}

    def chances(self, belief: Belief) -> Array:
        assert isinstance(belief, SetBelief)  # noqa: S101
        return belief.applies

    def votes(self, counts: Sequence[int]) -> Sequence[int]:
        return counts[1::2]

    def dissent(self, votes: Sequence[int], label: int) -> float:
        """Of the label that is most disputed."""
        return max(votes[2 * position + 1 - (label >> position & 1)] for position in range(len(votes) // SIDES))

    def classes(self, labels: int) -> int:  # noqa: ARG002  no and yes
        return SIDES

    def chance_of_guess(self, labels: int) -> float:
        return 0.5**labels

    def questions(self, labels: int) -> Questions | None:
        return Questions(labels)

    def model(self, model: WorkerModel, labels: int) -> WorkerModel:
        return EachLabelModel(inner=model, labels=labels)

    def requirement(self, requirement: Requirement, labels: Sequence[str]) -> Requirement:
        return EveryLabel(inner=requirement, names=tuple(labels))

    def allocation(self, allocation: Allocation) -> Allocation:
        # An item has one clock: the mean of several would ring too regularly for a random choice.
        return allocation if allocation.has_clock else MeanOverLabels(inner=allocation)


def _right_labels(scores: Array, truth: Array | IntArray) -> Array:
    """How likely each label is right by the scores of no and yes, shape (items, labels)."""
    items = len(truth)
    questions = Questions(len(scores) // max(items, 1))
    sides = first_choice(scores)[np.arange(len(scores)), questions.bits(truth.astype(np.int64)).ravel()]
    return np.asarray(sides.reshape(items, -1))
