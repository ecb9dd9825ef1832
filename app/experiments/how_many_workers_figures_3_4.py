"""Figures 3 and 4 of Abraham et al. (SIGIR 2016): stopping at a lead saves labels at equal error."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from app.experiments.anonymous_replay import replay_until_closed, share_right
from app.experiments.answer_order import shuffled_answers
from app.experiments.cost_error_curves import CostErrorCurve, saving
from app.experiments.experiment import FigureLine, Finding, Panel, Row, Setting
from app.experiments.gold_streams import StreamOutcome
from app.experiments.public_sets import read_rte
from app.policy.allocation import RoundRobin
from app.policy.core.belief import IntArray
from app.policy.engine import Engine
from app.policy.job_policy import JobPolicy
from app.policy.requirements import Margin
from app.policy.worker_models import Anonymous

CONSTANTS = (1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9, 2.0, 2.2)  # of epsilon 0
PER_EPSILON = 3  # C grows by this per unit of epsilon, so that all curves cover the same numbers of labels
LEAST_BIAS, MOST_BIAS = 0.1, 0.6


def rule(c: float, epsilon: float, classes: int = 2) -> Engine:
    """Stop if top - second >= C sqrt(t) - epsilon t, with no rounding."""
    return Engine(
        JobPolicy(
            labels=tuple(map(str, range(classes))),
            requirement=Margin(c=c, epsilon=epsilon),
            allocation=RoundRobin(),
            worker_model=Anonymous(),
            max_votes_per_label=None,
        )
    )


def adaptive(answers: IntArray, truth: IntArray, c: float, epsilon: float, classes: int = 2) -> StreamOutcome:
    """Labels per item and share of wrong ones; if the answers run out, the majority decides, and a tie counts half."""
    votes, _ = replay_until_closed(rule(c, epsilon, classes), answers)
    return StreamOutcome(float(votes.sum()) / len(answers), 1 - float(share_right(votes, truth).mean()))


def fixed(answers: IntArray, truth: IntArray, labels: int) -> StreamOutcome:
    """The same for the majority of the first `labels` answers."""
    votes = np.stack([(answers[:, :labels] == c).sum(axis=1) for c in (0, 1)], axis=1).astype(np.float64)
    return StreamOutcome(float(labels), 1 - float(share_right(votes, truth).mean()))


def varying_c(
    answers: IntArray, truth: IntArray, epsilons: Sequence[float], report: Callable[[str], None]
) -> Iterator[tuple[float, list[StreamOutcome]]]:
    """The varying-C curve of each epsilon."""
    for epsilon in epsilons:
        report(f"epsilon {epsilon:g}: {len(CONSTANTS)} values of C on {len(answers):,} HITs")
        yield epsilon, [adaptive(answers, truth, c + PER_EPSILON * epsilon, epsilon) for c in CONSTANTS]


def figure_3(setting: Setting) -> Finding:
    """Simulated HITs whose bias is uniform between .1 and .6."""
    hits, deepest = setting.size(10_000, 2_000) * setting.seeds, 400
    rng = np.random.default_rng(1)
    right = 0.5 + rng.uniform(LEAST_BIAS, MOST_BIAS, hits) / 2
    answers = (rng.random((hits, deepest)) < right[:, None]).astype(np.int64)
    truth = np.ones(hits, dtype=np.int64)
    epsilons = (0.0, 0.1, 0.2, 0.3, 0.5, 1.0)
    curves = dict(varying_c(answers, truth, epsilons, setting.report))
    overlap = [fixed(answers, truth, labels) for labels in range(1, 32, 2)]
    level = 0.1
    cost = {epsilon: float(CostErrorCurve.of(each).cost_at(level)) for epsilon, each in curves.items()}
    baseline = float(CostErrorCurve.of(overlap).cost_at(level))
    saved = {
        epsilon: float(saving(CostErrorCurve.of(each), CostErrorCurve.of(overlap)).mean())
        for epsilon, each in curves.items()
    }
    best = max(saved, key=lambda epsilon: saved[epsilon])
    rows = (
        *(
            Row(f"labels per HIT at error {level}, epsilon {epsilon:g}", "not given", each, None, 2)
            for epsilon, each in cost.items()
        ),
        Row(f"labels per HIT at error {level}, fixed overlap", "more", baseline, baseline > max(cost.values()), 2),
        *(
            Row(f"saved at equal error, epsilon {epsilon:g}", "not given", f"{each:.1%}")
            for epsilon, each in saved.items()
        ),
        Row("best epsilon", "in [.2, .3]", best, 0.2 <= best <= 0.3, 1),
    )
    lines = {f"epsilon {epsilon:g}": each for epsilon, each in curves.items()} | {"fixed overlap": overlap}
    notes = (
        f"{hits:,} HITs with at most {deepest} labels each (the paper: 100,000); fixed overlaps are odd.",
        "Figure 3 is a drawing; the text gives the range of epsilon and that the fixed overlap is worse.",
    )
    return Finding(rows, (trade_off_panel("Simulated HITs", lines),), notes)


def figure_4(setting: Setting) -> Finding:
    """RTE: about six labels reach the error of ten."""
    crowd = read_rte(setting.data)
    answers = shuffled_answers(crowd, setting.seeds, np.random.default_rng(1)).reshape(-1, 10)
    truth = np.tile(crowd.truth, setting.seeds)
    overlap = [fixed(answers, truth, labels) for labels in range(1, 11)]
    curves = dict(varying_c(answers, truth, (0.0, 0.1, 0.2, 0.3), setting.report))
    rows = [Row("error of ten fixed labels", "about 0.11", overlap[-1].error, abs(overlap[-1].error - 0.11) < 0.01)]
    for epsilon in (0.1, 0.2, 0.3):
        best = min((each for each in curves[epsilon] if each.cost <= 6.2), key=lambda each: each.error)
        rows += [
            Row(
                f"epsilon {epsilon}: lowest error at 6.2 labels or fewer", "about 0.11", best.error, best.error <= 0.112
            ),
            Row(f"epsilon {epsilon}: labels per item there", "about 6", best.cost, abs(best.cost - 6) <= 0.5, 2),
        ]
    six = overlap[5].error
    rows.append(Row("error of six fixed labels", "more", six, six > best.error))
    lines = {f"epsilon {epsilon:g}": each for epsilon, each in curves.items()} | {"fixed overlap": overlap}
    notes = (
        "The required lead is not rounded; a tie counts half, as with a fair coin. Ten labels: 1 - .8969.",
        f"Mean of {setting.seeds} orders of the recorded answers (the paper: 100).",
    )
    return Finding(tuple(rows), (trade_off_panel("RTE", lines),), notes)


def trade_off_panel(title: str, curves: dict[str, list[StreamOutcome]]) -> Panel:
    """Error against labels, a line per rule."""
    lines = [
        FigureLine.through(name, [each.cost for each in outcomes], [each.error for each in outcomes])
        for name, outcomes in curves.items()
    ]
    return Panel(title, "labels per HIT", "error", tuple(lines))
