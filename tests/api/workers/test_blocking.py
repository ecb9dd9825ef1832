"""A blocked worker gets nothing and gives nothing; its votes are removed, discounted or kept, and can be put back."""

import asyncio
import random
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from app.store import workers as store
from app.use_cases.operations import recount as recount_votes
from tests.jobs import LEARNING
from tests.promises.invariants import broken_invariants

COUNT = {"kind": "count", "labels": 3}
COUNTED = "SELECT count(*) FROM answer WHERE job_id = :job AND counted AND NOT withheld"
MODELS = ["anonymous", "tiers", "spam-filter", "weighted", "one-coin", "two-coin", "confusion"]


async def block(job, worker: str, **body: object) -> dict:
    response = await job.http.post(f"{job.path}/workers/{worker}/block", json=body)
    assert response.status_code == 200, response.text
    return response.json()


async def unblock(job, worker: str) -> dict:
    response = await job.http.post(f"{job.path}/workers/{worker}/unblock")
    assert response.status_code == 200, response.text
    return response.json()


async def answer_all(job, answers: list[tuple[str, str, str]]) -> set[str]:
    """Send (item, worker, label) one after the other; gives the items that refused one."""
    sent = [{"item": item, "worker": worker, "label": label} for item, worker, label in answers]
    results = (await job.http.post(f"{job.path}/answers", json={"answers": sent})).json()["results"]
    return {one["item"] for one, result in zip(sent, results, strict=True) if not result["accepted"]}


async def items(job) -> dict[str, dict]:
    found = (await job.http.get(f"{job.path}/items", params={"limit": 1000})).json()["items"]
    return {row["key"]: row for row in found}


async def scalar(database, query: str, job, **parameters: object) -> object:
    async with database.connect() as connection:
        return await connection.scalar(text(query), {"job": UUID(job.id)} | parameters)


async def evidence(database, job) -> dict[int, list[float]]:
    async with database.connect() as connection:
        rows = await connection.execute(
            text("SELECT item_id, model_state FROM item WHERE job_id = :job"), {"job": job.id}
        )
        return {row.item_id: row.model_state for row in rows}


def near(row: dict) -> dict:
    return {name: pytest.approx(one, abs=1e-9) if isinstance(one, float) else one for name, one in row.items()}


async def test_who_is_blocked_gets_nothing_and_holds_nothing(new_job, database):
    """What was leased is free for others, and its money is back."""
    job = await new_job(costs=["2", "3"], budget="10")
    held = (await job.next("eve", count=2))["assignments"]
    told = await block(job, "eve", reason="clicks at random")
    assert (told["status"], told["blocked"]["reason"]["message"]) == ("blocked", "clicks at random")
    assert await job.next("eve", count=2) == {
        "status": "stop",
        "reason": {
            "code": "worker-blocked",
            "message": "Worker 'eve' is blocked: clicks at random. Ask other workers.",
        },
        "retry_after": None,
        "assignments": [],
    }
    assert (await job.status())["reserved"] == "0"
    assert len((await job.next("ann", count=2))["assignments"]) == len(held) == 2
    assert await broken_invariants(database, job.id) == {}


async def test_others_who_ask_with_the_blocked_are_served(new_job):
    job = await new_job(items=3)
    await block(job, "eve")
    told = await asyncio.gather(*(job.next(worker) for worker in ("ann", "eve", "bob", "eve")))
    assert [one["status"] for one in told] == ["continue", "stop", "continue", "stop"]


async def test_an_answer_of_the_blocked_is_refused_but_a_repetition_is_not(new_job):
    job = await new_job(items=2, requirement=COUNT)
    first = (await job.answer("i1", "eve", "cat")).json()
    await block(job, "eve")
    refused = await job.answer("i2", "eve", "cat")
    assert (refused.status_code, refused.json()["code"]) == (409, "worker-blocked")
    again = await job.answer("i1", "eve", "cat")
    assert (again.status_code, again.json()) == (200, first | {"duplicate": True})
    assert (await job.answer("i1", "eve", "dog")).json()["code"] == "answer-conflict"


async def test_an_answer_under_a_lease_that_was_released_is_refused(new_job):
    job = await new_job(items=1)
    (lease,) = (await job.next("eve"))["assignments"]
    await block(job, "eve")
    refused = await job.http.post(f"{job.path}/answers", json={"assignment": lease["id"], "label": "cat"})
    assert refused.json()["code"] == "worker-blocked"


