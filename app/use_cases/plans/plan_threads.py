"""Compute plans in separate threads, so that other requests do not wait for heavy ones."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import Any, TypeVar

from app.errors import TooSlow

Found = TypeVar("Found")

_THREADS = 2
_MOST_WAITING = 16


class PlanThreads:
    """A few threads with a bounded queue. When the queue is full, requests are refused; clients may retry."""

    def __init__(self, threads: int, most_waiting: int) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="plan")
        self._most = threads + most_waiting
        self._unfinished = 0
        self._lock = Lock()

    async def run(self, work: Callable[..., Found], *args: Any) -> Found:  # noqa: ANN401  the work's own
        """Run the work and return its result. If the request ends before the work has begun, the work is dropped."""
        with self._lock:
            if self._unfinished >= self._most:
                raise TooSlow("Too many plans are being computed at the moment. Send the request again in a second.")
            self._unfinished += 1
        future = self._pool.submit(work, *args)
        future.add_done_callback(self._done)
        return await asyncio.wrap_future(future)

    def _done(self, _: Future[Any]) -> None:
        with self._lock:
            self._unfinished -= 1


_threads = PlanThreads(_THREADS, _MOST_WAITING)


async def in_plan_thread(work: Callable[..., Found], *args: Any) -> Found:  # noqa: ANN401  the work's own
    """Run the work in one of the threads that all plans share."""
    return await _threads.run(work, *args)
