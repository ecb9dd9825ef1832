"""Arithmetic of plans in threads of its own, so that heavy ones keep nobody else waiting."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import Any, TypeVar

from app.errors import TooSlow

Found = TypeVar("Found")

_THREADS = 2
_MOST_WAITING = 16


class Apart:
    """So many threads, and so many that may wait for them; whoever comes then is told to come again."""

    def __init__(self, threads: int, most_waiting: int) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="plan")
        self._most = threads + most_waiting
        self._unfinished = 0
        self._lock = Lock()

    async def run(self, work: Callable[..., Found], *args: Any) -> Found:  # noqa: ANN401  the work's own
        """What the work comes to; where nobody waits for it any more and it has not begun, it is left."""
        with self._lock:
            if self._unfinished >= self._most:
                raise TooSlow("Too many plans are being made at the moment; send the request again")
            self._unfinished += 1
        future = self._pool.submit(work, *args)
        future.add_done_callback(self._done)
        return await asyncio.wrap_future(future)

    def _done(self, _: Future[Any]) -> None:
        with self._lock:
            self._unfinished -= 1


_apart = Apart(_THREADS, _MOST_WAITING)


async def apart(work: Callable[..., Found], *args: Any) -> Found:  # noqa: ANN401  the work's own
    """Do it in one of the threads that all plans share."""
    return await _apart.run(work, *args)
