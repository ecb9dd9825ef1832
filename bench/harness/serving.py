"""Server processes for measurements: the service itself, or any other application, on free ports of the loopback."""

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import httpx
import psutil


@dataclass(frozen=True)
class Server:
    port: int
    process: psutil.Process

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


class MemoryWatch(threading.Thread):
    """The most memory that a process took during a measurement, above its memory before."""

    def __init__(self, process: psutil.Process) -> None:
        super().__init__(daemon=True)
        self.process = process
        self.before = self.peak = process.memory_info().rss
        self.done = threading.Event()

    def run(self) -> None:
        while not self.done.wait(0.05):
            self.peak = max(self.peak, self.process.memory_info().rss)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.done.set()
        self.join()

    @property
    def growth(self) -> float:
        """In MiB."""
        return (self.peak - self.before) / 2**20


@contextmanager
def the_service(url: str, folder: Path) -> Iterator[Server]:
    """Suffice on this database, with one process and its usual settings."""
    with serving("app.main:create_app", folder, factory=True, DATABASE_URL=url) as server:
        yield server


@contextmanager
def serving(app: str, folder: Path, *, factory: bool = False, **environment: str) -> Iterator[Server]:
    """One server process, as `suffice serve` would start it; its log goes to a file in `folder`."""
    port = _free_port()
    command = [sys.executable, "-m", "uvicorn", app, "--port", str(port), "--no-access-log", "--log-level", "error"]
    with (folder / f"{port}.log").open("wb") as log:
        process = subprocess.Popen(  # noqa: S603  our own program
            command + ["--factory"] * factory,
            env=os.environ | {"PYTHONPATH": str(folder)} | environment,
            stdout=log,
            stderr=log,
        )
    try:
        _wait_for(port, process, folder / f"{port}.log")
        yield Server(port, psutil.Process(process.pid))
    finally:
        process.terminate()
        process.wait()


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    while True:
        try:
            httpx.get(f"http://127.0.0.1:{port}/openapi.json", trust_env=False)
        except httpx.TransportError:
            if process.poll() is not None:
                raise SystemExit(log.read_text()) from None
            time.sleep(0.1)
        else:
            return
