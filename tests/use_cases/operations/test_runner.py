"""The background runner: one life cycle for all work that no request waits for."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest
from structlog.testing import capture_logs

from app.errors import JobUnknown
from app.store.jobs import lock_job
from app.store.operations import load_operation
from app.use_cases.operations.operation_lifecycle import Outdated, carry_out, create_operation
from app.use_cases.operations.runner import BackgroundRunner, Lane
from app.use_cases.operations.worker_process import WorkerProcess, WorkLost

NOW = datetime(2100, 1, 1, tzinfo=UTC)
SECONDS = 30  # that something may take at most


class Pieces:
    """A handler that has some pieces of work for each job, and does with each what a test says."""

    def __init__(self, pieces: dict[UUID, int], do: Callable[[UUID], Awaitable[None]] | None = None) -> None:
        self.pieces, self.do = pieces, do
        self.done: list[UUID] = []

    async def due(self, _connection) -> list[UUID]:
        return [job_id for job_id, left in self.pieces.items() if left]

    async def run(self, _connection, job_id: UUID) -> bool:
        if not self.pieces.get(job_id):
            return False
        if self.do is not None:
            await self.do(job_id)
        self.pieces[job_id] -= 1
        self.done.append(job_id)
        return True


def runner_of(database, *handlers: Pieces, **options: bool) -> BackgroundRunner:
    return BackgroundRunner(database, [Lane("upkeep", handlers, WorkerProcess(), jobs_at_once=1, **options)])


async def ended(task: asyncio.Task[None]) -> None:
    await asyncio.wait_for(asyncio.shield(task), SECONDS)


async def test_jobs_take_turns_and_the_first_handler_goes_first(database):
    one, two = uuid4(), uuid4()
    first, second = Pieces({one: 1}), Pieces({one: 2, two: 2})
    order: list[tuple[str, UUID]] = []

    async def note_first(job_id: UUID) -> None:
        order.append(("first", job_id))

    async def note_second(job_id: UUID) -> None:
        order.append(("second", job_id))

    first.do, second.do = note_first, note_second
    runner = runner_of(database, first, second)
    for task in [runner.begin(one), runner.begin(two)]:
        await ended(task)
    assert order == [("first", one), ("second", two), ("second", one), ("second", two), ("second", one)]
    await runner.close()


async def test_work_that_is_announced_meanwhile_is_done_in_the_same_task(database):
    job_id, begun, go_on = uuid4(), asyncio.Event(), asyncio.Event()

    async def wait(_: UUID) -> None:
        begun.set()
        await go_on.wait()

    handler = Pieces({job_id: 1}, wait)
    runner = runner_of(database, handler)
    task = runner.begin(job_id)
    await begun.wait()
    handler.pieces[job_id] += 1
    assert runner.begin(job_id) is task
    go_on.set()
    await ended(task)
    assert handler.done == [job_id] * 2
    assert runner.begin(job_id) is not task
    await runner.close()


async def test_one_replica_works_on_a_job_and_another_may_work_on_the_next(database):
    job_id, other, begun, go_on = uuid4(), uuid4(), asyncio.Event(), asyncio.Event()

    async def wait(_: UUID) -> None:
        begun.set()
        await go_on.wait()

    here, there = Pieces({job_id: 1}, wait), Pieces({job_id: 1, other: 1})
    runner, replica = runner_of(database, here), runner_of(database, there)
    task = runner.begin(job_id)
    await begun.wait()
    await ended(replica.begin(job_id))
    assert there.done == []
    await ended(replica.begin(other))
    go_on.set()
    await ended(task)
    await ended(replica.begin(job_id))
    assert (here.done, there.done) == ([job_id], [other, job_id])
    await runner.close()
    await replica.close()


@pytest.mark.parametrize(
    ("error", "event"),
    [(RuntimeError("broken"), "work failed"), (ConnectionResetError(), "work interrupted, will try again")],
)
async def test_an_error_is_logged_and_the_sweep_begins_the_work_again(database, error, event):
    job_id, errors = uuid4(), [error]

    async def fail_once(_: UUID) -> None:
        if errors:
            raise errors.pop()

    handler = Pieces({job_id: 1}, fail_once)
    runner = runner_of(database, handler)
    with capture_logs() as logs:
        await ended(runner.begin(job_id))
    assert [entry["event"] for entry in logs] == [event]
    assert handler.done == []
    await runner.sweep()
    await ended(runner.begin(job_id))
    assert handler.done == [job_id]
    await runner.close()


async def test_a_deleted_job_is_passed_over_in_silence(database):
    async def deleted(_: UUID) -> None:
        raise JobUnknown("gone")

    job_id = uuid4()
    runner = runner_of(database, Pieces({job_id: 1}, deleted))
    with capture_logs() as logs:
        await ended(runner.begin(job_id))
    assert logs == []
    await runner.close()


async def test_after_work_a_busy_job_rests_but_a_request_does_not_wait(database):
    job_id = uuid4()

    async def take_time(_: UUID) -> None:
        await asyncio.sleep(0.2)  # the rest is ten times as long

    handler = Pieces({job_id: 1}, take_time)
    runner = runner_of(database, handler, sweep_rests=True)
    await ended(runner.begin(job_id))
    handler.pieces[job_id] = 1
    runner.begin_if_rested(job_id)
    await runner.sweep()
    assert runner.lanes["upkeep"].tasks == {}
    await ended(runner.begin(job_id))
    assert handler.done == [job_id] * 2
    await runner.close()


async def test_closing_stops_the_work_and_frees_its_lock(database):
    job_id, begun = uuid4(), asyncio.Event()

    async def work_on_and_on(_: UUID) -> None:
        begun.set()
        await asyncio.Event().wait()

    runner = runner_of(database, Pieces({job_id: 1}, work_on_and_on))
    runner.begin(job_id)
    await begun.wait()
    await asyncio.wait_for(runner.close(), SECONDS)
    after = Pieces({job_id: 1})
    later = runner_of(database, after)
    await ended(later.begin(job_id))
    assert after.done == [job_id]
    await later.close()


@pytest.mark.parametrize(
    ("errors", "state", "outcome"),
    [
        ([], "done", {"found": 1}),
        ([WorkLost()] * 2, "done", {"found": 1}),
        ([WorkLost()] * 3, "failed", "The refit failed because of an error in the service"),
        ([ValueError()], "failed", "The refit failed because of an error in the service"),
        ([Outdated()], "running", None),
    ],
    ids=["done", "killed twice", "killed three times", "broken", "outdated"],
)
async def test_an_operation_ends_as_its_work_does(new_job, database, errors, state, outcome):
    """Work whose process is killed is tried three times; outdated work stays unfinished, to run again."""
    job_id, left = UUID((await new_job()).id), list(errors)
    async with database.begin() as connection:
        operation = await create_operation(connection, await lock_job(connection, job_id), "refit", NOW)

    async def work(report) -> dict[str, int]:
        await report(0.5)
        if left:
            raise left.pop()
        return {"found": 1}

    async with database.connect() as connection:
        assert await carry_out(connection, job_id, operation, work, lambda: NOW) == state
        found = await load_operation(connection, job_id, operation.operation_id)
    assert (found.state, found.finished_at) == (state, None if state == "running" else NOW)
    assert found.progress == (1.0 if state == "done" else 0.5)
    if state == "failed":
        assert found.outcome["error"].startswith(outcome)
    else:
        assert found.outcome == outcome
