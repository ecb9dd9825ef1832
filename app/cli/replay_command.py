"""`suffice replay`: compare policies on recorded answers."""

from pathlib import Path

import click

from app.cli.comparison import ComparisonRequest, compare, options
from app.cli.contenders import answer_of
from app.simulation.csv_tables import WrongFile
from app.simulation.feature_table import with_features
from app.simulation.recorded_crowd import read_recorded

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@click.option(
    "--answers", type=_FILE, required=True, help="Answers: a .csv or .csv.gz with the columns item,worker,label."
)
@click.option("--truth", type=_FILE, help="True labels: a .csv or .csv.gz with the columns item,truth.")
@click.option(
    "--features",
    type=_FILE,
    help="Features of the items: a .csv or .csv.gz with the column item, and numbers in all others. Policies by name "
    "then learn from them, and jobs of --config if they have `features`.",
)
@options
def replay(*, request: ComparisonRequest, answers: Path, truth: Path | None, features: Path | None) -> None:
    """Replay policies on recorded answers, and print how accurate each is at each budget.

    \b
    Example:
      suffice replay --answers answers.csv --truth truth.csv \\
          --policy information,opt-kg --labels-per-item 2,3

    With --workers pull the policy picks the item, and a random worker with an unused recorded answer gives it. With
    --workers choose it picks among the recorded pairs of item and worker. Only requallo, dispatch and jobs of --config
    close items early. A tie of k labels counts 1/k, and an item without an answer 1/classes.

    Where the job of --config has an `answer`, answers are of that kind: several labels like cat|dog in a cell, labels
    in order, or numbers. Then more figures than the accuracy tell how good the results are.
    """  # noqa: D301  click needs the escape itself
    try:
        crowd = read_recorded(answers, truth, _note, answer_of(request.configs))
        if features is not None:
            crowd = with_features(crowd, features, _note)
    except WrongFile as error:
        raise click.ClickException(str(error)) from error
    if truth is None:
        _note(
            "without --truth there is no accuracy. "
            "You can still compare how many items requallo, dispatch or --config resolve"
        )
    compare(request, [crowd])


def _note(message: str) -> None:
    click.echo(f"Note: {message}.", err=True)
