"""How hard the questions are for the crowd, as a caller may say it, or as answers tell it."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal
from uuid import UUID

import numpy as np
from pydantic import BaseModel, Field, RootModel, model_validator
from pydantic_core import PydanticCustomError
from sqlalchemy.ext.asyncio import AsyncEngine

from app.api.plans.apart import apart
from app.api.wire import Request
from app.errors import InvalidInput, JobUnknown
from app.policy.planning.cost_sensitive import Prior
from app.policy.planning.difficulty import (
    LEAST_TELLING,
    TELLING_ANSWERS,
    Difficulty,
    NoBetterThanGuessing,
    TooFewVotes,
    Votes,
    estimated,
)
from app.policy.requirements.profit import Shape
from app.policy.text import Key
from app.use_cases.read_difficulty import read_votes

MOST_PILOT_ITEMS = 10_000
MOST_PILOT_ANSWERS = 10_000
_MOST_CLASSES = 100

VotesOfItem = Annotated[list[Annotated[int, Field(ge=0, le=10_000)]], Field(min_length=2, max_length=_MOST_CLASSES)]


class BetaPrior(Request):
    """Beta(a, b): how often workers are right on a question, over all questions."""

    kind: Literal["beta"] = "beta"
    a: Annotated[Shape, Field(description="More than b; the mean accuracy is a / (a + b)")] = 6.0
    b: Annotated[Shape, Field(description="The larger a + b, the less questions differ")] = 2.0


class PilotAnswer(Request):
    """Who said what about which item."""

    item: Key
    worker: Key | None = None
    label: Annotated[str, Field(max_length=200)]


class PilotPrior(Request):
    """A small run of the same kind of questions: the likeliest Beta is found; nobody needs to know what is right.

    Questions that mislead most workers look like easy ones: where there are many, the estimate is too hopeful.
    """

    kind: Literal["pilot"]
    votes: Annotated[
        list[VotesOfItem] | None,
        Field(
            max_length=MOST_PILOT_ITEMS,
            description=f"Per item, the votes per class; the two strongest count. At least {LEAST_TELLING} items need "
            f"{TELLING_ANSWERS} or more answers; ten or more per item tell much more",
        ),
    ] = None
    answers: Annotated[
        list[PilotAnswer] | None, Field(max_length=MOST_PILOT_ANSWERS, description="Or the answers one by one")
    ] = None

    @model_validator(mode="after")
    def _one_or_the_other(self) -> "PilotPrior":
        if (self.votes is None) == (self.answers is None):
            raise PydanticCustomError("votes_or_answers", "Must have `votes` or `answers`, and not both")
        return self


class JobPrior(Request):
    """The answers of a job that is there, also while it runs."""

    kind: Literal["job"]
    job: Annotated[UUID, Field(description="The job's id; of one with very many items, a sample is read")]


AnyPrior = Annotated[BetaPrior | PilotPrior | JobPrior, Field(discriminator="kind")]


class PriorIn(RootModel[AnyPrior]):
    """How often workers are right: as a Beta distribution, from a pilot, or from a job; Beta(6, 2) if left out.

    B(6, 2), a mean of 75 %, is what Gao et al. (SIGMOD 2013) found in two sets of questions.
    """

    root: AnyPrior = BetaPrior()

    @model_validator(mode="before")
    @classmethod
    def _beta_unless_it_says_otherwise(cls, given: Any) -> Any:  # noqa: ANN401  whatever was sent
        return {"kind": "beta"} | given if isinstance(given, dict) else given

    @model_validator(mode="after")
    def _better_than_guessing(self) -> "PriorIn":
        given = self.root
        if isinstance(given, BetaPrior) and given.a <= given.b:
            raise PydanticCustomError(
                "prior_not_better_than_guessing",
                "a ({a}) must exceed b ({b}): of workers who are wrong as often as right, no answer pays",
                {"a": given.a, "b": given.b},
            )
        return self


class Interval(BaseModel):
    low: float
    high: float


class PriorOut(BaseModel):
    """The prior that was used."""

    a: float
    b: float
    mean_accuracy: Annotated[float, Field(description="a / (a + b): how often a worker is right")]
    source: Annotated[Literal["beta", "pilot", "job"], Field(description="Where it comes from")]
    items: Annotated[int | None, Field(description="With two answers or more, that it was estimated from")]
    answers: Annotated[int | None, Field(description="To those items")]
    interval: Annotated[
        Interval | None, Field(description="Of the mean accuracy, 95 %, by profile likelihood; null where it was given")
    ]


@dataclass(frozen=True)
class KnownPrior:
    """A prior, with what it rests on."""

    prior: Prior
    source: Literal["beta", "pilot", "job"]
    found: Difficulty | None = None

    def shown(self) -> PriorOut:
        found = self.found
        return PriorOut(
            a=self.prior.a,
            b=self.prior.b,
            mean_accuracy=self.prior.mean,
            source=self.source,
            items=found and found.items,
            answers=found and found.answers,
            interval=found and Interval(low=found.interval[0], high=found.interval[1]),
        )


async def known_prior(given: PriorIn, database: AsyncEngine) -> Prior:
    """The prior that was given, or that the answers it names tell."""
    return (await explained_prior(given, database)).prior


async def explained_prior(given: PriorIn, database: AsyncEngine, at: str = "#/prior") -> KnownPrior:
    """The same with its source, for the answer to show."""
    said = given.root
    if isinstance(said, BetaPrior):
        return KnownPrior(Prior(said.a, said.b), said.kind)
    if isinstance(said, JobPrior):
        where, votes = f"{at}/job", await _votes_of_job(said.job, database, f"{at}/job")
    elif said.votes is not None:
        where, votes = f"{at}/votes", await apart(_votes_of, said.votes)
    else:
        where, votes = f"{at}/answers", await apart(_votes_of_answers, said.answers or [], f"{at}/answers")
    found = await _estimated(votes, where)
    return KnownPrior(found.prior, said.kind, found)


async def _estimated(votes: Votes, where: str) -> Difficulty:
    try:
        return await apart(estimated, votes)
    except TooFewVotes as error:
        raise InvalidInput.at(where, f"Too little to tell how hard the questions are: it {error}") from None
    except NoBetterThanGuessing as error:
        raise InvalidInput.at(where, f"These votes show no better than guessing: their pattern {error}") from None


async def _votes_of_job(job_id: UUID, database: AsyncEngine, where: str) -> Votes:
    try:
        return await read_votes(database, job_id)
    except JobUnknown:
        raise InvalidInput.at(where, f"There is no job {job_id}") from None


def _votes_of(items: Iterable[Sequence[int]]) -> Votes:
    two = [sorted(votes, reverse=True)[:2] for votes in items]
    first, second = np.array([[*votes, 0][:2] for votes in two], dtype=np.int64).reshape(-1, 2).T
    return Votes.of(first, second)


def _votes_of_answers(answers: Sequence[PilotAnswer], where: str) -> Votes:
    return _votes_of(_counted(answers, where))


def _counted(answers: Sequence[PilotAnswer], where: str) -> list[list[int]]:
    """The votes per item; a worker counts once."""
    seen: set[tuple[str, str]] = set()
    votes: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for place, answer in enumerate(answers):
        if answer.worker is not None:
            if (answer.item, answer.worker) in seen:
                told = f"{answer.worker!r} has answered {answer.item!r} before; each worker may answer an item once"
                raise InvalidInput.at(f"{where}/{place}", told)
            seen.add((answer.item, answer.worker))
        votes[answer.item][answer.label] += 1
    return [list(labels.values()) for labels in votes.values()]
