"""`suffice replay` and `suffice simulate` as a person or a program uses them."""

import gzip
import io
import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from app.cli import comparison as outcomes
from app.cli.commands import main
from app.cli.progress_bar import progress

ANSWERS = """item,worker,label
a,v,yes
a,w,yes
a,x,no
b,v,no
b,w,no
b,x,no
c,v,yes
c,w,no
c,x,yes
"""
TRUTH = "item,truth\na,yes\nb,no\nc,yes\n"
FIELDS = ["policy", "labels_per_item", "labels", "accuracy", "accuracy_sd", "resolved", "resolved_accuracy", "seeds"]


@pytest.fixture
def files(tmp_path):
    (tmp_path / "answers.csv").write_text(ANSWERS)
    (tmp_path / "truth.csv").write_text(TRUTH)
    return tmp_path


def run(*arguments, code=0):
    found = CliRunner().invoke(main, [str(each) for each in arguments], terminal_width=200)
    assert found.exit_code == code, found.output
    return found


def replayed(folder, *arguments, truth="truth.csv", code=0):
    known = ("--truth", folder / truth) if truth else ()
    return run("replay", "--answers", folder / "answers.csv", *known, *arguments, code=code)


def lines(found):
    return [json.loads(line) for line in found.stdout.splitlines()]


def test_a_line_of_json_for_each_policy_and_budget(files):
    """All three votes on each item have a right majority; two of three have one, or tie."""
    given = ("--policy", "round-robin", "--policy", "information", "--labels-per-item", "1,3", "--workers", "pull")
    found = lines(replayed(files, *given, "--seeds", "10", "--json"))
    assert [list(line) for line in found] == [FIELDS] * 4
    assert [(line["policy"], line["labels_per_item"], line["labels"]) for line in found] == [
        ("round-robin", 1, 3),
        ("round-robin", 3, 9),
        ("information", 1, 3),
        ("information", 3, 9),
    ]
    assert found[1] == dict(zip(FIELDS, ["round-robin", 3, 9, 1.0, 0.0, 0, None, 10], strict=True))
    assert 0.3 < found[0]["accuracy"] < 1
    assert found[0]["accuracy_sd"] > 0


def test_the_same_seeds_give_the_same_output(files):
    given = ("--policy", "information", "--policy", "random", "--json", "--seeds", "4")
    assert replayed(files, *given).stdout == replayed(files, *given).stdout


@pytest.mark.parametrize("workers", ["pull", "choose"])
def test_requallo_stops_where_its_requirement_is_reached(files, workers):
    """Three of three is 4 : 1 with the pseudo-votes; two to one is not."""
    found = lines(replayed(files, "--policy", "requallo", "--labels-per-item", "3", "--workers", workers, "--json"))
    assert (found[0]["resolved"], found[0]["resolved_accuracy"], found[0]["labels"]) == (1, 1.0, 9)


def test_a_table_for_people(files):
    found = replayed(files, "--policy", "round-robin", "--labels-per-item", "3").stdout.splitlines()
    assert found[0].split() == ["policy", "labels/item", "labels", "accuracy", "sd", "resolved", "of", "those", "right"]
    assert found[1].split() == ["round-robin", "3", "9", "1.000", "0.000", "0", "-"]


def test_packed_files_and_other_columns_are_read(files):
    rows = ["when," + ANSWERS.splitlines()[0], *("0," + row for row in ANSWERS.splitlines()[1:])]
    (files / "answers.csv").write_bytes(gzip.compress("\n".join(rows).encode()))
    assert lines(replayed(files, "--labels-per-item", "3", "--json"))[0]["accuracy"] == 1.0


def test_without_truth_nothing_is_said_of_accuracy(files):
    found = lines(replayed(files, "--policy", "requallo", "--labels-per-item", "3", "--json", truth=None))[0]
    assert (found["accuracy"], found["accuracy_sd"], found["resolved_accuracy"], found["resolved"]) == (
        None,
        None,
        None,
        1,
    )


