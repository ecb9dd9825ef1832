"""The `suffice` command."""

import os
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NoReturn

import click
import uvicorn
from pydantic import ValidationError
from uvicorn.supervisors import Multiprocess

from app.api.http.invalid_fields import sentence
from app.cli.experiments_command import experiments
from app.cli.replay_command import replay
from app.cli.simulate_command import simulate
from app.errors import StartupError
from app.settings import Settings
from app.store.connection import migrate as migrate_database
from app.store.embedded import embedded_postgres


class StartupFailure(click.ClickException):
    """The reason why the service cannot start, printed without a traceback."""

    def format_message(self) -> str:
        return f"{self.message}."


@click.group()
@click.version_option(package_name="suffice")
def main() -> None:
    """Ask the crowd just enough: which item to label next, whom to ask, and when to stop."""


main.add_command(replay)
main.add_command(simulate)
main.add_command(experiments)


@main.command()
@click.option("--host", help="Address to listen on (SUFFICE_HOST, default 127.0.0.1).")
@click.option(
    "--port", type=click.IntRange(0, 65535), help="Port to listen on (SUFFICE_PORT, default 8000; 0: any free port)."
)
@click.option("--workers", type=click.IntRange(1, 64), help="Server processes (SUFFICE_WORKERS, default 1).")
def serve(host: str | None, port: int | None, workers: int | None) -> None:
    """Serve the API. Without DATABASE_URL it starts its own PostgreSQL.

    \b
    Example:
      suffice serve --port 8000
    """  # noqa: D301  click needs the escape itself
    given = {"host": host, "port": port, "workers": workers}
    settings = _settings(**{name: value for name, value in given.items() if value is not None})
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
            signal.signal(number, _leave)
    try:
        with _startup_errors_as_messages(), _listening(settings) as listener, _database(settings) as url:
            migrate_database(url)
            os.environ["DATABASE_URL"] = url  # for the server processes, which read their own settings
            _announce(listener, settings)
            _run(listener, settings)
    except KeyboardInterrupt:
        pass
    click.echo("Stopped.")


@main.command()
def migrate() -> None:
    """Migrate the database to the newest revision, without serving.

    \b
    Example:
      DATABASE_URL=postgresql://localhost/suffice suffice migrate
    """  # noqa: D301  click needs the escape itself
    settings = _settings()
    with _startup_errors_as_messages(), _database(settings) as url:
        migrate_database(url)
    click.echo("The database is up to date.")


def _settings(**given: object) -> Settings:
    try:
        return Settings.model_validate(Settings().model_dump() | given)
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0]) if first["loc"] else "settings"
        variable = name if name.isupper() else f"SUFFICE_{name.upper()}"
        sent = "" if variable == "DATABASE_URL" else f", not {first['input']!r}"  # an address may hold a password
        raise StartupFailure(f"{variable} is not valid. {sentence(first)}{sent}") from None


@contextmanager
def _startup_errors_as_messages() -> Iterator[None]:
    try:
        yield
    except StartupError as error:
        raise StartupFailure(error.detail) from error


@contextmanager
def _listening(settings: Settings) -> Iterator[socket.socket]:
    """Open the port before anything else starts: early requests wait instead of being refused."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
        listener.listen(2048)
    except OSError as error:
        listener.close()
        raise StartupError(
            f"Cannot listen on {settings.host}:{settings.port} ({error.strerror}); "
            "choose another address with SUFFICE_HOST and SUFFICE_PORT"
        ) from error
    with listener:
        yield listener


@contextmanager
def _database(settings: Settings) -> Iterator[str]:
    if settings.database_url is not None:
        yield settings.database_url
        return
    with embedded_postgres(settings.data_dir) as url:
        yield url


def _announce(listener: socket.socket, settings: Settings) -> None:
    host, port = listener.getsockname()[:2]
    base = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    where = "the database that DATABASE_URL names" if settings.database_url else Path(settings.data_dir).absolute()
    click.echo(f"Suffice is at    {base}\nSwagger UI is at {base}/docs\nThe data is in   {where}\nCtrl-C stops it.")


def _run(listener: socket.socket, settings: Settings) -> None:
    config = uvicorn.Config(
        "app.main:create_app",
        factory=True,
        workers=settings.workers,
        access_log=False,
        log_config=None,
        timeout_graceful_shutdown=5,
    )
    if settings.workers == 1:
        uvicorn.Server(config).run(sockets=[listener])
    else:
        Multiprocess(config, sockets=[listener]).run()


def _leave(_number: int, _frame: FrameType | None) -> NoReturn:
    """Handle SIGTERM like Ctrl-C: stop everything that was started."""
    sys.exit(0)
