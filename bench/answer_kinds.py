"""Measure jobs whose answers are numbers, or several labels, on public sets.

Numbers: the default job beside the mean and the median of the answers that it bought. `n_emotion`, `affect_valence` and
`wordsim` (Snow et al. 2008) have ten answers per item; `emotions` is n_emotion without the items that have negative
numbers, on the range that is left. Truth is what experts say on average; that of wordsim is on a scale of 0 to 4, and
is multiplied by 2.5. `truth in` is how often the interval of 90 % holds the truth, `crowd in` how often it holds the
mean of the answers that were not bought, with room for the chance in that mean.

Several labels: `medrel` has 14 relations that workers tick for a sentence. One job of kind `choices` beside one yes/no
job per relation, all with the default requirement, on the same sentences. An answer of the first job is one to all
relations; `answers` are assignments of a worker to a sentence. Experts have judged TREATS alone: `experts` is how often
that is right. Nobody knows the truth of the other relations. `by all` is the share of all labels that are what the
answers of all workers on 621 sentences come to, label by label, by Dawid and Skene; `by majority` by their majority.

Names limit it to those sets: `python bench/answer_kinds.py wordsim medrel`. `--choose` says which constants of the
number model each set would get by the other sets.
"""

import argparse
import csv
import gzip
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from app.policy.aggregation import Aggregation, DawidSkene, Majority
from app.policy.answers import ChoicesAnswer, NumberAnswer
from app.policy.answers.questions import Questions
from app.policy.core import tuning
from app.policy.core.arrays import Array, IntArray, Mask
from app.policy.core.ballots import Ballots
from app.policy.core.belief import NOBODY
from app.policy.core.number_belief import NumberBelief
from app.policy.job_policy import JobPolicy
from app.policy.worker_models import number_model
from app.policy.worker_models.inference import number_fit
from app.simulation.named_policies import policy_of
from app.simulation.policy_replay import selection_for, step
from app.simulation.recorded_crowd import RecordedAnswers, read_recorded
from app.simulation.recorded_runs import RecordedRuns

SETS = Path(__file__).resolve().parents[2] / "shared" / "data"
NUMBERS = {
    "n_emotion": NumberAnswer(low=-100, high=100),
    "emotions": NumberAnswer(low=0, high=100),
    "affect_valence": NumberAnswer(low=-100, high=100),
    "wordsim": NumberAnswer(low=0, high=10),
}
WORDSIM_SCALE = 2.5
BUDGETS = (2, 3, 4, 5, 6, 10)
CONFIDENCE, REACH = 0.9, 1.6449
RUNS = 5
SENTENCES, DRAWS = 150, 3
EACH = (1, 2, 3, 4, 5, np.inf)  # answers per sentence at which jobs are looked at
GRID = {"alike": (10.0, 20.0, 40.0), "easiness": (2.0, 5.0, 20.0), "bias": (0.02, 0.05, 0.1)}


def numbers_of(name: str, folder: Path) -> RecordedAnswers:
    """A set whose answers are numbers, with the truth on the scale of the answers."""
    if name == "emotions":
        whole, answer = numbers_of("n_emotion", folder), NUMBERS[name]
        negative = np.union1d(whole.item[whole.label < 0], np.flatnonzero(whole.truth < 0))
        kept = whole.only(~np.isin(np.arange(len(whole.items)), negative))
        return replace(kept, answer=answer)
    if name == "wordsim":
        kind = NUMBERS[name]
        found = read_recorded(folder / name / "answers.csv", folder / name / "truth.csv", kind=kind)
        return replace(found, truth=found.truth * WORDSIM_SCALE)
    return read_recorded(folder / name / "answers.csv", folder / name / "truth.csv", kind=NUMBERS[name])


@dataclass(frozen=True)
class Found:
    """What a run has found: estimates with intervals, and the answers that it bought."""

    belief: NumberBelief
    bought: IntArray  # positions


def number_runs(crowd: RecordedAnswers, runs: int, budgets: Sequence[float]) -> Iterator[list[Found]]:
    """The runs of the default job at each number of answers per item."""
    policy = policy_of("information", (), "pull", answer=crowd.answer)
    for job in run_until(RecordedRuns(crowd, policy, runs), budgets):
        belief = job.engines[0].lookahead(job.rows.all(), job.context).now
        assert isinstance(belief, NumberBelief)  # noqa: S101
        rows = np.arange(len(belief.mean)).reshape(runs, -1)
        yield [Found(belief.rows(rows[run]), job.taken[run, : job.given[run]]) for run in range(runs)]


def by_item(crowd: RecordedAnswers, answers: IntArray, statistic: Callable[[Array], Any]) -> Array:
    """A statistic of these answers on each item; nan where there are none."""
    order = answers[np.argsort(crowd.item[answers], kind="stable")]
    ends = np.cumsum(np.bincount(crowd.item[answers], minlength=len(crowd.items)))
    groups = np.split(crowd.label[order], ends[:-1])
    return np.array([statistic(group) if len(group) else np.nan for group in groups])


