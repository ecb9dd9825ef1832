"""Recorded answers on the wire."""

from typing import Annotated

from pydantic import BaseModel, Field

from app.api.http.common_schemas import FirstErrorOnly, RequestBody
from app.api.results.recorded_answers import Moment
from app.policy.core.text import Key, Label


class HistoryAnswerIn(RequestBody):
    """An answer that was recorded elsewhere."""

    item: Annotated[Key, Field(description="The item's key")]
    worker: Annotated[Key, Field(description="Who answered; workers without a name need one of their own each")]
    label: Annotated[
        str | None,
        Field(max_length=200, description="One of the job's labels, where answers are `choice` or `ordinal`"),
    ] = None
    labels: Annotated[
        Annotated[list[Annotated[str, Field(max_length=200)]], FirstErrorOnly()] | str | None,
        Field(description="The labels that apply, where answers are `choices`: a list, or in CSV with `|` between"),
    ] = None
    value: Annotated[float | None, Field(allow_inf_nan=False, description="A number, where answers are `number`")] = (
        None
    )
    tier: Annotated[
        Label | None, Field(description="The tier by which it is weighed, in a job with the worker model `tiers`")
    ] = None
    answered_at: Annotated[Moment | None, Field(description="When it was recorded; null: now")] = None
    counts: Annotated[bool | None, Field(description="Ignored: it stands in an export of answers")] = None


class AnswersImported(BaseModel):
    """How many of the answers are new. They are recorded and judged in the background."""

    added: Annotated[int, Field(description="Answers that the job did not have")]
    unchanged: Annotated[int, Field(description="Answers that the job has already, or that are in the file twice")]
    operation: Annotated[
        str | None,
        Field(
            description="The id of an operation to watch: when it is done, all answers are recorded and judged; "
            "null if no answer is new"
        ),
    ]
