"""Figures 2 and 3 of Chen et al. (ICML 2013): accuracy by budget, with anonymous answers and with pairs."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from app.experiments.anonymous_replay import share_right, votes_at_budgets, votes_in_the_end
from app.experiments.answer_order import shuffled_answers
from app.experiments.belief_propagation import BeliefPropagation
from app.experiments.experiment import FigureLine, Finding, Panel, Row, Setting
from app.experiments.gittins import FiniteGittins, GittinsIndex
from app.experiments.public_sets import read_rte
from app.experiments.uniform_allocation import UniformAllocation, with_allocation
from app.policy.aggregation import Aggregation, Ballots, Kos, Majority
from app.policy.allocation import Allocation, KnowledgeGradient, OptimisticKnowledgeGradient
from app.policy.core.belief import Array, IntArray
from app.policy.job_policy import JobPolicy
from app.policy.requirements import Count
from app.policy.worker_choice.pair import AS_PUBLISHED
from app.policy.worker_models import Anonymous
from app.policy.worker_models import OneCoin as OneCoinWorkers
from app.simulation.policy_replay import replay
from app.simulation.recorded_crowd import RecordedAnswers

OPT_KG, GITTINS, KG, UNIFORM = "Opt-KG", "Gittins, infinite", "KG, random ties", "uniform"
GITTINS_FINITE = "Gittins, finite"
OPT_KG_PAIRS, KG_PAIRS, BP, KOS, MAJORITY = "Opt-KG pairs", "KG pairs", "random, BP", "random, KOS", "random"
_SELECTIVE = {OPT_KG_PAIRS: OptimisticKnowledgeGradient(), KG_PAIRS: KnowledgeGradient()}
_AT_RANDOM: dict[str, Aggregation] = {
    BP: BeliefPropagation(prior_right=4, prior_wrong=1),
    KOS: Kos(),
    MAJORITY: Majority(),
}
ITEMS, WORKERS = 50, 10  # of the simulation
MANY = 8  # labels per item, beyond which others catch up on RTE
MUCH = 0.01  # at least this difference counts as "much" lower


def anonymous(answers: IntArray, truth: IntArray, per_item: Sequence[int], setting: Setting) -> dict[str, Array]:
    """The accuracy by policy after each number of labels per item, shape (budgets, runs); truth is (runs, items)."""
    budgets = [each * answers.shape[1] for each in per_item]
    plain = _anonymous_policy(answers.shape[2])
    policies: dict[str, Allocation] = {
        OPT_KG: OptimisticKnowledgeGradient(),
        GITTINS: GittinsIndex(budget=budgets[-1]),
        KG: KnowledgeGradient(),
        UNIFORM: UniformAllocation(),
    }
    found: dict[str, Array] = {}
    for name, allocation in policies.items():
        setting.report(f"{name}: {len(answers)} runs of {budgets[-1]:,} labels")
        votes = votes_at_budgets(with_allocation(allocation, plain), answers, budgets, np.random.default_rng(1))
        found[name] = share_right(votes, truth).mean(axis=-1)
    return found


def finite_gittins(answers: IntArray, truth: IntArray, per_item: Sequence[int], setting: Setting) -> dict[str, Array]:
    """The same for the index with a horizon: each budget is one of its own, because the policy knows where it ends."""
    plain = _anonymous_policy(answers.shape[2])
    found = []
    for budget in (each * answers.shape[1] for each in per_item):
        setting.report(f"{GITTINS_FINITE}: {len(answers)} runs of {budget:,} labels")
        votes = votes_in_the_end(
            lambda left: with_allocation(FiniteGittins(left=left), plain), answers, budget, np.random.default_rng(1)
        )
        found.append(share_right(votes, truth).mean(axis=-1))
    return {GITTINS_FINITE: np.array(found)}


def _anonymous_policy(depth: int) -> JobPolicy:
    """Votes alone; no item closes before `depth` labels."""
    return JobPolicy(
        labels=("0", "1"), requirement=Count(labels=depth), worker_model=Anonymous(), max_votes_per_label=None
    )


def pairs(crowd: RecordedAnswers, per_item: Sequence[int], runs: int, rng: np.random.Generator) -> dict[str, Array]:
    """The accuracy of chosen pairs of item and worker, and of random ones by three aggregations; (budgets, runs)."""
    plain = JobPolicy(
        labels=crowd.labels,
        requirement=Count(labels=len(crowd.item) // len(crowd.items)),
        worker_model=OneCoinWorkers(prior=(4, 1)),
        worker_choice=AS_PUBLISHED,
        refit=None,
        max_votes_per_label=None,
    )
    found = {
        name: _of_pairs(crowd, with_allocation(allocation, plain), per_item, runs)
        for name, allocation in _SELECTIVE.items()
    }
    orders = [rng.permutation(len(crowd.item)) for _ in range(runs)]
    for name, aggregation in _AT_RANDOM.items():
        found[name] = np.array(
            [[_of_some(crowd, order[: each * len(crowd.items)], aggregation) for order in orders] for each in per_item]
        )
    return found


def _of_pairs(crowd: RecordedAnswers, policy: JobPolicy, per_item: Sequence[int], runs: int) -> Array:
    """The accuracy after each number of labels per item if the policy picks the worker, shape (budgets, runs)."""
    return np.stack([at.accuracy for at in replay(crowd, policy, per_item, runs=runs, workers="choose")])


def _of_some(crowd: RecordedAnswers, answers: IntArray, aggregation: Aggregation) -> float:
    """The accuracy when these answers alone are aggregated."""
    ballots = Ballots.of(
        crowd.item[answers],
        crowd.worker[answers],
        crowd.label[answers],
        items=len(crowd.items),
        workers=len(crowd.workers),
        classes=2,
    )
    return crowd.accuracy(aggregation.fit(ballots).posterior)


def simulated_pairs(rng: np.random.Generator) -> RecordedAnswers:
    """Items of difficulty theta ~ U(0, 1), workers of reliability rho ~ Beta(4, 1), and all of their answers.

    A worker reports a draw of the item's coin with probability rho, and its opposite otherwise.
    """
    theta, rho = rng.random(ITEMS), rng.beta(4, 1, WORKERS)
    item, worker = (each.ravel() for each in np.indices((ITEMS, WORKERS)))
    drawn = rng.random(len(item)) < theta[item]
    label = np.where(rng.random(len(item)) < rho[worker], drawn, ~drawn).astype(np.int64)
    names = tuple(map(str, range(ITEMS)))
    return RecordedAnswers(names, names[:WORKERS], ("0", "1"), item, worker, label, (theta >= 0.5).astype(np.int64))


def figure_2(setting: Setting) -> Finding:
    """Simulated: perfect workers on items of uniform difficulty, and one-coin workers."""
    per_item = (2, 6, 10) if setting.quick else tuple(range(2, 11))
    rng = np.random.default_rng(1)
    theta = rng.random((setting.seeds, ITEMS))
    answers = (rng.random((setting.seeds, ITEMS, ITEMS)) < theta[..., None]).astype(np.int64)
    truth = (theta >= 0.5).astype(np.int64)
    alone = anonymous(answers, truth, per_item, setting) | finite_gittins(answers, truth, per_item, setting)
    crowds = [simulated_pairs(rng) for _ in range(setting.seeds)]
    runs = []
    for number, crowd in enumerate(crowds, start=1):
        setting.report(f"pairs: simulation {number} of {setting.seeds}")
        runs.append(pairs(crowd, per_item, 1, rng))
    together = {name: np.concatenate([run[name] for run in runs], axis=1) for name in runs[0]}
    rows = (
        *_anonymous_rows(alone, per_item[-1], -1, best=(OPT_KG,)),
        _slightly_better(alone, per_item[-1]),
        *_pairs_rows(together, per_item),
    )
    panels = (
        _panel("Perfect workers", alone, per_item, deviations=0.2),
        _panel("One-coin workers", together, per_item, deviations=0.2),
    )
    finite = "The finite horizon is the number of labels that are left, so each budget is a run of its own."
    return Finding(
        rows, panels, (*_NOTES, finite, "Bars are 0.2 standard deviations between simulations, as in the paper.")
    )


def figure_3(setting: Setting) -> Finding:
    """RTE: recorded answers, anonymous and as pairs."""
    crowd = read_rte(setting.data)
    per_item = (2, 4) if setting.quick else (1, 2, 3, 4, 5, 6, 8, 10)
    rng = np.random.default_rng(1)
    alone = anonymous(shuffled_answers(crowd, setting.seeds, rng), crowd.truth, per_item, setting)
    setting.report(f"pairs: {setting.seeds} runs of {per_item[-1] * len(crowd.items):,} labels")
    together = pairs(crowd, per_item, setting.seeds, rng)
    four = per_item.index(4)
    chosen, counted = together[OPT_KG_PAIRS][four], float(alone[OPT_KG][four].mean())
    others = max(float(together[name][four].mean()) for name in (KG_PAIRS, BP, KOS, MAJORITY))
    rows = (
        *_anonymous_rows(alone, 4, four, best=(OPT_KG, GITTINS)),
        Row(f"{OPT_KG_PAIRS} at 4: mean", 0.9225, float(chosen.mean()), bool(abs(chosen.mean() - 0.9225) < 0.01), 4),
        Row(f"{OPT_KG_PAIRS} at 4: best run", 0.9225, float(chosen.max()), bool(chosen.max() >= 0.9225), 4),
        Row(f"{OPT_KG_PAIRS} at 4: worst run", "not given", float(chosen.min()), None, 4),
        Row("best of the others at 4", "much lower", others, others < chosen.mean() - MUCH, 4),
        Row(f"{OPT_KG} with majority at 4", "much lower", counted, counted < chosen.mean() - MUCH, 4),
        *(
            Row(f"{name} at 4", "not given", float(each[four].mean()), None, 4)
            for name, each in together.items()
            if name != OPT_KG_PAIRS
        ),
        *_late(together, per_item),
    )
    panels = (_panel("Anonymous", alone, per_item), _panel("Pairs", together, per_item))
    omitted = "As in the paper, the index with a finite horizon is left out: it would have to look 8,000 labels ahead."
    return Finding(rows, panels, (*_NOTES, omitted))


def _late(found: Mapping[str, Array], per_item: Sequence[int]) -> Iterator[Row]:
    """The last budgets, where Opt-KG has few answers left to choose from."""
    mean = {name: float(each[-1].mean()) for name, each in found.items()}
    if per_item[-1] > MANY:
        for name in (KG_PAIRS, BP):
            ours = mean[name] - mean[OPT_KG_PAIRS]
            yield Row(f"{name} against {OPT_KG_PAIRS} at {per_item[-1]}", "slightly higher", f"{ours:+.4f}", ours > 0)


_NOTES = (
    "The figures are drawings; the claims of the text about them are compared. Ties of a majority count one half.",
    "BP is the belief propagation of Liu et al. (2012), with Beta(4, 1) for the accuracy of every worker.",
)


def _anonymous_rows(found: Mapping[str, Array], labels: int, place: int, best: Sequence[str]) -> tuple[Row, ...]:
    mean = {name: float(each[place].mean()) for name, each in found.items()}
    at = f"at {labels} labels per item"
    worse = max(mean[KG], mean[UNIFORM])
    return (
        *(
            Row(f"{name} {at}", "lower", mean[name], mean[name] < mean[OPT_KG], 4)
            for name in (KG, UNIFORM, GITTINS_FINITE)
            if name in mean
        ),
        *(Row(f"{name} {at}", "better than the rest", mean[name], mean[name] > worse, 4) for name in best),
    )


def _slightly_better(found: Mapping[str, Array], labels: int) -> Row:
    """A claim that the paper makes only about the simulation (section 6.1)."""
    ours, theirs = (float(found[name][-1].mean()) for name in (OPT_KG, GITTINS))
    return Row(f"{GITTINS} at {labels} labels per item", "slightly better still", theirs, theirs >= ours, 4)


def _pairs_rows(found: Mapping[str, Array], per_item: Sequence[int]) -> tuple[Row, ...]:
    middle = len(per_item) // 2
    at = f"at {per_item[middle]} labels per item"
    mean = {name: float(each[middle].mean()) for name, each in found.items()}
    best = max(mean, key=lambda name: mean[name])
    rows = tuple(Row(f"{name} {at}", "not given", each, None, 4) for name, each in mean.items())
    return (*rows, Row(f"best {at}", OPT_KG_PAIRS, best, best == OPT_KG_PAIRS))


def _panel(title: str, found: Mapping[str, Array], per_item: Sequence[int], deviations: float = 1.0) -> Panel:
    lines = [
        FigureLine.through(name, per_item, each.mean(axis=1), deviations * each.std(axis=1))
        for name, each in found.items()
    ]
    return Panel(title, "labels per item", "accuracy", tuple(lines))
