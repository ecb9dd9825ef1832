"""Long work has a process of its own, and nothing is left of it."""

import asyncio
import os
import subprocess
import sys
import threading
import time

import psutil
import pytest

from app.use_cases.workshop import WorkLost, Workshop

LARGE = 10**6
HUGE = 10**8  # bytes: more than any pipe takes at once


class Unsendable(Exception):
    """Says how it came about, but cannot be made again from its message alone."""

    def __init__(self, *, cause: str) -> None:
        super().__init__(f"because of {cause}")


def fail_in_its_own_way() -> None:
    raise Unsendable(cause="the weather")


async def test_small_work_stays_here_and_large_work_goes_elsewhere():
    workshop = Workshop()
    assert await workshop.do(10, os.getpid) == os.getpid()
    elsewhere = await workshop.do(LARGE, os.getpid)
    assert elsewhere != os.getpid()
    assert await workshop.do(LARGE, os.getpid) == elsewhere
    assert psutil.Process(elsewhere).nice() >= 10
    workshop.close()


async def test_what_fails_fails_with_its_own_error():
    workshop = Workshop()
    with pytest.raises(ZeroDivisionError):
        await workshop.do(LARGE, divmod, 1, 0)
    assert await workshop.do(LARGE, divmod, 7, 2) == (3, 1)
    workshop.close()


async def test_what_cannot_be_sent_is_told_and_the_process_goes_on():
    workshop = Workshop()
    process = await workshop.apart(os.getpid)
    with pytest.raises((TypeError, AttributeError), match="pickle"):
        await workshop.apart(lambda: 1)
    with pytest.raises(TypeError, match="pickle"):
        await workshop.apart(threading.Lock)
    with pytest.raises(RuntimeError, match="because of the weather"):
        await workshop.apart(fail_in_its_own_way)
    assert await workshop.apart(os.getpid) == process
    workshop.close()


async def test_closing_gives_up_what_is_under_way():
    """At once, and with no process left behind."""
    workshop = Workshop()
    child = psutil.Process(await workshop.do(LARGE, os.getpid))
    sleeping = asyncio.create_task(workshop.do(LARGE, time.sleep, 60))
    await asyncio.sleep(0.1)
    started = time.monotonic()
    workshop.close()
    with pytest.raises(WorkLost):
        await sleeping
    assert time.monotonic() - started < 30
    assert psutil.wait_procs([child], timeout=30)[1] == []


async def test_a_process_that_was_killed_is_replaced():
    workshop = Workshop()
    psutil.Process(await workshop.do(LARGE, os.getpid)).kill()
    with pytest.raises(WorkLost):
        await workshop.do(LARGE, time.sleep, 1)
    assert await workshop.do(LARGE, os.getpid) > 0
    workshop.close()


async def test_who_is_killed_with_work_waiting_loses_all_of_it():
    workshop = Workshop()
    process = psutil.Process(await workshop.apart(os.getpid))
    waiting = [asyncio.create_task(workshop.apart(time.sleep, 60)) for _ in range(3)]
    await asyncio.sleep(0.1)
    process.kill()
    outcomes = await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), 30)
    assert [type(outcome) for outcome in outcomes] == [WorkLost] * 3
    assert await workshop.apart(abs, -1) == 1
    workshop.close()


async def test_a_process_killed_while_it_is_sent_much_keeps_nobody_waiting():
    workshop = Workshop()
    process = psutil.Process(await workshop.apart(os.getpid))
    process.suspend()
    sending = asyncio.create_task(workshop.apart(len, bytes(HUGE)))
    await asyncio.sleep(0.2)
    process.kill()
    with pytest.raises(WorkLost):
        await asyncio.wait_for(sending, 30)
    assert await workshop.apart(abs, -1) == 1
    workshop.close()


async def test_a_process_killed_while_it_sends_much_keeps_nobody_waiting():
    """Part of it has come, the rest never will."""
    workshop, here = Workshop(), psutil.Process()
    process = psutil.Process(await workshop.apart(os.getpid))
    before = here.io_counters().read_chars
    sending = asyncio.create_task(workshop.apart(bytes, HUGE))
    while here.io_counters().read_chars < before + HUGE / 10:  # noqa: ASYNC110  nobody tells when it comes
        await asyncio.sleep(0.001)
    process.kill()
    with pytest.raises(WorkLost):
        await asyncio.wait_for(sending, 30)
    assert await workshop.apart(abs, -1) == 1
    workshop.close()


def test_whoever_kills_the_service_ends_its_workshop_too():
    """Without a word: nobody is left to close it."""
    script = (
        "import asyncio, os, time\n"
        "from app.use_cases.workshop import Workshop\n"
        "if __name__ == '__main__':\n"
        "    print(asyncio.run(Workshop().apart(os.getpid)), flush=True)\n"
        "    time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as service:
        child = psutil.Process(int(service.stdout.readline()))
        service.kill()
    assert psutil.wait_procs([child], timeout=30)[1] == []
