"""`suffice simulate`: compare policies on a synthetic crowd."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

from app.cli.comparison import ComparisonRequest, compare, options
from app.cli.contenders import answer_of
from app.policy.answers import AnyAnswer, Said
from app.simulation.crowd_generator import Distribution, Recipe, generate_answers, generate_graded_answers
from app.simulation.graded_crowd import GROUPS
from app.simulation.recorded_crowd import RecordedAnswers


class _Share(click.FloatRange):
    """A number from 0 to 1, and not NaN."""

    name = "share"

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:  # noqa: ANN401  the types of click
        found = super().convert(value, parameter, context)
        if np.isnan(found):
            self.fail(f"{value} is not a number from 0 to 1.", parameter, context)
        return found


_SHARE = _Share(0, 1)
_FIXED_BY_GROUPS = (
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


def _distribution(_context: click.Context, _parameter: click.Parameter, value: str) -> Distribution:
    shape, _, numbers = value.partition(":")
    try:
        known = [float(each) for each in numbers.split(",")]
    except ValueError:
        known = []
    match shape, known:
        case "beta", [a, b] if 0 < a < np.inf and 0 < b < np.inf:
            return Distribution("beta", a, b)
        case "uniform", [a, b] if 0 <= a <= b <= 1:
            return Distribution("uniform", a, b)
        case "fixed", [a] if 0 <= a <= 1:
            return Distribution("fixed", a)
    raise click.BadParameter(f"{value!r} is not a distribution. Write it like beta:8,2 or uniform:0.5,1 or fixed:0.8.")


def _weights(_context: click.Context, _parameter: click.Parameter, value: str | None) -> tuple[float, ...] | None:
    if value is None:
        return None
    try:
        numbers = tuple(float(each) for each in value.split(","))
    except ValueError:
        numbers = ()
    if not numbers or not all(0 <= each < np.inf for each in numbers) or not 0 < sum(numbers) < np.inf:
        raise click.BadParameter(f"{value!r} is not a list of weights. Write them like 9,1.")
    return numbers


@click.command()
@click.option("--items", type=click.IntRange(1, 1_000_000), default=500, show_default=True, help="Items to label.")
@click.option("--classes", type=click.IntRange(2, 100), default=2, show_default=True, help="Number of labels.")
@click.option(
    "--crowd", "workers_in_all", type=click.IntRange(1, 10_000), default=50, show_default=True, help="Workers."
)
@click.option(
    "--answers-per-item",
    type=click.IntRange(1, 10_000),
    help="Answers per item, by random workers [default: all workers].",
)
@click.option(
    "--skill",
    callback=_distribution,
    metavar="DISTRIBUTION",
    default="beta:8,2",
    show_default=True,
    help="How often workers are right: beta:a,b, uniform:low,high or fixed:x.",
)
@click.option(
    "--difficulty",
    callback=_distribution,
    metavar="DISTRIBUTION",
    default="fixed:0",
    show_default=True,
    help="Share of the answers on an item that are guesses; uniform:0,1 is theta ~ U(0, 1) of Chen et al. (2013).",
)
@click.option(
    "--class-weights",
    callback=_weights,
    metavar="NUMBERS",
    help="How common each label is, like 9,1 [default: equally common].",
)
@click.option("--spammers", type=_SHARE, default=0.0, show_default=True, help="Share of workers who guess.")
@click.option(
    "--liars",
    type=_SHARE,
    default=0.0,
    show_default=True,
    help="Share of workers who know the answer and give another.",
)
@click.option(
    "--drifters", type=_SHARE, default=0.0, show_default=True, help="Share of workers who get worse and end guessing."
)
@click.option(
    "--copiers", type=_SHARE, default=0.0, show_default=True, help="Share of workers who all repeat one source."
)
@click.option("--source-error", type=_SHARE, default=0.4, show_default=True, help="How often that source is wrong.")
@click.option(
    "--graded", "of_nine_groups", is_flag=True, help="Use the 9 x 9 groups of Abraham et al. (2016, Table 1)."
)
@click.option(
    "--crowds",
    type=click.IntRange(1, 1000),
    default=1,
    show_default=True,
    help="Crowds to generate, each replayed with all seeds.",
)
@click.option(
    "--save", type=click.Path(file_okay=False, path_type=Path), help="Save the first crowd in this folder, as .csv."
)
@options
def simulate(
    *,
    request: ComparisonRequest,
    workers_in_all: int,
    of_nine_groups: bool,
    crowds: int,
    save: Path | None,
    **recipe: Any,  # noqa: ANN401  the fields of Recipe
) -> None:
    """Generate a crowd with known skills and truths, and replay its answers as `suffice replay` does.

    \b
    Example:
      suffice simulate --items 200 --crowd 30 --spammers 0.2 \\
          --policy information,opt-kg --labels-per-item 2,4

    With the `answer` of a --config, answers are of that kind. Each of several labels is a question of its own, with two
    classes. A number is off by a normal error with a deviation of (1 - skill) / 2 times the range.

    The output has the same form as that of `suffice replay`. Its number of seeds is that of all crowds together.
    """  # noqa: D301  click needs the escape itself
    kind = answer_of(request.configs)
    if of_nine_groups:
        _check_graded_options(kind)
    draws = [np.random.default_rng([7, crowd]) for crowd in range(crowds)]
    try:
        known = Recipe(workers=workers_in_all, **recipe)
        if of_nine_groups:
            each = -(-known.workers // GROUPS)
            generated = [generate_graded_answers(known.items, each, known.answers_per_item, rng) for rng in draws]
        else:
            generated = [generate_answers(known, rng, kind) for rng in draws]
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    if save is not None:
        _save_crowd(generated[0], save)
    compare(request, generated, synthetic=True)


def _check_graded_options(kind: AnyAnswer) -> None:
    if not kind.is_one_label:
        raise click.UsageError(f"--graded has its own two labels, but an answer of --config is {kind.takes_words}")
    context = click.get_current_context()
    for name in _FIXED_BY_GROUPS:
        if context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT:
            raise click.UsageError(f"--graded has its own two labels and error rates. Remove {_option(name)}")


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _save_crowd(crowd: RecordedAnswers, folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _write_crowd(crowd, folder)
    except OSError as error:
        raise click.ClickException(f"Cannot save the crowd in {folder} ({error.strerror}).") from error


def _write_crowd(crowd: RecordedAnswers, folder: Path) -> None:
    def cell(said: Said) -> str:
        return crowd.answer.text(crowd.answer.content(said, crowd.labels))

    answers = zip(crowd.item.tolist(), crowd.worker.tolist(), crowd.label.tolist(), strict=True)
    rows = [(crowd.items[i], crowd.workers[w], cell(said)) for i, w, said in answers]
    _write(folder / "answers.csv", ("item", "worker", "label"), rows)
    truths = [(item, cell(said)) for item, said in zip(crowd.items, crowd.truth.tolist(), strict=True)]
    _write(folder / "truth.csv", ("item", "truth"), truths)


def _write(path: Path, names: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([names, *rows])
