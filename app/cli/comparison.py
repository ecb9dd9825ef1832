"""Run the policies that a command asks for, show the progress, and print or draw the results."""

import json
import os
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import click

from app.charts.canvas import render_chart
from app.charts.replay_chart import ReplayPoint, draw_replay
from app.cli.contenders import (
    ConfiguredJob,
    Contender,
    all_labels,
    by_name,
    check_number_of_labels,
)
from app.cli.progress_bar import progress
from app.simulation.named_policies import NAMES, VARIANTS, PolicyUnknown, Workers
from app.simulation.policy_replay import OnProgress, group_budgets, replay, with_worker_choice
from app.simulation.recorded_crowd import RecordedAnswers
from app.simulation.replay_report import ReplayLine, as_table
from app.simulation.scores import Scores
from app.simulation.selection import Order

_MOST_LABELS_PER_ITEM = 1000
_MOST_PAIRS = 50_000_000  # answers times seeds in memory at once: some gigabytes
_FITTING = 15  # an answer of a job with refits takes about 15 times as long


def _budgets(_context: click.Context, _parameter: click.Parameter, value: str) -> tuple[float, ...]:
    """Parse labels per item, separated by commas."""
    try:
        numbers = tuple(float(each) for each in value.split(","))
    except ValueError as error:
        raise click.BadParameter(f"{value!r} is not a list of numbers. Write them like 1,2,3.") from error
    if not all(0 < each <= _MOST_LABELS_PER_ITEM for each in numbers):
        raise click.BadParameter(f"labels per item must be above 0 and at most {_MOST_LABELS_PER_ITEM:,}.")
    return numbers


@dataclass(frozen=True)
class ComparisonRequest:
    """Which policies to run, on which budgets, and how to show the results."""

    policies: tuple[str, ...]
    configs: tuple[Path, ...]
    labels_per_item: tuple[float, ...]
    workers: Workers
    order: Order
    seeds: int
    as_json: bool
    plot: Path | None
    gold: int