def test_the_order_of_the_file_may_be_kept(files):
    """The first answers of the file are v's, who is right about a, b and c: all seeds give the same result."""
    given = ("--policy", "round-robin", "--labels-per-item", "1", "--order", "recorded", "--json")
    assert lines(replayed(files, *given))[0] == dict(
        zip(FIELDS, ["round-robin", 1, 3, 1.0, 0.0, 0, None, 10], strict=True)
    )


def test_a_configuration_is_run_as_it_stands(files):
    """Two labels each, whatever they say, and a budget that does not reach for all of them."""
    job = {"budget": 5, "requirement": {"kind": "count", "labels": 2}, "worker_model": {"kind": "anonymous"}}
    (files / "two.json").write_text(json.dumps(job))
    given = ("--config", files / "two.json", "--labels-per-item", "1,3", "--json")
    assert [(line["policy"], line["labels"]) for line in lines(replayed(files, *given))] == [("two", 3), ("two", 5)]
    (files / "two.json").write_text(json.dumps(job | {"budget": None, "name": "pairs", "labels": ["yes", "no"]}))
    both = lines(replayed(files, *given, "--policy", "random"))
    assert [(line["policy"], line["labels"]) for line in both] == [
        ("random", 3),
        ("random", 9),
        ("pairs", 3),
        ("pairs", 6),
    ]
    assert both[2]["resolved"] <= both[3]["resolved"]


@pytest.mark.parametrize(
    ("job", "said"),
    [
        ("{", "is not JSON"),
        ("[]", "must hold a JSON object"),
        ('{"labels": ["a", "b"]}', "labels: 'no', 'yes' are not among its labels 'a', 'b'. Add them, or"),
        ('{"alocation": {"kind": "kg"}}', "alocation: there is no such field; did you mean allocation?"),
        ('{"min_labels": 0}', "min_labels: Input should be greater than or equal to 1"),
    ],
)
def test_a_wrong_configuration_is_named(files, job, said):
    (files / "job.json").write_text(job)
    assert said in replayed(files, "--config", files / "job.json", code=2).stderr


def test_a_job_as_the_service_tells_it_is_a_configuration(files):
    """With a label that nobody gave: what no answer is known of then counts one third."""
    job = {"name": "pets", "labels": ["yes", "no", "other"], "requirement": {"kind": "count", "labels": 2}}
    told = job | {"id": "17", "budget": "7", "state": "done", "spent": "9", "answers": 9, "plan": {"kept": True}}
    (files / "job.json").write_text("\ufeff" + json.dumps(told))
    given = ("--config", files / "job.json", "--policy", "random,kg", "--labels-per-item", "0.1,3", "--json")
    found = lines(replayed(files, *given))
    assert [(line["policy"], line["labels"]) for line in found[::2]] == [("random", 0), ("kg", 0), ("pets", 0)]
    assert [line["accuracy"] for line in found[::2]] == pytest.approx([1 / 3] * 3)
    assert found[5]["labels"] == 6


def test_nothing_bought_is_nothing_known(files):
    """Also where runs go one after the other, and the labels are fitted to all answers: there are none."""
    job = {"budget": 0, "spammers": {}, "aggregation": {"kind": "glad"}}
    (files / "job.json").write_text(json.dumps(job))
    (found,) = lines(replayed(files, "--config", files / "job.json", "--labels-per-item", "1", "--json"))
    assert (found["labels"], found["accuracy"]) == (0, 0.5)


def test_the_budget_of_a_plan_holds(files):
    """What the plan settles is not overruled by what a configuration may leave out."""
    (files / "job.json").write_text(
        json.dumps({"plan": {"kind": "forecast", "budget": "4", "promise": {"accuracy": 0.9}}})
    )
    assert lines(replayed(files, "--config", files / "job.json", "--labels-per-item", "3", "--json"))[0]["labels"] == 4


