"""A request with a key is carried out once, even if it arrives twice at the same moment."""

import asyncio
import hashlib
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from app.domain.stored_response import KeyedRequest, StoredResponse
from app.errors import IdempotencyConflict, ItemConflict
from app.store.jobs import lock_job
from app.use_cases.respond_once import respond_once
from app.use_cases.work.held_assignments import sweep
from tests.waiting import wait_for_lock_waits

NOW = datetime(2100, 1, 1, tzinfo=UTC)


def keyed(job_id: UUID, body: str = "[]", key: str = "k", now: datetime = NOW) -> KeyedRequest:
    return KeyedRequest(job_id=job_id, key=key, digest=hashlib.sha256(body.encode()).digest(), now=now)


class Work:
    """Something that shows how often it was done: it runs in the caller's transaction, and can be held up or fail."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.may_end = asyncio.Event()
        self.fails = False

    async def __call__(self, connection: AsyncConnection, job_id: UUID) -> StoredResponse:
        await lock_job(connection, job_id)
        once_more = text("UPDATE job SET name = coalesce(name, '') || 'x' WHERE job_id = :job")
        await connection.execute(once_more, {"job": job_id})
        self.begun.set()
        await self.may_end.wait()
        if self.fails:
            raise ItemConflict("refused")
        return StoredResponse(status=201, headers={"Location": "/there"}, body='{"added": 1}')


async def carry_out(database: AsyncEngine, request: KeyedRequest, work: Work) -> StoredResponse:
    async with database.begin() as connection:
        return await respond_once(connection, request, lambda: work(connection, request.job_id))


async def done(database: AsyncEngine, job_id: UUID) -> int:
    async with database.connect() as connection:
        name = await connection.scalar(text("SELECT name FROM job WHERE job_id = :job"), {"job": job_id})
    return len(name or "")


async def rows(database: AsyncEngine, job_id: UUID) -> int:
    async with database.connect() as connection:
        query = text("SELECT count(*) FROM stored_response WHERE job_id = :job")
        return await connection.scalar(query, {"job": job_id})


@pytest.fixture
async def job_id(new_job) -> UUID:
    return UUID((await new_job()).id)


@pytest.fixture
def work() -> Work:
    return Work()


async def test_the_second_time_gives_the_first_response(database, job_id, work):
    work.may_end.set()
    first = await carry_out(database, keyed(job_id), work)
    again = await carry_out(database, keyed(job_id), work)
    assert (first.replayed, again.replayed) == (False, True)
    assert (again.status, again.headers, again.body) == (first.status, first.headers, first.body)
    assert await done(database, job_id) == 1


async def test_a_key_stands_for_one_request(database, job_id, work):
    work.may_end.set()
    await carry_out(database, keyed(job_id), work)
    with pytest.raises(IdempotencyConflict, match="'k'"):
        await carry_out(database, keyed(job_id, body="[1]"), work)
    await carry_out(database, keyed(job_id, body="[1]", key="another"), work)
    assert await done(database, job_id) == 2


async def test_a_key_is_the_jobs_own(database, new_job, work):
    work.may_end.set()
    for _ in range(2):
        assert not (await carry_out(database, keyed(UUID((await new_job()).id)), work)).replayed


async def test_of_two_at_once_the_second_waits_and_gets_the_first_response(database, job_id, work):
    first = asyncio.create_task(carry_out(database, keyed(job_id), work))
    await asyncio.wait_for(work.begun.wait(), 30)
    second = asyncio.create_task(carry_out(database, keyed(job_id), work))
    await wait_for_lock_waits(database)
    assert not second.done()
    work.may_end.set()
    assert [(await first).replayed, (await second).replayed] == [False, True]
    assert await done(database, job_id) == 1


async def test_of_two_at_once_the_second_does_the_work_if_the_first_is_refused(database, job_id, work):
    work.fails = True
    first = asyncio.create_task(carry_out(database, keyed(job_id), work))
    await asyncio.wait_for(work.begun.wait(), 30)
    willing = Work()
    willing.may_end.set()
    second = asyncio.create_task(carry_out(database, keyed(job_id), willing))
    await wait_for_lock_waits(database)
    work.may_end.set()
    with pytest.raises(ItemConflict):
        await first
    assert (await second).replayed is False
    assert await done(database, job_id) == 1


async def test_many_at_once_do_the_work_once(database, job_id, work):
    work.may_end.set()
    responses = await asyncio.gather(*(carry_out(database, keyed(job_id), work) for _ in range(15)))
    assert sorted(response.replayed for response in responses) == [False] + [True] * 14
    assert {response.body for response in responses} == {'{"added": 1}'}
    assert await done(database, job_id) == 1


async def test_a_refused_request_leaves_its_key_free(database, job_id, work):
    work.may_end.set()
    work.fails = True
    with suppress(ItemConflict):
        await carry_out(database, keyed(job_id), work)
    assert await rows(database, job_id) == 0
    work.fails = False
    assert not (await carry_out(database, keyed(job_id, body="[corrected]"), work)).replayed
    assert await done(database, job_id) == 1


async def test_without_a_key_it_is_done_every_time(database, job_id, work):
    work.may_end.set()
    for _ in range(2):
        async with database.begin() as connection:
            await respond_once(connection, None, lambda: work(connection, job_id))
    assert await done(database, job_id) == 2
    assert await rows(database, job_id) == 0


async def test_a_job_that_is_deleted_takes_its_responses_along(database, client, new_job, work):
    """Also one that is being carried out while the deletion waits for it."""
    job = await new_job()
    first = asyncio.create_task(carry_out(database, keyed(UUID(job.id)), work))
    await asyncio.wait_for(work.begun.wait(), 30)
    deletion = asyncio.create_task(client.delete(job.path))
    await wait_for_lock_waits(database)
    work.may_end.set()
    await first
    assert (await deletion).status_code == 204
    assert await rows(database, UUID(job.id)) == 0


async def test_old_responses_are_forgotten_and_their_keys_are_free_again(database, job_id, work):
    work.may_end.set()
    await carry_out(database, keyed(job_id), work)
    await sweep(database, NOW + timedelta(hours=24), keep_responses=timedelta(hours=24))
    assert (await carry_out(database, keyed(job_id), work)).replayed
    await sweep(database, NOW + timedelta(hours=24, seconds=1), keep_responses=timedelta(hours=24))
    assert await rows(database, job_id) == 0
    assert not (await carry_out(database, keyed(job_id, body="[other]"), work)).replayed


async def test_an_unknown_job_leaves_nothing_behind(database, client):
    nobody = uuid4()
    assert (await client.delete(f"/v1/jobs/{nobody}")).status_code == 404
    assert await rows(database, nobody) == 0
