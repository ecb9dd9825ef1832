"""Long work in a thread while the database is busy, with nothing left running when the request ends."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from typing import TypeVar

T = TypeVar("T")


async def one_ahead(source: Iterator[T]) -> AsyncGenerator[T]:
    """What a slow iterator gives, in order: the next is drawn while its caller uses the one before."""
    drawing = asyncio.create_task(asyncio.to_thread(_draw, source))
    try:
        # Shielded: a thread cannot be stopped, and whoever closes the source's file must know that it has ended.
        while drawn := await asyncio.shield(drawing):
            drawing = asyncio.create_task(asyncio.to_thread(_draw, source))
            yield drawn[0]
    finally:
        await _ended(drawing)


async def in_thread(work: Callable[[], T], during: Awaitable[None] | None = None) -> T:
    """The outcome of the work, done in a thread, perhaps while something else is awaited."""
    working = asyncio.create_task(asyncio.to_thread(work))
    try:
        if during is not None:
            await during
        return await asyncio.shield(working)
    finally:
        await _ended(working)


def _draw(source: Iterator[T]) -> tuple[T] | None:
    """The next of the source, wrapped to tell it from the end."""
    for drawn in source:
        return (drawn,)
    return None


async def _ended(task: asyncio.Task[T]) -> None:
    await asyncio.wait([task])
    task.exception()  # looked at, so that nobody warns of an error that came second
