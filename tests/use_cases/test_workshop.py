"""Long work has a process of its own, and nothing is left of it."""

import asyncio
import os
import subprocess
import sys
import time

import psutil
import pytest

from app.use_cases.workshop import Workshop

LARGE = 10**6


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


async def test_closing_gives_up_what_is_under_way():
    """At once, and with no process left behind."""
    workshop = Workshop()
    child = psutil.Process(await workshop.do(LARGE, os.getpid))
    sleeping = asyncio.create_task(workshop.do(LARGE, time.sleep, 60))
    await asyncio.sleep(0.1)
    started = time.monotonic()
    workshop.close()
    with pytest.raises((RuntimeError, asyncio.CancelledError)):
        await sleeping
    assert time.monotonic() - started < 5
    assert psutil.wait_procs([child], timeout=5)[1] == []


async def test_a_process_that_was_killed_is_replaced():
    workshop = Workshop()
    psutil.Process(await workshop.do(LARGE, os.getpid)).kill()
    with pytest.raises(RuntimeError):
        await workshop.do(LARGE, time.sleep, 1)
    assert await workshop.do(LARGE, os.getpid) > 0
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
    assert psutil.wait_procs([child], timeout=10)[1] == []
