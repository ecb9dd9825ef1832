"""Wait for a condition with a deadline, instead of sleeping for a guessed time."""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

LONG = 60.0  # seconds: other tests may use every core
OFTEN = 0.01

Condition = Callable[[], Any | Awaitable[Any]]


async def eventually(condition: Condition, seconds: float = LONG) -> Any:
    """Return the first true value of `condition()`, which may be a coroutine, or fail after so many seconds."""
    deadline = time.monotonic() + seconds
    while True:
        found = condition()
        if inspect.isawaitable(found):
            found = await found
        if found:
            return found
        if time.monotonic() > deadline:
            raise AssertionError(f"not true within {seconds:g} s: {_source(condition)}")
        await asyncio.sleep(OFTEN)


def eventually_blocking(condition: Callable[[], Any], seconds: float = LONG) -> Any:
    """Do the same in a test that is not a coroutine."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not true within {seconds:g} s: {_source(condition)}")
        time.sleep(OFTEN)
    return found


async def finished(http: httpx.AsyncClient, path: str) -> dict[str, Any]:
    """Return an operation when it is done or has failed. It runs in a process of low priority."""

    async def operation() -> dict[str, Any] | None:
        found = (await http.get(path)).json()
        return found if found["state"] in {"done", "failed"} else None

    return await eventually(operation)


async def lock_waits(database: AsyncEngine) -> int:
    """Count the statements on this database that wait for a lock."""
    query = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    async with database.connect() as connection:
        return await connection.scalar(text(query))


async def wait_for_lock_waits(database: AsyncEngine, number: int = 1) -> None:
    """Wait until so many statements wait for a lock, usually one that the test holds."""

    async def enough() -> bool:
        return await lock_waits(database) >= number

    await eventually(enough)


def _source(condition: Callable[[], Any]) -> str:
    try:
        return inspect.getsource(condition).strip()
    except OSError:
        return repr(condition)
