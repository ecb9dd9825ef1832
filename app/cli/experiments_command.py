"""`suffice experiments`: repeat the figures and tables of the papers."""

import os
from pathlib import Path

import click

_PUBLIC_SETS = (Path("../shared/data"), Path(__file__).resolve().parents[3] / "shared" / "data")


@click.command()
@click.argument("name", required=False)
@click.option("--seeds", type=click.IntRange(1, 1000), help="Runs to average, for experiments with random draws.")
@click.option("--quick", is_flag=True, help="Run a small version: fewer seeds, items and settings.")
@click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder with the public data sets (SUFFICE_PUBLIC_SETS, else ../shared/data).",
)
@click.option(
    "--plot-dir",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("suffice-plots"),
    show_default=True,
    help="Folder in which to save the chart.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def experiments(
    name: str | None, *, seeds: int | None, quick: bool, data: Path | None, plot_dir: Path, as_json: bool
) -> None:
    """Run a figure or table of a paper, and print its numbers beside ours. Without NAME, list all.

    \b
    Example:
      suffice experiments crowdbudget-figure-1 --quick
    """  # noqa: D301  click needs the escape itself
    # Imported here: the experiments and scipy's optimiser would delay the start of `suffice serve` by a second.
    from app.cli import experiment_report as report  # noqa: PLC0415

    if name is None:
        click.echo(report.listed(as_json=as_json))
        return
    experiment = report.named(name)
    folder = data or Path(os.environ.get("SUFFICE_PUBLIC_SETS") or _public_sets())
    setting = report.setting_of(experiment, folder, seeds=seeds, quick=quick)
    chart = report.chart_path(experiment, plot_dir)
    finding = report.run(experiment, setting)
    report.save(finding, chart)
    click.echo((report.as_json if as_json else report.as_text)(experiment, setting, finding, chart))


def _public_sets() -> Path:
    return next((folder for folder in _PUBLIC_SETS if folder.is_dir()), _PUBLIC_SETS[0])
