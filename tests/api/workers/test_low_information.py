"""Low-information workers get no new work while others ask; their answers are still accepted."""

import re
from uuid import UUID

import pytest

from app.store.jobs import lock_job
from app.store.workers import save_low_information
from tests.api.crowds import COUNT, all_answers, refit

OPEN = COUNT | {"requirement": {"kind": "count", "labels": 40}, "refit": None}
KNOWING = {f"w{n}": 0.9 for n in range(1, 11)}


async def asked(new_job, crowd: dict[str, float], **fields: object):
    """A job of thirty items on which all of these have said something, and five more that nobody has seen."""
    job = await new_job(items=35, **OPEN | fields)
    await all_answers(job, 30, crowd)
    return job


async def told(job, worker: str) -> dict:
    return (await job.http.get(f"{job.path}/workers/{worker}")).json()


async def test_a_refit_turns_away_who_guesses(new_job):
    job = await asked(new_job, KNOWING | {"guess": 0.5, "liar": 0.1})
    assert (await refit(job))["outcome"]["low_information_workers"] == 1
    away = (await told(job, "guess"))["low_information"]
    assert away["reason"]["code"] == "low-information"
    assert re.fullmatch(
        r"By the 30 answers so far, one more answer of this worker is worth (almost nothing|at most \d+(\.\d+)? % of "
        r"an average answer) for the same money, so others are asked first",
        away["reason"]["message"],
    )
    assert 0 <= away["information_share"] < 0.5
    assert (await told(job, "guess"))["status"] == "low-information"
    listed = (await job.http.get(f"{job.path}/workers", params={"status": "low-information"})).json()["workers"]
    assert [one["worker"] for one in listed] == ["guess"]
    assert listed[0]["low_information"]["reason"] == away["reason"]
    active = (await job.http.get(f"{job.path}/workers", params={"status": "active", "limit": 4})).json()
    more = {"status": "active", "cursor": active["next_cursor"]}
    rest = (await job.http.get(f"{job.path}/workers", params=more)).json()
    assert sorted(one["worker"] for one in active["workers"] + rest["workers"]) == sorted([*KNOWING, "liar"])
    wrong = await job.http.get(f"{job.path}/workers", params={"status": "turned_away"})
    (error,) = wrong.json()["errors"]
    assert (wrong.status_code, error["pointer"]) == (422, "?status")
    assert all(f"'{status}'" in error["message"] for status in ("active", "low-information", "blocked"))
    answer = await job.next("guess")
    assert (answer["status"], answer["reason"]["code"], answer["assignments"]) == ("wait", "worker-low-information", [])
    assert away["reason"]["message"] in answer["reason"]["message"]
    assert answer["retry_after"] == 30
    for welcome in ("w1", "liar", "newcomer"):
        assert (await job.next(welcome))["status"] == "continue"
        assert welcome == "newcomer" or (await told(job, welcome))["low_information"] is None


async def test_answers_of_those_who_are_turned_away_are_taken(new_job):
    """What they hold is theirs to answer, and nobody's work is refused that comes unasked."""
    job = await asked(new_job, KNOWING | {"guess": 0.5})
    held = (await job.next("guess"))["assignments"]
    await refit(job)
    again = await job.next("guess", count=3)
    assert (again["status"], [one["id"] for one in again["assignments"]]) == ("continue", [held[0]["id"]])
    under_lease = await job.http.post(f"{job.path}/answers", json={"assignment": held[0]["id"], "label": "cat"})
    assert (under_lease.status_code, under_lease.json()["counted"]) == (200, True)
    other = next(f"i{n}" for n in range(31, 36) if f"i{n}" != held[0]["item"])
    assert (await job.answer(other, "guess", "cat")).status_code == 200
    assert (await job.next("guess"))["status"] == "wait"


async def test_whom_a_requester_lets_in_stays_welcome(new_job):
    job = await asked(new_job, KNOWING | {"guess": 0.5})
    await refit(job)
    assert (await job.next("guess"))["status"] == "wait"
    let_in = await job.http.post(f"{job.path}/workers/guess/unblock")
    assert (let_in.status_code, let_in.json()["low_information"]) == (200, None)
    assert (await refit(job))["outcome"]["low_information_workers"] == 0
    assert (await job.next("guess"))["status"] == "continue"


async def test_the_first_who_is_welcome_is_asked_of_several(new_job):
    job = await asked(new_job, KNOWING | {"guess": 0.5})
    await refit(job)
    response = await job.http.post(f"{job.path}/next", json={"workers": ["guess", "w3", "w4"]})
    assert [one["worker"] for one in response.json()["assignments"]] == ["w3"]


@pytest.mark.parametrize(
    ("crowd", "fields"),
    [
        (dict(list(KNOWING.items())[:9]) | {"guess": 0.5}, {}),
        (KNOWING | {"guess": 0.5}, {"worker_choice": {"kind": "pull", "min_information_share": 0}}),
        (KNOWING | {"guess": 0.5}, {"worker_choice": {"kind": "pull", "min_answers": 31}}),
        (KNOWING | {"guess": 0.5}, {"worker_choice": {"kind": "pair"}}),
    ],
    ids=["few workers", "nobody wanted away", "too little known", "the job picks"],
)
async def test_nobody_is_turned_away_where(new_job, crowd, fields):
    job = await asked(new_job, crowd, **fields)
    assert (await refit(job))["outcome"]["low_information_workers"] == 0
    assert (await job.next("guess"))["status"] == "continue"


async def test_every_fit_decides_again(new_job, database):
    """A worker who is not found again gets work; one who is keeps the first time and gets the newest reason."""
    job = await asked(new_job, {"w1": 0.9, "w2": 0.9})

    async def save(whys: dict[str, dict]) -> None:
        async with database.begin() as connection:
            await lock_job(connection, UUID(job.id))
            await save_low_information(connection, UUID(job.id), whys)

    async def find(away: dict[str, str]) -> list[str | None]:
        whys = {name: why("2100-01-01T00:00:00+00:00", message) for name, message in away.items()}
        await save(whys)
        found = [(await told(job, name))["low_information"] for name in ("w1", "w2")]
        return [each and each["reason"]["message"] for each in found]

    def why(since: str, message: str) -> dict:
        return {"reason": {"code": "low-information", "message": message}, "information_share": 0.1, "since": since}

    assert await find({"w1": "a"}) == ["a", None]
    assert await find({"w1": "b", "w2": "c"}) == ["b", "c"]
    assert await find({"w2": "d"}) == [None, "d"]
    await save({"w2": why("2200-01-01T00:00:00+00:00", "e")})
    assert (await told(job, "w2"))["low_information"]["since"].startswith("2100")
    assert await find({}) == [None, None]


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [("min_information_share", 1.5, "at most 1"), ("min_answers", 0, "at least 1")],
)
async def test_what_cannot_be_meant_is_refused_by_name(client, field, value, said):
    body = {"labels": ["a", "b"], "budget": 1, "worker_choice": {"kind": "pull", field: value}}
    response = await client.post("/v1/jobs", json=body)
    assert response.status_code == 422
    (error,) = response.json()["errors"]
    assert error["pointer"].startswith("#/worker_choice")
    assert error["pointer"].endswith(field)
    assert said in error["message"]
