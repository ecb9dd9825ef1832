"""Priors: given, estimated from a pilot or from a job, or refused with a message that says what is missing."""

from uuid import uuid4

import numpy as np
import pytest
from pydantic import ValidationError
from sqlalchemy import text

from app.api.plans.prior_schemas import PriorIn, prior_out
from app.errors import InvalidInput
from app.policy.planning.cost_sensitive import Prior
from app.store.vote_counts import two_strongest_classes
from app.use_cases.plans.find_prior import FoundPrior, find_prior

VOTES = [[5, 1], [6, 0], [4, 2], [5, 1, 0], [0, 6], [3, 3], [1, 5], [6, 0], [6, 0], [2, 4], [5, 1], [6, 0]]


async def found(given: PriorIn, database) -> FoundPrior:
    return await find_prior(database, given.source())


def prior(**given):
    return PriorIn.model_validate(given)


async def test_left_out_it_is_that_of_the_paper(database):
    assert (await found(PriorIn(), database)).prior == Prior(6, 2)
    assert (await found(prior(a=8), database)).prior == Prior(8, 2)


async def test_a_given_prior_was_not_estimated(database):
    shown = prior_out(await found(prior(kind="beta", a=3, b=1), database))
    assert shown.model_dump() == {
        "a": 3.0,
        "b": 1.0,
        "mean_accuracy": 0.75,
        "source": "beta",
        "items": None,
        "answers": None,
        "interval": None,
    }


async def test_votes_and_answers_tell_the_same(database):
    """Whatever the classes are called, and wherever the strongest stands."""
    answers = [
        {"item": f"i{item}", "worker": f"w{worker}", "label": label}
        for item, votes in enumerate(VOTES)
        for worker, label in enumerate("".join(name * count for name, count in zip("abc", votes, strict=False)))
    ]
    by_votes = await found(prior(kind="pilot", votes=VOTES), database)
    by_answers = await found(prior(kind="pilot", answers=answers), database)
    assert by_votes == by_answers
    shown = prior_out(by_votes)
    assert (shown.source, shown.items, shown.answers) == ("pilot", 12, 72)
    assert shown.interval.low <= shown.mean_accuracy <= shown.interval.high
    assert shown.a > shown.b


async def test_a_job_tells_the_same_as_its_answers(database, new_job):
    job = await new_job(len(VOTES), labels=["a", "b", "c"], requirement={"kind": "count", "labels": 6})
    for item, votes in enumerate(VOTES, start=1):
        said = "".join(name * count for name, count in zip("abc", votes, strict=False))
        batch = [{"item": f"i{item}", "worker": f"w{worker}", "label": label} for worker, label in enumerate(said)]
        assert (await job.http.post(f"{job.path}/answers", json={"answers": batch})).is_success
    told = await found(prior(kind="job", job=job.id), database)
    assert told.source == "job"
    assert told.estimate == (await found(prior(kind="pilot", votes=VOTES), database)).estimate


async def test_of_a_large_job_every_so_manieth_item_is_read(database, new_job):
    """By its number alone: votes that fell otherwise do not choose the items."""
    job = await new_job(50, labels=["a", "b"])
    async with database.begin() as connection:
        await connection.execute(
            text("UPDATE item SET votes = ARRAY[3, (item_id % 2)::int] WHERE job_id = :job"), {"job": job.id}
        )
        rows = await two_strongest_classes(connection, job.id, 50, most=10)
        everything = await two_strongest_classes(connection, job.id, 50)
    assert sum(items for *_, items in rows) == 10
    assert sorted(everything) == [(3, 0, 25), (3, 1, 25)]


@pytest.mark.parametrize(
    ("given", "pointer", "message"),
    [
        ({"kind": "pilot", "votes": [[4, 1]] * 9}, "#/prior/votes", "At least 10 items need 4 or more answers"),
        ({"kind": "pilot", "votes": [[2, 1]] * 99}, "#/prior/votes", "; 0 have that many"),
        ({"kind": "pilot", "votes": []}, "#/prior/votes", "; 0 have that many"),
        ({"kind": "pilot", "votes": [[5, 5]] * 50}, "#/prior/votes", "look like guesses"),
        ({"kind": "pilot", "answers": []}, "#/prior/answers", "; 0 have that many"),
        (
            {"kind": "pilot", "answers": [{"item": "i", "worker": "w", "label": label} for label in "ab"]},
            "#/prior/answers/1",
            "'w' has already answered 'i'",
        ),
        ({"kind": "job", "job": str(uuid4())}, "#/prior/job", "There is no job"),
    ],
)
async def test_what_tells_nothing_is_refused_with_what_is_needed(database, given, pointer, message):
    with pytest.raises(InvalidInput) as refused:
        await found(prior(**given), database)
    (error,) = refused.value.errors
    assert error.pointer == pointer
    assert message in error.message


@pytest.mark.parametrize(
    "given",
    [
        {"a": 2, "b": 2},
        {"a": 1, "b": 2},
        {"a": -1},
        {"a": float("nan")},
        {"kind": "pilot"},
        {"kind": "pilot", "votes": [[1, 2]], "answers": []},
        {"kind": "pilot", "votes": [[5]]},
        {"kind": "pilot", "votes": [[5, -1]]},
        {"kind": "job", "job": "the last one"},
        {"kind": "gamma"},
    ],
)
def test_what_is_no_prior_does_not_pass(given):
    with pytest.raises(ValidationError):
        prior(**given)


def test_ten_thousand_items_are_the_most():
    assert prior(kind="pilot", votes=[[1, 0]] * 10_000)
    with pytest.raises(ValidationError):
        prior(kind="pilot", votes=[[1, 0]] * 10_001)


async def test_a_pilot_of_a_known_crowd(database):
    rng = np.random.default_rng(3)
    right = rng.binomial(15, rng.beta(6, 2, 800))
    shown = prior_out(await found(prior(kind="pilot", votes=np.stack([right, 15 - right], 1).tolist()), database))
    assert shown.interval.low <= 0.75 <= shown.interval.high
    assert shown.interval.high - shown.interval.low < 0.1