def test_several_configurations_have_names_of_their_own(files):
    for place in ("one", "two"):
        (files / f"{place}.json").write_text(json.dumps({"name": "kg", "allocation": {"kind": "kg"}}))
    given = ("--policy", "kg", "--config", files / "one.json", "--config", files / "two.json", "--labels-per-item", "1")
    names = [line["policy"] for line in lines(replayed(files, *given, "--json"))]
    assert names == ["kg", f"kg ({files / 'one.json'})", f"kg ({files / 'two.json'})"]


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        (
            "item,annotator,label\na,v,1\n",
            "line 1: there is no column 'worker': the file has 'item', 'annotator', 'label'; rename 'annotator'",
        ),
        (
            "item,wroker,label\na,v,1\n",
            "line 1: there is no column 'worker': the file has 'item', 'wroker', 'label'; rename 'wroker' to 'worker'",
        ),
        ("item;worker;label\na;v;1\n", "line 1: cells are separated by ';': use commas"),
        ("item,worker,label\na,v,1\n\nb,,0\n", "line 4, column 2 (worker): the cell must not be empty"),
        ("label,item,worker\n1,a,v\n0,b\n", "line 3: the row has 2 cells, and the first line names 3"),
        ('item,worker,label\n"a\nb",v,1\n"c,v,0\n', "line 4: the row is not valid CSV"),
        ("item,worker,label\n", "line 2: the file has no answers"),
        ("", "line 1: there is no column 'item': the file has no columns at all"),
        (
            "a,v,1\n",
            "line 1: there is no column 'item': the file has 'a', 'v', '1'; the first line must name the columns",
        ),
        ("item,worker,label,item\n", "line 1: two columns are named 'item'"),
    ],
)
def test_wrong_answers_are_told_by_line_and_column(files, answers, said):
    (files / "answers.csv").write_text(answers)
    assert f"answers.csv, {said}" in replayed(files, code=1).stderr


@pytest.mark.parametrize(
    ("truth", "said"),
    [
        (
            "item,gold\na,yes\n",
            "line 1: there is no column 'truth': the file has 'item', 'gold'; rename 'gold' to 'truth'",
        ),
        ("item,truth\n", "line 2: the file has no truths"),
        ("truth,item\nyes,a\nno,b\nno,a\n", "line 4, column 1 (truth): 'a' has another truth, 'yes', in line 2"),
        (
            "item,truth\nA,yes\n",
            "line 2, column 1 (item): no item of this file has answers; items with answers are 'a', 'b', 'c'",
        ),
        (
            "item,truth\na,1\nb,0\n",
            "line 2, column 2 (truth): no truth of this file is among the labels of the answers, which are 'no', 'yes'",
        ),
    ],
)
def test_wrong_truth_is_told_by_line_and_column(files, truth, said):
    (files / "truth.csv").write_text(truth)
    assert f"truth.csv, {said}" in replayed(files, code=1).stderr


def test_a_damaged_packed_file_is_told_in_a_sentence(files):
    packed = bytearray(gzip.compress(ANSWERS.encode() * 100))
    packed[40] ^= 0xFF
    (files / "answers.csv").write_bytes(packed)
    assert "answers.csv, line 1: the gzip file is damaged" in replayed(files, code=1).stderr


def test_the_first_answer_of_a_worker_counts_where_it_stands(files):
    """A second answer neither replaces the first nor moves it to its own place in the recorded order."""
    given = ("--policy", "round-robin", "--labels-per-item", "1,2", "--order", "recorded", "--json")
    once = replayed(files, *given).stdout
    (files / "answers.csv").write_text(ANSWERS + "a,v,no\nc,v,no\n")
    twice = replayed(files, *given)
    assert twice.stdout == once
    assert "answers.csv: only a worker's first answer on an item counts; 2 others are left out." in twice.stderr


def with_column(name: str, *cells: str) -> str:
    """The answers with one column more, whose last cells are these; the others are true."""
    head, *rows = ANSWERS.splitlines()
    said = ["true"] * (len(rows) - len(cells)) + [*cells]
    return "\n".join([f"{head},{name}", *(f"{row},{cell}" for row, cell in zip(rows, said, strict=True)), ""])


def test_answers_that_do_not_count_in_a_job_are_left_out(files):
    """As in the export of a job that has blocked somebody; a column that says something else is left alone."""
    given = ("--policy", "round-robin", "--labels-per-item", "9", "--json")
    everything = replayed(files, *given)
    (files / "answers.csv").write_text(with_column("counts", "false", "FALSE"))
    less = replayed(files, *given)
    assert lines(less)[0]["labels"] == lines(everything)[0]["labels"] - 2
    assert "answers.csv: 2 answers are left out, because the column counts is false." in less.stderr
    for others in (
        with_column("counts", "false", "7"),
        with_column("counts", "false", ""),
        with_column("sure", "false"),
    ):
        (files / "answers.csv").write_text(others)
        assert replayed(files, *given).stdout == everything.stdout


