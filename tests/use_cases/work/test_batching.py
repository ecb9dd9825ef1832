"""Requests that wait for the same job at the same moment share a transaction, and nothing else."""

import asyncio
from decimal import Decimal
from uuid import UUID, uuid4

import asyncpg
import pytest
from sqlalchemy import event, text

from app.domain.assignment import AssignmentState
from app.domain.work import WorkRequest
from app.errors import AssignmentUnknown, ItemUnknown, JobUnknown
from app.store.connection import create_engine
from app.store.jobs import lock_job
from app.use_cases.job_locks import JobLocks
from app.use_cases.operations.lanes import create_runner
from app.use_cases.work.batching import JobBatcher
from app.use_cases.work.held_assignments import SWEEPER, Return, sweep
from app.use_cases.work.ledger import SubmittedAnswer
from tests.waiting import wait_for_lock_waits

POISON = "nul \x00 byte"  # the API refuses such a name; Postgres does, too


def new_batcher(database, clock) -> JobBatcher:
    return JobBatcher(database, clock, create_runner(database, clock, JobLocks()))


@pytest.fixture
def batcher(database, clock) -> JobBatcher:
    return new_batcher(database, clock)


@pytest.fixture
def commits(database):
    """Count the transactions that were committed in the meantime."""
    counted = []

    def count(connection) -> None:
        counted.append(connection)

    event.listen(database.sync_engine, "commit", count)
    yield counted
    event.remove(database.sync_engine, "commit", count)


async def test_who_comes_together_is_served_together(new_job, batcher, commits):
    job = await new_job(items=50)
    commits.clear()
    given = await asyncio.gather(*(batcher.ask(UUID(job.id), WorkRequest(f"w{n}", 1)) for n in range(100)))
    assert all(next_.status == "continue" for next_ in given)
    assert len(commits) <= 2  # the first comes alone


async def test_who_comes_alone_does_not_wait_for_others(new_job, batcher, commits):
    """Requests that arrive one after the other are committed separately, without a pause to collect more."""
    job = await new_job(items=5)
    commits.clear()
    for n in range(5):
        await batcher.ask(UUID(job.id), WorkRequest(f"w{n}", 1))
    assert len(commits) == 5


async def test_each_gets_its_own_error(new_job, batcher):
    job = await new_job(items=1)
    asked, unknown_item, unknown_assignment, label = await asyncio.gather(
        batcher.ask(UUID(job.id), WorkRequest("w1", 1)),
        batcher.answer(UUID(job.id), [SubmittedAnswer(item="nowhere", worker="w2", label="cat")]),
        batcher.change(UUID(job.id), Return(99, AssignmentState.RELEASED)),
        batcher.answer(UUID(job.id), [SubmittedAnswer(item="i1", worker="w3", label="dog")]),
        return_exceptions=True,
    )
    assert asked.status == "continue"
    assert isinstance(unknown_item[0], ItemUnknown)
    assert isinstance(unknown_assignment, AssignmentUnknown)
    assert label[0].verdict == "continue"


async def test_one_that_the_database_refuses_does_not_harm_its_neighbours(new_job, batcher, database):
    job = await new_job(items=50)
    names = [POISON if n == 7 else f"w{n}" for n in range(20)]
    given = await asyncio.gather(
        *(batcher.ask(UUID(job.id), WorkRequest(name, 1)) for name in names), return_exceptions=True
    )
    assert isinstance(given[7], asyncpg.PostgresError)
    assert [next_.status for n, next_ in enumerate(given) if n != 7] == ["continue"] * 19
    async with database.connect() as connection:
        assert await connection.scalar(text("SELECT assignments FROM job WHERE job_id = :job"), {"job": job.id}) == 19


async def test_an_unknown_job_is_everybodys_error(batcher):
    job_id = uuid4()
    given = await asyncio.gather(
        *(batcher.ask(job_id, WorkRequest(f"w{n}", 1)) for n in range(5)), return_exceptions=True
    )
    assert all(isinstance(error, JobUnknown) for error in given)


async def test_who_leaves_before_being_served_takes_nothing(new_job, batcher, database):
    """Clients that disconnect while they wait leave no lease and no reserved money behind."""
    job = await new_job(items=50, budget="50")
    async with database.begin() as connection:
        await lock_job(connection, UUID(job.id))
        first = asyncio.create_task(batcher.ask(UUID(job.id), WorkRequest("first", 1)))
        await wait_for_lock_waits(database)
        others = [asyncio.create_task(batcher.ask(UUID(job.id), WorkRequest(f"w{n}", 1))) for n in range(20)]
        await asyncio.sleep(0)  # all of them have asked now, and wait behind the first
        for other in others[:15]:
            other.cancel()
    await asyncio.gather(first, *others, return_exceptions=True)
    assert (await job.status())["reserved"] == "6"


