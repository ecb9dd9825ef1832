"""The embedded server starts, stops, and survives being killed."""

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import asyncpg
import psutil
import pytest

from app.errors import StartupError
from app.store.embedded import _server, embedded_postgres
from tests.waiting import eventually_blocking


async def _fetch(url: str, statement: str):
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(statement)
    finally:
        await connection.close()


def _postmaster(data_dir: Path) -> psutil.Process:
    return psutil.Process(int((data_dir / "postgres" / "postmaster.pid").read_text().split()[0]))


def _kill(family: list[psutil.Process]) -> None:
    for process in family:
        with suppress(ProcessLookupError):  # the parent's death may have taken it along
            os.kill(process.pid, signal.SIGKILL)
    eventually_blocking(lambda: all(map(_is_gone, family)))


def _is_gone(process: psutil.Process) -> bool:
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


async def test_the_last_user_stops_the_server(tmp_path):
    with embedded_postgres(tmp_path) as url:
        with embedded_postgres(tmp_path) as same:
            assert same == url
        assert await _fetch(url, "SELECT 1") == 1
        server = _postmaster(tmp_path)
    assert _is_gone(server)


async def test_what_was_committed_survives_kill_nine(tmp_path, monkeypatch):
    """Kill the server and leave its pid file; the next start recovers by itself."""
    monkeypatch.setattr("app.store.embedded._WATCH_SECONDS", 3600)  # nobody starts it again meanwhile
    with embedded_postgres(tmp_path) as url:
        assert (await _fetch(url, "SHOW server_version")).startswith("18")
        await _fetch(url, "CREATE TABLE kept AS SELECT 42 AS answer")
        server = _postmaster(tmp_path)
        _kill([server, *server.children(recursive=True)])
    assert (tmp_path / "postgres" / "postmaster.pid").exists()
    with embedded_postgres(tmp_path) as url:
        assert await _fetch(url, "SELECT answer FROM kept") == 42


def test_the_servers_own_user_is_added_by_one_at_a_time(tmp_path, monkeypatch):
    """On a new machine, as root, the first start adds a user; a second process that starts then waits for it."""
    adding, most = [], []

    def add_user(*_, **__) -> None:
        adding.append(1)
        most.append(len(adding))
        time.sleep(0.05)
        adding.pop()

    monkeypatch.setattr("app.store.embedded.PostgresServer", add_user)
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(_server, [tmp_path] * 4))
    assert most == [1, 1, 1, 1]


async def test_a_half_made_folder_is_made_again(tmp_path):
    """A crash during the first start leaves only a draft, which is thrown away."""
    draft = tmp_path / "postgres.new"
    draft.mkdir()
    (draft / "PG_VERSION").write_text("18")
    with embedded_postgres(tmp_path) as url:
        assert await _fetch(url, "SELECT 1") == 1
    assert not draft.exists()


async def test_a_long_path_with_spaces_works(tmp_path):
    """A unix socket's path has a limit of about a hundred characters; a user's folders do not."""
    folder = tmp_path / ("a folder with spaces " + "x" * 100)
    with embedded_postgres(folder) as url:
        assert await _fetch(url, "SELECT 1") == 1
    with embedded_postgres(tmp_path / "it's short") as url:
        assert await _fetch(url, "SELECT 1") == 1


def test_a_folder_that_cannot_be_written_is_named():
    with (
        pytest.raises(StartupError, match=r"Cannot write to the data folder /proc/nowhere .*SUFFICE_DATA_DIR"),
        embedded_postgres(Path("/proc/nowhere")),
    ):
        pass


def test_a_broken_data_folder_gives_its_last_words(tmp_path):
    with embedded_postgres(tmp_path):
        pass
    (tmp_path / "postgres" / "postgresql.conf").write_text("no such setting = 1\n")
    with pytest.raises(StartupError, match=r"did not start: .*postgresql\.conf"), embedded_postgres(tmp_path):
        pass
