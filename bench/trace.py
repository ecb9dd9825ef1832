"""Print the way of one request through our modules: `python bench/trace.py answer`, or `next`.

The service runs in this process, on a database of its own, with a default job. It is warm when the request is traced:
what is loaded or cached once is not part of the way. Imports do not count, only functions that run.
"""

import argparse
import asyncio
import sys
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType

import httpx

import app
from app.main import create_app, shut_down
from app.settings import Settings
from app.store.connection import migrate
from app.store.embedded import embedded_postgres

ROOT = Path(app.__file__).parent
REQUESTS = ("answer", "next")


class Trace:
    """The functions of ours that ran, by module, both in the order in which they were first entered."""

    def __init__(self) -> None:
        self.functions: dict[str, dict[str, int]] = {}
        self._recording = False
        self._modules: dict[CodeType, str | None] = {}

    def install(self) -> None:
        """Watch this thread and every thread that starts after it."""
        threading.setprofile(self._watch)
        sys.setprofile(self._watch)

    @staticmethod
    def remove() -> None:
        threading.setprofile(None)
        sys.setprofile(None)

    @contextmanager
    def recording(self) -> Iterator[None]:
        self._recording = True
        try:
            yield
        finally:
            self._recording = False

    def _watch(self, frame: FrameType, event: str, _: object) -> None:
        if not self._recording or event != "call":
            return
        code = frame.f_code
        if code not in self._modules:
            self._modules[code] = _module_of(code)
        module = self._modules[code]
        if module is not None:
            functions = self.functions.setdefault(module, {})
            functions[code.co_qualname] = functions.get(code.co_qualname, 0) + 1


def _module_of(code: CodeType) -> str | None:
    """The name of our module that the code is from; None where it is not ours, or runs on import."""
    file = Path(code.co_filename)
    if code.co_name == "<module>" or not file.is_relative_to(ROOT):
        return None
    return ".".join(file.relative_to(ROOT.parent).with_suffix("").parts)


async def trace_request(database_url: str, kind: str) -> Trace:
    """Trace one request of this kind on a default job that has had a few answers."""
    trace, loop = Trace(), asyncio.get_running_loop()
    trace.install()
    loop.set_default_executor(ThreadPoolExecutor())  # its threads start now, so that they are watched
    service = create_app(Settings(database_url=database_url, log_level="error"))
    transport = httpx.ASGITransport(service)
    try:
        async with httpx.AsyncClient(transport=transport, base_url="http://suffice", timeout=60) as client:
            job = (await client.post("/v1/jobs", json={"labels": ["cat", "dog"], "budget": "100"})).json()
            path = f"/v1/jobs/{job['id']}"
            items = [{"key": f"i{n}"} for n in range(20)]
            (await client.post(f"{path}/items", json=items)).raise_for_status()
            for worker in ("w1", "w2", "w3"):
                await _answer(client, path, await _ask(client, path, worker), "cat")
            if kind == "answer":
                held = await _ask(client, path, "w1")
                with trace.recording():
                    await _answer(client, path, held, "cat")
            else:
                with trace.recording():
                    await _ask(client, path, "w1")
    finally:
        trace.remove()
        loop.set_default_executor(ThreadPoolExecutor())
        await shut_down(service)
    return trace


async def _ask(client: httpx.AsyncClient, path: str, worker: str) -> str:
    response = await client.post(f"{path}/next", json={"worker": worker})
    found: str = response.raise_for_status().json()["assignments"][0]["id"]
    return found


async def _answer(client: httpx.AsyncClient, path: str, assignment: str, label: str) -> None:
    response = await client.post(f"{path}/answers", json={"assignment": assignment, "label": label})
    response.raise_for_status()


def report(trace: Trace) -> None:
    for place, (module, functions) in enumerate(trace.functions.items(), start=1):
        named = [name.rpartition(".<locals>.")[2] for name in functions]
        print(f"{place:3} {module}: {', '.join(dict.fromkeys(name for name in named if '<' not in name))}")
    entered = sum(len(functions) for functions in trace.functions.values())
    policy = sum(module.startswith("app.policy.") for module in trace.functions)
    service = len(trace.functions) - policy
    print(f"{service + policy} modules ({service} of the service, {policy} of the policy), {entered} functions")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("request", choices=REQUESTS)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, embedded_postgres(Path(name) / "data") as url:
        migrate(url)
        report(asyncio.run(trace_request(url, chosen.request)))


if __name__ == "__main__":
    main()
