"""Figure 5 of Abraham et al. (SIGIR 2016): stopping at a lead, compared with fixed numbers of labels and with EM."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from app.experiments.answer_order import shuffled_answers
from app.experiments.cost_error_curves import CostErrorCurve
from app.experiments.experiment import Finding, Row, Setting, yes_or_no
from app.experiments.gold_streams import StreamOutcome
from app.experiments.how_many_workers_figures_3_4 import CONSTANTS as LARGER
from app.experiments.how_many_workers_figures_3_4 import PER_EPSILON, adaptive, trade_off_panel
from app.experiments.public_sets import read_adult
from app.policy.aggregation import DawidSkene
from app.policy.core.ballots import Ballots
from app.policy.core.belief import NOBODY, sole_leader
from app.simulation.recorded_crowd import RecordedAnswers

LEAST_LABELS = 15  # of a page: with fewer, the majority of all labels is nearly that of the first few
OVERLAPS = (1, 2, 3, 5, 7, 9, 11, 13, 15, 20, 25, 30)
CONSTANTS = (0.8, 0.9, 1.0, *LARGER)  # of epsilon 0; left out where the first label would always do
EPSILONS = (0.0, 0.1, 0.2, 0.3)
SHOWN = (3, 5, 9)
LEVEL = 0.1  # of error
GAL, GAL_MAJORITY, FIXED = "GAL", "GAL majority vote", "fixed overlap"
_BREAKS_TIES = 1e-3  # of a vote
_COMPARABLE = 0.02  # errors that differ by less


def with_majority_as_truth(crowd: RecordedAnswers, least: int = LEAST_LABELS) -> RecordedAnswers:
    """Pages with at least this many labels; the truth of each is the majority of all its labels, and tied ones go."""
    votes = np.zeros((len(crowd.items), len(crowd.labels)))
    np.add.at(votes, (crowd.item, crowd.label), 1)
    leader = sole_leader(votes)
    return replace(crowd, truth=leader).only((votes.sum(axis=1) >= least) & (leader != NOBODY))


def of_some_labels(crowd: RecordedAnswers, labels: int, rng: np.random.Generator) -> dict[str, StreamOutcome]:
    """Draw this many labels of every page, or take all it has, and aggregate them in three ways.

    GAL is the EM of Dawid and Skene; its majority vote breaks ties by how common EM finds the labels.
    """
    order = np.lexsort((rng.random(len(crowd.item)), crowd.item))
    per_item = np.bincount(crowd.item, minlength=len(crowd.items))
    place = np.arange(len(order)) - (per_item.cumsum() - per_item)[crowd.item[order]]
    taken = order[place < labels]
    ballots = Ballots.of(
        crowd.item[taken],
        crowd.worker[taken],
        crowd.label[taken],
        items=len(crowd.items),
        workers=len(crowd.workers),
        classes=len(crowd.labels),
    )
    posterior, votes = DawidSkene().fit(ballots).posterior, ballots.votes()
    scores = {GAL: posterior, GAL_MAJORITY: votes + _BREAKS_TIES * posterior.mean(axis=0), FIXED: votes}
    cost = len(taken) / len(crowd.items)
    return {name: StreamOutcome(cost, 1 - crowd.accuracy(each)) for name, each in scores.items()}


def figure_5(setting: Setting) -> Finding:
    """Adult ratings of web pages in four classes; the majority of all labels counts as the truth."""
    crowd = with_majority_as_truth(read_adult(setting.data))
    rng = np.random.default_rng(1)
    setting.report(f"GAL on {len(OVERLAPS)} numbers of labels, {setting.seeds} times")
    curves = _fixed_curves(crowd, setting, rng)
    answers = shuffled_answers(crowd, setting.seeds, rng)
    answers, truth = answers.reshape(-1, answers.shape[2]), np.tile(crowd.truth, setting.seeds)
    stopping = {}
    for epsilon in EPSILONS[1:2] if setting.quick else EPSILONS:
        constants = [c + PER_EPSILON * epsilon for c in CONSTANTS if c + PER_EPSILON * epsilon - epsilon > 1]
        setting.report(f"epsilon {epsilon:g}: {len(constants)} values of C on {len(answers):,} pages")
        stopping[f"epsilon {epsilon:g}"] = [adaptive(answers, truth, c, epsilon, len(crowd.labels)) for c in constants]
    lines = stopping | curves
    pages, per_page = len(crowd.items), len(crowd.item) / len(crowd.items)
    rows = (
        Row("pages", 500, pages, None, 0),
        Row("labels per page", "about 100", per_page, None, 0),
        *_stopping_rows(lines, list(stopping)),
        *_fixed_rows(curves),
    )
    notes = (
        "Figure 5 is a drawing; the claims of the text are compared. The truth is the majority of a page's labels.",
        f"Pages with fewer than {LEAST_LABELS} labels or a tied majority are left out. A tie counts in equal parts.",
        "GAL is the EM of Dawid and Skene with our pseudo-counts, and labels are drawn again for each number.",
        f"Mean of {setting.seeds} orders of the recorded answers (the paper: 100).",
    )
    return Finding(rows, (trade_off_panel("Adult ratings", lines),), notes)


def _fixed_curves(crowd: RecordedAnswers, setting: Setting, rng: np.random.Generator) -> dict[str, list[StreamOutcome]]:
    """Cost and mean error for each number of labels, by how they are aggregated."""
    curves: dict[str, list[StreamOutcome]] = {GAL: [], GAL_MAJORITY: [], FIXED: []}
    for labels in OVERLAPS:
        runs = [of_some_labels(crowd, labels, rng) for _ in range(setting.seeds)]
        for name, curve in curves.items():
            curve.append(StreamOutcome(runs[0][name].cost, float(np.mean([run[name].error for run in runs]))))
    return curves


def _stopping_rows(lines: dict[str, list[StreamOutcome]], stopping: list[str]) -> Iterator[Row]:
    """Stopping at a lead against a fixed overlap and GAL."""
    curves = {name: CostErrorCurve.of(each) for name, each in lines.items()}
    for name, curve in curves.items():
        needed = float(curve.cost_at(LEVEL)) if curve.error.min() <= LEVEL else f"more than {curve.cost.max():.0f}"
        yield Row(f"labels per page at error {LEVEL:g}: {name}", "not given", needed, None, 1)
    for name in stopping:
        fewer = all(_beats(curves[name], curves[other]) for other in (FIXED, GAL))
        yield Row(f"{name}: fewer errors than {FIXED} and {GAL}", "yes", *yes_or_no(fewer))


def _beats(curve: CostErrorCurve, other: CostErrorCurve) -> bool:
    """Whether it errs less at every cost that both have."""
    shared = (curve.cost >= other.cost.min()) & (curve.cost <= other.cost.max())
    return bool((curve.error < other.error_at(curve.cost))[shared].all())


def _fixed_rows(curves: dict[str, list[StreamOutcome]]) -> Iterator[Row]:
    """The three ways to use a fixed number of labels."""
    gal, majority, overlap = (np.array([each.error for each in curves[name]]) for name in (GAL, GAL_MAJORITY, FIXED))
    apart = float(np.abs(majority - overlap).mean())
    yield Row(f"{GAL_MAJORITY} and {FIXED}: mean difference", "comparable", apart, apart < _COMPARABLE)
    for labels in SHOWN:
        at = OVERLAPS.index(labels)
        yield Row(f"error of {labels} labels: {GAL_MAJORITY}", "not given", float(majority[at]))
        yield Row(f"error of {labels} labels: {GAL}", "more", float(gal[at]), gal[at] > majority[at])
