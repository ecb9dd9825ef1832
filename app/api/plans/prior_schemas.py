"""Priors on the wire (how hard the questions are): a distribution, a pilot, or a job."""

from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field, RootModel, model_validator
from pydantic_core import PydanticCustomError

from app.api.http.common_schemas import FirstErrorOnly, Number, RequestBody, Share
from app.policy.core.text import Key
from app.policy.planning.difficulty import INFORMATIVE_ANSWERS, MIN_INFORMATIVE_ITEMS
from app.policy.requirements.profit import Shape
from app.use_cases.plans.find_prior import BetaSource, FoundPrior, JobSource, PilotSource, PriorSource

MOST_PILOT_ITEMS = 10_000
MOST_PILOT_ANSWERS = 10_000
_MOST_CLASSES = 100

VotesOfItem = Annotated[
    list[Annotated[int, Field(ge=0, le=10_000)]], FirstErrorOnly(), Field(min_length=2, max_length=_MOST_CLASSES)
]


class BetaPrior(RequestBody):
    """Beta(a, b): the distribution, over all questions, of how often workers are right on a question."""

    kind: Annotated[Literal["beta"], Field(description="A Beta distribution")] = "beta"
    a: Annotated[Shape, Field(description="More than b; the mean accuracy is a / (a + b)")] = 6.0
    b: Annotated[Shape, Field(description="The larger a + b, the less the questions differ")] = 2.0


class PilotAnswer(RequestBody):
    """An answer of a pilot: who said what about which item."""

    item: Annotated[Key, Field(description="The item's key")]
    worker: Annotated[Key | None, Field(description="Who answered; each worker may answer an item once")] = None
    label: Annotated[str, Field(max_length=200, description="The label that the worker gave")]


class PilotPrior(RequestBody):
    """A small run with the same kind of questions. The right labels need not be known.

    The Beta distribution that explains the votes best is used. Questions that mislead most workers look like easy ones:
    if there are many of them, the estimate is too optimistic.
    """

    kind: Annotated[Literal["pilot"], Field(description="The answers of a pilot")]
    votes: Annotated[
        Annotated[list[VotesOfItem], FirstErrorOnly()] | None,
        Field(
            max_length=MOST_PILOT_ITEMS,
            description="For each item, the votes for each label; the two strongest count. "
            f"At least {MIN_INFORMATIVE_ITEMS} items need {INFORMATIVE_ANSWERS} or more "
            "answers; ten or more per item make the estimate much better",
        ),
    ] = None
    answers: Annotated[
        Annotated[list[PilotAnswer], FirstErrorOnly()] | None,
        Field(max_length=MOST_PILOT_ANSWERS, description="Or the answers one by one"),
    ] = None

    @model_validator(mode="after")
    def _one_or_the_other(self) -> "PilotPrior":
        if (self.votes is None) == (self.answers is None):
            raise PydanticCustomError("votes_or_answers", "Must have `votes` or `answers`, not both")
        return self


class JobPrior(RequestBody):
    """The answers of a job, which may still be running."""

    kind: Annotated[Literal["job"], Field(description="The answers of a job")]
    job: Annotated[UUID, Field(description="The job's id; if it has very many items, a sample is read")]


AnyPrior = Annotated[BetaPrior | PilotPrior | JobPrior, Field(discriminator="kind")]


class PriorIn(RootModel[AnyPrior]):
    """How often workers are right: a Beta distribution, from a pilot, or from a job. Beta(6, 2) if left out.

    Beta(6, 2), a mean of 75 %, is what Gao et al. (SIGMOD 2013) found in two sets of questions.
    """

    root: AnyPrior = BetaPrior()

    @model_validator(mode="before")
    @classmethod
    def _beta_by_default(cls, given: Any) -> Any:  # noqa: ANN401  whatever was sent
        return {"kind": "beta"} | given if isinstance(given, dict) else given

    @model_validator(mode="after")
    def _better_than_guessing(self) -> "PriorIn":
        given = self.root
        if isinstance(given, BetaPrior) and given.a <= given.b:
            raise PydanticCustomError(
                "prior_not_better_than_guessing",
                "a ({a}) must be more than b ({b}): if workers are wrong as often as right, no answer pays",
                {"a": given.a, "b": given.b},
            )
        return self

    def source(self) -> PriorSource:
        """Convert the request for the use case."""
        given = self.root
        if isinstance(given, BetaPrior):
            return BetaSource(given.a, given.b)
        if isinstance(given, JobPrior):
            return JobSource(given.job)
        answers = None if given.answers is None else [(one.item, one.worker, one.label) for one in given.answers]
        return PilotSource(given.votes, answers)


class PriorInterval(BaseModel):
    """A 95 % interval of the mean accuracy, by profile likelihood."""

    low: Annotated[Share, Field(description="The lower end")]
    high: Annotated[Share, Field(description="The upper end")]


class PriorOut(BaseModel):
    """The prior that the plan used."""

    a: Annotated[Number, Field(description="The first parameter of Beta(a, b)")]
    b: Annotated[Number, Field(description="The second parameter of Beta(a, b)")]
    mean_accuracy: Annotated[Share, Field(description="a / (a + b): how often a worker is right")]
    source: Annotated[Literal["beta", "pilot", "job"], Field(description="Where it comes from")]
    items: Annotated[
        int | None, Field(description="Items with two answers or more that it was estimated from; null if it was given")
    ]
    answers: Annotated[int | None, Field(description="Answers to those items; null if it was given")]
    interval: Annotated[
        PriorInterval | None, Field(description="The uncertainty of the mean accuracy; null if it was given")
    ]


def prior_out(found: FoundPrior) -> PriorOut:
    estimate = found.estimate
    return PriorOut(
        a=found.prior.a,
        b=found.prior.b,
        mean_accuracy=found.prior.mean,
        source=found.source,
        items=estimate and estimate.items,
        answers=estimate and estimate.answers,
        interval=estimate and PriorInterval(low=estimate.interval[0], high=estimate.interval[1]),
    )
