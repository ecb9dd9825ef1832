"""A progress bar at the terminal, which does not mix with printed lines."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click


class ProgressBar:
    """A bar on the error stream, shown if that is a terminal."""

    def __init__(self, bar: Any) -> None:  # noqa: ANN401  click does not export its type
        self._bar = bar

    @contextmanager
    def part(self, name: str, steps: int) -> Iterator[Callable[[int], None]]:
        """Show `steps` steps under this name; at the end of the part all of them count as done, even if fewer were."""
        end = self._bar.pos + steps
        self._bar.label = name
        self._bar.render_progress()
        yield self._bar.update
        self._bar.update(max(end - self._bar.pos, 0))

    def say(self, line: str) -> None:
        """Print a line in place of the bar."""
        if not self._bar.hidden:
            click.echo("\r\x1b[K", nl=False, err=True)
        click.echo(line)


@contextmanager
def progress(steps: int) -> Iterator[ProgressBar]:
    """Show a bar of this many steps until all parts are done."""
    with click.progressbar(length=steps, file=sys.stderr, hidden=not sys.stderr.isatty()) as bar:
        yield ProgressBar(bar)