def test_a_column_without_a_name_may_stand_beside_the_others(files):
    """As tables have it that were saved with the numbers of their rows."""
    given = ("--policy", "round-robin", "--labels-per-item", "9", "--json")
    plain = replayed(files, *given).stdout
    for name, table in (("answers.csv", ANSWERS), ("truth.csv", TRUTH)):
        head, *rows = table.splitlines()
        numbered = [f",{head}", *(f"{number},{row}" for number, row in enumerate(rows)), ""]
        (files / name).write_text("\n".join(numbered))
    assert replayed(files, *given).stdout == plain


def test_labels_may_be_true_and_false(files):
    """They do not say which answers count."""
    (files / "answers.csv").write_text(ANSWERS.replace("yes", "true").replace("no", "false"))
    (files / "truth.csv").write_text(TRUTH.replace("yes", "true").replace("no", "false"))
    found = lines(replayed(files, "--policy", "round-robin", "--labels-per-item", "9", "--json"))
    assert found[0]["labels"] == len(ANSWERS.splitlines()) - 1


@pytest.mark.parametrize(
    ("truth", "said"),
    [
        ("item,truth\na,yes\n", "2 of 3 answered items have no truth; accuracy is measured on the others."),
        (TRUTH + "d,no\n", "1 items without answers are left out."),
        ("item,truth\na,yes\nb,no\nc,maybe\n", "no answer is 'maybe'; with it there are 3 labels."),
    ],
)
def test_what_was_made_of_an_odd_truth_is_told_beside_the_output(files, truth, said):
    (files / "truth.csv").write_text(truth)
    found = replayed(files, "--policy", "round-robin", "--labels-per-item", "1", "--json")
    assert found.stderr == f"Note: {files / 'truth.csv'}: {said}\n"
    assert len(lines(found)) == 1


def test_labels_that_look_alike_are_told(files):
    (files / "answers.csv").write_text(ANSWERS.replace("a,w,yes", "a,w,Yes "))
    assert "'Yes ' and 'yes' are treated as different labels" in replayed(files, "--seeds", "1").stderr


def test_text_that_is_not_utf_8_is_told_by_its_line(files):
    (files / "answers.csv").write_bytes(ANSWERS.encode() + b"\xff,v,yes\n")
    assert "answers.csv, line 11: the file must be UTF-8 text" in replayed(files, code=1).stderr


def test_answers_that_all_say_the_same_are_no_choice(files):
    (files / "answers.csv").write_text("item,worker,label\na,v,1\n")
    assert "all answers are '1', but at least two labels are needed" in replayed(files, truth=None, code=1).stderr


def test_more_seeds_than_memory_are_refused(files, monkeypatch):
    monkeypatch.setattr(outcomes, "_MOST_PAIRS", 30)
    assert "9 answers can be replayed with at most 3 seeds" in replayed(files, "--seeds", "4", code=2).stderr
    assert replayed(files, "--seeds", "3", "--policy", "random").exit_code == 0


def test_what_is_unknown_is_answered_with_what_is_known(files):
    said = replayed(files, "--policy", "opt-gk", code=2).stderr
    assert "There is no policy 'opt-gk'. Did you mean opt-kg?" in said
    assert "information, opt-kg, kg, cvar-kg" in said
    assert "must end in .svg or .png" in replayed(files, "--plot", "out.gif", code=2).stderr
    assert (
        "is not a list of numbers. Write them like 1,2,3" in replayed(files, "--labels-per-item", "1;2", code=2).stderr
    )
    assert "above 0" in replayed(files, "--labels-per-item", "0", code=2).stderr
    assert "alpha" in replayed(files, "--policy", "requallo-p0.9", code=2).stderr


