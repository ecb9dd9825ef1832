"""One of the labels."""

from collections.abc import Sequence
from typing import ClassVar, Literal

from app.policy.answers.base import AnswerKind, Content, Said, WrongContent, position_of


class OneLabel(AnswerKind):
    """The base of the kinds whose answer is one of the labels."""

    field: ClassVar[Literal["label"]] = "label"
    takes_words: ClassVar[str] = "one label, in `label`"

    def said(self, content: Content, labels: Sequence[str]) -> Said:
        if not isinstance(content, str):
            raise WrongContent("Must be one of the job's labels, as a string")
        return position_of(content, labels)

    def content(self, said: Said, labels: Sequence[str]) -> Content:
        return labels[int(said)]


class ChoiceAnswer(OneLabel):
    """An answer is one of the labels; labels have no order (Dawid and Skene 1979)."""

    kind: Literal["choice"] = "choice"
