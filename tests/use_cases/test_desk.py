"""Requests that wait for the same job at the same moment share a transaction, and nothing else."""

import asyncio
from uuid import UUID, uuid4

import asyncpg
import pytest
from sqlalchemy import event, text

from app.domain import AssignmentState
from app.errors import AssignmentUnknown, ItemUnknown, JobUnknown
from app.store.database import create_engine
from app.store.jobs import lock_job
from app.use_cases.answer_ledger import Submission
from app.use_cases.assign_next import Ask
from app.use_cases.change_assignment import Return
from app.use_cases.desk import Desk
from app.use_cases.release_expired import SWEEPER, sweep

POISON = "nul \x00 byte"  # the API refuses such a name; Postgres does, too


@pytest.fixture
def desk(database, clock) -> Desk:
    return Desk(database, clock)


@pytest.fixture
def commits(database):
    """The transactions that were committed meanwhile."""
    counted = []

    def count(connection) -> None:
        counted.append(connection)

    event.listen(database.sync_engine, "commit", count)
    yield counted
    event.remove(database.sync_engine, "commit", count)


async def test_who_comes_together_is_served_together(new_job, desk, commits):
    job = await new_job(items=50)
    commits.clear()
    given = await asyncio.gather(*(desk.ask(UUID(job.id), Ask(f"w{n}", 1)) for n in range(100)))
    assert all(next_.status == "continue" for next_ in given)
    assert len(commits) <= 2  # the first comes alone


async def test_who_comes_alone_does_not_wait_for_others(new_job, desk, commits):
    """Each of those who come one after the other is committed on its own, with no pause to gather more."""
    job = await new_job(items=5)
    commits.clear()
    for n in range(5):
        await desk.ask(UUID(job.id), Ask(f"w{n}", 1))
    assert len(commits) == 5


async def test_each_gets_its_own_error(new_job, desk):
    job = await new_job(items=1)
    asked, unknown_item, unknown_assignment, label = await asyncio.gather(
        desk.ask(UUID(job.id), Ask("w1", 1)),
        desk.answer(UUID(job.id), [Submission(item="nowhere", worker="w2", label="cat")]),
        desk.change(UUID(job.id), Return(99, AssignmentState.RELEASED)),
        desk.answer(UUID(job.id), [Submission(item="i1", worker="w3", label="dog")]),
        return_exceptions=True,
    )
    assert asked.status == "continue"
    assert isinstance(unknown_item[0], ItemUnknown)
    assert isinstance(unknown_assignment, AssignmentUnknown)
    assert label[0].verdict == "continue"


async def test_one_that_the_database_refuses_does_not_harm_its_neighbours(new_job, desk, database):
    job = await new_job(items=50)
    names = [POISON if n == 7 else f"w{n}" for n in range(20)]
    given = await asyncio.gather(*(desk.ask(UUID(job.id), Ask(name, 1)) for name in names), return_exceptions=True)
    assert isinstance(given[7], asyncpg.PostgresError)
    assert [next_.status for n, next_ in enumerate(given) if n != 7] == ["continue"] * 19
    async with database.connect() as connection:
        assert await connection.scalar(text("SELECT leases FROM job WHERE job_id = :job"), {"job": job.id}) == 19


async def test_an_unknown_job_is_everybodys_error(desk):
    job_id = uuid4()
    given = await asyncio.gather(*(desk.ask(job_id, Ask(f"w{n}", 1)) for n in range(5)), return_exceptions=True)
    assert all(isinstance(error, JobUnknown) for error in given)


async def test_who_leaves_before_being_served_takes_nothing(new_job, desk, database):
    """Those who hang up while they wait in line leave no lease and no reserved money behind."""
    job = await new_job(items=50, budget="50")
    async with database.begin() as connection:
        await lock_job(connection, UUID(job.id))
        first = asyncio.create_task(desk.ask(UUID(job.id), Ask("first", 1)))
        await asyncio.sleep(0.05)  # it waits for the lock, and these wait behind it
        others = [asyncio.create_task(desk.ask(UUID(job.id), Ask(f"w{n}", 1))) for n in range(20)]
        await asyncio.sleep(0.05)
        for other in others[:15]:
            other.cancel()
    await asyncio.gather(first, *others, return_exceptions=True)
    assert (await job.status())["reserved"] == "6"


async def test_jobs_do_not_wait_for_each_other(new_job, database_url, clock):
    """One job whose row is locked elsewhere holds one connection, however many wait for it; others go on."""
    engine = create_engine(database_url, connections=2)
    desk = Desk(engine, clock)
    stuck, free = await new_job(items=50), await new_job(items=50)
    blocker = await asyncpg.connect(database_url)
    try:
        await blocker.execute("BEGIN")
        await blocker.execute("SELECT 1 FROM job WHERE job_id = $1 FOR UPDATE", UUID(stuck.id))
        waiting = [asyncio.create_task(desk.ask(UUID(stuck.id), Ask(f"w{n}", 1))) for n in range(30)]
        async with asyncio.timeout(10):
            for n in range(5):
                assert (await desk.ask(UUID(free.id), Ask(f"w{n}", 1))).status == "continue"
        assert not any(task.done() for task in waiting)
    finally:
        await blocker.close()
    assert {next_.status for next_ in await asyncio.gather(*waiting)} == {"continue"}
    await engine.dispose()


async def test_two_who_are_one_get_the_same(new_job, desk):
    """The same worker asking twice at once gets one lease, told twice."""
    job = await new_job(items=5)
    given = await asyncio.gather(*(desk.ask(UUID(job.id), Ask("w1", 1)) for _ in range(10)))
    assert len({next_.held[0].lease.assignment_id for next_ in given}) == 1
    assert (await job.status())["reserved"] == "1"


async def test_the_unnamed_do_not_get_an_item_twice_at_once(new_job, desk):
    """Nobody knows who they are, but within one request it is one worker."""
    job = await new_job(items=2)
    one = await desk.ask(UUID(job.id), Ask(None, 5))
    other = await desk.ask(UUID(job.id), Ask(None, 5))
    assert [sorted(held.key for held in next_.held) for next_ in (one, other)] == [["i1", "i2"], ["i1", "i2"]]


async def reserved_after_sweeps(engine, clock, *jobs) -> list[str]:
    """Sweep until nothing is left to sweep: the sweeper of another service of this run may be at it just now."""
    for _ in range(50):
        await sweep(engine, clock())
        reserved = [(await job.status())["reserved"] for job in jobs]
        if set(reserved) == {"0"}:
            break
        await asyncio.sleep(0.05)
    return reserved


async def test_a_sweep_needs_one_connection(new_job, database_url, clock):
    engine = create_engine(database_url, connections=1)
    jobs = [await new_job(items=1, lease_seconds=10) for _ in range(3)]
    for job in jobs:
        await job.next("w1")
    clock.advance(11)
    async with asyncio.timeout(20):
        assert await reserved_after_sweeps(engine, clock, *jobs) == ["0", "0", "0"]
    await engine.dispose()


async def test_one_replica_sweeps_at_a_time(new_job, database, clock):
    job = await new_job(items=1, lease_seconds=10)
    await job.next("w1")
    clock.advance(11)
    async with database.begin() as elsewhere:
        await elsewhere.execute(text("SELECT pg_advisory_xact_lock(:sweeper)"), {"sweeper": SWEEPER})
        await sweep(database, clock())
        assert (await job.status())["reserved"] == "1"
    assert await reserved_after_sweeps(database, clock, job) == ["0"]
