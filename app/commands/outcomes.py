"""Run policies for a person who waits: choose them, watch them, show what they came to."""

import json
import os
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import click
from pydantic import ValidationError

from app.api.job_schemas import JobIn
from app.lab.askers import Order
from app.lab.policies import NAMES, PolicyUnknown, Workers, rules_of
from app.lab.recorded import UNKNOWN, Recorded
from app.lab.replay import Watch, replay
from app.lab.report import Line, as_table
from app.lab.standing import Standing
from app.plots.canvas import drawn
from app.plots.replay import Point, accuracy_over_labels
from app.policy.rules import Rules

_MOST_LABELS_PER_ITEM = 1000


def _budgets(_context: click.Context, _parameter: click.Parameter, value: str) -> tuple[float, ...]:
    """Labels per item, separated by commas."""
    try:
        numbers = tuple(float(each) for each in value.split(","))
    except ValueError as error:
        raise click.BadParameter(f"{value!r} is no list of numbers such as 1,2,3.") from error
    if not all(0 < each <= _MOST_LABELS_PER_ITEM for each in numbers):
        raise click.BadParameter(f"labels per item are above 0 and at most {_MOST_LABELS_PER_ITEM}.")
    return numbers


@dataclass(frozen=True)
class Asked:
    """What is to be run, and how it is to be shown."""

    policies: tuple[str, ...]
    config: Path | None
    labels_per_item: tuple[float, ...]
    workers: Workers
    order: Order
    seeds: int
    as_json: bool
    plot: Path | None


def options(command: Callable[..., None]) -> Callable[..., None]:
    """What both commands can be told; gathered into one `asked`."""

    def gathered(**given: Any) -> None:  # noqa: ANN401  whatever the command takes
        fields = {name: given.pop(name) for name in Asked.__dataclass_fields__}
        command(asked=Asked(**fields), **given)

    gathered.__doc__, gathered.__name__ = command.__doc__, command.__name__
    named = f"One of {', '.join(NAMES)}, or requallo-c5, requallo-p0.2, requallo-m3; may be given more than once."
    for option in (
        click.option("--plot", type=click.Path(dir_okay=False, path_type=Path), help="Draw it, as .svg or .png."),
        click.option("--json", "as_json", is_flag=True, help="One JSON object per line instead of a table."),
        click.option("--seeds", type=click.IntRange(1, 1000), default=10, show_default=True, help="Runs of each."),
        click.option(
            "--order",
            type=click.Choice(["random", "recorded"]),
            default="random",
            show_default=True,
            help="In which order the answers on an item come.",
        ),
        click.option(
            "--workers",
            type=click.Choice(["pull", "choose"]),
            default="pull",
            show_default=True,
            help="Whoever comes by, or the policy picks the worker.",
        ),
        click.option(
            "--labels-per-item",
            callback=_budgets,
            metavar="NUMBERS",
            default="1,2,3,4,5",
            show_default=True,
            help="The budgets at which to look.",
        ),
        click.option(
            "--config",
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            help="A job as POST /v1/jobs takes it, to be run exactly so, requirement and all.",
        ),
        click.option("--policy", "policies", multiple=True, help=named),
    ):
        gathered = option(gathered)
    return gathered


def shown(asked: Asked, crowds: Sequence[Recorded]) -> None:
    """Run all that is asked for on these crowds, and show it."""
    form = _form(asked.plot)
    if asked.plot is not None:
        _refuse_what_cannot_be_drawn(asked.plot, crowds)
    contenders, budgets, found = [*_contenders(asked, crowds[0].labels)], asked.labels_per_item, []
    steps = sum(int(max(budgets) * len(crowd.items)) for crowd in crowds) * asked.seeds * len(contenders)
    with _progress(steps) as watch:
        for name, rules, most in contenders:
            stands = [_replayed(asked, crowd, rules, most, watch) for crowd in crowds]
            together = [Standing.joined(each) for each in zip(*stands, strict=True)]
            lines = [Line.of(name, budget, each) for budget, each in zip(budgets, together, strict=True)]
            found += lines
            if asked.as_json:
                for line in lines:
                    click.echo(json.dumps(line.as_json()))
    if not asked.as_json:
        click.echo("\n".join(as_table(found)))
    if asked.plot is not None and form is not None:
        _save(drawn(_painted(found), form=form), asked.plot)


