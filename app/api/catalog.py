"""The catalog of policies over HTTP."""

from functools import cache
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import BaseModel, Field

from app.policy.catalog import Entry, catalog

router = APIRouter(prefix="/v1/catalog", tags=["catalog"])


class Policy(BaseModel):
    kind: Annotated[str, Field(description="What a job says to get it")]
    description: str
    formula: str
    citation: Annotated[str, Field(description="The paper that it comes from")]
    parameters: Annotated[dict[str, Any], Field(description="JSON schema of its parameters")]


class Catalog(BaseModel):
    requirement: list[Policy]
    allocation: list[Policy]
    worker_model: list[Policy]
    worker_choice: list[Policy]
    aggregation: list[Policy]


@router.get("", summary="List every policy")
async def get_catalog() -> Catalog:
    """Look here before you create a job, for every policy that it can ask for by its `kind`.

    Each requirement, allocation, worker model, choice of workers and aggregation comes with what it does, its formula,
    the paper that it comes from, and the schema of its parameters.
    """
    return _catalog()


@cache
def _catalog() -> Catalog:
    return Catalog(**{family: [_shown(entry) for entry in entries] for family, entries in catalog().items()})


def _shown(entry: Entry) -> Policy:
    return Policy(
        kind=entry.kind,
        description=entry.description,
        formula=entry.formula,
        citation=entry.citation,
        parameters=entry.parameters,
    )
