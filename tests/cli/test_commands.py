"""`suffice serve` as a person uses it: start, stop, kill, start again, and the ways in which it cannot start."""

import json
import signal
import socket
import subprocess
from contextlib import suppress
from pathlib import Path

import httpx
import psutil
import pytest

from tests.service import SUFFICE, Service, environment, postgres_processes, service
from tests.waiting import eventually_blocking


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return tmp_path / "kept"


def assert_database_stopped(data_dir: Path) -> None:
    """The server removes its pid file, for which the service waits, a moment before its process ends."""
    eventually_blocking(lambda: postgres_processes(data_dir) == [], seconds=5)


JOB = {"labels": ["cat", "dog"], "budget": "5"}


def test_it_stops_cleanly_and_keeps_the_data(data_dir):
    """Ctrl-C, and a supervisor's SIGTERM, stop the service and its database; the next start has the data."""
    with service(data_dir) as first:
        assert f"Swagger UI is at {first.url}/docs" in first.said
        assert httpx.get(f"{first.url}/readyz").json()["status"] == "ready"
        job = httpx.post(f"{first.url}/v1/jobs", json=JOB).json()
        assert_it_stops(first, data_dir, signal.SIGINT)
    with service(data_dir) as second:
        assert httpx.get(f"{second.url}/v1/jobs/{job['id']}").json() == job
        assert_it_stops(second, data_dir, signal.SIGTERM)
    with service(data_dir) as third:
        assert httpx.get(f"{third.url}/v1/jobs/{job['id']}").json() == job


def assert_it_stops(running: Service, data_dir: Path, number: int) -> None:
    assert postgres_processes(data_dir)
    running.stop(number)
    assert running.process.returncode == 0
    assert_database_stopped(data_dir)


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
        seen = []

        def served_again() -> bool:
            seen.append(httpx.get(f"{running.url}/v1/jobs/{job['id']}"))
            return seen[-1].status_code == 200

        eventually_blocking(served_again)
        assert {answer.status_code for answer in seen} <= {200, 503}
        assert seen[-1].json() == job
        assert httpx.get(f"{running.url}/readyz").status_code == 200
        running.stop()
        assert running.process.returncode == 0
    assert_database_stopped(data_dir)


def test_it_stops_though_its_database_is_recovering(data_dir):
    """PostgreSQL may sit on a fast stop while it recovers from the loss of one of its processes."""
    with service(data_dir) as running:
        [server] = postgres_processes(data_dir)
        lost = server.children()[1]
        lost.kill()
        eventually_blocking(lambda: not lost.is_running())  # the server has noticed: it has reaped its child
        running.stop()
        assert running.process.returncode == 0
    assert_database_stopped(data_dir)


def test_several_processes_serve_one_database(data_dir):
    with service(data_dir, "--workers", "2") as running:
        parent = psutil.Process(running.process.pid)
        eventually_blocking(lambda: len(parent.children(recursive=True)) >= 2)
        jobs = {httpx.post(f"{running.url}/v1/jobs", json=JOB).json()["id"] for _ in range(10)}
        assert len(jobs) == 10
        running.stop()
        assert running.process.returncode == 0
    assert_database_stopped(data_dir)


def test_a_lease_expires_while_nobody_asks(data_dir):
    with service(data_dir, SUFFICE_SWEEP_SECONDS="0.2") as running:
        job = httpx.post(f"{running.url}/v1/jobs", json=JOB | {"lease_seconds": 1}).json()
        path = f"{running.url}/v1/jobs/{job['id']}"
        httpx.post(f"{path}/items", json=[{"key": "a"}])
        assert httpx.post(f"{path}/next", json={"worker": "w"}).json()["status"] == "continue"
        assert httpx.get(path).json()["reserved"] == "1"
        eventually_blocking(lambda: httpx.get(path).json()["reserved"] == "0")


def test_every_request_leaves_one_json_line(data_dir, database_apart):
    with service(data_dir, DATABASE_URL=database_apart) as running:
        httpx.get(f"{running.url}/healthz", headers={"X-Request-ID": "find-me"})
        httpx.get(f"{running.url}/v1/nothing")
    lines = [json.loads(line) for line in (data_dir.parent / "log").read_text().splitlines()]
    [found] = [line for line in lines if line.get("request_id") == "find-me"]
    assert (found["method"], found["path"], found["status"], found["level"]) == ("GET", "/healthz", 200, "info")
    assert found["duration_ms"] >= 0
    with service(data_dir, DATABASE_URL=database_apart, SUFFICE_LOG_LEVEL="warning") as quiet:
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
        "choose another address with SUFFICE_HOST and SUFFICE_PORT."
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
        ("mysql://me:secret@localhost/db", "DATABASE_URL is not valid. Must start with postgresql:// or postgres://"),
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
    assert "SUFFICE_PORT is not valid. Must be a whole number, not 'many'" in refusal(data_dir, SUFFICE_PORT="many")