async def test_jobs_do_not_wait_for_each_other(new_job, database_url, clock):
    """One job whose row is locked elsewhere holds one connection, even if many requests wait; other jobs go on."""
    engine = create_engine(database_url, connections=2)
    batcher = new_batcher(engine, clock)
    stuck, free = await new_job(items=50), await new_job(items=50)
    blocker = await asyncpg.connect(database_url)
    try:
        await blocker.execute("BEGIN")
        await blocker.execute("SELECT 1 FROM job WHERE job_id = $1 FOR UPDATE", UUID(stuck.id))
        waiting = [asyncio.create_task(batcher.ask(UUID(stuck.id), WorkRequest(f"w{n}", 1))) for n in range(30)]
        async with asyncio.timeout(10):
            for n in range(5):
                assert (await batcher.ask(UUID(free.id), WorkRequest(f"w{n}", 1))).status == "continue"
        assert not any(task.done() for task in waiting)
    finally:
        await blocker.close()
    assert {next_.status for next_ in await asyncio.gather(*waiting)} == {"continue"}
    await engine.dispose()


async def test_two_who_are_one_get_the_same(new_job, batcher):
    """The same worker asking twice at once gets one lease, told twice."""
    job = await new_job(items=5)
    given = await asyncio.gather(*(batcher.ask(UUID(job.id), WorkRequest("w1", 1)) for _ in range(10)))
    assert len({next_.held[0].assignment.assignment_id for next_ in given}) == 1
    assert (await job.status())["reserved"] == "1"


async def test_the_unnamed_do_not_get_an_item_twice_at_once(new_job, batcher):
    """Nobody knows who they are, but within one request it is one worker."""
    job = await new_job(items=2)
    one = await batcher.ask(UUID(job.id), WorkRequest(None, 5))
    other = await batcher.ask(UUID(job.id), WorkRequest(None, 5))
    assert [sorted(held.key for held in next_.held) for next_ in (one, other)] == [["i1", "i2"], ["i1", "i2"]]


async def test_a_sweep_needs_one_connection(new_job, database_url, clock):
    engine = create_engine(database_url, connections=1)
    jobs = [await new_job(items=1, lease_seconds=10) for _ in range(3)]
    for job in jobs:
        await job.next("w1")
    clock.advance(11)
    async with asyncio.timeout(20):
        await sweep(engine, clock())
    assert [(await job.status())["reserved"] for job in jobs] == ["0", "0", "0"]
    await engine.dispose()


async def test_one_replica_sweeps_at_a_time(new_job, database, clock):
    job = await new_job(items=1, lease_seconds=10)
    await job.next("w1")
    clock.advance(11)
    async with database.begin() as elsewhere:
        await elsewhere.execute(text("SELECT pg_advisory_xact_lock(:sweeper)"), {"sweeper": SWEEPER})
        await sweep(database, clock())
        assert (await job.status())["reserved"] == "1"
    await sweep(database, clock())
    assert (await job.status())["reserved"] == "0"


async def test_a_job_that_cannot_be_swept_keeps_no_other_from_it(new_job, database, clock):
    good, bad = await new_job(items=1, lease_seconds=10), await new_job(items=1, lease_seconds=10)
    for job in (good, bad):
        await job.next("w1")
    async with database.begin() as connection:  # so that giving the money back breaks a constraint
        await connection.execute(text("UPDATE job SET reserved = 0 WHERE job_id = :job"), {"job": bad.id})
    clock.advance(11)
    with pytest.raises(ExceptionGroup, match=r"1 of \d+ jobs could not be swept"):
        await sweep(database, clock())
    assert (await good.status())["reserved"] == "0"
    async with database.begin() as connection:  # no other test's sweep should stumble over it
        await connection.execute(text("DELETE FROM job WHERE job_id = :job"), {"job": bad.id})


async def test_whatever_ends_the_service_of_a_job_the_next_are_served(new_job, batcher, database):
    job = await new_job(items=5)
    async with database.begin() as connection:
        await lock_job(connection, UUID(job.id))
        first = asyncio.create_task(batcher.ask(UUID(job.id), WorkRequest("w1", 1)))
        await wait_for_lock_waits(database)
        second = asyncio.create_task(batcher.ask(UUID(job.id), WorkRequest("w2", 1)))
        await asyncio.sleep(0)  # it has asked now, and waits behind the first
        for task in list(batcher._running):
            task.cancel()
        async with asyncio.timeout(10):
            gone = await asyncio.gather(first, second, return_exceptions=True)
    assert all(isinstance(error, asyncio.CancelledError) for error in gone)
    async with asyncio.timeout(10):
        assert (await batcher.ask(UUID(job.id), WorkRequest("w3", 1))).status == "continue"


