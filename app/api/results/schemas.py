"""Results and recorded answers on the wire. Field names are a contract: other programs rely on them."""

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, Field

from app.api.http.common_schemas import Probability, ReasonOut
from app.api.http.pagination import NextCursor
from app.api.work.schemas import ResultInterval, ResultLabels, ResultValue, SaidLabel, SaidLabels, SaidValue
from app.domain.item import ItemState


class ResultOut(BaseModel):
    """An item's label and how sure it is."""

    item: Annotated[str, Field(description="The item's key")]
    label: Annotated[
        str | None,
        Field(description="The most likely label; null on a tie, and where neither votes nor opinions say anything"),
    ]
    labels: ResultLabels = None
    value: ResultValue = None
    interval: ResultInterval = None
    confidence: Annotated[Probability, Field(description="How likely the label is right")]
    state: Annotated[ItemState, Field(description="Whether the item is still open")]
    votes: Annotated[dict[str, int], Field(description="How many counted votes each label has")]
    reason: Annotated[ReasonOut, Field(description="Why the item is in this state")]


class ResultsOut(BaseModel):
    """A page of results."""

    results: Annotated[list[ResultOut], Field(description="In the order in which the items were added")]
    next_cursor: NextCursor


class RecordedAnswerOut(BaseModel):
    """An answer that a worker gave."""

    item: Annotated[str, Field(description="The item's key")]
    worker: Annotated[str | None, Field(description="Who answered; null if the worker has no name")]
    label: SaidLabel
    labels: SaidLabels = None
    value: SaidValue = None
    tier: Annotated[
        str | None,
        Field(description="Where the worker model is `tiers`: the tier that came with the answer; null: its worker's"),
    ] = None
    counts: Annotated[
        bool,
        Field(
            description="false: the worker model leaves it out, its worker is blocked, or it is a trusted worker's "
            "truth and no vote"
        ),
    ]
    answered_at: Annotated[datetime, Field(description="When it was recorded")]


class RecordedAnswersOut(BaseModel):
    """A page of answers."""

    answers: Annotated[list[RecordedAnswerOut], Field(description="In the order in which they were recorded")]
    next_cursor: NextCursor
