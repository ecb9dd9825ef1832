"""`suffice serve` as a person uses it: start, stop, kill, start again, and the ways in which it cannot start."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import psutil
import pytest

SUFFICE = str(Path(sys.executable).parent / "suffice")


def environment(data_dir: Path, **variables: str) -> dict[str, str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("SUFFICE_", "DATABASE_"))}
    return clean | {"SUFFICE_DATA_DIR": str(data_dir), "SUFFICE_PORT": "0"} | variables


class Service:
    """A running `suffice serve`."""

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
        httpx.get(f"{self.url}/healthz", timeout=60)  # who calls early waits, and on a busy machine for long

    def stop(self, number: int = signal.SIGINT) -> str:
        self.process.send_signal(number)
        rest, _ = self.process.communicate(timeout=60)
        return rest


@contextmanager
def service(data_dir: Path, *arguments: str, **variables: str) -> Iterator[Service]:
    running = Service(data_dir, *arguments, **variables)
    try:
        yield running
    finally:
        if running.process.poll() is None:
            running.stop()
        running.process.stdout.close()
        running.process.wait()


def postgres_processes(data_dir: Path) -> list[psutil.Process]:
    return [
        process
        for process in psutil.process_iter(["cmdline", "status"])
        if str(data_dir / "postgres") in (process.info["cmdline"] or []) and process.info["status"] != "zombie"
    ]


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return tmp_path / "kept"


JOB = {"labels": ["cat", "dog"], "budget": "5"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_stops_cleanly_and_keeps_the_data(data_dir, number):
    """Ctrl-C, and a supervisor's SIGTERM, stop the service and its database; the next start has the data."""
    with service(data_dir) as first:
        assert f"Swagger UI is at {first.url}/docs" in first.said
        assert httpx.get(f"{first.url}/readyz").json()["status"] == "ready"
        job = httpx.post(f"{first.url}/v1/jobs", json=JOB).json()
        assert postgres_processes(data_dir)
        first.stop(number)
        assert first.process.returncode == 0
    assert postgres_processes(data_dir) == []
    with service(data_dir) as second:
        assert httpx.get(f"{second.url}/v1/jobs/{job['id']}").json() == job


def test_what_was_acknowledged_survives_kill_nine_of_everything(data_dir):
    with service(data_dir) as first:
        job = httpx.post(f"{first.url}/v1/jobs", json=JOB).json()
        path = f"/v1/jobs/{job['id']}"
        httpx.post(f"{first.url}{path}/items", json=[{"key": "a"}])
        answer = {"item": "a", "worker": "w1", "label": "cat"}
        told = httpx.post(f"{first.url}{path}/answers", json=answer).json()
        for process in [psutil.Process(first.process.pid), *postgres_processes(data_dir)]:
            for one in [process, *process.children(recursive=True)]:
                with suppress(psutil.NoSuchProcess):  # a parent's death may have taken it along
                    one.kill()
        first.process.wait(10)
    with service(data_dir) as second:
        assert httpx.post(f"{second.url}{path}/answers", json=answer).json() == told | {"duplicate": True}
        assert httpx.get(f"{second.url}{path}").json()["spent"] == "1"


def test_the_database_is_started_again_when_it_is_killed(data_dir):
    """Requests get a 503 with Retry-After for a moment, and then are served; nothing acknowledged is lost."""
    with service(data_dir) as running:
        job = httpx.post(f"{running.url}/v1/jobs", json=JOB).json()
        [server] = postgres_processes(data_dir)
        server.kill()
        seen = set()
        deadline = time.monotonic() + 30
        while 200 not in seen and time.monotonic() < deadline:
            answer = httpx.get(f"{running.url}/v1/jobs/{job['id']}")
            seen.add(answer.status_code)
            time.sleep(0.05)
        assert seen <= {200, 503}
        assert 200 in seen
        assert answer.json() == job
        assert httpx.get(f"{running.url}/readyz").status_code == 200
        running.stop()
        assert running.process.returncode == 0
    assert postgres_processes(data_dir) == []


def test_it_stops_though_its_database_is_recovering(data_dir):
    """PostgreSQL may sit on a fast stop while it recovers from the loss of one of its processes."""
    with service(data_dir) as running:
        [server] = postgres_processes(data_dir)
        server.children()[1].kill()
        time.sleep(0.1)
        running.stop()
        assert running.process.returncode == 0
    assert postgres_processes(data_dir) == []