async def test_answers_on_items_with_unlike_evidence_come_together(new_job, clock):
    """`weighted` keeps as much as there are answers, so these rows are of different lengths."""
    job = await new_job(
        items=3, worker_model={"kind": "weighted"}, allocation={"kind": "round-robin"}, lease_seconds=10
    )
    assert (await job.answer("i1", "w1", "cat")).status_code == 200
    answers = [{"item": f"i{n}", "worker": f"w{n + 1}", "label": "cat"} for n in (1, 2, 3)]
    sent = await job.http.post(f"{job.path}/answers", json={"answers": answers})
    assert [result["accepted"] for result in sent.json()["results"]] == [True] * 3
    assert len((await job.next("w9", count=3))["assignments"]) == 3
    clock.advance(11)
    assert (await job.next("w8"))["status"] == "continue"
    assert (await job.status())["reserved"] == "1"


async def test_what_an_unnamed_vote_finishes_teaches_before_the_next_vote(new_job):
    """Sent together or one after the other, the votes weigh the same."""
    confidences = []
    for together in (True, False):
        policy = {"requirement": {"kind": "count", "labels": 3}, "worker_model": {"kind": "weighted"}}
        job = await new_job(items=2, **policy)
        for item, worker, label in (("i1", "w1", "dog"), ("i1", "w2", "cat"), ("i2", "w8", "cat"), ("i2", "w9", "dog")):
            await job.answer(item, worker, label)
        held = {one["item"]: one["id"] for one in (await job.next(None, count=2))["assignments"]}
        votes = [{"assignment": held["i1"], "label": "cat"}, {"item": "i2", "worker": "w1", "label": "dog"}]
        for bulk in [votes] if together else [[vote] for vote in votes]:
            await job.http.post(f"{job.path}/answers", json={"answers": bulk})
        confidences.append((await job.http.get(f"{job.path}/items/i2")).json()["confidence"])
    assert confidences[0] == confidences[1]


async def test_money_has_room_for_all_its_digits(new_job):
    most, least = "999999999999.999999", "0.000001"
    job = await new_job(costs=[most, least])
    prices = [{"worker": "dear", "price": most}, {"worker": "cheap", "price": least}]
    assert (await job.http.post(f"{job.path}/workers", json=prices)).status_code == 200
    dear = {one["item"]: one["id"] for one in (await job.next("dear", count=2))["assignments"]}
    cheap = {one["item"]: one["id"] for one in (await job.next("cheap", count=2))["assignments"]}
    for number in (dear["i1"], dear["i2"], cheap["i1"]):
        await job.http.post(f"{job.path}/assignments/{number}/release")
    assert (await job.status())["reserved"] == "0.000000000001"
    await job.http.post(f"{job.path}/assignments/{cheap['i2']}/release")
    assert Decimal((await job.status())["reserved"]) == 0


async def test_at_the_end_of_the_budget_nobody_searches(new_job, database_url, clock):
    """The least cost of an item is known, so a budget that covers none needs no look at the queue for each worker."""
    job = await new_job(costs=["2"] * 20, budget="3")
    await job.answer("i1", "w0", "cat")
    asked = []

    def note(query) -> None:
        if "LIMIT 1" in query.query and "i.cost *" in query.query:
            asked.append(query)

    engine = create_engine(database_url, connections=1)
    async with engine.connect() as connection:
        (await connection.get_raw_connection()).driver_connection.add_query_logger(note)
    given = [await new_batcher(engine, clock).ask(UUID(job.id), WorkRequest(f"w{n}", 1)) for n in range(1, 6)]
    await asyncio.sleep(0)
    await engine.dispose()
    assert {next_.reason.code for next_ in given} == {"budget-exhausted"}
    assert asked == []


async def test_many_who_change_one_job_leave_connections_to_the_others(new_job, app, database):
    """They wait in line before they take one."""
    job, other = await new_job(items=1), await new_job(items=1)
    pool = app.state.services.database.pool
    async with database.begin() as connection:
        await lock_job(connection, UUID(job.id))
        paths = [f"{job.path}/pause", f"{job.path}/resume"] * 20
        waiting = [asyncio.create_task(job.http.post(path)) for path in paths]
        await wait_for_lock_waits(database)
        assert (await other.next("w1"))["status"] == "continue"  # sent last: all others have come as far as they can
        assert pool.checkedout() == 1
    assert {response.status_code for response in await asyncio.gather(*waiting)} == {200}
