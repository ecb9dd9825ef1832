"""Other policies on a job's own answers, over HTTP."""

from typing import Annotated, Any

from fastapi import APIRouter, Request, Response
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import PydanticCustomError

from app.api.dependencies import Database, InTurn, JobId, Time
from app.api.operations import LOCATION, OperationOut, accepted
from app.api.problems import documented
from app.errors import InvalidInput, JobUnknown
from app.lab.askers import Order
from app.lab.policies import NAMES, PolicyUnknown, Workers, rules_of
from app.use_cases.lab import AS_IT_IS, Lab, ReplayAsked, ask_for_replay

router = APIRouter(prefix="/v1/jobs/{job}", tags=["operations"])


def _known(name: str) -> str:
    if name == AS_IT_IS:
        return name
    try:
        rules_of(name, ("no", "yes"), "pull")
    except PolicyUnknown as error:
        message = f"{error} `{AS_IT_IS}` is the job as it is."
        raise PydanticCustomError("policy_unknown", "{message}", {"message": message}) from error
    except ValidationError as error:
        wrong: Any = {"name": name, "message": error.errors()[0]["msg"]}
        raise PydanticCustomError("policy_unknown", "{name} cannot be: {message}", wrong) from error
    return name


class ReplayIn(BaseModel):
    """Which policies are to be run on the answers that the job has."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"policies": ["job", "information", "round-robin"], "labels_per_item": [1, 2, 3], "seeds": 5}]
        },
    )

    policies: Annotated[
        tuple[Annotated[str, Field(max_length=64), AfterValidator(_known)], ...],
        Field(
            min_length=1,
            max_length=10,
            description=f"`job` (its own rules), {', '.join(NAMES)}, requallo-c5, requallo-p0.2 or requallo-m3",
        ),
    ] = (AS_IT_IS, "information", "round-robin")
    labels_per_item: Annotated[
        tuple[Annotated[float, Field(gt=0, le=1000)], ...],
        Field(min_length=1, max_length=20, description="Budgets at which to look, in answers per answered item"),
    ] = (1, 2, 3)
    workers: Annotated[
        Workers, Field(description="Whoever comes by of those whose answer is there, or the policy picks the worker")
    ] = "pull"
    order: Annotated[Order, Field(description="In which order the answers on an item come")] = "random"
    seeds: Annotated[int, Field(ge=1, le=100, description="Runs of each policy; large jobs allow fewer")] = 10


@router.post(
    "/replay",
    status_code=202,
    summary="Try other policies on its answers",
    responses={202: {"headers": LOCATION}, **documented(JobUnknown, InvalidInput, body=True)},
)
async def post_replay(
    job_id: JobId,
    body: ReplayIn,
    request: Request,
    response: Response,
    database: Database,
    turns: InTurn,
    clock: Time,
) -> OperationOut:
    """What would another policy have cost? The answers that the job has are asked for again, one by one.

    Once the operation is done, `replays` in its outcome has a row for each policy and budget, as `suffice replay` has:
    labels bought, accuracy with its standard deviation between seeds, items resolved and how many of those are right.
    Right is what the gold says or, where there is none, what all answers together say by the job's aggregation: a
    policy that knows after few answers what all of them say would have cost less. Every answer counts 1, whatever it
    cost. Only `job`, `requallo` and `dispatch` stop asking about items. Nothing of the job changes.
    """
    wanted = ReplayAsked(body.policies, body.labels_per_item, body.workers, body.order, body.seeds)
    async with turns.of(job_id):
        asked = await ask_for_replay(database, job_id, wanted, clock())
    lab: Lab = request.app.state.lab
    lab.begin()
    return accepted(response, job_id, asked)
