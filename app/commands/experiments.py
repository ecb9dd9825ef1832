"""`suffice experiments`: the papers' figures and tables, theirs beside ours."""

import json
import os
from dataclasses import asdict
from pathlib import Path
from time import perf_counter

import click

from app.lab.experiments import BY_NAME, EXPERIMENTS
from app.lab.experiments.finding import Experiment, Finding, Setting
from app.plots.panels import in_rows

_PUBLIC_SETS = Path(__file__).resolve().parents[3] / "shared" / "data"
_AGREES = {True: "yes", False: "NO", None: ""}


@click.command()
@click.argument("name", required=False)
@click.option("--seeds", type=click.IntRange(1, 1000), help="Runs to average, where chance plays a part.")
@click.option("--quick", is_flag=True, help="A small run: fewer seeds, items and settings.")
@click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of the public sets (SUFFICE_PUBLIC_SETS, or shared/data beside the project).",
)
@click.option(
    "--plot-dir",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("suffice-plots"),
    show_default=True,
    help="Where to save the picture.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def experiments(
    name: str | None, *, seeds: int | None, quick: bool, data: Path | None, plot_dir: Path, as_json: bool
) -> None:
    """Run a figure or table of one of the papers, and print its numbers beside ours; without NAME, list them."""
    if name is None:
        click.echo(json.dumps(_listed(), indent=2) if as_json else _list())
        return
    if name not in BY_NAME:
        raise click.UsageError(f"There is no experiment {name!r}; there are {', '.join(BY_NAME)}")
    experiment = BY_NAME[name]
    folder = data or Path(os.environ.get("SUFFICE_PUBLIC_SETS") or _PUBLIC_SETS)
    _refuse_without_data(experiment, folder)
    finding = experiment.run(
        Setting(
            data=folder,
            seeds=seeds or (experiment.quick_seeds if quick else experiment.seeds),
            quick=quick,
            tell=lambda words: click.echo(words, err=True),
            clock=perf_counter,
        )
    )
    picture = _saved(experiment, finding, plot_dir)
    click.echo(_in_json(experiment, finding, picture) if as_json else _in_words(experiment, finding, picture))


def _refuse_without_data(experiment: Experiment, folder: Path) -> None:
    for public_set in experiment.needs:
        if not (folder / public_set).is_dir():
            raise click.ClickException(
                f"{experiment.name} needs the public set {public_set!r}: put its files into {folder / public_set}, "
                "or name the folder that holds it with --data or SUFFICE_PUBLIC_SETS."
            )


def _listed() -> list[dict[str, object]]:
    return [
        {"name": each.name, "shows": each.shows, "citation": each.citation, "needs": each.needs, "seeds": each.seeds}
        for each in EXPERIMENTS
    ]


def _list() -> str:
    lines, citation = ["Run one with: suffice experiments NAME"], ""
    for each in EXPERIMENTS:
        if each.citation != citation:
            citation = each.citation
            lines.append(f"\n{citation}")
        needs = f" [data: {', '.join(each.needs)}]" if each.needs else ""
        lines.append(f"  {each.name:30} {each.shows}{needs}")
    return "\n".join(lines)


def _saved(experiment: Experiment, finding: Finding, folder: Path) -> Path:
    path = folder / f"{experiment.name}.svg"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_bytes(in_rows(finding.panels))
    except OSError as error:
        raise click.ClickException(f"Cannot save the picture as {path} ({error.strerror}).") from error
    return path


def _in_words(experiment: Experiment, finding: Finding, picture: Path) -> str:
    cells = [("", "paper", "ours", "agrees")]
    cells += [(row.what, row.written(row.paper), row.written(row.ours), _AGREES[row.agrees]) for row in finding.rows]
    wide, paper, ours = (max(len(line[column]) for line in cells) for column in range(3))
    table = [f"{a:{wide}}  {b:>{paper}}  {c:>{ours}}  {d}".rstrip() for a, b, c, d in cells]
    return "\n".join([experiment.citation, "", *table, "", *finding.notes, f"The picture is {picture}"])


def _in_json(experiment: Experiment, finding: Finding, picture: Path) -> str:
    about = {"name": experiment.name, "citation": experiment.citation, "plot": str(picture)}
    return json.dumps(about | asdict(finding), indent=2)