def options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that both commands have, and pass them to the command as one `request`."""

    def gathered(**given: Any) -> None:  # noqa: ANN401  the options of the command
        fields = {name: given.pop(name) for name in ComparisonRequest.__dataclass_fields__}
        command(request=ComparisonRequest(**fields), **given)

    gathered.__doc__, gathered.__name__ = command.__doc__, command.__name__
    named = f"Policies, separated by commas: {', '.join([*NAMES, *VARIANTS])}."
    for option in (
        click.option("--plot", type=click.Path(dir_okay=False, path_type=Path), help="Save a chart, as .svg or .png."),
        click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line instead of a table."),
        click.option(
            "--gold",
            type=click.IntRange(0, 100_000),
            default=0,
            metavar="ITEMS",
            help="Give the job the truth of this many random items as gold; accuracy is that of the others.",
        ),
        click.option("--seeds", type=click.IntRange(1, 1000), default=10, show_default=True, help="Runs per policy."),
        click.option(
            "--order",
            type=click.Choice(["random", "recorded"]),
            default="random",
            show_default=True,
            help="Order in which the answers on an item arrive (with --workers pull).",
        ),
        click.option(
            "--workers",
            type=click.Choice(["pull", "choose"]),
            default="pull",
            show_default=True,
            help="pull: workers arrive at random; choose: the policy picks the worker.",
        ),
        click.option(
            "--labels-per-item",
            callback=_budgets,
            metavar="NUMBERS",
            default="1,2,3,4,5",
            show_default=True,
            help="Budgets, separated by commas.",
        ),
        click.option(
            "--config",
            "configs",
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            multiple=True,
            help="A JSON file with a job, as for POST /v1/jobs or from GET /v1/jobs/{job}; may be repeated.",
        ),
        click.option("--policy", "policies", multiple=True, help=named),
    ):
        gathered = option(gathered)
    return gathered


def compare(request: ComparisonRequest, crowds: Sequence[RecordedAnswers], *, synthetic: bool = False) -> None:
    """Run the policies on these crowds and show the results; after an interruption, those that are complete."""
    form = _format(request.plot)
    if request.plot is not None:
        _check_chart(request.plot, crowds)
    _check_size(request, crowds)
    _check_gold(request, crowds)
    contenders, crowds = _on_common_labels(request, crowds, synthetic=synthetic)
    found: list[ReplayLine] = []
    try:
        _run(request, contenders, crowds, found)
    finally:
        if found and not request.as_json:
            click.echo("\n".join(as_table(found)))
    if request.plot is not None and form is not None:
        _save(render_chart(_chart(found, len(crowds[0].items)), form=form), request.plot)


def _check_size(request: ComparisonRequest, crowds: Sequence[RecordedAnswers]) -> None:
    answers = max(len(crowd.label) for crowd in crowds)
    if answers * request.seeds > _MOST_PAIRS:
        wrong = f"{answers:,} answers can be replayed with at most {max(_MOST_PAIRS // answers, 1)} seeds"
        raise click.BadParameter(wrong, param_hint="--seeds")


def _check_gold(request: ComparisonRequest, crowds: Sequence[RecordedAnswers]) -> None:
    """Check that items of known truth are left to measure the accuracy on."""
    known = min(int(crowd.known.sum()) for crowd in crowds)
    if request.gold and request.gold >= known:
        wrong = f"only {known:,} items have a known truth, and some must be left to measure the accuracy on"
        raise click.BadParameter(f"{wrong}. Take fewer gold items.", param_hint="--gold")


def _on_common_labels(
    request: ComparisonRequest, crowds: Sequence[RecordedAnswers], *, synthetic: bool
) -> tuple[list[Contender], Sequence[RecordedAnswers]]:
    """The contenders and the crowds, with the labels of the answers and of all configured jobs."""
    given = crowds[0].labels
    jobs = [ConfiguredJob(path, given) for path in dict.fromkeys(request.configs)]
    if synthetic:
        check_number_of_labels(jobs, len(given))
    labels = given if synthetic else all_labels(jobs, given)
    names = request.policies or (() if jobs else ("information",))
    with_features = crowds[0].features is not None
    contenders = [*by_name(names, labels, request.workers, crowds[0].answer, with_features=with_features)]
    for job in jobs:
        if job.job.features is not None and crowds[0].features is None:
            click.echo(f"Note: {job.path}: its `features` say nothing here; give them with --features.", err=True)
        contenders.append(job.contender(labels, [each.name for each in contenders]))
    try:
        for each in contenders:
            with_worker_choice(each.policy, request.workers)
    except PolicyUnknown as error:
        raise click.BadParameter(f"{error}.", param_hint="--workers") from error
    return contenders, [crowd.among(labels) for crowd in crowds]


def _run(
    request: ComparisonRequest,
    contenders: Sequence[Contender],
    crowds: Sequence[RecordedAnswers],
    found: list[ReplayLine],
) -> None:
    """Run the contenders one after the other; the lines of each are added to `found` when it is done."""
    steps = {each.name: _steps(request, each, crowds) for each in contenders}
    with progress(sum(steps.values())) as bar:
        for each in contenders:
            with bar.part(each.name, steps[each.name]) as on_progress:
                scores = [_replay(request, crowd, each, on_progress) for crowd in crowds]
            together = [Scores.joined(at_budget) for at_budget in zip(*scores, strict=True)]
            pairs = zip(request.labels_per_item, together, strict=True)
            lines = [ReplayLine.of(each.name, budget, at_budget) for budget, at_budget in pairs]
            found += lines
            if request.as_json:
                for line in lines:
                    bar.say(json.dumps(line.as_json()))


def _steps(request: ComparisonRequest, contender: Contender, crowds: Sequence[RecordedAnswers]) -> int:
    """The most answers that the contender may buy, weighted by how long they take."""
    policy, once = with_worker_choice(contender.policy, request.workers), 0
    for crowd in crowds:
        bought = [min(int(each * len(crowd.items)), len(crowd.label)) for each in request.labels_per_item]
        once += sum(group[-1] for group in group_budgets(policy, bought, len(crowd.items)))
    return request.seeds * once * _weight(contender)


def _weight(contender: Contender) -> int:
    """How long an answer takes, in units of a job without refits."""
    return 1 if contender.policy.first_refit is None else _FITTING


def _replay(
    request: ComparisonRequest, crowd: RecordedAnswers, contender: Contender, on_progress: OnProgress
) -> list[Scores]:
    return replay(
        crowd,
        contender.policy,
        request.labels_per_item,
        runs=request.seeds,
        workers=request.workers,
        order=request.order,
        most_labels=contender.most_labels,
        gold=request.gold,
        progress=lambda answers: on_progress(answers * _weight(contender)),
    )


def _format(plot: Path | None) -> Literal["svg", "png"] | None:
    forms: dict[str, Literal["svg", "png"]] = {".svg": "svg", ".png": "png"}
    if plot is None:
        return None
    if plot.suffix.lower() not in forms:
        raise click.BadParameter(f"{plot} must end in .svg or .png.", param_hint="--plot")
    return forms[plot.suffix.lower()]


def _check_chart(plot: Path, crowds: Sequence[RecordedAnswers]) -> None:
    """Check that the chart can be drawn and saved before a long run."""
    if not any(crowd.known.any() for crowd in crowds):
        raise click.BadParameter(
            "without the truth there is no accuracy to draw. Give the true labels with --truth.", param_hint="--plot"
        )
    if not plot.parent.is_dir():
        raise click.BadParameter(
            f"there is no folder {plot.parent} to save {plot.name} in. Create it first.", param_hint="--plot"
        )
    if not os.access(plot if plot.exists() else plot.parent, os.W_OK):
        raise click.BadParameter(f"{plot} cannot be written. Choose another file or folder.", param_hint="--plot")


def _save(chart: bytes, plot: Path) -> None:
    try:
        plot.write_bytes(chart)
    except OSError as error:
        raise click.ClickException(f"Cannot save the chart as {plot} ({error.strerror}).") from error


def _chart(lines: Sequence[ReplayLine], items: int) -> Any:  # noqa: ANN401  a matplotlib figure
    curves: defaultdict[str, list[ReplayPoint]] = defaultdict(list)
    for line in lines:
        if line.accuracy is not None:
            curves[line.policy].append(ReplayPoint(line.labels / items, line.accuracy, line.accuracy_sd))
    return draw_replay(curves, lines[0].seeds)
