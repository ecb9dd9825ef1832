"""Run a policy over recorded answers, many seeds at once, and see how soon it knows the truth."""

from collections import defaultdict
from collections.abc import Callable, Sequence

import numpy as np

from app.lab.askers import Asker, ByItem, ByPair, Order, order_of_arrival
from app.lab.leaders import NOWHERE
from app.lab.policies import Workers
from app.lab.recorded import Recorded
from app.lab.replay_apart import stands_apart
from app.lab.runs import Runs
from app.lab.standing import Standing
from app.policy.rules import Rules
from app.policy.worker_choice import Pair, UpperConfidence

_ROUNDING = 1e-9  # 1.1 labels per item are 11 on ten items, whatever floats say
Watch = Callable[[int], None]  # told how many answers the runs have had since it was told last


def unwatched(_answers: int) -> None:
    """Nobody is interested."""


def replay(
    crowd: Recorded,
    rules: Rules,
    labels_per_item: Sequence[float],
    *,
    runs: int,
    workers: Workers = "pull",
    order: Order = "random",
    most_labels: int | None = None,
    watch: Watch = unwatched,
) -> list[Standing]:
    """How the policy stands after each of these numbers of labels per item, in this order.

    `pull`: the policy picks the item by its priority, and a random worker of those with a recorded answer that was not
    used yet comes by (or, in the recorded order, the next one). `choose`: the policy picks item and worker among the
    recorded pairs. A run ends early when nothing is open, or all answers of what is open are used. An answer costs 1,
    and `most_labels` is a budget of the job itself.
    """
    rules = picking(rules, workers)
    most = np.inf if most_labels is None else most_labels
    budgets = [int(min(np.floor(each * len(crowd.items) + _ROUNDING), most)) for each in labels_per_item]
    found: dict[int, Standing] = {}
    for alike in courses(rules, budgets, len(crowd.items)):
        found |= zip(alike, _stands(crowd, rules, alike, runs, workers, order, watch), strict=True)
    return [found[budget] for budget in budgets]


def courses(rules: Rules, budgets: Sequence[int], items: int) -> list[list[int]]:
    """The budgets, in answers, with which a job of so many items goes the same way until the money ends; each rising.

    >>> from app.lab.policies import rules_of
    >>> names = ("information", "crowdbudget", "opt-kg")
    >>> [courses(rules_of(name, ["a", "b"], "choose"), [5, 2, 4, 2], 2) for name in names]
    [[[2], [4, 5]], [[2], [4], [5]], [[2, 4, 5]]]
    """
    alike = defaultdict(list)
    for budget in sorted(set(budgets)):
        alike[_course(rules, budget, items)].append(budget)
    return list(alike.values())


def _course(rules: Rules, budget: int, items: int) -> float:
    """What tells how a job with this budget goes."""
    if rules.allocation.heeds_budget:
        return budget
    return float(rules.worker_choice.trial_share(budget / items))


def _stands(
    crowd: Recorded, rules: Rules, budgets: list[int], many: int, workers: Workers, order: Order, watch: Watch
) -> list[Standing]:
    if goes_apart(rules, workers):
        return stands_apart(crowd, rules, budgets, runs=many, workers=workers, order=order, watch=watch)
    runs = Runs(crowd, rules, many, budget=float(budgets[-1]))
    asker = asker_of(runs, workers, order)
    found = []
    for budget in budgets:
        while runs.given.max() < budget and (answers := step(runs, asker)):
            watch(answers)
        found.append(runs.standing())
    return found


def picking(rules: Rules, workers: Workers) -> Rules:
    """The rules; where the job has to pick workers and says not how, it picks the best pairs."""
    if workers == "pull" or rules.worker_choice.chooses:
        return rules
    return rules.model_copy(update={"worker_choice": Pair()})


def goes_apart(rules: Rules, workers: Workers) -> bool:
    """Whether runs go one after the other, each with a job of its own."""
    ranks = workers == "choose" and isinstance(rules.worker_choice, UpperConfidence)
    return ranks or not Runs.side_by_side(rules)


def asker_of(runs: Runs, workers: Workers, order: Order) -> Asker:
    if workers == "pull":
        return ByItem(runs, order_of_arrival(runs.crowd, runs.runs, order))
    return ByPair(runs)


def step(runs: Runs, asker: Asker) -> int:
    """One more answer in every run that has something to ask; in how many."""
    answer = asker.next()
    run = np.flatnonzero(answer != NOWHERE)
    if len(run):
        asker.taken(run, answer[run], refitted=runs.take(run, answer[run]))
    return len(run)
