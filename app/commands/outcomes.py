"""Run policies for a person who waits: choose them, watch them, show what they came to."""

import json
import os
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import click

from app.commands.contenders import (
    Configured,
    Contender,
    all_labels,
    by_name,
    refuse_another_number_of_labels,
)
from app.commands.progress import progress
from app.lab.askers import Order
from app.lab.policies import NAMES, Workers
from app.lab.recorded import UNKNOWN, Recorded
from app.lab.replay import Watch, courses, picking, replay
from app.lab.report import Line, as_table
from app.lab.standing import Standing
from app.plots.canvas import drawn
from app.plots.replay import Point, accuracy_over_labels

_MOST_LABELS_PER_ITEM = 1000
_MOST_PAIRS = 50_000_000  # answers times seeds, which are held at once: some gigabytes
_FITTING = 15  # times as long as another takes an answer of a job that fits, near enough for a bar


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
    configs: tuple[Path, ...]
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
    named = f"One of {', '.join(NAMES)}, or requallo-c5, requallo-p0.2, requallo-m3; several with commas."
    for option in (
        click.option("--plot", type=click.Path(dir_okay=False, path_type=Path), help="Draw it, as .svg or .png."),
        click.option("--json", "as_json", is_flag=True, help="One JSON object per line instead of a table."),
        click.option("--seeds", type=click.IntRange(1, 1000), default=10, show_default=True, help="Runs of each."),
        click.option(
            "--order",
            type=click.Choice(["random", "recorded"]),
            default="random",
            show_default=True,
            help="In which order the answers on an item come, where the policy does not pick the worker.",
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
            "configs",
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            multiple=True,
            help="A job as POST /v1/jobs takes it or GET /v1/jobs/{job} tells it, run exactly so, requirement and all; "
            "may be given more than once.",
        ),
        click.option("--policy", "policies", multiple=True, help=named),
    ):
        gathered = option(gathered)
    return gathered


def shown(asked: Asked, crowds: Sequence[Recorded], *, invented: bool = False) -> None:
    """Run all that is asked for on these crowds, and show it; of what is interrupted, what is done is shown."""
    form = _form(asked.plot)
    if asked.plot is not None:
        _refuse_what_cannot_be_drawn(asked.plot, crowds)
    _refuse_more_than_is_held(asked, crowds)
    contenders, crowds = _on_common_labels(asked, crowds, invented=invented)
    found: list[Line] = []
    try:
        _run(asked, contenders, crowds, found)
    finally:
        if found and not asked.as_json:
            click.echo("\n".join(as_table(found)))
    if asked.plot is not None and form is not None:
        _save(drawn(_painted(found, len(crowds[0].items)), form=form), asked.plot)


def _refuse_more_than_is_held(asked: Asked, crowds: Sequence[Recorded]) -> None:
    answers = max(len(crowd.label) for crowd in crowds)
    if answers * asked.seeds > _MOST_PAIRS:
        wrong = f"{answers:,} answers can be replayed with {max(_MOST_PAIRS // answers, 1)} seeds at most"
        raise click.BadParameter(wrong, param_hint="--seeds")


def _on_common_labels(
    asked: Asked, crowds: Sequence[Recorded], *, invented: bool
) -> tuple[list[Contender], Sequence[Recorded]]:
    """All who take part, and the crowds, where every label could have been given that a job knows."""
    given = crowds[0].labels
    jobs = [Configured(path, given) for path in dict.fromkeys(asked.configs)]
    if invented:
        refuse_another_number_of_labels(jobs, len(given))
    labels = given if invented else all_labels(jobs, given)
    names = asked.policies or (() if jobs else ("information",))
    contenders = [*by_name(names, labels, asked.workers)]
    for job in jobs:
        contenders.append(job.contender(labels, [each.name for each in contenders]))
    return contenders, [crowd.among(labels) for crowd in crowds]


def _run(asked: Asked, contenders: Sequence[Contender], crowds: Sequence[Recorded], found: list[Line]) -> None:
    """All contenders, one after the other; each one's lines are added to what is found when it is done."""
    steps = {each.name: _steps(asked, each, crowds) for each in contenders}
    with progress(sum(steps.values())) as bar:
        for each in contenders:
            with bar.part(each.name, steps[each.name]) as watch:
                stands = [_replayed(asked, crowd, each, watch) for crowd in crowds]
            together = [Standing.joined(at_budget) for at_budget in zip(*stands, strict=True)]
            pairs = zip(asked.labels_per_item, together, strict=True)
            lines = [Line.of(each.name, budget, standing) for budget, standing in pairs]
            found += lines
            if asked.as_json:
                for line in lines:
                    bar.say(json.dumps(line.as_json()))


def _steps(asked: Asked, contender: Contender, crowds: Sequence[Recorded]) -> int:
    """How many answers it may buy at most, each as heavy as it is slow."""
    rules, once = picking(contender.rules, asked.workers), 0
    for crowd in crowds:
        bought = [min(int(each * len(crowd.items)), len(crowd.label)) for each in asked.labels_per_item]
        once += sum(alike[-1] for alike in courses(rules, bought, len(crowd.items)))
    return asked.seeds * once * _weight(contender)


def _weight(contender: Contender) -> int:
    """How long an answer takes, in units of one in a job that never fits."""
    return 1 if contender.rules.first_refit is None else _FITTING


def _replayed(asked: Asked, crowd: Recorded, contender: Contender, watch: Watch) -> list[Standing]:
    return replay(
        crowd,
        contender.rules,
        asked.labels_per_item,
        runs=asked.seeds,
        workers=asked.workers,
        order=asked.order,
        most_labels=contender.most_labels,
        watch=lambda answers: watch(answers * _weight(contender)),
    )


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


def _painted(lines: Sequence[Line], items: int) -> Any:  # noqa: ANN401  of matplotlib
    curves: defaultdict[str, list[Point]] = defaultdict(list)
    for line in lines:
        if line.accuracy is not None:
            curves[line.policy].append(Point(line.labels / items, line.accuracy, line.accuracy_sd))
    return accuracy_over_labels(curves, lines[0].seeds)