async def test_one_may_be_blocked_before_the_first_answer(new_job):
    job = await new_job(items=1)
    told = await block(job, "eve")
    assert (told["status"], told["registered"], told["answers"]) == ("blocked", False, 0)
    assert (await job.next("eve"))["reason"]["code"] == "worker-blocked"
    assert (await unblock(job, "eve"))["blocked"] is None
    assert (await job.next("eve"))["status"] == "continue"


async def test_removed_votes_reopen_what_stood_on_them(new_job, database):
    """They stay stored and paid; the item's history says that they do not count."""
    job = await new_job(items=2, requirement=COUNT, budget="20")
    await answer_all(job, [(item, worker, "cat") for item in ("i1", "i2") for worker in ("ann", "bob", "eve")][:5])
    before = await job.status()
    assert before["items"] == {"open": 1, "resolved": 1, "given_up": 0}
    await block(job, "eve")
    row = (await items(job))["i1"]
    assert (row["state"], row["votes"], row["label"], row["max_open_assignments"]) == (
        "open",
        {"cat": 2, "dog": 0},
        None,
        1,
    )
    story = (await job.http.get(f"{job.path}/items/i1")).json()
    assert [(one["worker"], one["counted"]) for one in story["answers"]] == [
        ("ann", True),
        ("bob", True),
        ("eve", False),
    ]
    after = await job.status()
    assert (after["spent"], after["answers"]) == (before["spent"], before["answers"])
    assert after["items"] == {"open": 2, "resolved": 0, "given_up": 0}
    assert await broken_invariants(database, job.id) == {}
    assert (await job.answer("i1", "dan", "cat")).json()["verdict"] == "stop"


async def test_kept_votes_stay(new_job):
    job = await new_job(items=1, requirement=COUNT)
    await answer_all(job, [("i1", worker, "cat") for worker in ("ann", "bob", "eve")])
    before = await items(job)
    told = await block(job, "eve", votes="keep")
    assert (told["blocked"]["votes"], told["blocked"]["pending"]) == ("keep", False)
    assert await items(job) == before


async def test_a_change_of_mind_about_the_votes_is_carried_out(new_job):
    """Blocking again may change the action; the time of the first block stays."""
    job = await new_job(items=1, requirement=COUNT)
    await answer_all(job, [("i1", worker, "cat") for worker in ("ann", "bob", "eve")])
    before = await items(job)
    first = await block(job, "eve", reason="why not")
    assert await block(job, "eve") == first
    second = await block(job, "eve", votes="keep")
    assert second["blocked"] == first["blocked"] | {"votes": "keep"}
    assert await items(job) == before


@pytest.mark.parametrize("model", ["anonymous", "weighted", "one-coin"])
async def test_discounted_votes_weigh_what_is_known_now(new_job, database, model):
    """Votes stay counted; a model that has learned who guesses takes the guesses' weight away."""
    job = await new_job(
        items=12, worker_model={"kind": model}, requirement={"kind": "count", "labels": 4}, max_labels=4, refit=None
    )
    crowd = ["eve", "ann", "bob", "dan"]
    sent = [(f"i{n}", who, "dog" if who == "eve" and n % 2 else "cat") for n in range(1, 13) for who in crowd]
    await answer_all(job, [*sent[:-3]])  # the last item has only the vote of the guesser
    before = await items(job)
    assert before["i12"]["votes"] == {"cat": 1, "dog": 0}
    await block(job, "eve", votes="discount")
    after = await items(job)
    assert {key: row["votes"] for key, row in after.items()} == {key: row["votes"] for key, row in before.items()}
    if model == "anonymous":
        assert after == before
    else:
        assert after["i1"]["confidence"] > before["i1"]["confidence"]  # a guess against the others weighs less
    assert await broken_invariants(database, job.id) == {}


ANSWERS = st.lists(
    st.tuples(st.integers(1, 6), st.sampled_from(["eve", "ann", "bob", "dan", "flo"]), st.sampled_from(["cat", "dog"])),
    min_size=5,
    max_size=30,
    unique_by=lambda answer: answer[:2],
)


