"""Run an experiment and report its results as text or as JSON."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from difflib import get_close_matches
from pathlib import Path
from time import perf_counter

import click

from app.charts.panels import render_panels
from app.experiments import BY_NAME, EXPERIMENTS
from app.experiments.experiment import Experiment, Finding, Setting
from app.experiments.public_sets import PUBLIC_SETS
from app.simulation.csv_tables import WrongFile

_AGREES = {True: "yes", False: "NO", None: ""}


def named(name: str) -> Experiment:
    """The experiment with this name."""
    if name not in BY_NAME:
        near = get_close_matches(name, BY_NAME, n=1)
        hint = f"did you mean {near[0]}? There are" if near else "there are"
        raise click.UsageError(f"There is no experiment {name!r}; {hint} {', '.join(BY_NAME)}")
    return BY_NAME[name]


def setting_of(experiment: Experiment, data: Path, *, seeds: int | None, quick: bool) -> Setting:
    """The setting of a run on the public sets in this folder; progress goes to the error stream."""
    if seeds is not None and experiment.seeds is None:
        raise click.UsageError(f"{experiment.name} has no random draws, so it takes no --seeds")
    _check_data(experiment, data)
    return Setting(
        data=data,
        seeds=seeds or (experiment.quick_seeds if quick else experiment.seeds) or 1,
        quick=quick,
        report=lambda message: click.echo(message, err=True),
        clock=perf_counter,
    )


def run(experiment: Experiment, setting: Setting) -> Finding:
    """Run the experiment; errors of files become messages."""
    try:
        return experiment.run(setting)
    except OSError as error:
        raise click.ClickException(f"Cannot read {error.filename} ({error.strerror}).") from error
    except WrongFile as error:
        raise click.ClickException(str(error)) from error


def _check_data(experiment: Experiment, folder: Path) -> None:
    for public_set in experiment.needs:
        if not (folder / public_set).is_dir():
            raise click.ClickException(
                f"{experiment.name} needs the public set {public_set!r}: put {PUBLIC_SETS[public_set]}, into "
                f"{folder / public_set}, or name the folder that holds {public_set} with --data or SUFFICE_PUBLIC_SETS."
            )


def _facts() -> list[dict[str, object]]:
    return [
        {"name": each.name, "shows": each.shows, "citation": each.citation, "needs": each.needs, "seeds": each.seeds}
        for each in EXPERIMENTS
    ]


def listed(*, as_json: bool) -> str:
    """All experiments by paper."""
    if as_json:
        return json.dumps(_facts(), indent=2)
    lines, citation = ["Run one with: suffice experiments NAME"], ""
    for each in EXPERIMENTS:
        if each.citation != citation:
            citation = each.citation
            lines.append(f"\n{citation}")
        needs = f" [data: {', '.join(each.needs)}]" if each.needs else ""
        lines.append(f"  {each.name:30} {each.shows}{needs}")
    return "\n".join(lines)


def chart_path(experiment: Experiment, folder: Path) -> Path:
    """Where to save the chart; creates the folder, so that a long run does not fail at its end."""
    path = folder / f"{experiment.name}.svg"
    with _saving(path):
        folder.mkdir(parents=True, exist_ok=True)
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise click.ClickException(
            f"Cannot save the chart as {path}: no permission to write. Choose another folder with --plot-dir."
        )
    return path


def save(finding: Finding, path: Path) -> None:
    """Save the chart."""
    with _saving(path):
        path.write_bytes(render_panels(finding.panels))


@contextmanager
def _saving(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise click.ClickException(
            f"Cannot save the chart as {path} ({error.strerror}). Choose another folder with --plot-dir."
        ) from error


def as_text(experiment: Experiment, setting: Setting, finding: Finding, chart: Path) -> str:
    """The numbers of the paper and ours side by side."""
    cells = [("", "paper", "ours", "agrees")]
    cells += [(row.what, row.written(row.paper), row.written(row.ours), _AGREES[row.agrees]) for row in finding.rows]
    wide, paper, ours = (max(len(line[column]) for line in cells) for column in range(3))
    table = [f"{a:{wide}}  {b:>{paper}}  {c:>{ours}}  {d}".rstrip() for a, b, c, d in cells]
    notes = [*finding.notes, *_how(experiment, setting), f"The chart is {chart}"]
    return "\n".join([experiment.citation, "", *table, "", *notes])


def _how(experiment: Experiment, setting: Setting) -> Iterator[str]:
    if experiment.seeds is not None:
        yield f"Seeds: {setting.seeds} (by default {experiment.seeds})."
    if setting.quick:
        yield "This was a small run (--quick): its numbers vary more than those of a full run."


def as_json(experiment: Experiment, setting: Setting, finding: Finding, chart: Path) -> str:
    """The same as JSON, with every point of the chart."""
    about = {"name": experiment.name, "citation": experiment.citation, "plot": str(chart)}
    how = {"seeds": experiment.seeds and setting.seeds, "quick": setting.quick}
    return json.dumps(about | how | asdict(finding), indent=2, allow_nan=False)
