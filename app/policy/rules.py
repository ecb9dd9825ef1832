"""The part of a job that decides: its labels, its four policies and its limits. Its fields are the API's schema."""

from functools import cached_property
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from app.policy.aggregation import AnyAggregation, ByModel
from app.policy.allocation import AnyAllocation, Information
from app.policy.belief import Facts
from app.policy.gold import AutoGold, Gold
from app.policy.prospect import Prospect
from app.policy.refit import Refit
from app.policy.requirements import AllOf, AnyRequirement, Count, Posterior, Requirement
from app.policy.requirements.combination import Combination
from app.policy.spammers import Spammers
from app.policy.text import Label
from app.policy.worker_choice import AnyWorkerChoice, Pull
from app.policy.workers import AnyWorkerModel, Auto

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
    requirement: Annotated[AnyRequirement, Field(description="When an item's answer is good enough")] = Posterior()
    allocation: Annotated[AnyAllocation, Field(description="Which item is worth the next label")] = Information()
    worker_model: Annotated[AnyWorkerModel, Field(description="What a worker's vote tells")] = Auto()
    aggregation: Annotated[AnyAggregation, Field(description="How votes become the final label")] = ByModel()
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
    worker_choice: Annotated[
        AnyWorkerChoice, Field(description="Whom to ask where a platform does not say who comes")
    ] = Pull()
    leases_per_worker: Annotated[
        int, Field(ge=1, le=100, description="Assignments that a worker who is chosen may hold at once")
    ] = 3
    refit: Annotated[
        Refit | None, Field(description="How often all answers are fitted anew; null: only when asked to")
    ] = Refit()
    spammers: Annotated[
        Spammers | None, Field(description="Block workers who cannot be told from guessing; null: nobody")
    ] = None
    gold: Annotated[Gold, Field(description="How often workers meet an item whose label is known")] = Gold()
    auto_gold: Annotated[
        AutoGold | None, Field(description="Let the crowd make gold of items that are beyond doubt; null: no")
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

    @property
    def by_votes_alone(self) -> bool:
        """Items of the same votes, cost and prior stand alike, unless the worker model keeps more of them."""
        allocation, by_place = self.allocation, self.allocation.heeds_number or self.worker_choice.heeds_number
        return allocation.by_votes_alone and not by_place and self.bar.by_votes_alone

    @property
    def first_refit(self) -> int | None:
        """How many answers a new job gets before they are all fitted; None: never by itself."""
        fits = self.worker_model.fits_skills
        return self.refit.next_at(0) if fits and self.refit is not None else None

    @cached_property
    def memory(self) -> dict[Any, Any]:
        """Room to remember what these rules have said before; for whoever asks them often."""
        return {}
