"""The catalog of policies on the wire."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field


class PolicyOut(BaseModel):
    """A policy that a job can use."""

    model_config = ConfigDict(from_attributes=True)

    kind: Annotated[str, Field(description="The name that a job's configuration uses")]
    description: Annotated[str, Field(description="What it does")]
    formula: Annotated[str, Field(description="How it decides")]
    citation: Annotated[str, Field(description="The paper that it comes from")]
    parameters: Annotated[dict[str, Any], Field(description="The JSON schema of its parameters")]


class CatalogOut(BaseModel):
    """All policies, by family."""

    answer: Annotated[list[PolicyOut], Field(description="What does a worker answer, and what is a result?")]
    requirement: Annotated[list[PolicyOut], Field(description="When is an item's answer good enough?")]
    allocation: Annotated[list[PolicyOut], Field(description="Which item gets the next answer?")]
    worker_model: Annotated[list[PolicyOut], Field(description="What does a worker's vote say?")]
    worker_choice: Annotated[list[PolicyOut], Field(description="Which worker is asked?")]
    aggregation: Annotated[list[PolicyOut], Field(description="How do votes become the final label?")]