@settings(max_examples=15, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(answers=ANSWERS, requirement=st.sampled_from([COUNT, {"kind": "ratio", "min_ratio": 3}]))
async def test_there_and_back_leaves_no_trace(new_job, database, answers, requirement):
    """Blocking and unblocking gives back votes, verdicts and all: every field of every item, and the job's counters."""
    job = await new_job(items=6, requirement=requirement, budget="100", max_labels=5)
    await answer_all(job, [(f"i{n}", worker, label) for n, worker, label in answers])
    before, status = await items(job), await job.status()
    await block(job, "eve")
    assert await scalar(database, f"{COUNTED} AND worker = 'eve'", job) == 0
    assert await broken_invariants(database, job.id) == {}
    await unblock(job, "eve")
    assert await items(job) == {key: near(row) for key, row in before.items()}
    assert await job.status() == near(status)
    assert await broken_invariants(database, job.id) == {}


@pytest.mark.parametrize("model", MODELS)
async def test_votes_come_back_under_every_model(new_job, database, model):
    """Votes do, and nothing is broken; where a vote weighs by its worker's skill, it weighs by the skill of today."""
    rng = random.Random(model)  # noqa: S311  which answer comes next is no secret
    job = await new_job(items=15, worker_model={"kind": model}, requirement=COUNT)
    crowd = ["eve", "ann", "bob", "dan"]
    sent = [(f"i{n}", who, rng.choice(["cat", "cat", "dog"])) for n in range(1, 16) for who in rng.sample(crowd, 3)]
    await answer_all(job, sent)
    before = {key: row["votes"] for key, row in (await items(job)).items()}
    lengths = {item: len(kept) for item, kept in (await evidence(database, job)).items()}
    await block(job, "eve")
    assert await broken_invariants(database, job.id) == {}
    without = {key: sum(row["votes"].values()) for key, row in (await items(job)).items()}
    assert without == {f"i{n}": sum(item == f"i{n}" and who != "eve" for item, who, _ in sent) for n in range(1, 16)}
    await unblock(job, "eve")
    assert {key: row["votes"] for key, row in (await items(job)).items()} == before
    assert {item: len(kept) for item, kept in (await evidence(database, job)).items()} == lengths
    assert await broken_invariants(database, job.id) == {}


@pytest.mark.parametrize("model", ["anonymous", "tiers", "weighted", "one-coin"])
async def test_what_is_left_is_what_others_said(new_job, database, model):
    """Items stand as if the worker had never been there, where its votes taught nothing about the others."""
    settings = {"worker_model": {"kind": model}, "requirement": {"kind": "count", "labels": 9}, "seed": 3}
    with_eve, without = await new_job(items=4, **settings), await new_job(items=4, **settings)
    sent = [(f"i{n}", f"w{n}", "cat") for n in range(1, 5)]
    await answer_all(with_eve, [*sent, *((f"i{n}", "eve", "dog") for n in range(1, 5))])
    await answer_all(without, sent)
    assert await items(with_eve) != await items(without)
    await block(with_eve, "eve")
    assert await items(with_eve) == {key: near(row) for key, row in (await items(without)).items()}
    expected = await evidence(database, without)
    assert await evidence(database, with_eve) == {item: pytest.approx(kept) for item, kept in expected.items()}


async def a_spoiled_job(new_job, **fields):
    job = await new_job(items=10, requirement=COUNT, **fields)
    await answer_all(job, [(f"i{n}", worker, "cat") for n in range(1, 11) for worker in ("ann", "eve", "bob")])
    return job


async def test_pages_make_no_difference(new_job, database, monkeypatch):
    whole = await a_spoiled_job(new_job)
    await block(whole, "eve")
    monkeypatch.setattr(recount_votes, "_PAGE", 3)
    small = await a_spoiled_job(new_job)
    await block(small, "eve")
    assert await items(small) == await items(whole)
    assert await broken_invariants(database, small.id) == {}
    await unblock(small, "eve")
    assert (await small.status())["items"] == {"open": 0, "resolved": 10, "given_up": 0}


@pytest.mark.parametrize("votes", ["remove", "discount"])
async def test_sending_it_again_finishes_what_was_cut_short(new_job, database, monkeypatch, votes):
    """Meanwhile the worker is out, and every page that was done is whole."""
    job = await a_spoiled_job(new_job)
    monkeypatch.setattr(recount_votes, "_PAGE", 4)
    save, pages = recount_votes.save_ledger, []

    async def fails(*arguments):
        pages.append(arguments)
        if len(pages) == 2:
            raise OSError("the database went away")
        await save(*arguments)

    monkeypatch.setattr(recount_votes, "save_ledger", fails)
    cut = await job.http.post(f"{job.path}/workers/eve/block", json={"votes": votes})
    assert cut.status_code == 503
    told = (await job.http.get(f"{job.path}/workers/eve")).json()
    assert (told["status"], told["blocked"]["pending"]) == ("blocked", True)
    assert await broken_invariants(database, job.id) == {}
    assert (await block(job, "eve", votes=votes))["blocked"]["pending"] is False
    left = 0 if votes == "remove" else 10
    assert await scalar(database, f"{COUNTED} AND worker = 'eve'", job) == left
    assert await broken_invariants(database, job.id) == {}


async def test_an_unblock_that_was_cut_short_is_finished_too(new_job, database, monkeypatch):
    job = await a_spoiled_job(new_job)
    before = await items(job)
    await block(job, "eve")

    async def fails(*_arguments):
        raise OSError("the database went away")

    monkeypatch.setattr(recount_votes, "save_ledger", fails)
    assert (await job.http.post(f"{job.path}/workers/eve/unblock")).status_code == 503
    monkeypatch.undo()
    await unblock(job, "eve")
    assert await items(job) == before
    assert await broken_invariants(database, job.id) == {}


async def test_what_is_known_for_sure_stays_closed(new_job):
    """An item whose label the requester knows does not reopen, though its votes are recounted."""
    job = await new_job(requirement=COUNT)
    await job.http.post(f"{job.path}/items", json=[{"key": "g", "gold": "cat"}])
    await answer_all(job, [("g", worker, "cat") for worker in ("ann", "eve", "bob")])
    await block(job, "eve")
    row = (await items(job))["g"]
    assert (row["state"], row["votes"]) == ("resolved", {"cat": 2, "dog": 0})


async def test_fits_leave_removed_votes_out(new_job):
    """Also one that was asked for before: as many answers are there, but not the same ones count."""
    job = await new_job(items=1, requirement={"kind": "count", "labels": 9})
    await answer_all(job, [("i1", "ann", "cat"), ("i1", "eve", "dog"), ("i1", "mel", "dog")])
    asked = {"aggregation": "dawid-skene"}
    assert (await job.results(**asked))[0]["label"] == "dog"
    await block(job, "eve")
    await block(job, "mel")
    assert (await job.results(**asked))[0]["label"] == "cat"
    await unblock(job, "eve")
    await unblock(job, "mel")
    assert (await job.results(**asked))[0]["label"] == "dog"


@pytest.mark.parametrize("attempt", range(3))
async def test_answers_in_flight_do_not_slip_through(new_job, database, attempt):
    """Whatever was recorded before the block is recounted, whatever comes after is refused, and money adds up."""
    job = await new_job(items=20, requirement=COUNT, budget="100")
    held = (await job.next("eve", count=20))["assignments"]
    await answer_all(job, [(f"i{n}", worker, "cat") for n in range(1, 21) for worker in ("ann", "bob")])

    async def answer(lease):
        return await job.http.post(f"{job.path}/answers", json={"assignment": lease["id"], "label": "cat"})

    async def block_meanwhile():
        for _ in range(attempt):
            await asyncio.sleep(0)
        return await block(job, "eve")

    *replies, told = await asyncio.gather(*(answer(lease) for lease in held), block_meanwhile())
    assert {reply.status_code for reply in replies} <= {200, 409}
    assert told["status"] == "blocked"
    recorded = sum(reply.status_code == 200 for reply in replies)
    assert await scalar(database, "SELECT count(*) FROM answer WHERE job_id = :job AND worker = 'eve'", job) == recorded
    assert await scalar(database, f"{COUNTED} AND worker = 'eve'", job) == 0
    assert await broken_invariants(database, job.id, at_rest=True) == {}
    assert (await job.status())["items"]["open"] == 20


async def test_blocking_and_unblocking_at_once_ends_in_one_of_the_two(new_job, database, monkeypatch):
    """All votes are out, or all are in, as the status says."""
    monkeypatch.setattr(recount_votes, "_PAGE", 2)
    job = await a_spoiled_job(new_job)
    await asyncio.gather(*(change(job, "eve") for change in (block, unblock, block, unblock, block)))
    told = (await job.http.get(f"{job.path}/workers/eve")).json()
    counted = await scalar(database, f"{COUNTED} AND worker = 'eve'", job)
    assert counted == (0 if told["status"] == "blocked" else 10)
    assert await broken_invariants(database, job.id) == {}


async def guessed(new_job, **spammers):
    """A job on which three agree and one, guessing, hits half of 40 labels; the test takes 30 answers."""
    job = await new_job(items=60, requirement={"kind": "count", "labels": 4}, budget="1000", spammers=spammers)
    sent = [
        (f"i{n}", who, "dog" if who == "eve" and n % 2 else "cat")
        for n in range(1, 41)
        for who in ("ann", "bob", "dan", "eve")
    ]
    await job.next("eve", count=50)
    await answer_all(job, sent[:100])
    await answer_all(job, sent[100:])
    return job


async def test_who_guesses_is_blocked_without_being_asked(new_job, database):
    """With the evidence, and at once; the votes are dealt with in the background, before who is alone is told."""
    job = await guessed(new_job)
    told = (await job.http.get(f"{job.path}/workers/eve")).json()
    blocked = told["blocked"]
    assert (told["status"], blocked["reason"]["code"], blocked["votes"]) == ("blocked", "spammer", "remove")
    assert blocked["evidence"]["answered"] == told["scored_answers"] >= 20
    assert not blocked["pending"]
    assert (await job.status())["reserved"] == "0"
    assert (await job.next("eve"))["reason"]["code"] == "worker-blocked"
    assert {(await job.http.get(f"{job.path}/workers/{name}")).json()["status"] for name in ("ann", "bob", "dan")} == {
        "active"
    }
    assert await scalar(database, f"{COUNTED} AND worker = 'eve'", job) == 0
    assert await broken_invariants(database, job.id) == {}
    async with database.begin() as connection:
        await connection.execute(text("SELECT 1"))
        assert await store.workers_to_recount(connection, UUID(job.id)) == []


async def test_who_guesses_is_blocked_by_interval_too(new_job):
    """The evidence has the interval, which contains the share of a guesser."""
    job = await guessed(new_job, test="interval")
    blocked = (await job.http.get(f"{job.path}/workers/eve")).json()["blocked"]
    assert blocked["evidence"]["low"] <= 0.5 <= blocked["evidence"]["high"]
    assert "70 % interval" in blocked["reason"]["message"]


async def test_nobody_is_blocked_where_the_job_does_not_ask(new_job):
    job = await new_job(items=40, requirement={"kind": "count", "labels": 4})
    crowd = ("ann", "bob", "dan", "eve")
    await answer_all(
        job, [(f"i{n}", who, "dog" if who == "eve" and n % 2 else "cat") for n in range(1, 41) for who in crowd]
    )
    assert (await job.http.get(f"{job.path}/workers/eve")).json()["status"] == "active"


async def test_who_was_pardoned_is_left_alone_for_a_while(new_job):
    """Until as many further votes could be held to a label as the test takes."""
    job = await guessed(new_job, votes="keep", min_answers=10)
    since = (await job.http.get(f"{job.path}/workers/eve")).json()["scored_answers"]
    await unblock(job, "eve")

    async def more(n: int) -> str:
        crowd = ("ann", "bob", "dan", "eve")
        await answer_all(job, [(f"i{n}", who, "dog" if who == "eve" and n % 2 else "cat") for who in crowd])
        return (await job.http.get(f"{job.path}/workers/eve")).json()

    for n in range(41, 61):
        told = await more(n)
        expected = "blocked" if told["scored_answers"] >= since + 10 else "active"
        assert told["status"] == expected, told
    assert told["status"] == "blocked"


async def test_a_new_bar_may_reveal_who_guesses(new_job):
    """The votes that it holds to labels are tested in the same transaction."""
    job = await new_job(items=40, requirement={"kind": "count", "labels": 5}, spammers={"votes": "keep"})
    crowd = ("ann", "bob", "dan", "eve")
    await answer_all(
        job, [(f"i{n}", who, "dog" if who == "eve" and n % 2 else "cat") for n in range(1, 41) for who in crowd]
    )
    await job.http.patch(job.path, json={"requirement": {"kind": "count", "labels": 4}})
    assert (await job.http.get(f"{job.path}/workers/eve")).json()["status"] == "blocked"


async def test_what_is_known_of_a_blocked_worker_outlives_the_votes(new_job):
    """A refit has no vote of eve's left to go by: she is still known as one who guesses, here and by reputation."""
    fields = LEARNING | {"requirement": {"kind": "count", "labels": 4}, "refit": None}
    job = await new_job(items=40, **fields)
    crowd = ("ann", "bob", "dan", "eve")
    sent = [(f"i{n}", who, "dog" if who == "eve" and n % 2 else "cat") for n in range(1, 41) for who in crowd]
    await answer_all(job, sent)
    before = (await job.http.get(f"{job.path}/workers/eve")).json()["skill"]
    assert before["estimate"] < 0.7
    await block(job, "eve")
    assert (await job.http.post(f"{job.path}/refit")).status_code == 202
    while (await job.http.get(f"{job.path}/operations/1")).json()["state"] != "done":
        pass
    assert (await job.http.get(f"{job.path}/workers/eve")).json()["skill"] == before
    heir = await new_job(items=1, reputation=job.id, **fields)
    assert (await heir.http.get(f"{heir.path}/workers/eve")).json()["skill"] == before
