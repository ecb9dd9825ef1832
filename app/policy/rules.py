"""The part of a job that decides: its labels, its four policies and its limits. Its fields are the API's schema."""

from functools import cached_property
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from app.policy.aggregation import AnyAggregation, Majority
from app.policy.allocation import AnyAllocation, Information
from app.policy.requirements import AllOf, AnyRequirement, Count, Ratio, Requirement
from app.policy.text import Label
from app.policy.workers import Anonymous, AnyWorkerModel


def _all_different(labels: tuple[str, ...]) -> tuple[str, ...]:
    repeated = [label for position, label in enumerate(labels) if label in labels[:position]]
    if repeated:
        raise PydanticCustomError(
            "labels_repeated",
            "Labels must differ from each other; {label} stands there twice",
            {"label": repr(repeated[0])},
        )
    return labels


class Rules(BaseModel):
    """How a job decides which item is next and when an answer is good enough."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    labels: Annotated[
        tuple[Label, ...],
        Field(min_length=2, max_length=1000, description="The classes to choose from"),
        AfterValidator(_all_different),
    ]
    requirement: Annotated[AnyRequirement, Field(description="When an item's answer is good enough")] = Ratio()
    allocation: Annotated[AnyAllocation, Field(description="Which item is worth the next label")] = Information()
    worker_model: Annotated[AnyWorkerModel, Field(description="What a worker's vote tells")] = Anonymous()
    aggregation: Annotated[AnyAggregation, Field(description="How votes become the final label")] = Majority()
    min_labels: Annotated[int, Field(ge=1, le=10_000, description="Labels that every item gets at least")] = 1
    max_labels: Annotated[
        int | None, Field(ge=1, le=10_000, description="Give an item up after this many labels; null: no such limit")
    ] = None
    max_votes_per_label: Annotated[
        int | None,
        Field(ge=1, le=10_000, description="Give an item up once one label has this many votes; null: no such limit"),
    ] = 14
    seed: Annotated[int, Field(ge=0, lt=2**63, description="Decides between items of equal priority")] = 0

    @model_validator(mode="after")
    def _limits_agree(self) -> "Rules":
        if self.max_labels is not None and self.max_labels < self.min_labels:
            raise PydanticCustomError(
                "limits_disagree",
                "max_labels ({most}) must be at least min_labels ({least})",
                {"most": self.max_labels, "least": self.min_labels},
            )
        return self

    @model_validator(mode="after")
    def _worker_model_tells_the_labels_apart(self) -> "Rules":
        self.worker_model.newcomer(len(self.labels))  # raises ValueError where a model cannot
        return self

    @cached_property
    def bar(self) -> Requirement:
        """The requirement with the minimum label count made part of it."""
        if self.min_labels == 1:
            return self.requirement
        return AllOf(of=(self.requirement, Count(labels=self.min_labels)))
