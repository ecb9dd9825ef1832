"""A bar for whoever waits at a terminal, out of the way of what is printed."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click


class Progress:
    """A bar on the error stream, if that is a terminal."""

    def __init__(self, bar: Any) -> None:  # noqa: ANN401  click's, whose type is its own business
        self._bar = bar

    @contextmanager
    def part(self, name: str, steps: int) -> Iterator[Callable[[int], None]]:
        """So many steps under this name; fewer may be taken, and all count as done when the part is over."""
        end = self._bar.pos + steps
        self._bar.label = name
        self._bar.render_progress()
        yield self._bar.update
        self._bar.update(max(end - self._bar.pos, 0))

    def say(self, words: str) -> None:
        """Print a line, and not behind the bar."""
        if not self._bar.hidden:
            click.echo("\r\x1b[K", nl=False, err=True)
        click.echo(words)


@contextmanager
def progress(steps: int) -> Iterator[Progress]:
    """Until all parts are over."""
    with click.progressbar(length=steps, file=sys.stderr, hidden=not sys.stderr.isatty()) as bar:
        yield Progress(bar)
