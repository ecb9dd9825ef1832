"""One of the labels."""

from collections.abc import Sequence
from typing import ClassVar, Literal

from app.policy.answers.base import AnswerKind, Content, Said, WrongContent

_LABELS_SHOWN = 20  # in an error


class OneLabel(AnswerKind):
    """The base of the kinds whose answer is one of the labels."""

    field: ClassVar[Literal["label"]] = "label"
    is_one_label: ClassVar[bool] = True
    takes_words: ClassVar[str] = "one label, in `label`"

    def said(self, content: Content, labels: Sequence[str]) -> Said:
        if not isinstance(content, str):
            raise WrongContent("Must be one of the job's labels, as a string")
        return position_of(content, labels)

    def content(self, said: Said, labels: Sequence[str]) -> Content:
        return labels[int(said)]


class ChoiceAnswer(OneLabel):
    """An answer is one of the labels; labels have no order (Dawid and Skene 1979).

        result = argmax_t P(t | answers).

    A worker who is wrong gives any other label.
    """

    kind: Literal["choice"] = "choice"


def position_of(name: str, labels: Sequence[str]) -> int:
    """The position of a label; raises `WrongContent` with some labels that would be right."""
    if name in labels:
        return labels.index(name)
    known = ", ".join(repr(label) for label in labels[:_LABELS_SHOWN])
    raise WrongContent(f"Must be one of {known}", unknown=name)
