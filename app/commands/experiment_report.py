"""Run an experiment and say what it came to, in words or in JSON."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from difflib import get_close_matches
from pathlib import Path
from time import perf_counter

import click

from app.lab.experiments import BY_NAME, EXPERIMENTS
from app.lab.experiments.finding import Experiment, Finding, Setting
from app.lab.experiments.public_sets import PUBLIC_SETS
from app.lab.tables import WrongFile
from app.plots.panels import in_rows

_AGREES = {True: "yes", False: "NO", None: ""}


def named(name: str) -> Experiment:
    """The experiment of this name."""
    if name not in BY_NAME:
        near = get_close_matches(name, BY_NAME, n=1)
        hint = f"did you mean {near[0]}? There are" if near else "there are"
        raise click.UsageError(f"There is no experiment {name!r}; {hint} {', '.join(BY_NAME)}")
    return BY_NAME[name]


def setting_of(experiment: Experiment, data: Path, *, seeds: int | None, quick: bool) -> Setting:
    """How it is to be run on the public sets in this folder; progress goes to the error stream."""
    if seeds is not None and experiment.seeds is None:
        raise click.UsageError(f"{experiment.name} averages nothing, so that it takes no --seeds")
    _refuse_without_data(experiment, data)
    return Setting(
        data=data,
        seeds=seeds or (experiment.quick_seeds if quick else experiment.seeds) or 1,
        quick=quick,
        tell=lambda words: click.echo(words, err=True),
        clock=perf_counter,
    )


def run(experiment: Experiment, setting: Setting) -> Finding:
    """What it comes to."""
    try:
        return experiment.run(setting)
    except OSError as error:
        raise click.ClickException(f"Cannot read {error.filename} ({error.strerror}).") from error
    except WrongFile as error:
        raise click.ClickException(str(error)) from error


def _refuse_without_data(experiment: Experiment, folder: Path) -> None:
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


def place_for(experiment: Experiment, folder: Path) -> Path:
    """Where its picture is to be kept; the folder is made before anything is run, which may take long."""
    path = folder / f"{experiment.name}.svg"
    with _told_if_not_saved(path):
        folder.mkdir(parents=True, exist_ok=True)
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise click.ClickException(f"Cannot save the picture as {path} (it cannot be written).")
    return path


def save(finding: Finding, path: Path) -> None:
    """Keep its picture there."""
    with _told_if_not_saved(path):
        path.write_bytes(in_rows(finding.panels))


@contextmanager
def _told_if_not_saved(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise click.ClickException(f"Cannot save the picture as {path} ({error.strerror}).") from error


def in_words(experiment: Experiment, setting: Setting, finding: Finding, picture: Path) -> str:
    """The paper's figures and ours side by side."""
    cells = [("", "paper", "ours", "agrees")]
    cells += [(row.what, row.written(row.paper), row.written(row.ours), _AGREES[row.agrees]) for row in finding.rows]
    wide, paper, ours = (max(len(line[column]) for line in cells) for column in range(3))
    table = [f"{a:{wide}}  {b:>{paper}}  {c:>{ours}}  {d}".rstrip() for a, b, c, d in cells]
    told = [*finding.notes, *_how(experiment, setting), f"The picture is {picture}"]
    return "\n".join([experiment.citation, "", *table, "", *told])


def _how(experiment: Experiment, setting: Setting) -> Iterator[str]:
    if experiment.seeds is not None:
        yield f"Seeds: {setting.seeds} (by default {experiment.seeds})."
    if setting.quick:
        yield "This was a small run (--quick), whose figures may lie farther off than those of a full one."


def in_json(experiment: Experiment, setting: Setting, finding: Finding, picture: Path) -> str:
    """All of that, and every point of the picture."""
    about = {"name": experiment.name, "citation": experiment.citation, "plot": str(picture)}
    how = {"seeds": experiment.seeds and setting.seeds, "quick": setting.quick}
    return json.dumps(about | how | asdict(finding), indent=2, allow_nan=False)
