"""The real service for tests: `suffice serve` as a process, and the application on a real port in this process."""

import logging
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import psutil
import structlog
import uvicorn
from fastapi import FastAPI

from tests.waiting import eventually_blocking

SUFFICE = str(Path(sys.executable).parent / "suffice")


def environment(data_dir: Path, **variables: str) -> dict[str, str]:
    """Return the environment of this process without its settings of Suffice, and with these."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("SUFFICE_", "DATABASE_"))}
    return clean | {"SUFFICE_DATA_DIR": str(data_dir), "SUFFICE_PORT": "0"} | variables


class Service:
    """A running `suffice serve`, which has printed its address. Its log is the file `log` beside the data folder."""

    def __init__(self, data_dir: Path, *arguments: str, **variables: str) -> None:
        with (data_dir.parent / "log").open("a") as log:
            self.process = subprocess.Popen(
                [SUFFICE, "serve", *arguments],
                env=environment(data_dir, **variables),
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        self.said = ""
        while "Ctrl-C" not in self.said:
            line = self.process.stdout.readline()
            assert line, f"it ended early: {(data_dir.parent / 'log').read_text()}"
            self.said += line
        self.url = re.search(r"http://\S+", self.said)[0]
        httpx.get(f"{self.url}/healthz", timeout=60)  # an early request waits, and on a busy machine for long

    def stop(self, number: int = signal.SIGINT) -> str:
        """Ask it to stop, and return what else it printed."""
        self.process.send_signal(number)
        rest, _ = self.process.communicate(timeout=60)
        return rest

    def kill(self) -> None:
        """End it at once, if it still runs."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()


@contextmanager
def service(data_dir: Path, *arguments: str, **variables: str) -> Iterator[Service]:
    """Run `suffice serve` with these arguments and settings, and stop it in the end."""
    running = Service(data_dir, *arguments, **variables)
    try:
        yield running
    finally:
        if running.process.poll() is None:
            running.stop()
        running.process.stdout.close()
        running.process.wait()


def postgres_processes(data_dir: Path) -> list[psutil.Process]:
    """Return the embedded PostgreSQL servers that use this data folder."""
    return [
        process
        for process in psutil.process_iter(["cmdline", "status"])
        if str(data_dir / "postgres") in (process.info["cmdline"] or []) and process.info["status"] != "zombie"
    ]


@contextmanager
def _same_logs() -> Iterator[None]:
    """Undo what a starting service does to the logs of this process: other tests read them, at every level."""
    logs, root = structlog.get_config(), logging.getLogger()
    handlers, level = root.handlers[:], root.level
    try:
        yield
    finally:
        structlog.configure(**logs)
        root.handlers[:] = handlers
        root.setLevel(level)


@contextmanager
def on_a_port(app: FastAPI) -> Iterator[str]:
    """Serve an application on a real port, in a separate thread with its own event loop; return its address."""
    config = uvicorn.Config(app, port=0, log_config=None, access_log=False, timeout_graceful_shutdown=5)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    with _same_logs():
        thread.start()
        eventually_blocking(lambda: server.started)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join(20)  # a service that does not end must not keep the test from failing
