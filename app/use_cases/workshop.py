"""Long arithmetic away from the event loop: in a thread where it is short, in a process of its own where it is not.

No pool of the standard library: it holds both ends of its pipes, so that it waits for ever for the rest of a result
whose sender was killed, and the service can never end.
"""

import asyncio
import multiprocessing
import os
import pickle
import signal
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_SMALL = 20_000  # answers: some ten milliseconds, less than it takes to send them to another process


class WorkLost(RuntimeError):
    """The process was killed before it was done."""


class Workshop:
    """One process, started when it is first needed: a thread would fight the event loop for the interpreter."""

    def __init__(self) -> None:
        self._mate: _Mate | None = None

    async def do(self, size: int, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What `work` gives; it and what it takes and gives must be fit to be sent to another process."""
        if size <= _SMALL:
            return await asyncio.to_thread(work, *args, **kwargs)
        return await self.apart(work, *args, **kwargs)

    async def apart(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The same in the process of its own, however small."""
        mate = self._mate = self._mate or _Mate()
        try:
            return await asyncio.wrap_future(mate.begin(work, *args, **kwargs))
        except WorkLost:
            if self._mate is mate:
                self.close()
            raise

    def close(self) -> None:
        """Whatever is being worked on is given up: it can be begun anew."""
        if self._mate is not None:
            self._mate.end()
        self._mate = None


class _Mate:
    """A process at the other end of a line, and the thread that talks to it about one thing after the other."""

    def __init__(self) -> None:
        self._line, other_end = multiprocessing.Pipe()
        context = multiprocessing.get_context("spawn")  # a fork would copy open connections and locked locks
        self._process = context.Process(target=_serve, args=(other_end,), daemon=True)
        self._process.start()
        other_end.close()  # so that the line is dead when the process is
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="workshop")

    def begin(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        return self._thread.submit(self._ask, work, args, kwargs)

    def end(self) -> None:
        """At once; whoever waits is told that the work is lost."""
        self._process.kill()
        self._process.join()
        self._thread.shutdown(wait=False)

    def _ask(self, *order: object) -> Any:  # noqa: ANN401  what the work gives
        message = pickle.dumps(order)
        try:
            self._line.send_bytes(message)
            answer = self._line.recv_bytes()
        except (EOFError, OSError) as error:
            raise WorkLost from error
        found, failure = pickle.loads(answer)  # noqa: S301  from our own process
        if failure is not None:
            raise failure
        return found


def _serve(line: Connection) -> None:
    """Those who wait for an answer come first; and Ctrl-C is the service's affair."""
    os.nice(10)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_the_service, daemon=True).start()
    with suppress(EOFError, OSError):  # nobody is at the other end any more
        while True:
            line.send_bytes(_carried_out(line.recv_bytes()))


def _carried_out(order: bytes) -> bytes:
    """What came of it, or what went wrong."""
    try:
        work, args, kwargs = pickle.loads(order)  # noqa: S301  from our own service
        return pickle.dumps((work(*args, **kwargs), None))
    except Exception as error:  # noqa: BLE001  whatever it is, it belongs to those who wait
        error.add_note(traceback.format_exc())
        return _told(error)


def _told(error: Exception) -> bytes:
    """Not every error survives being sent; what it says does."""
    try:
        told = pickle.dumps((None, error))
        pickle.loads(told)  # noqa: S301  our own
    except Exception:  # noqa: BLE001  whatever its class makes of it
        return pickle.dumps((None, RuntimeError("".join(traceback.format_exception(error)))))
    return told


def _end_with_the_service() -> None:
    """Whoever kills the service without a word leaves nobody to tell its workers that they are not needed any more."""
    service = multiprocessing.parent_process()
    if service is not None:
        service.join()
        os._exit(1)
