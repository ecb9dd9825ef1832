"""Operations on the wire: long work on a job, and requests to replay one."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, Field, ValidationError
from pydantic_core import PydanticCustomError

from app.api.http.common_schemas import FirstErrorOnly, RequestBody, Share
from app.api.http.pagination import NextCursor
from app.domain.operation import OperationState
from app.simulation.named_policies import NAMES, VARIANTS, PolicyUnknown, Workers, policy_of
from app.simulation.selection import Order
from app.use_cases.operations.replay import OWN_POLICY


class OperationOut(BaseModel):
    """Long work on a job, and its progress."""

    id: Annotated[str, Field(description="The operation's id")]
    kind: Annotated[str, Field(description="`refit`, `forecast` or `replay`")]
    state: Annotated[OperationState, Field(description="Ask again until it is `done` or `failed`")]
    progress: Annotated[Share, Field(description="How much of the work is done")]
    outcome: Annotated[
        dict[str, Any] | None, Field(description="The result if the operation is done; the reason if it has failed")
    ]
    created_at: Annotated[datetime, Field(description="When it was requested")]
    finished_at: Annotated[datetime | None, Field(description="When it ended; null until then")]


class OperationsOut(BaseModel):
    """A page of operations."""

    operations: Annotated[list[OperationOut], Field(description="The newest first")]
    next_cursor: NextCursor


def _known_policy(name: str) -> str:
    if name == OWN_POLICY:
        return name
    try:
        policy_of(name, ("no", "yes"), "pull")
    except PolicyUnknown as error:
        message = f"{error} `{OWN_POLICY}` is the job's own policy."
        raise PydanticCustomError("policy_unknown", "{message}", {"message": message}) from error
    except ValidationError as error:
        wrong: Any = {"name": name, "message": error.errors()[0]["msg"]}
        raise PydanticCustomError("policy_unknown", "{name} cannot be replayed: {message}", wrong) from error
    return name


class ReplayIn(RequestBody):
    """The policies to run on the job's answers, and how."""

    policies: Annotated[
        tuple[Annotated[str, Field(max_length=64), AfterValidator(_known_policy)], ...],
        FirstErrorOnly(),
        Field(
            min_length=1,
            max_length=10,
            description=f"`job` (its own policy), {', '.join([*NAMES, *VARIANTS])}",
        ),
    ] = (OWN_POLICY, "information", "round-robin")
    labels_per_item: Annotated[
        tuple[Annotated[float, Field(gt=0, le=1000)], ...],
        FirstErrorOnly(),
        Field(min_length=1, max_length=20, description="Budgets to compare at, in answers per answered item"),
    ] = (1, 2, 3)
    workers: Annotated[
        Workers,
        Field(description="`pull`: a random worker of those who answered the item; `choose`: the policy picks one"),
    ] = "pull"
    order: Annotated[Order, Field(description="The order in which the answers on an item come")] = "random"
    seeds: Annotated[int, Field(ge=1, le=100, description="Runs of each policy; large jobs allow fewer")] = 10