@pytest.mark.parametrize(("name", "begins"), [("out.svg", b"<?xml"), ("out.png", b"\x89PNG")])
def test_a_picture_is_drawn(files, name, begins):
    replayed(files, "--policy", "random", "--policy", "kg", "--labels-per-item", "1,2", "--plot", files / name)
    picture = (files / name).read_bytes()
    assert picture.startswith(begins)
    if name.endswith("svg"):
        assert b">kg<" in picture
        assert b">labels per item<" in picture


def test_a_picture_shows_what_was_bought_and_tells_many_policies_apart(files, monkeypatch):
    """A policy that stops is drawn where it stopped, not at a budget that it did not spend."""
    drawn = []
    monkeypatch.setattr(outcomes, "draw_replay", lambda curves, _seeds: drawn.append(curves) or (lambda _: None))
    asked = ("--policy", "requallo-m2", "--labels-per-item", "3,1", "--plot", files / "out.svg")
    replayed(files, *asked)
    assert [point.labels_per_item for point in drawn[0]["requallo-m2"]] == [2, 1]
    monkeypatch.undo()
    ten = "information,opt-kg,kg,cvar-kg,label-uncertainty,round-robin,random,crowdbudget,requallo,dispatch"
    replayed(files, "--policy", ten, "--labels-per-item", "1,2", "--seeds", "1", "--plot", files / "out.svg")
    picture = (files / "out.svg").read_text()
    assert "(1 seed)" in picture
    assert "stroke-dasharray" in picture


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_the_bar_ends_with_its_parts_and_stands_in_nobodys_way(monkeypatch):
    screen = Terminal()
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setattr(sys, "stderr", screen)
    with progress(10) as bar:
        with bar.part("first", 5) as step:
            step(2)
        bar.say("a line")
        with bar.part("second", 5):
            pass
    first, second = screen.getvalue().split("a line\n")
    assert first.endswith(" 50%\r\x1b[K")
    assert "second  [####################################]  100%" in second


def test_what_is_done_is_shown_when_the_rest_is_interrupted(files, monkeypatch):
    def until_interrupted(*given, whole=outcomes.replay, **named):
        if given[1].allocation.kind == "kg":
            raise KeyboardInterrupt
        return whole(*given, **named)

    monkeypatch.setattr(outcomes, "replay", until_interrupted)
    found = replayed(files, "--policy", "random,kg", "--labels-per-item", "3", code=1)
    assert found.stdout.splitlines()[1].split()[:3] == ["random", "3", "9"]
    assert found.stderr.strip() == "Aborted!"


def test_a_picture_that_cannot_be_is_refused_before_anything_is_run(files, monkeypatch):
    def run_though_refused(*_given, **_named):
        raise AssertionError

    monkeypatch.setattr(outcomes, "replay", run_though_refused)
    nowhere = replayed(files, "--plot", files / "none" / "out.svg", code=2)
    assert f"there is no folder {files / 'none'} to save out.svg in" in " ".join(nowhere.stderr.split())
    assert nowhere.stdout == ""
    unknown = replayed(files, "--plot", files / "out.svg", truth=None, code=2)
    assert "without the truth there is no accuracy to draw" in unknown.stderr
    assert not (files / "out.svg").exists()


def test_a_picture_that_cannot_be_saved_after_all_is_told_in_a_sentence(files, monkeypatch):
    def full(*_given):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    said = replayed(files, "--plot", files / "out.svg", code=1).stderr
    assert said == f"Error: Cannot save the chart as {files / 'out.svg'} (No space left on device).\n"


def test_a_crowd_that_was_kept_is_replayed_alike(tmp_path):
    asked = ("--policy", "opt-kg", "--policy", "requallo", "--labels-per-item", "2,4", "--seeds", "3", "--json")
    given = ("--items", "30", "--crowd", "12", "--classes", "3", "--spammers", "0.2", "--skill", "uniform:0.6,0.9")
    first = run("simulate", *given, *asked, "--save", tmp_path / "kept")
    assert [list(line) for line in lines(first)] == [FIELDS] * 4
    kept = [part for name in ("answers", "truth") for part in (f"--{name}", tmp_path / "kept" / f"{name}.csv")]
    assert run("replay", *kept, *asked).stdout == first.stdout