def test_several_processes_serve_one_database(data_dir):
    with service(data_dir, "--workers", "2") as running:
        deadline = time.monotonic() + 30
        while len(psutil.Process(running.process.pid).children(recursive=True)) < 2 and time.monotonic() < deadline:
            time.sleep(0.1)
        jobs = {httpx.post(f"{running.url}/v1/jobs", json=JOB).json()["id"] for _ in range(10)}
        assert len(jobs) == 10
        running.stop()
        assert running.process.returncode == 0
    assert postgres_processes(data_dir) == []


def test_a_lease_expires_while_nobody_asks(data_dir):
    with service(data_dir, SUFFICE_SWEEP_SECONDS="0.2") as running:
        job = httpx.post(f"{running.url}/v1/jobs", json=JOB | {"lease_seconds": 1}).json()
        path = f"{running.url}/v1/jobs/{job['id']}"
        httpx.post(f"{path}/items", json=[{"key": "a"}])
        assert httpx.post(f"{path}/next", json={"worker": "w"}).json()["status"] == "continue"
        assert httpx.get(path).json()["reserved"] == "1"
        deadline = time.monotonic() + 30
        while httpx.get(path).json()["reserved"] != "0" and time.monotonic() < deadline:
            time.sleep(0.2)
        assert httpx.get(path).json()["reserved"] == "0"


def test_every_request_leaves_one_json_line(data_dir):
    with service(data_dir) as running:
        httpx.get(f"{running.url}/healthz", headers={"X-Request-ID": "find-me"})
        httpx.get(f"{running.url}/v1/nothing")
    lines = [json.loads(line) for line in (data_dir.parent / "log").read_text().splitlines()]
    [found] = [line for line in lines if line.get("request_id") == "find-me"]
    assert (found["method"], found["path"], found["status"], found["level"]) == ("GET", "/healthz", 200, "info")
    assert found["duration_ms"] >= 0
    with service(data_dir, SUFFICE_LOG_LEVEL="warning") as quiet:
        httpx.get(f"{quiet.url}/healthz", headers={"X-Request-ID": "not-me"})
    assert "not-me" not in (data_dir.parent / "log").read_text()


def refusal(data_dir: Path, **variables: str) -> str:
    """What it says when it cannot start: one sentence, no traceback, and a failure for the shell."""
    done = subprocess.run(
        [SUFFICE, "serve"],
        env=environment(data_dir, **variables),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    [sentence] = done.stderr.strip().splitlines()
    return sentence


def test_a_taken_port_is_named(data_dir):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = refusal(data_dir, SUFFICE_PORT=str(port))
    assert said == (
        f"Error: Cannot listen on 127.0.0.1:{port} (Address already in use); "
        "choose another with SUFFICE_HOST and SUFFICE_PORT."
    )
    assert not data_dir.exists()


def test_an_unwritable_folder_is_named():
    said = refusal(Path("/proc/nowhere"))
    assert "Cannot write to the data folder /proc/nowhere" in said
    assert "SUFFICE_DATA_DIR" in said


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("postgresql://me:secret@127.0.0.1:1/db", "Cannot reach the database at postgresql://me:***@127.0.0.1:1/db"),
        ("postgresql://u:secret@127.0.0.1:notaport/x", "Cannot reach the database at DATABASE_URL"),
        ("mysql://localhost/db", "DATABASE_URL is wrong: Value error, must start with postgresql://"),
    ],
)
def test_an_unreachable_database_is_named(data_dir, url, words):
    said = refusal(data_dir, DATABASE_URL=url)
    assert words in said
    assert "secret" not in said


def test_a_database_of_ones_own_is_used(data_dir, database_url):
    with service(data_dir, DATABASE_URL=database_url) as running:
        assert httpx.get(f"{running.url}/readyz").status_code == 200
        assert postgres_processes(data_dir) == []
    assert not data_dir.exists()


def test_a_wrong_setting_is_named(data_dir):
    assert "SUFFICE_PORT is wrong" in refusal(data_dir, SUFFICE_PORT="many")