def errors_of(estimate: Array, truth: Array, unanswered: float) -> list[float]:
    """Mean absolute error and RMSE; an item without an answer is estimated as the middle of the range."""
    off = np.where(np.isnan(estimate), unanswered, estimate) - truth
    return [float(np.abs(off).mean()), float(np.sqrt((off**2).mean()))]


def figures(crowd: RecordedAnswers, found: Found) -> list[float]:
    """Errors of mean, median and job, and how often the interval holds the truth and the other answers."""
    answer, bought = crowd.answer, found.bought
    assert isinstance(answer, NumberAnswer)  # noqa: S101
    middle = (answer.low + answer.high) / 2
    estimates = by_item(crowd, bought, np.mean), by_item(crowd, bought, np.median), found.belief.value
    row = [error for each in estimates for error in errors_of(each, crowd.truth, middle)]
    low, high = found.belief.interval(CONFIDENCE).T
    row.append(float(((low <= crowd.truth) & (crowd.truth <= high)).mean()))
    rest = np.setdiff1d(np.arange(len(crowd.label)), bought)
    others, many = by_item(crowd, rest, np.mean), np.bincount(crowd.item[rest], minlength=len(crowd.items))
    some = many >= 4
    if not some.any():
        return [*row, np.nan]
    chance = by_item(crowd, rest, lambda group: group.var(ddof=1) if len(group) > 1 else np.nan)[some] / many[some]
    reach = REACH * np.sqrt(found.belief.deviation[some] ** 2 + chance)
    return [*row, float((np.abs(found.belief.value - others)[some] <= reach).mean())]


def measure_numbers(name: str, folder: Path) -> None:
    crowd = numbers_of(name, folder)
    print(f"{name}: {len(crowd.items)} items, {len(crowd.workers)} workers, range {crowd.answer.model_dump()}")
    print(f"{'answers':>8}{'mean':>15}{'median':>15}{'job':>15}{'truth in':>10}{'crowd in':>10}")
    for budget, runs in zip(BUDGETS, number_runs(crowd, RUNS, BUDGETS), strict=True):
        mean, mean2, median, median2, job, job2, truth, others = np.mean([figures(crowd, run) for run in runs], axis=0)
        pairs = "".join(f"{mae:>8.2f} {rmse:>6.2f}" for mae, rmse in ((mean, mean2), (median, median2), (job, job2)))
        print(f"{budget:>8}{pairs}{truth:>10.2f}{others:>10.2f}", flush=True)


def choose_constants(names: Sequence[str], folder: Path) -> None:
    """For each set, the constants with the smallest errors beside the better of mean and median on the other sets."""
    cells = [dict(zip(GRID, values, strict=True)) for values in product(*GRID.values())]
    score = np.array([[_against_the_best(numbers_of(name, folder), cell) for name in names] for cell in cells])
    for place, name in enumerate(names):
        others = np.delete(score, place, axis=1).mean(axis=1)
        best = int(others.argmin())
        print(f"{name}: {cells[best]} by the others; here {score[best, place]:.3f}, best {score[:, place].min():.3f}")
    best = int(score.mean(axis=1).argmin())
    print(f"all: {cells[best]} {score[best].round(3)}", flush=True)


def _against_the_best(crowd: RecordedAnswers, constants: dict[str, float]) -> float:
    """The logarithm of the errors of the job, beside those of mean or median, whichever is better there."""
    tuned = replace(tuning.TUNED, numbers=replace(tuning.TUNED.numbers, **constants))
    with patch.object(number_model, "TUNED", tuned), patch.object(number_fit, "TUNED", tuned):
        rows = [[figures(crowd, run) for run in runs] for runs in number_runs(crowd, 2, (2, 4, 6, 10))]
    mean, mean2, median, median2, job, job2, *_ = np.mean(rows, axis=1).T
    return float(np.log([job / np.minimum(mean, median), job2 / np.minimum(mean2, median2)]).mean())


def medrel(folder: Path) -> tuple[RecordedAnswers, dict[str, bool]]:
    """The sentences of known truth, and what experts say about TREATS."""
    with gzip.open(folder / "medrel" / "relations.csv.gz", "rt", encoding="utf-8") as file:
        rows = [(row["item"], row["worker"], row["relations"]) for row in csv.DictReader(file)]
    with (folder / "medrel" / "truth.csv").open(encoding="utf-8") as file:
        experts = {row["item"]: row["truth"] == "1" for row in csv.DictReader(file)}
    names = sorted({name for *_, ticked in rows for name in ticked.split("|")})
    known = sorted({item for item, *_ in rows} & experts.keys())
    first: dict[tuple[str, str], int] = {}
    kind = ChoicesAnswer()
    for item, worker, ticked in rows:
        if item in experts:
            first.setdefault((item, worker), int(kind.said(ticked.split("|"), names)))
    item, worker = zip(*first, strict=True)
    workers, who = np.unique(worker, return_inverse=True)
    which, truth = np.searchsorted(known, item), np.full(len(known), -1)
    crowd = RecordedAnswers(
        tuple(known), tuple(workers.tolist()), tuple(names), which, who, np.array([*first.values()]), truth, kind
    )
    return crowd, experts


