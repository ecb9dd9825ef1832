"""Run arithmetic off the event loop: short work in a thread, long work in a process.

`concurrent.futures` is not used: its pools keep both ends of their pipes open. If a process is killed while it sends a
result, the pool waits for the rest for ever, and the service can never exit.
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

_SMALL = 20_000  # answers: about ten milliseconds of work, less than sending them to a process takes


class WorkLost(RuntimeError):
    """The process was killed before the work was done."""


class WorkerProcess:
    """One process that runs one call after the other; it starts when it is first needed, and again if it was killed.

    A thread is not enough for long work: it would compete with the event loop for the interpreter.
    """

    def __init__(self) -> None:
        self._child: _ChildProcess | None = None

    async def run(self, size: int, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call `work` in a thread if its `size` is small, otherwise in the process."""
        if size <= _SMALL:
            return await asyncio.to_thread(work, *args, **kwargs)
        return await self.run_in_process(work, *args, **kwargs)

    async def run_in_process(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call `work` in the process; the function, its arguments and its result are pickled."""
        child = self._child = self._child or _ChildProcess()
        try:
            return await asyncio.wrap_future(child.submit(work, *args, **kwargs))
        except WorkLost:
            if self._child is child:
                self.close()
            raise

    def close(self) -> None:
        """Kill the process at once; running and waiting calls raise `WorkLost`."""
        if self._child is not None:
            self._child.kill()
        self._child = None


class _ChildProcess:
    """A process at the other end of a pipe, and the thread that sends it one call after the other."""

    def __init__(self) -> None:
        self._pipe, other_end = multiprocessing.Pipe()
        context = multiprocessing.get_context("spawn")  # a fork would copy open connections and held locks
        self._process = context.Process(target=_serve, args=(other_end,), daemon=True)
        self._process.start()
        other_end.close()  # so that the pipe breaks when the process dies
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="worker-process")

    def submit(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        return self._thread.submit(self._call, work, args, kwargs)

    def kill(self) -> None:
        self._process.kill()
        self._process.join()
        self._thread.shutdown(wait=False)

    def _call(self, *call: object) -> Any:  # noqa: ANN401  what the work returns
        message = pickle.dumps(call)
        try:
            self._pipe.send_bytes(message)
            reply = self._pipe.recv_bytes()
        except (EOFError, OSError) as error:
            raise WorkLost from error
        result, failure = pickle.loads(reply)  # noqa: S301  from our own process
        if failure is not None:
            raise failure
        return result


def _serve(pipe: Connection) -> None:
    """Run calls until the pipe breaks, with lower priority than the service; only the service handles Ctrl-C."""
    os.nice(10)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_exit_with_the_service, daemon=True).start()
    with suppress(EOFError, OSError):  # the service has closed its end
        while True:
            pipe.send_bytes(_reply_to(pipe.recv_bytes()))


def _reply_to(message: bytes) -> bytes:
    """Run a pickled call; return its pickled result, or the error that it raised."""
    try:
        work, args, kwargs = pickle.loads(message)  # noqa: S301  from our own service
        return pickle.dumps((work(*args, **kwargs), None))
    except Exception as error:  # noqa: BLE001  any error belongs to the caller
        error.add_note(traceback.format_exc())
        return _pickled(error)


def _pickled(error: Exception) -> bytes:
    """Pickle an error; one that cannot be pickled becomes a RuntimeError with the same text."""
    try:
        reply = pickle.dumps((None, error))
        pickle.loads(reply)  # noqa: S301  our own
    except Exception:  # noqa: BLE001  an error's own code may raise anything
        return pickle.dumps((None, RuntimeError("".join(traceback.format_exception(error)))))
    return reply


def _exit_with_the_service() -> None:
    """Exit when the service dies, even if it is killed and cannot close this process."""
    service = multiprocessing.parent_process()
    if service is not None:
        service.join()
        os._exit(1)
