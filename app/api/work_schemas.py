"""Who asks for work and what is handed out, on the wire. Field names are a contract: outside programs rely on them."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator
from pydantic_core import PydanticCustomError

from app.api.wire import AmountOut, ReasonOut, Request
from app.domain import AssignmentState
from app.policy.text import Key

MOST_ASSIGNMENTS = 100
MOST_AVAILABLE = 200


class NextIn(Request):
    model_config = ConfigDict(json_schema_extra={"examples": [{"worker": "w1", "count": 1}]})

    worker: Annotated[Key | None, Field(description="Who asks; without a name, nobody is kept from repeating")] = None
    workers: Annotated[
        list[Key] | None,
        Field(min_length=1, max_length=MOST_AVAILABLE, description="Who is there: the job chooses whom to ask"),
    ] = None
    count: Annotated[
        int, Field(ge=1, le=MOST_ASSIGNMENTS, description="How many live assignments the worker wants to hold")
    ] = 1

    @model_validator(mode="after")
    def _names_one_or_several(self) -> "NextIn":
        if self.worker is not None and self.workers is not None:
            raise PydanticCustomError("one_or_several", "Must have `worker` or `workers`, not both")
        return self


class Why(BaseModel):
    code: str
    message: str
    priority: float


class AssignmentOut(BaseModel):
    id: str
    item: str
    payload: JsonValue
    worker: str | None
    cost: AmountOut
    expires_at: datetime
    why: Why


class NextOut(BaseModel):
    status: Annotated[
        Literal["continue", "wait", "stop"],
        Field(description="`continue` with assignments; `wait` and ask again; `stop`: there is nothing more to do"),
    ]
    reason: ReasonOut
    retry_after: Annotated[int | None, Field(description="Seconds, with `wait`")]
    assignments: list[AssignmentOut]


class AssignmentSeen(AssignmentOut):
    state: AssignmentState


class AssignmentsOut(BaseModel):
    assignments: list[AssignmentSeen]
    next_cursor: Annotated[str | None, Field(description="Give it as `cursor` to get the next page; null: the end")]


class ExtendIn(Request):
    model_config = ConfigDict(json_schema_extra={"examples": [{"seconds": 600}]})

    seconds: Annotated[
        int | None, Field(ge=1, le=30 * 24 * 3600, description="From now on; by default the job's `lease_seconds`")
    ] = None
