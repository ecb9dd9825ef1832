"""The part of a job that decides: its labels, its four policies and its limits. Its fields are the API's schema."""

from functools import cached_property
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from app.policy.aggregation import AnyAggregation, Majority
from app.policy.allocation import AnyAllocation, Information
from app.policy.belief import Facts
from app.policy.prospect import Prospect
from app.policy.requirements import AllOf, AnyRequirement, Count, Ratio, Requirement
from app.policy.requirements.combination import Combination
from app.policy.spammers import Spammers
from app.policy.text import Label
from app.policy.workers import Anonymous, AnyWorkerModel

_DEEPEST = 4
_MOST_MEMBERS = 16


def _all_different(labels: tuple[str, ...]) -> tuple[str, ...]:
    repeated = [label for position, label in enumerate(labels) if label in labels[:position]]
    if repeated:
        raise PydanticCustomError(
            "labels_repeated",
            "Labels must differ from each other; {label} stands there twice",
            {"label": repr(repeated[0])},
        )
    return labels


def _extent(requirement: Requirement) -> tuple[int, int]:
    """How deep a requirement is nested, and how many it is made of."""
    if not isinstance(requirement, Combination):
        return 1, 1
    depths, members = zip(*(_extent(member) for member in requirement.of), strict=True)
    return 1 + max(depths), sum(members)


def _fewest_labels(rules: dict[str, Any]) -> int:
    """What an item needs on which all agree; nothing is said where an item's cost or luck decides."""
    requirement: Requirement = rules["requirement"]
    if not requirement.by_votes_alone:
        return 0
    model, facts = rules["worker_model"], Facts.plain(1)
    return int(requirement.shortfall(Prospect.of(model, model.start(facts, len(rules["labels"])), facts))[0])


class Rules(BaseModel):
    """How a job decides which item is next and when an answer is good enough."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    labels: Annotated[
        tuple[Label, ...],
        Field(
            min_length=2,
            max_length=1000,
            description="The classes to choose from",
            json_schema_extra={"uniqueItems": True},
        ),
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
        Field(
            ge=1,
            le=10_000,
            validate_default=True,
            description="Give an item up once one label has this many votes; null: no such limit",
        ),
    ] = 14
    spammers: Annotated[
        Spammers | None,
        Field(description="Block workers by themselves whose votes cannot be told from guesses; null: nobody"),
    ] = None
    seed: Annotated[int, Field(ge=0, lt=2**63, description="Decides between items of equal priority")] = 0

    @field_validator("requirement")
    @classmethod
    def _not_nested_without_end(cls, requirement: AnyRequirement) -> AnyRequirement:
        depth, members = _extent(requirement)
        if depth > _DEEPEST or members > _MOST_MEMBERS:
            raise PydanticCustomError(
                "too_complex",
                "May be nested {deepest} deep and combine {most} requirements at most",
                {"deepest": _DEEPEST, "most": _MOST_MEMBERS},
            )
        return requirement

    @field_validator("worker_model")
    @classmethod
    def _tells_the_labels_apart(cls, model: AnyWorkerModel, info: ValidationInfo) -> AnyWorkerModel:
        labels = len(info.data.get("labels", ()))
        if labels > model.most_labels:
            raise PydanticCustomError(
                "too_many_labels",
                "{kind} takes at most {most} labels, not {labels}; one-coin takes any number",
                {"kind": model.kind, "most": model.most_labels, "labels": labels},
            )
        return model

    @field_validator("max_labels", "max_votes_per_label")
    @classmethod
    def _leaves_room(cls, limit: int | None, info: ValidationInfo) -> int | None:
        """A limit that even an item on which all agree would hit first buys labels for nothing."""
        if limit is None or not {"labels", "requirement", "worker_model", "min_labels"} <= info.data.keys():
            return limit
        least = info.data["min_labels"]
        if limit < least and info.field_name == "max_labels":
            raise PydanticCustomError(
                "limits_disagree", "Must be at least min_labels ({least})", {"least": info.data["min_labels"]}
            )
        fewest = max(_fewest_labels(info.data), least)
        if limit < fewest:
            raise PydanticCustomError(
                "no_room",
                "{limit} leaves room for {limit} labels, and no item can do with fewer than {fewest}; null is no limit",
                {"limit": limit, "fewest": fewest},
            )
        return limit

    @cached_property
    def bar(self) -> Requirement:
        """The requirement with the minimum label count made part of it."""
        if self.min_labels == 1:
            return self.requirement
        return AllOf(of=(self.requirement, Count(labels=self.min_labels)))

    @cached_property
    def memory(self) -> dict[Any, Any]:
        """Room to remember what these rules have said before; for whoever asks them often."""
        return {}
