"""The part of a job that decides: its labels, its policies and its limits. Its fields are the API's schema."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from app.policy.aggregation import AnyAggregation, ByModel
from app.policy.allocation import Allocation, AnyAllocation, Information
from app.policy.answers import AnyAnswer, ChoiceAnswer, NumberAnswer, Said
from app.policy.answers.choices_answer import SEPARATOR
from app.policy.answers.questions import Questions
from app.policy.core.ballots import Ballots
from app.policy.core.number_belief import USUAL_HALF_WIDTH
from app.policy.core.policy import Uses, without_doctests
from app.policy.core.text import Key, Label
from app.policy.quality.gold import AutoGold, Gold
from app.policy.quality.item_features import LogisticFeatures
from app.policy.quality.refit_schedule import Refit
from app.policy.quality.spammers import Spammers
from app.policy.requirements import AllOf, AnyRequirement, Count, Posterior, Precision, Requirement
from app.policy.requirements.combination import Combination
from app.policy.worker_choice import AnyWorkerChoice, Pull
from app.policy.worker_models import AnyWorkerModel, Auto, NumberModel, WorkerModel

_DEEPEST = 4
_MOST_MEMBERS = 16
_USUAL_CONFIDENCE = 0.9  # of an interval, where the requirement asks for none


def _for_numbers(answer: Any) -> dict[str, Any]:  # noqa: ANN401  whatever was sent
    """The defaults of a job whose answers are numbers; without a range they do not matter."""
    try:
        known = NumberAnswer.model_validate(answer)
    except ValidationError:
        return {}
    half_width = USUAL_HALF_WIDTH * (known.high - known.low)
    return {"requirement": Precision(half_width=half_width), "worker_model": NumberModel()}


# What a job gets that does not name it, by the kind of its answers.
_DEFAULTS: dict[str, Callable[[Any], dict[str, Any]]] = {"number": _for_numbers}


def all_different(labels: tuple[str, ...]) -> tuple[str, ...]:
    """Refuse labels of which two are the same."""
    seen: set[str] = set()
    for label in labels:
        if label in seen:
            raise PydanticCustomError(
                "labels_repeated", "Labels must differ from each other; {label} is given twice", {"label": repr(label)}
            )
        seen.add(label)
    return labels


def _extent(requirement: Requirement) -> tuple[int, int]:
    """How deep a requirement is nested, and how many requirements it consists of."""
    if not isinstance(requirement, Combination):
        return 1, 1
    depths, members = zip(*(_extent(member) for member in requirement.of), strict=True)
    return 1 + max(depths), sum(members)


def _parts(requirement: Requirement) -> Iterator[Requirement]:
    """The requirements that this one consists of."""
    if not isinstance(requirement, Combination):
        yield requirement
        return
    for member in requirement.of:
        yield from _parts(member)


class JobPolicy(BaseModel):
    """How a job decides which item is next, whom to ask, and when an item's label is good enough."""

    model_config = ConfigDict(frozen=True, extra="forbid", json_schema_extra=without_doctests)

    answer: Annotated[AnyAnswer, Field(description="What a worker answers, and what a result is")] = ChoiceAnswer()
    labels: Annotated[
        tuple[Label, ...],
        Field(
            validate_default=True,
            max_length=1000,
            description="The labels that workers choose from. Required, unless answers are numbers",
            json_schema_extra={"uniqueItems": True},
        ),
        AfterValidator(all_different),
    ] = ()
    requirement: Annotated[AnyRequirement, Field(description="When an item's label is good enough")] = Posterior()
    allocation: Annotated[AnyAllocation, Field(description="Which item to ask about next")] = Information()
    worker_model: Annotated[
        AnyWorkerModel, Field(validate_default=True, description="How much a worker's answer counts")
    ] = Auto()
    aggregation: Annotated[AnyAggregation, Field(description="How answers become the final label")] = ByModel()
    min_labels: Annotated[int, Field(ge=1, le=10_000, description="The fewest labels that every item gets")] = 1
    max_labels: Annotated[
        int | None, Field(ge=1, le=10_000, description="Give an item up after this many labels; null: no limit")
    ] = None
    max_votes_per_label: Annotated[
        int | None,
        Field(
            ge=1,
            le=10_000,
            description="Give an item up once one label has this many votes; null: no limit",
        ),
    ] = 14
    worker_choice: Annotated[
        AnyWorkerChoice, Field(description="Which worker to ask, where the platform does not name one")
    ] = Pull()
    max_assignments_per_worker: Annotated[
        int,
        Field(ge=1, le=100, description="How many assignments a worker may hold at once if the job chooses workers"),
    ] = 3
    refit: Annotated[
        Refit | None,
        Field(description="How often worker skills are estimated again from all answers; null: only on request"),
    ] = Refit()
    spammers: Annotated[
        Spammers | None, Field(description="Block workers whose answers look like guesses; null: block no one")
    ] = None
    gold: Annotated[Gold, Field(description="How often workers get an item whose true label is known")] = Gold()
    auto_gold: Annotated[
        AutoGold | None, Field(description="Use items that the crowd is very sure of as gold; null: no")
    ] = None
    prior_source: Annotated[
        Key,
        Field(
            description="The name of the worker whose opinion the items' `prior` is: its skill is learned like any "
            "worker's, and once this worker answers an item, the item's prior no longer counts"
        ),
    ] = "prior"
    features: Annotated[
        LogisticFeatures | None,
        Field(description="How the items' `features` say something about their labels; null: items take no `features`"),
    ] = None
    seed: Annotated[
        int, Field(ge=0, lt=2**63, description="Fixes all random choices, e.g. between items of equal priority")
    ] = 0

    @model_validator(mode="before")
    @classmethod
    def _defaults_of_its_kind(cls, data: Any) -> Any:  # noqa: ANN401  whatever was sent
        """Fill in the requirement and the worker model that a kind of answer needs, where none is named."""
        kind = data.get("answer") if isinstance(data, dict) else None
        name = kind.get("kind") if isinstance(kind, dict) else getattr(kind, "kind", None)
        defaults = _DEFAULTS.get(name) if isinstance(name, str) else None
        return data if defaults is None else {**defaults(kind), **data}

    @field_validator("labels")
    @classmethod
    def _as_many_as_its_kind_takes(cls, labels: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        answer = info.data.get("answer")
        if answer is None:  # refused
            return labels
        if len(labels) < answer.fewest_names:
            raise PydanticCustomError(
                "too_few_labels", "Must have at least {fewest} labels", {"fewest": answer.fewest_names}
            )
        if len(labels) > answer.most_names:
            message = (
                "Must have at most {most} labels where answers are {kind}"
                if answer.most_names
                else "Must be left out: an answer of this job is a {kind}"
            )
            raise PydanticCustomError("too_many_labels", message, {"most": answer.most_names, "kind": answer.kind})
        if answer.kind == "choices" and (named := [label for label in labels if SEPARATOR in label]):
            raise PydanticCustomError(
                "label_separator",
                "Must not contain `|`, which separates the labels of an answer in tables: {label}",
                {"label": repr(named[0])},
            )
        return labels

    @field_validator(
        *("requirement", "allocation", "worker_model", "aggregation", "worker_choice"),
        *("spammers", "auto_gold", "features"),
    )
    @classmethod
    def _fits_the_answers(cls, policy: Any, info: ValidationInfo) -> Any:  # noqa: ANN401  a member of any family
        """Refuse a policy that cannot decide about answers of the job's kind."""
        answer = info.data.get("answer")
        if policy is not None and answer is not None and answer.kind not in policy.answer_kinds:
            raise PydanticCustomError(
                "answer_kind",
                "{policy} takes jobs whose answers are {takes}, not {kind}",
                {
                    "policy": getattr(policy, "kind", info.field_name),
                    "takes": " or ".join(sorted(policy.answer_kinds)),
                    "kind": answer.kind,
                },
            )
        return policy

    @field_validator("features")
    @classmethod
    def _another_source_than_priors(
        cls, features: LogisticFeatures | None, info: ValidationInfo
    ) -> LogisticFeatures | None:
        name = info.data.get("prior_source")
        if features is not None and features.source == name:
            raise PydanticCustomError(
                "sources_alike",
                "`source` must differ from the job's prior_source, {name}: each has a skill of its own",
                {"name": repr(name)},
            )
        return features

    @field_validator("requirement")
    @classmethod
    def _not_too_complex(cls, requirement: AnyRequirement) -> AnyRequirement:
        depth, members = _extent(requirement)
        if depth > _DEEPEST or members > _MOST_MEMBERS:
            raise PydanticCustomError(
                "too_complex",
                "Requirements may be nested {deepest} levels deep and combine {most} requirements at most",
                {"deepest": _DEEPEST, "most": _MOST_MEMBERS},
            )
        return requirement

    @field_validator("worker_model")
    @classmethod
    def _takes_so_many_labels(cls, model: AnyWorkerModel, info: ValidationInfo) -> AnyWorkerModel:
        labels, answer = len(info.data.get("labels", ())), info.data.get("answer")
        if answer is not None and answer.classes(labels) > model.most_labels:
            raise PydanticCustomError(
                "too_many_labels",
                "{kind} takes at most {most} labels, not {labels}; one-coin takes any number",
                {"kind": model.kind, "most": model.most_labels, "labels": labels},
            )
        return model

    @field_validator("worker_model")
    @classmethod
    def _about_its_answers(cls, model: WorkerModel, info: ValidationInfo) -> WorkerModel:
        answer, labels = info.data.get("answer"), info.data.get("labels")
        return model if answer is None or labels is None else answer.learner(model, len(labels))

    @field_validator("max_labels")
    @classmethod
    def _at_least_the_minimum(cls, limit: int | None, info: ValidationInfo) -> int | None:
        least = info.data.get("min_labels")
        if limit is not None and least is not None and limit < least:
            raise PydanticCustomError("limits_disagree", "Must be at least min_labels ({least})", {"least": least})
        return limit

    @property
    def sources(self) -> tuple[str, ...]:
        """The workers whose opinions about items count without being asked: of priors, and of features."""
        return (self.prior_source,) if self.features is None else (self.prior_source, self.features.source)

    @property
    def classes(self) -> int:
        """Between how many classes a question of an item decides."""
        return self.answer.classes(len(self.labels))

    @property
    def chance_of_guess(self) -> float:
        """How likely a guess is right."""
        return self.answer.chance_of_guess(len(self.labels))

    @property
    def questions(self) -> Questions | None:
        """The questions that an item is; None: it is one."""
        return self.answer.questions(len(self.labels))

    @property
    def effective_requirement(self) -> Requirement:
        """The requirement on an item, together with the minimum number of labels."""
        alone = self.min_labels == 1
        requirement = self.requirement if alone else AllOf(of=(self.requirement, Count(labels=self.min_labels)))
        return self.answer.requirement(requirement, self.labels)

    @property
    def effective_allocation(self) -> Allocation:
        """The allocation between items."""
        return self.answer.allocation(self.allocation)

    def model_at(self, stage: int) -> WorkerModel:
        """The worker model that decides about items at this stage."""
        return self.answer.model(self.worker_model.stages(self.classes).model(stage), len(self.labels))

    def agrees(self, said: Said, truth: Said) -> bool:
        """Whether an answer is right."""
        return self.answer.agrees(said, truth)

    def ballots(
        self,
        item: npt.ArrayLike,
        worker: npt.ArrayLike,
        said: npt.ArrayLike,
        *,
        items: int,
        workers: int,
        gold: npt.ArrayLike | None = None,
    ) -> Ballots:
        """Answers by position; `said` is what each says."""
        sizes = {"items": items, "workers": workers, "classes": self.classes}
        if self.answer.is_one_label:
            return Ballots.of(item, worker, said, **sizes, gold=gold)
        plain = Ballots.of(item, worker, np.zeros(np.shape(said), dtype=np.intp), **sizes)
        return replace(plain, value=np.asarray(said), gold=None if gold is None else np.asarray(gold))

    def on_questions(self, ballots: Ballots) -> Ballots:
        """The same answers as answers to the questions of their items, which is what aggregations label."""
        return ballots if self.questions is None else self.questions.ballots(ballots)

    @property
    def interval_confidence(self) -> float:
        """How surely the interval of a result holds, where answers are numbers."""
        asked = (one.confidence for one in _parts(self.requirement) if isinstance(one, Precision))
        return next(asked, _USUAL_CONFIDENCE)

    @property
    def uses(self) -> Uses:
        """What the job's decisions depend on besides an item's votes, its prior and what the worker model keeps."""
        by_number = self.worker_choice.has_trial or self.allocation.breaks_ties  # trial items are drawn by number
        return self.allocation.uses | self.requirement.uses | (Uses.NUMBER if by_number else Uses.NOTHING)

    @property
    def by_votes_alone(self) -> bool:
        """Whether items with equal votes, cost and prior get equal decisions, if the worker model keeps votes only."""
        return not self.uses & ~Uses.WORKER

    @property
    def first_refit(self) -> int | None:
        """After how many answers a new job is first refitted; None: never by itself."""
        fits = self.worker_model.fits_skills or self.features is not None
        return self.refit.next_at(0) if fits and self.refit is not None else None


def check_limits(policy: JobPolicy) -> None:
    """Refuse a limit within which no item can be finished: the job would buy labels and give every item up.

    Call it once when a policy arrives from outside; stored policies need no second check. It raises pydantic's
    ValidationError with an error of type `no_room` for `max_labels`, `max_votes_per_label` or both, whose context holds
    `limit` and `fewest`, the number of labels that an item needs if all workers agree.

    >>> check_limits(JobPolicy(labels=("a", "b"), requirement={"kind": "count", "labels": 5}, max_labels=4))
    Traceback (most recent call last):
    pydantic_core._pydantic_core.ValidationError: 1 validation error for JobPolicy
    max_labels
      No item can be finished with 4 labels; this requirement needs at least 5... [type=no_room, ...]
    """
    fewest = max(fewest_labels(policy), policy.min_labels)
    limits = {"max_labels": policy.max_labels, "max_votes_per_label": policy.max_votes_per_label}
    errors = [
        InitErrorDetails(type=_no_room(limit, fewest), loc=(field,), input=limit)
        for field, limit in limits.items()
        if limit is not None and limit < fewest
    ]
    if errors:
        raise ValidationError.from_exception_data("JobPolicy", errors)


def fewest_labels(policy: JobPolicy) -> int:
    """How many labels an item needs if all workers agree; 0 where the item's cost or a random draw decides.

    >>> fewest_labels(JobPolicy(labels=tuple(map(str, range(1000))), worker_model={"kind": "one-coin"}))
    14
    """
    return policy.requirement.fewest_labels(policy.worker_model, policy.classes)


def _no_room(limit: int, fewest: int) -> PydanticCustomError:
    return PydanticCustomError(
        "no_room",
        "No item can be finished with {limit} labels; this requirement needs at least {fewest}. "
        "Raise the limit to {fewest} or more, or set it to null for no limit",
        {"limit": limit, "fewest": fewest},
    )
