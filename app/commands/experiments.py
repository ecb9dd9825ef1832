"""`suffice experiments`: the papers' figures and tables, theirs beside ours."""

import os
from pathlib import Path

import click

_PUBLIC_SETS = (Path("../shared/data"), Path(__file__).resolve().parents[3] / "shared" / "data")


@click.command()
@click.argument("name", required=False)
@click.option("--seeds", type=click.IntRange(1, 1000), help="Runs to average, where chance plays a part.")
@click.option("--quick", is_flag=True, help="A small run: fewer seeds, items and settings.")
@click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of the public sets (SUFFICE_PUBLIC_SETS, else ../shared/data from here or from the project).",
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
    # Loaded when wanted: the lab and scipy's optimiser would let `suffice serve` start a second later.
    from app.commands import experiment_report as report  # noqa: PLC0415

    if name is None:
        click.echo(report.listed(as_json=as_json))
        return
    experiment = report.named(name)
    folder = data or Path(os.environ.get("SUFFICE_PUBLIC_SETS") or _public_sets())
    setting = report.setting_of(experiment, folder, seeds=seeds, quick=quick)
    picture = report.place_for(experiment, plot_dir)
    finding = report.run(experiment, setting)
    report.save(finding, picture)
    click.echo((report.in_json if as_json else report.in_words)(experiment, setting, finding, picture))


def _public_sets() -> Path:
    return next((folder for folder in _PUBLIC_SETS if folder.is_dir()), _PUBLIC_SETS[0])
