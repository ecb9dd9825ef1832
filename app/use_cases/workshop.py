"""Long arithmetic away from the event loop: in a thread where it is short, in a process of its own where it is not."""

import asyncio
import multiprocessing
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_SMALL = 20_000  # answers: some ten milliseconds, less than it takes to send them to another process


class Workshop:
    """One process, started when it is first needed: a thread would fight the event loop for the interpreter."""

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None

    async def do(self, size: int, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What `work` gives; it and what it takes and gives must be fit to be sent to another process."""
        if size <= _SMALL:
            return await asyncio.to_thread(work, *args, **kwargs)
        if self._pool is None:
            context = multiprocessing.get_context("spawn")  # a fork would copy open connections and locked locks
            self._pool = ProcessPoolExecutor(1, mp_context=context, initializer=_step_back)
        try:
            return await asyncio.wrap_future(self._pool.submit(work, *args, **kwargs))
        except RuntimeError:  # the process is gone
            self.close()
            raise

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None


def _step_back() -> None:
    """Those who wait for an answer come first."""
    os.nice(10)