def test_several_crowds_differ_and_add_up():
    given = ("simulate", "--items", "20", "--crowd", "9", "--policy", "round-robin", "--labels-per-item", "3", "--json")
    one, three = (lines(run(*given, "--seeds", "2", "--crowds", crowds))[0] for crowds in ("1", "3"))
    assert (one["seeds"], three["seeds"]) == (2, 6)
    assert one["accuracy"] != three["accuracy"]
    graded = lines(run(*given, "--graded", "--answers-per-item", "5"))[0]
    assert graded["labels"] == 60


def test_a_job_with_labels_of_its_own_meets_an_invented_crowd(tmp_path):
    """Labels of an invented crowd have no meaning, so a job's names do as well, if they are as many."""
    (tmp_path / "job.json").write_text(json.dumps({"labels": ["cat", "dog"]}))
    given = ("simulate", "--items", "9", "--crowd", "5", "--config", tmp_path / "job.json", "--seeds", "1", "--json")
    assert {line["policy"] for line in lines(run(*given))} == {"job"}
    assert "labels: the job has 2, the crowd has 3. Change --classes" in run(*given, "--classes", "3", code=2).stderr


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            ("--skill", "gamma:1,2"),
            "'gamma:1,2' is not a distribution. Write it like beta:8,2 or uniform:0.5,1 or fixed:0.8",
        ),
        (("--difficulty", "uniform:0.9,0.1"), "Write it like beta:8,2"),
        (("--skill", "fixed:2"), "Write it like beta:8,2"),
        (("--class-weights", "a,b"), "is not a list of weights. Write them like 9,1"),
        (("--class-weights", "nan,1"), "is not a list of weights. Write them like 9,1"),
        (("--class-weights", "1,inf"), "is not a list of weights. Write them like 9,1"),
        (("--spammers", "nan"), "nan is not a number from 0 to 1"),
        (("--graded", "--classes", "3"), "--graded has its own two labels and error rates. Remove --classes"),
        (("--graded", "--source-error", "0.3"), "Remove --source-error"),
        (("--spammers", "0.7", "--copiers", "0.7"), "must sum to at most 1"),
    ],
)
def test_a_crowd_that_cannot_be_is_named(given, said):
    assert said in run("simulate", *given, code=2).stderr


def test_a_crowd_that_cannot_be_kept_is_told_in_a_sentence(tmp_path):
    (tmp_path / "taken").write_text("")
    said = run("simulate", "--items", "2", "--save", tmp_path / "taken" / "in-a-file", code=1).stderr
    assert said == f"Error: Cannot save the crowd in {tmp_path / 'taken' / 'in-a-file'} (Not a directory).\n"


def test_shares_that_add_up_to_the_whole_crowd_are_not_too_many():
    """.2 + .4 + .3 + .1 is more than 1 in floats."""
    shares = ("--spammers", "0.2", "--liars", "0.4", "--drifters", "0.3", "--copiers", "0.1")
    given = ("simulate", "--items", "3", "--crowd", "10", "--policy", "random", "--seeds", "1", "--json")
    assert lines(run(*given, *shares))


