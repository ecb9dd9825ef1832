"""Long arithmetic away from the event loop: in a thread where it is short, in a process of its own where it is not."""

import asyncio
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing.process import BaseProcess
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_SMALL = 20_000  # answers: some ten milliseconds, less than it takes to send them to another process


class Workshop:
    """One process, started when it is first needed: a thread would fight the event loop for the interpreter."""

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None
        self._processes: list[BaseProcess] = []

    async def do(self, size: int, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What `work` gives; it and what it takes and gives must be fit to be sent to another process."""
        if size <= _SMALL:
            return await asyncio.to_thread(work, *args, **kwargs)
        return await self.apart(work, *args, **kwargs)

    async def apart(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The same in the process of its own, however small."""
        try:
            return await asyncio.wrap_future(self._submit(work, *args, **kwargs))
        except RuntimeError:  # the process is gone
            self.close()
            raise

    def close(self) -> None:
        """Whatever is being worked on is given up: it can be begun anew."""
        if self._pool is None:
            return
        for process in self._processes:
            process.terminate()
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._pool, self._processes = None, []

    def _submit(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        if self._pool is not None:
            return self._pool.submit(work, *args, **kwargs)
        others = set(multiprocessing.active_children())
        context = multiprocessing.get_context("spawn")  # a fork would copy open connections and locked locks
        self._pool = ProcessPoolExecutor(1, mp_context=context, initializer=_step_back)
        submitted = self._pool.submit(work, *args, **kwargs)
        self._processes = [child for child in multiprocessing.active_children() if child not in others]
        return submitted


def _step_back() -> None:
    """Those who wait for an answer come first; and Ctrl-C is the service's affair."""
    os.nice(10)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_the_service, daemon=True).start()


def _end_with_the_service() -> None:
    """Whoever kills the service without a word leaves nobody to tell its workers that they are not needed any more."""
    service = multiprocessing.parent_process()
    if service is not None:
        service.join()
        os._exit(1)
