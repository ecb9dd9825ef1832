"""Run an experiment and say what it came to, in words or in JSON."""

import json
from dataclasses import asdict
from pathlib import Path
from time import perf_counter

import click

from app.lab.experiments import BY_NAME, EXPERIMENTS
from app.lab.experiments.finding import Experiment, Finding, Setting
from app.plots.panels import in_rows

_AGREES = {True: "yes", False: "NO", None: ""}


def named(name: str) -> Experiment:
    """The experiment of this name."""
    if name not in BY_NAME:
        raise click.UsageError(f"There is no experiment {name!r}; there are {', '.join(BY_NAME)}")
    return BY_NAME[name]


def run(experiment: Experiment, data: Path, *, seeds: int | None, quick: bool) -> Finding:
    """Run it on the public sets in this folder; progress goes to the error stream."""
    if seeds is not None and experiment.seeds is None:
        raise click.UsageError(f"{experiment.name} averages nothing, so that it takes no --seeds")
    _refuse_without_data(experiment, data)
    setting = Setting(
        data=data,
        seeds=seeds or (experiment.quick_seeds if quick else experiment.seeds) or 1,
        quick=quick,
        tell=lambda words: click.echo(words, err=True),
        clock=perf_counter,
    )
    try:
        return experiment.run(setting)
    except OSError as error:
        raise click.ClickException(f"Cannot read {error.filename} ({error.strerror}).") from error


def _refuse_without_data(experiment: Experiment, folder: Path) -> None:
    for public_set in experiment.needs:
        if not (folder / public_set).is_dir():
            raise click.ClickException(
                f"{experiment.name} needs the public set {public_set!r}: put its files into {folder / public_set}, "
                "or name the folder that holds it with --data or SUFFICE_PUBLIC_SETS."
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


def saved(experiment: Experiment, finding: Finding, folder: Path) -> Path:
    """Where its picture is kept."""
    path = folder / f"{experiment.name}.svg"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_bytes(in_rows(finding.panels))
    except OSError as error:
        raise click.ClickException(f"Cannot save the picture as {path} ({error.strerror}).") from error
    return path


def in_words(experiment: Experiment, finding: Finding, picture: Path) -> str:
    """The paper's figures and ours side by side."""
    cells = [("", "paper", "ours", "agrees")]
    cells += [(row.what, row.written(row.paper), row.written(row.ours), _AGREES[row.agrees]) for row in finding.rows]
    wide, paper, ours = (max(len(line[column]) for line in cells) for column in range(3))
    table = [f"{a:{wide}}  {b:>{paper}}  {c:>{ours}}  {d}".rstrip() for a, b, c, d in cells]
    return "\n".join([experiment.citation, "", *table, "", *finding.notes, f"The picture is {picture}"])


def in_json(experiment: Experiment, finding: Finding, picture: Path) -> str:
    """All of that, and every point of the picture."""
    about = {"name": experiment.name, "citation": experiment.citation, "plot": str(picture)}
    return json.dumps(about | asdict(finding), indent=2, allow_nan=False)