SETS = "item,worker,label\na,v,cat|cow\na,w,cow|cat\nb,v,\nb,w,cow\nc,v,cat\nc,w,cat\n"
KINDS = {  # the job, the answers, the truth, and what the answers of all workers come to
    "choices": (
        {"answer": {"kind": "choices"}, "worker_model": {"kind": "anonymous"}},
        SETS,
        "item,truth\na,cat|cow\nb,\nc,cow\n",
        # b: nobody says cat, and cow is a tie. c: both labels are wrong.
        {"accuracy": (1 + 0.5 + 0) / 3, "label_accuracy": (1 + 1 + 1 + 0.5 + 0 + 0) / 6},
    ),
    "ordinal": (
        {"answer": {"kind": "ordinal"}, "labels": ["low", "middle", "high"], "worker_model": {"kind": "anonymous"}},
        "item,worker,label\na,v,low\na,w,low\nb,v,high\nb,w,low\nc,v,middle\nc,w,middle\n",
        "item,truth\na,low\nb,high\nc,low\n",
        {"accuracy": (1 + 0.5 + 0) / 3, "mean_absolute_error": (0 + 0.5 * 2 + 1) / 3},
    ),
    "number": (
        {"answer": {"kind": "number", "low": 0, "high": 100}, "refit": None},
        "item,worker,value\na,v,50\na,w,50\nb,v,50\nb,w,50\nc,v,50\nc,w,50\n",
        "item,truth\na,50\nb,56\nc,46\n",
        {"accuracy": 2 / 3, "mean_absolute_error": 10 / 3, "root_mean_squared_error": (52 / 3) ** 0.5},
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_answers_of_every_kind_are_replayed(tmp_path, kind):
    job, answers, truth, expected = KINDS[kind]
    for name, content in (("answers.csv", answers), ("truth.csv", truth), ("job.json", json.dumps(job))):
        (tmp_path / name).write_text(content)
    given = ("--config", tmp_path / "job.json", "--labels-per-item", "2", "--seeds", "2")
    (found,) = lines(replayed(tmp_path, *given, "--json"))
    assert [*found] == [*FIELDS, *(name for name in expected if name != "accuracy")]
    assert {name: found[name] for name in expected} == pytest.approx(expected, abs=1e-6)
    assert "sd" in replayed(tmp_path, *given).stdout
    (unknown,) = lines(replayed(tmp_path, *given, "--json", truth=None))
    assert [*unknown] == FIELDS


@pytest.mark.parametrize(
    ("kind", "column", "cell", "said"),
    [
        ("choices", "label", "cat|cat", "line 3, column 3 (label): 'cat|cat' is no answer. Must name every label at"),
        ("number", "label", "many", "line 3, column 3 (label): 'many' is no answer. Must be a number from 0 to 100"),
        ("number", "value", "120", "line 3, column 3 (value): '120' is no answer. Must be from 0 to 100, not 120"),
        ("number", "value", "nan", "Must be a number from 0 to 100"),
        ("number", "value", "", "line 3, column 3 (value): the cell must not be empty"),
    ],
)
def test_a_cell_that_is_no_answer_is_named(tmp_path, kind, column, cell, said):
    (tmp_path / "job.json").write_text(json.dumps(KINDS[kind][0]))
    (tmp_path / "answers.csv").write_text(f"item,worker,{column}\na,v,7\na,w,{cell}\n")
    assert said in replayed(tmp_path, "--config", tmp_path / "job.json", truth=None, code=1).output


@pytest.mark.parametrize(
    ("jobs", "more", "said"),
    [
        (["number"], ("--policy", "requallo"), "ratio takes jobs whose answers are choice or choices or ordinal, not"),
        (["number"], ("--workers", "choose"), "Jobs choose workers where answers are choice or choices or ordinal"),
        (["number", "choices"], (), "Replay the jobs one after the other."),
        ([{"answer": {"kind": "ordinal"}}], (), "labels: Must be given, from the lowest to the highest"),
        ([{"answer": {"kind": "numbers"}}], (), "answer: Input tag 'numbers'"),
        ([{"answer": {"kind": "number", "low": 3, "high": 3}}], (), "answer.number.high: Must be larger than `low`"),
    ],
)
def test_what_does_not_decide_about_such_answers_says_so(tmp_path, jobs, more, said):
    given = []
    for place, job in enumerate(jobs):
        (tmp_path / f"{place}.json").write_text(json.dumps(KINDS[job][0] if isinstance(job, str) else job))
        given += ["--config", tmp_path / f"{place}.json"]
    (tmp_path / "answers.csv").write_text("item,worker,label\na,v,7\na,w,8\n")
    assert said in replayed(tmp_path, *given, *more, truth=None, code=2).output


def test_the_mode_and_the_median_are_compared_on_the_same_answers(tmp_path):
    """One of five says 1, two say 2 and two say 3: the mode is a tie, the median is 2."""
    job = {"labels": ["1", "2", "3"], "worker_model": {"kind": "anonymous"}, "max_votes_per_label": None}
    for label in ("mode", "median"):
        content = job | {"answer": {"kind": "ordinal", "label": label}, "requirement": {"kind": "count", "labels": 9}}
        (tmp_path / f"{label}.json").write_text(json.dumps(content))
    rows = "".join(
        f"{item},{worker},{label}\n" for item in "ab" for worker, label in zip("vwxyz", "12233", strict=True)
    )
    (tmp_path / "answers.csv").write_text("item,worker,label\n" + rows)
    (tmp_path / "truth.csv").write_text("item,truth\na,2\nb,3\n")
    given = ("--config", tmp_path / "mode.json", "--config", tmp_path / "median.json", "--labels-per-item", "5")
    mode, median = lines(replayed(tmp_path, *given, "--json", "--seeds", "1"))
    assert (mode["accuracy"], mode["mean_absolute_error"]) == (0.5, 0.5)
    assert (median["accuracy"], median["mean_absolute_error"]) == (0.5, 0.5)


@pytest.mark.parametrize("kind", KINDS)
def test_a_crowd_of_every_kind_is_simulated_and_can_be_replayed(tmp_path, kind):
    (tmp_path / "job.json").write_text(
        json.dumps({**KINDS[kind][0], "labels": ["c0", "c1", "c2"][: 3 * (kind != "number")]})
    )
    size = ("--items", 20, "--classes", 3, "--crowd", 8, "--answers-per-item", 4, "--skill", "fixed:1")
    given = ("--config", tmp_path / "job.json", "--labels-per-item", "4", "--seeds", 1, "--json")
    (simulated,) = lines(run("simulate", *size, "--save", tmp_path, *given))
    assert simulated["accuracy"] == 1.0
    assert lines(replayed(tmp_path, *given)) == [simulated]


def described(folder, rows: str):
    (folder / "features.csv").write_text(rows)
    return "--features", folder / "features.csv"


def test_features_are_learned_from(tmp_path):
    """Where a column of numbers tells the label, one label per item is right more often with the column."""
    truth = [str(n % 2) for n in range(80)]
    wrong = [(n * 7 + k) % 10 < 4 for n in range(80) for k in range(2)]
    answers = [(n, f"w{(n + k) % 5}", int(truth[n]) ^ wrong[2 * n + k]) for n in range(80) for k in range(2)]
    (tmp_path / "answers.csv").write_text("item,worker,label\n" + "".join(f"i{n},{w},{a}\n" for n, w, a in answers))
    (tmp_path / "truth.csv").write_text("item,truth\n" + "".join(f"i{n},{each}\n" for n, each in enumerate(truth)))
    table = described(tmp_path, "item,weight,length\n" + "".join(f"i{n},{n % 2 + n / 500},7\n" for n in range(80)))
    given = ("--policy", "information", "--labels-per-item", "1", "--seeds", "2", "--json")
    plain, learned = (lines(replayed(tmp_path, *given, *more))[0] for more in ((), table))
    assert learned["accuracy"] > plain["accuracy"] + 0.05
    (tmp_path / "job.json").write_text('{"features": {"kind": "logistic"}}')
    config = ("--config", tmp_path / "job.json", *given[2:])
    assert lines(replayed(tmp_path, *config, *table))[0]["accuracy"] > plain["accuracy"]
    assert "its `features` say nothing here; give them with --features" in replayed(tmp_path, *config).stderr


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("item,x\na,1\nb,heavy\n", "line 3, column 2 (x): 'heavy' is not a number"),
        ("item,x\na,1\nb,nan\n", "line 3, column 2 (x): 'nan' is not a number"),
        ("item,x\na,1\nb,\n", "line 3, column 2 (x): the cell must not be empty"),
        ("item\na\n", "line 1: there must be 1 to 1,000 columns of numbers besides 'item', not 0"),
        ("key,x\na,1\n", "line 1: there is no column 'item'"),
    ],
)
def test_wrong_features_are_reported_by_line_and_column(files, rows, message):
    assert message in replayed(files, *described(files, rows), code=1).output


def test_items_without_features_are_counted(files):
    found = replayed(files, *described(files, "item,x\na,1\nz,2\n"), "--seeds", "1", "--labels-per-item", "1")
    assert "2 of 3 answered items have no features" in found.stderr
