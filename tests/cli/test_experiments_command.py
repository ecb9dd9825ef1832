"""`suffice experiments` as a person uses it: the list, a run, its picture, and the ways in which it cannot run."""

import json

import pytest
from click.testing import CliRunner

from app.cli import experiment_report
from app.cli.commands import main
from app.experiments import EXPERIMENTS


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.delenv("SUFFICE_PUBLIC_SETS", raising=False)
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(main, ["experiments", *arguments])


def test_without_a_name_it_lists_all(run):
    said = run()
    assert said.exit_code == 0
    for experiment in EXPERIMENTS:
        assert experiment.name in said.stdout
        assert experiment.citation in said.stdout
    told = json.loads(run("--json").stdout)
    assert [each["name"] for each in told] == [experiment.name for experiment in EXPERIMENTS]


def test_an_unknown_name_is_answered_with_the_known_ones(run):
    said = run("requallo-figure-99")
    assert said.exit_code == 2
    assert all(experiment.name in said.stderr for experiment in EXPERIMENTS)


def test_a_run_prints_both_figures_and_saves_its_picture(run, tmp_path):
    said = run("cost-sensitive-table-2", "--plot-dir", str(tmp_path / "pictures"))
    assert said.exit_code == 0, said.output
    [misprint] = [line.split() for line in said.stdout.splitlines() if line.endswith("NO")]
    assert misprint[-3:] == ["0.790", "0.795", "NO"]
    picture = tmp_path / "pictures" / "cost-sensitive-table-2.svg"
    assert str(picture) in said.stdout
    assert "E[A_R]" in picture.read_text()


def test_json_holds_the_same_and_nothing_else_is_printed(run):
    said = run("crowdbudget-figure-1", "--quick", "--json")
    told = json.loads(said.stdout)
    assert (told["name"], told["plot"]) == ("crowdbudget-figure-1", "suffice-plots/crowdbudget-figure-1.svg")
    by_what = {row["what"]: row for row in told["rows"]}
    assert by_what["B = 600: exponential bound per task"]["ours"] == pytest.approx(0.1653, abs=5e-5)
    assert {line["name"] for line in told["panels"][0]["lines"]} >= {"exponential", "the error itself"}


@pytest.mark.parametrize(
    "name",
    [
        "crowdbudget-figure-2",
        "cost-sensitive-figure-4",
        "cost-sensitive-figure-5",
        "cost-sensitive-figure-11",
        "opt-kg-figure-2",
    ],
)
def test_all_that_is_found_can_be_told(run, name):
    """Numbers and truths are JSON's own, and every comparison has both sides."""
    rows = json.loads(run(name, "--quick", "--json").stdout)["rows"]
    assert rows
    for row in rows:
        assert row["what"]
        assert row["agrees"] in (True, False, None)
        assert isinstance(row["ours"], int | float | str)


def test_what_needs_data_says_where_to_put_it(run, tmp_path):
    """One sentence, no traceback, for every experiment that reads a public set."""
    for experiment in EXPERIMENTS:
        if experiment.needs:
            said = run(experiment.name, "--data", str(tmp_path / "nowhere"))
            [sentence] = said.stderr.strip().splitlines()
            assert said.exit_code == 1
            assert str(tmp_path / "nowhere" / experiment.needs[0]) in sentence
            assert "SUFFICE_PUBLIC_SETS" in sentence


def test_what_averages_nothing_takes_no_seeds(run):
    said = run("cost-sensitive-table-2", "--seeds", "3")
    assert said.exit_code == 2
    assert "takes no --seeds" in said.stderr


def test_a_set_without_its_files_is_named(run, tmp_path):
    (tmp_path / "rte").mkdir()
    said = run("how-many-workers-figure-4", "--quick", "--data", str(tmp_path))
    assert said.exit_code == 1
    assert said.stderr.strip() == f"Error: Cannot read {tmp_path / 'rte' / 'answers.csv'} (No such file or directory)."


