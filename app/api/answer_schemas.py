"""Answers on the wire. Field names are a contract: outside programs rely on them."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from app.api.wire import Problem, ReasonOut, Request
from app.policy.text import Key

MOST_ANSWERS = 1000


class AnswerIn(Request):
    model_config = ConfigDict(json_schema_extra={"examples": [{"item": "i1", "worker": "w1", "label": "cat"}]})

    assignment: Annotated[str | None, Field(max_length=64, description="The assignment's id, from `next`")] = None
    item: Annotated[Key | None, Field(description="Or the item's key ...")] = None
    worker: Annotated[Key | None, Field(description="... and who answers")] = None
    label: Annotated[str, Field(max_length=200, description="One of the job's labels")]

    @model_validator(mode="after")
    def _says_which(self) -> "AnswerIn":
        if self.assignment is None and (self.item is None or self.worker is None):
            raise PydanticCustomError("which_item", "Must have `assignment`, or both `item` and `worker`")
        return self


class AnswersIn(Request):
    answers: Annotated[list[AnswerIn], Field(min_length=1, max_length=MOST_ANSWERS)]


def _one_or_many(body: Any) -> str:  # noqa: ANN401  whatever was sent
    return "many" if isinstance(body, dict) and "answers" in body else "one"


OneOrManyAnswers = Annotated[
    Annotated[AnswerIn, Tag("one")] | Annotated[AnswersIn, Tag("many")], Discriminator(_one_or_many)
]


class AnswerOut(BaseModel):
    item: str
    worker: str | None
    accepted: Literal[True] = True
    duplicate: Annotated[bool, Field(description="The same answer was here before; nothing was paid again")]
    late: Annotated[bool, Field(description="The lease had expired")]
    counted: Annotated[bool, Field(description="The vote counts towards the item's label")]
    verdict: Literal["continue", "stop", "give_up"]
    label: Annotated[str | None, Field(description="The item's label, with `stop`")]
    confidence: Annotated[float, Field(ge=0, le=1)]
    reason: ReasonOut


class AnswerRefused(BaseModel):
    accepted: Literal[False] = False
    error: Problem


class AnswersOut(BaseModel):
    results: list[AnswerOut | AnswerRefused]
