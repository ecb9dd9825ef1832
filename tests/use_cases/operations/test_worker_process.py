"""Long work runs in a separate process, which leaves nothing behind."""

import asyncio
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from app.use_cases.operations.worker_process import WorkerProcess, WorkLost
from tests.waiting import eventually

LARGE = 10**6
HUGE = 10**8  # bytes: more than any pipe takes at once


class Unsendable(Exception):
    """An error that cannot be created again from its message alone."""

    def __init__(self, *, cause: str) -> None:
        super().__init__(f"because of {cause}")


def fail_in_its_own_way() -> None:
    raise Unsendable(cause="the weather")


def begin_and_sleep(begun: Path) -> str:
    """Return a program that shows by a file that it has begun: `exec` runs it without an import of this module."""
    return f"import pathlib, time; pathlib.Path({str(begun)!r}).touch(); time.sleep(60)"


async def test_small_work_stays_here_and_large_work_goes_elsewhere():
    worker_process = WorkerProcess()
    assert await worker_process.run(10, os.getpid) == os.getpid()
    elsewhere = await worker_process.run(LARGE, os.getpid)
    assert elsewhere != os.getpid()
    assert await worker_process.run(LARGE, os.getpid) == elsewhere
    assert psutil.Process(elsewhere).nice() >= 10
    worker_process.close()


async def test_what_fails_fails_with_its_own_error():
    worker_process = WorkerProcess()
    with pytest.raises(ZeroDivisionError):
        await worker_process.run(LARGE, divmod, 1, 0)
    assert await worker_process.run(LARGE, divmod, 7, 2) == (3, 1)
    worker_process.close()


async def test_what_cannot_be_pickled_raises_and_the_process_goes_on():
    worker_process = WorkerProcess()
    process = await worker_process.run_in_process(os.getpid)
    with pytest.raises((TypeError, AttributeError), match="pickle"):
        await worker_process.run_in_process(lambda: 1)
    with pytest.raises(TypeError, match="pickle"):
        await worker_process.run_in_process(threading.Lock)
    with pytest.raises(RuntimeError, match="because of the weather"):
        await worker_process.run_in_process(fail_in_its_own_way)
    assert await worker_process.run_in_process(os.getpid) == process
    worker_process.close()


async def test_closing_kills_the_process_at_once(tmp_path):
    """At once, and with no process left behind."""
    worker_process = WorkerProcess()
    child = psutil.Process(await worker_process.run(LARGE, os.getpid))
    sleeping = asyncio.create_task(worker_process.run(LARGE, exec, begin_and_sleep(tmp_path / "begun")))
    await eventually((tmp_path / "begun").exists)
    started = time.monotonic()
    worker_process.close()
    with pytest.raises(WorkLost):
        await sleeping
    assert time.monotonic() - started < 30
    assert psutil.wait_procs([child], timeout=30)[1] == []


async def test_a_process_that_was_killed_is_replaced():
    worker_process = WorkerProcess()
    psutil.Process(await worker_process.run(LARGE, os.getpid)).kill()
    with pytest.raises(WorkLost):
        await worker_process.run(LARGE, time.sleep, 1)
    assert await worker_process.run(LARGE, os.getpid) > 0
    worker_process.close()


async def test_a_process_killed_with_calls_waiting_loses_all_of_them(tmp_path):
    worker_process = WorkerProcess()
    process = psutil.Process(await worker_process.run_in_process(os.getpid))
    waiting = [
        asyncio.create_task(worker_process.run_in_process(exec, begin_and_sleep(tmp_path / "begun"))) for _ in range(3)
    ]
    await eventually((tmp_path / "begun").exists)
    process.kill()
    outcomes = await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), 30)
    assert [type(outcome) for outcome in outcomes] == [WorkLost] * 3
    assert await worker_process.run_in_process(abs, -1) == 1
    worker_process.close()


async def test_a_process_killed_while_it_is_sent_much_keeps_no_caller_waiting():
    worker_process, here = WorkerProcess(), psutil.Process()
    process = psutil.Process(await worker_process.run_in_process(os.getpid))
    process.suspend()
    before = here.io_counters().write_chars
    sending = asyncio.create_task(worker_process.run_in_process(len, bytes(HUGE)))
    await eventually(lambda: here.io_counters().write_chars > before)  # the length is sent, the rest fills the pipe
    process.kill()
    with pytest.raises(WorkLost):
        await asyncio.wait_for(sending, 30)
    assert await worker_process.run_in_process(abs, -1) == 1
    worker_process.close()


async def test_a_process_killed_while_it_sends_much_keeps_no_caller_waiting():
    """Part of the result has arrived, the rest never will."""
    worker_process, here = WorkerProcess(), psutil.Process()
    process = psutil.Process(await worker_process.run_in_process(os.getpid))
    before = here.io_counters().read_chars
    sending = asyncio.create_task(worker_process.run_in_process(bytes, HUGE))
    await eventually(lambda: here.io_counters().read_chars >= before + HUGE / 10)
    process.kill()
    with pytest.raises(WorkLost):
        await asyncio.wait_for(sending, 30)
    assert await worker_process.run_in_process(abs, -1) == 1
    worker_process.close()


def test_killing_the_service_ends_its_worker_process_too():
    """A killed service cannot close anything."""
    script = (
        "import asyncio, os, time\n"
        "from app.use_cases.operations.worker_process import WorkerProcess\n"
        "if __name__ == '__main__':\n"
        "    print(asyncio.run(WorkerProcess().run_in_process(os.getpid)), flush=True)\n"
        "    time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as service:
        child = psutil.Process(int(service.stdout.readline()))
        service.kill()
    assert psutil.wait_procs([child], timeout=30)[1] == []
