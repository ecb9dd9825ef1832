"""Run work in a thread while the database is busy, and leave no thread running when the request ends."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from typing import TypeVar

T = TypeVar("T")


async def one_ahead(source: Iterator[T]) -> AsyncGenerator[T]:
    """Yield the values of a slow iterator; the next value is computed while the caller uses the current one."""
    drawing = asyncio.create_task(asyncio.to_thread(_draw, source))
    try:
        # Shielded: a thread cannot be stopped, and the caller must not close the source's file before the thread ends.
        while drawn := await asyncio.shield(drawing):
            drawing = asyncio.create_task(asyncio.to_thread(_draw, source))
            yield drawn[0]
    finally:
        await _ended(drawing)


async def in_thread(work: Callable[[], T], during: Awaitable[None] | None = None) -> T:
    """Run the work in a thread and return its result; await `during` at the same time."""
    working = asyncio.create_task(asyncio.to_thread(work))
    try:
        if during is not None:
            await during
        return await asyncio.shield(working)
    finally:
        await _ended(working)


def _draw(source: Iterator[T]) -> tuple[T] | None:
    """Return the next value in a tuple; None at the end."""
    for drawn in source:
        return (drawn,)
    return None


async def _ended(task: asyncio.Task[T]) -> None:
    await asyncio.wait([task])
    task.exception()  # retrieve the exception, otherwise asyncio warns about it