@pytest.mark.parametrize(
    ("name", "file", "text", "said"),
    [
        (
            "opt-kg-figure-3",
            "rte/answers.csv",
            "item,worker,label\na,v,0\na,w,1\n",
            "line 2: this is not the RTE set, which has two labels",
        ),
        ("requallo-figure-1", "rte/answers.csv", "item,label\na,1\n", "line 1: there is no column 'worker'"),
        (
            "requallo-table-3",
            "millionaire/answers.csv",
            "item,worker,label\na,v,0\na,w,1\n",
            "line 2: no item has 20 ans",
        ),
        (
            "requallo-figure-2",
            "millionaire/answers.csv",
            "item,worker,label\na,v,0\na,w,1\n",
            "line 2: no item has 20 ans",
        ),
        (
            "how-many-workers-figure-5",
            "adult2/answers.csv",
            "item,worker,label\na,v,G\na,w,X\n",
            "line 2: the labels must be G, P, R, X; they are G, X",
        ),
        ("requallo-figure-3", "splice/splice", "+1 1:0.5\n+1 one\n", "line 2: must be a label and index:value"),
        ("requallo-figure-3", "splice/splice", "+1 1:0.5\n+1 1:1 2:2\n", "line 1: all examples must have the same"),
    ],
)
def test_another_set_in_its_place_is_told_in_a_sentence(run, tmp_path, name, file, text, said):
    (tmp_path / file).parent.mkdir()
    (tmp_path / file).write_text(text)
    (tmp_path / file).with_name("truth.csv").write_text("item,truth\na,1\n")
    found = run(name, "--quick", "--data", str(tmp_path))
    assert found.exit_code == 1
    assert found.stderr.splitlines()[-1].startswith(f"Error: {tmp_path / file}, {said}")


def test_sets_beside_the_working_folder_are_found(run, tmp_path, monkeypatch):
    """`../shared/data`, also if only the package is installed, without the project."""
    (tmp_path / "shared" / "data" / "rte").mkdir(parents=True)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert "Cannot read ../shared/data/rte/answers.csv" in run("requallo-figure-1").stderr


def test_figures_that_are_drawn_together_go_by_either_name(run):
    told = json.loads(run("cost-sensitive-figure-6", "--json").stdout)
    assert told["name"] == "cost-sensitive-figure-5"


def test_a_name_that_is_nearly_right_is_guessed(run):
    assert "did you mean crowdbudget-figure-3?" in run("crowdbuget-figure-3").stderr


def test_a_small_run_says_that_it_is_one(run):
    said = run("crowdbudget-figure-2", "--quick").stdout
    assert "Seeds: 2 (by default 10)." in said
    assert "small run (--quick)" in said
    assert "small run" not in run("crowdbudget-figure-2", "--seeds", "1").stdout


def test_what_the_paper_says_of_a_budget_stands_beside_that_budget(run):
    """Tran-Thanh et al., section 5.3: at 100 Uniform is second, at 200 Random, at 400 all are the same."""
    rows = json.loads(run("crowdbudget-figure-3", "--quick", "--json").stdout)["rows"]
    paper = {row["what"]: row["paper"] for row in rows}
    assert paper["all tasks alike, B = 100: order"] == "CrowdBudget < Uniform < Random"
    assert paper["all tasks alike, B = 200: order"] == "CrowdBudget < Random < Uniform"
    assert paper["all tasks alike, B = 400: difference up to 0.4"] == "the same"


def test_a_folder_that_cannot_be_written_is_named(run, tmp_path, monkeypatch):
    """Before anything is run."""
    (tmp_path / "taken").write_text("")
    monkeypatch.setattr(experiment_report, "run", lambda *_: pytest.fail("it was run"))
    said = run("cost-sensitive-table-2", "--plot-dir", str(tmp_path / "taken" / "in-a-file"))
    [sentence] = said.stderr.strip().splitlines()
    assert said.exit_code == 1
    assert "Cannot save the chart" in sentence


def test_the_guide_has_a_row_for_every_experiment(project):
    guide = (project / "docs" / "research" / "papers.md").read_text()
    rows = [line.split("|")[1] for line in guide.splitlines() if line.startswith("| `")]
    assert sorted(row.split("`")[1] for row in rows) == sorted(experiment.name for experiment in EXPERIMENTS)
