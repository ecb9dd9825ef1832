"""What an answer says: from the field that was sent to the number that is kept, and back."""

from collections.abc import Mapping
from typing import Any

from app.domain.item import ItemDecision
from app.domain.job import Job
from app.errors import AnswerKindWrong, FieldError, InvalidInput, LabelUnknown
from app.policy.answers import Content, Said, WrongContent
from app.use_cases.work.judging import estimates


def said_in(job: Job, sent: Mapping[str, Any], pointer: str) -> Said:
    """Return what these fields of an answer say; raises where they are not what the job takes.

    `sent` has `label`, `labels` and `value`; those that were not sent are None.
    """
    kind = job.policy.answer
    named = [name for name, content in sent.items() if content is not None]
    if not named:
        raise InvalidInput.at(f"{pointer}/{kind.field}", f"Is required: an answer of this job is {kind.takes_words}")
    if wrong := [name for name in named if name != kind.field]:
        problem = FieldError(f"{pointer}/{wrong[0]}", f"Must be left out: send `{kind.field}`")
        raise AnswerKindWrong(f"An answer of this job is {kind.takes_words}.", errors=(problem,))
    return said_as(job, sent[kind.field], f"{pointer}/{kind.field}")


def said_as(job: Job, content: Content, pointer: str) -> Said:
    """Return what this content of an answer says; raises where it names no label, or no number that the job takes."""
    try:
        return job.policy.answer.said(content, job.policy.labels)
    except WrongContent as error:
        problem = FieldError(pointer, str(error))
        if error.unknown is not None:
            raise LabelUnknown(f"{error.unknown!r} is not a label of this job.", errors=(problem,)) from error
        raise AnswerKindWrong(
            f"An answer of this job is {job.policy.answer.takes_words}.", errors=(problem,)
        ) from error


def result_of(job: Job, label: int | None, estimate: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a result with this label, or with this estimate where answers are numbers."""
    kind = job.policy.answer
    if kind.field == "value":
        return {name: estimate.get(name) for name in ("value", "interval")}
    return {kind.field: None if label is None else kind.content(label, job.policy.labels)}


def estimate_of(job: Job, label: int | None, decision: ItemDecision) -> dict[str, Any]:
    """Return value and interval by the answers so far, where answers are numbers and this one has a result."""
    if label is None or job.policy.answer.field != "value":
        return {}
    ((value, low, high),) = estimates(job.engine, [decision])
    return {"value": value, "interval": [low, high]}
