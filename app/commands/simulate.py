"""`suffice simulate`: what would policies make of a crowd like this?"""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

from app.commands.outcomes import Asked, options, shown
from app.lab.graded import GROUPS
from app.lab.invented import Recipe, Spread, graded, invented
from app.lab.recorded import Recorded


class _Share(click.FloatRange):
    """A number from 0 to 1, which NaN is not."""

    name = "share"

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:  # noqa: ANN401  click's own
        found = super().convert(value, parameter, context)
        if np.isnan(found):
            self.fail(f"{value} is no number.", parameter, context)
        return found


_SHARE = _Share(0, 1)
_SETTLED_BY_GROUPS = (
    "classes",
    "skill",
    "difficulty",
    "class_weights",
    "spammers",
    "liars",
    "drifters",
    "copiers",
    "source_error",
)


def _spread(_context: click.Context, _parameter: click.Parameter, value: str) -> Spread:
    shape, _, numbers = value.partition(":")
    try:
        known = [float(each) for each in numbers.split(",")]
    except ValueError:
        known = []
    match shape, known:
        case "beta", [a, b] if 0 < a < np.inf and 0 < b < np.inf:
            return Spread("beta", a, b)
        case "uniform", [a, b] if 0 <= a <= b <= 1:
            return Spread("uniform", a, b)
        case "fixed", [a] if 0 <= a <= 1:
            return Spread("fixed", a)
    raise click.BadParameter(f"{value!r} must be like beta:8,2 or uniform:0.5,1 or fixed:0.8.")


def _weights(_context: click.Context, _parameter: click.Parameter, value: str | None) -> tuple[float, ...] | None:
    if value is None:
        return None
    try:
        numbers = tuple(float(each) for each in value.split(","))
    except ValueError:
        numbers = ()
    if not numbers or not all(0 <= each < np.inf for each in numbers) or not 0 < sum(numbers) < np.inf:
        raise click.BadParameter(f"{value!r} must be weights such as 9,1.")
    return numbers


@click.command()
@click.option("--items", type=click.IntRange(1, 1_000_000), default=500, show_default=True, help="Items to be labeled.")
@click.option("--classes", type=click.IntRange(2, 100), default=2, show_default=True, help="Labels that there are.")
@click.option(
    "--crowd", "workers_in_all", type=click.IntRange(1, 10_000), default=50, show_default=True, help="Workers."
)
@click.option("--answers-per-item", type=click.IntRange(1, 10_000), help="By random workers; left out: by everybody.")
@click.option(
    "--skill",
    callback=_spread,
    metavar="SPREAD",
    default="beta:8,2",
    show_default=True,
    help="How often workers are right: beta:a,b or uniform:low,high or fixed:x.",
)
@click.option(
    "--difficulty",
    callback=_spread,
    metavar="SPREAD",
    default="fixed:0",
    show_default=True,
    help="Which share of the answers on an item is a guess; uniform:0,1 is theta ~ U(0, 1) of Chen et al. (2013).",
)
@click.option(
    "--class-weights", callback=_weights, metavar="NUMBERS", help="How common each class is: 9,1. Left out: all alike."
)
@click.option("--spammers", type=_SHARE, default=0.0, show_default=True, help="Share of workers who guess.")
@click.option(
    "--liars", type=_SHARE, default=0.0, show_default=True, help="Share of workers who know, and say something else."
)
@click.option(
    "--drifters", type=_SHARE, default=0.0, show_default=True, help="Share of workers who get tired and end guessing."
)
@click.option(
    "--copiers", type=_SHARE, default=0.0, show_default=True, help="Share of workers who all say what one source says."
)
@click.option("--source-error", type=_SHARE, default=0.4, show_default=True, help="How often that source is wrong.")
@click.option("--graded", "of_nine_groups", is_flag=True, help="The 9 x 9 groups of Abraham et al. (2016, Table 1).")
@click.option("--crowds", type=click.IntRange(1, 1000), default=1, show_default=True, help="Each with all the seeds.")
@click.option("--save", type=click.Path(file_okay=False, path_type=Path), help="Keep the first crowd here, as .csv.")
@options
def simulate(
    *,
    asked: Asked,
    workers_in_all: int,
    of_nine_groups: bool,
    crowds: int,
    save: Path | None,
    **recipe: Any,  # noqa: ANN401  the recipe's own fields
) -> None:
    """Invent a crowd of which everything is known, and replay its answers as `suffice replay` does.

    The output has the same form. The number of seeds that it names is that of all crowds together.
    """
    if of_nine_groups:
        _refuse_what_the_nine_groups_settle()
    try:
        known = Recipe(workers=workers_in_all, **recipe)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    draws = [np.random.default_rng([7, crowd]) for crowd in range(crowds)]
    if of_nine_groups:
        each = -(-known.workers // GROUPS)
        drawn = [graded(known.items, each, known.answers_per_item, rng) for rng in draws]
    else:
        drawn = [invented(known, rng) for rng in draws]
    if save is not None:
        _keep(drawn[0], save)
    shown(asked, drawn, invented=True)


def _refuse_what_the_nine_groups_settle() -> None:
    context = click.get_current_context()
    for name in _SETTLED_BY_GROUPS:
        if context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT:
            raise click.UsageError(f"--graded has two classes and error rates of its own, and takes no {_option(name)}")


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _keep(crowd: Recorded, folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _write_crowd(crowd, folder)
    except OSError as error:
        raise click.ClickException(f"Cannot keep the crowd in {folder} ({error.strerror}).") from error


def _write_crowd(crowd: Recorded, folder: Path) -> None:
    answers = zip(crowd.item.tolist(), crowd.worker.tolist(), crowd.label.tolist(), strict=True)
    rows = [(crowd.items[i], crowd.workers[w], crowd.labels[c]) for i, w, c in answers]
    _write(folder / "answers.csv", ("item", "worker", "label"), rows)
    truths = [(item, crowd.labels[c]) for item, c in zip(crowd.items, crowd.truth.tolist(), strict=True)]
    _write(folder / "truth.csv", ("item", "truth"), truths)


def _write(path: Path, names: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([names, *rows])
