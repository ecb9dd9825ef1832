"""`suffice replay`: what would other policies have made of these answers?"""

from pathlib import Path

import click

from app.commands.outcomes import Asked, options, shown
from app.lab.recorded import read_recorded
from app.lab.tables import WrongFile

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@click.option("--answers", type=_FILE, required=True, help="A .csv or .csv.gz with item,worker,label.")
@click.option("--truth", type=_FILE, help="A .csv or .csv.gz with item,truth; without it, no accuracy.")
@options
def replay(*, asked: Asked, answers: Path, truth: Path | None) -> None:
    """Let policies buy recorded answers one by one, and see how soon they know the truth.

    A policy is an allocation with the worker model and the aggregation that it is normally used with. Nothing is
    closed before all recorded answers are in, but by requallo and dispatch, and by what --config asks for. With
    --workers pull the policy picks the item, and a random worker whose answer is recorded and not used yet comes by;
    with --workers choose it picks among the recorded pairs of item and worker. Ties count 1/k, items without an
    answer 1/classes. The seeds draw ties and the order of the answers.
    """
    try:
        crowd = read_recorded(answers, truth, _note)
    except WrongFile as error:
        raise click.ClickException(str(error)) from error
    if truth is None:
        _note("without --truth there is no accuracy; what requallo, dispatch or --config resolve can be compared")
    shown(asked, [crowd])


def _note(words: str) -> None:
    click.echo(f"Note: {words}.", err=True)