def together(crowd: RecordedAnswers, aggregation: Aggregation) -> Mask:
    """Which labels apply by all answers, each label on its own, shape (items, labels)."""
    sizes = {"items": len(crowd.items), "workers": len(crowd.workers), "classes": 2}
    bits = Questions(len(crowd.labels)).bits(crowd.label)
    fits = (aggregation.fit(Ballots.of(crowd.item, crowd.worker, each, **sizes)) for each in bits.T)
    return np.stack([found.posterior[:, 1] > 0.5 for found in fits], axis=1)


def label_chances(job: RecordedRuns) -> Array:
    """How likely each label applies by the job, shape (items, labels); labels of finished items are certain."""
    belief = job.engines[job.stage[0]].lookahead(job.rows.all(), job.context).now
    answer, questions = job.policy.answer, job.policy.questions
    if questions is None:
        return np.where(job.label == NOBODY, answer.chances(belief)[:, 1], job.label)[:, None]
    decided = (job.label != NOBODY)[:, None]
    return np.where(decided, questions.bits(np.maximum(job.label, 0)), answer.chances(belief))


def measure_labels(folder: Path) -> None:
    """A line per job and number of answers, means over draws of sentences."""
    whole, experts = medrel(folder)
    by_all, majority = (together(whole, each) for each in (DawidSkene(), Majority()))
    treats = whole.labels.index("TREATS")
    rows: dict[str, list[tuple[float, ...]]] = {}
    for draw in range(DRAWS):
        drawn = np.isin(
            np.arange(len(whole.items)), np.random.default_rng(draw).permutation(len(whole.items))[:SENTENCES]
        )
        crowd = whole.only(drawn)
        judged = np.array([experts[each] for each in crowd.items])
        for name, answers, chances, finished in label_runs(crowd):
            ticked = chances > 0.5
            right = (ticked == by_all[drawn]).mean(), (ticked == majority[drawn]).mean()
            figures = answers, (ticked[:, treats] == judged).mean(), *right, finished
            rows.setdefault(name, []).append(tuple(map(float, figures)))
    print(f"medrel: {SENTENCES} sentences, {len(whole.labels)} labels, mean of {DRAWS} draws of sentences")
    print(f"{'':>24}{'answers':>9}{'experts':>9}{'by all':>9}{'by majority':>13}{'finished':>10}")
    for name, found in rows.items():
        answers, expert, all_right, as_most, finished = np.mean(found, axis=0)
        print(f"{name:>24}{answers:>9.0f}{expert:>9.3f}{all_right:>9.4f}{as_most:>13.4f}{finished:>10.3f}", flush=True)


def label_runs(crowd: RecordedAnswers) -> Iterator[tuple[str, int, Array, float]]:
    """Answers bought, the chance of each label, and the share that is finished, at each number of answers."""
    jobs = [label_job(crowd, place) for place in range(len(crowd.labels))]
    for each, looks in zip(EACH, zip(*(run_until(job, EACH) for job in jobs), strict=True), strict=True):
        chances = np.concatenate([label_chances(job) for job in looks], axis=1)
        bought, still = sum(int(job.given[0]) for job in looks), np.mean([job.open for job in looks])
        yield f"a job per label, {each:g} each", bought, chances, 1 - float(still)
    treats = jobs[crowd.labels.index("TREATS")]
    yield "of these, TREATS", int(treats.given[0]), chances, 1 - float(treats.open.mean())
    policy = JobPolicy.model_validate({"answer": crowd.answer, "labels": crowd.labels})
    for each, job in zip(EACH, run_until(RecordedRuns(crowd, policy, 1), EACH), strict=True):
        yield f"one job, {each:g} each", int(job.given[0]), label_chances(job), 1 - float(job.open.mean())


def label_job(crowd: RecordedAnswers, place: int) -> RecordedRuns:
    """A yes/no job about one label, on the same answers."""
    policy = JobPolicy(labels=("no", "yes"))
    said = Questions(len(crowd.labels)).bits(crowd.label)[:, place]
    return RecordedRuns(replace(crowd, labels=policy.labels, label=said, answer=policy.answer), policy, 1)


def run_until(job: RecordedRuns, budgets: Sequence[float]) -> Iterator[RecordedRuns]:
    """The job at each number of answers per item, or when nothing is left to ask."""
    selection = selection_for(job, "pull", "random")
    for budget in budgets:
        while job.given.max() < budget * job.items and step(job, selection):
            pass
        yield job


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[*NUMBERS, "medrel", []], help="sets; all if none is named")
    parser.add_argument("--sets", type=Path, default=SETS, help="the folder of the public sets")
    parser.add_argument("--choose", action="store_true", help="choose the constants of the number model instead")
    given = parser.parse_args()
    names = given.names or [*NUMBERS, "medrel"]
    if given.choose:
        choose_constants([name for name in names if name in NUMBERS], given.sets)
        return
    for name in names:
        if name in NUMBERS:
            measure_numbers(name, given.sets)
        else:
            measure_labels(given.sets)


if __name__ == "__main__":
    main()