def _replayed(asked: Asked, crowd: Recorded, rules: Rules, most: int | None, watch: Watch) -> list[Standing]:
    return replay(
        crowd,
        rules,
        asked.labels_per_item,
        runs=asked.seeds,
        workers=asked.workers,
        order=asked.order,
        most_labels=most,
        watch=watch,
    )


def _contenders(asked: Asked, labels: tuple[str, ...]) -> Iterator[tuple[str, Rules, int | None]]:
    """The policies by name, and the job of the configuration, which may have a budget of its own."""
    names = asked.policies or (() if asked.config else ("information",))
    for name in dict.fromkeys(names):
        try:
            yield name, rules_of(name, labels, asked.workers), None
        except PolicyUnknown as error:
            raise click.BadParameter(str(error), param_hint="--policy") from error
        except ValidationError as error:
            raise click.BadParameter(f"{name}: {_first(error)}", param_hint="--policy") from error
    if asked.config is not None:
        yield _configured(asked.config, labels)


def _configured(path: Path, labels: tuple[str, ...]) -> tuple[str, Rules, int | None]:
    """The job of a configuration; without labels of its own, it takes those of the answers."""
    try:
        given = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise click.BadParameter(f"{path} is no JSON: {error}", param_hint="--config") from error
    if not isinstance(given, dict):
        raise click.BadParameter(f"{path} must hold an object, as POST /v1/jobs takes it", param_hint="--config")
    try:
        job = JobIn.model_validate({"labels": labels, "budget": None} | given)
    except ValidationError as error:
        raise click.BadParameter(f"{path}: {_first(error)}", param_hint="--config") from error
    if set(job.labels) != set(labels):
        wrong = f"its labels are {', '.join(job.labels)}, those of the answers {', '.join(labels)}"
        raise click.BadParameter(f"{path}: {wrong}; leave them out to take these", param_hint="--config")
    # The order of the labels is the answers': it tells nothing, and positions are by it.
    rules = job.rules().model_copy(update={"labels": labels})
    return job.name or path.stem, rules, None if job.budget is None else int(job.budget)


def _first(error: ValidationError) -> str:
    found = error.errors()[0]
    return f"{'.'.join(map(str, found['loc']))}: {found['msg']}"


def _form(plot: Path | None) -> Literal["svg", "png"] | None:
    forms: dict[str, Literal["svg", "png"]] = {".svg": "svg", ".png": "png"}
    if plot is None:
        return None
    if plot.suffix.lower() not in forms:
        raise click.BadParameter(f"{plot} must end in .svg or .png", param_hint="--plot")
    return forms[plot.suffix.lower()]


def _refuse_what_cannot_be_drawn(plot: Path, crowds: Sequence[Recorded]) -> None:
    """Before anything is run, which may take long."""
    if all((crowd.truth == UNKNOWN).all() for crowd in crowds):
        raise click.BadParameter("without the truth there is no accuracy to draw", param_hint="--plot")
    if not plot.parent.is_dir():
        raise click.BadParameter(f"there is no folder {plot.parent} to save {plot.name} in", param_hint="--plot")
    if not os.access(plot if plot.exists() else plot.parent, os.W_OK):
        raise click.BadParameter(f"{plot} cannot be written", param_hint="--plot")


def _save(picture: bytes, plot: Path) -> None:
    try:
        plot.write_bytes(picture)
    except OSError as error:
        raise click.ClickException(f"Cannot save the picture as {plot} ({error.strerror}).") from error


def _painted(lines: Sequence[Line]) -> Any:  # noqa: ANN401  of matplotlib
    curves: defaultdict[str, list[Point]] = defaultdict(list)
    for line in lines:
        if line.accuracy is not None:
            curves[line.policy].append(Point(line.labels_per_item, line.accuracy, line.accuracy_sd))
    return accuracy_over_labels(curves, lines[0].seeds)


@contextmanager
def _progress(steps: int) -> Iterator[Watch]:
    """A bar for whoever sits at a terminal."""
    with click.progressbar(length=steps, file=sys.stderr, hidden=not sys.stderr.isatty()) as bar:
        yield bar.update
