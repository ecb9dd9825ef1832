"""Run a policy over recorded answers, many seeds at once, and see how soon it knows the truth."""

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
    if rules.allocation.heeds_budget:  # another budget is another policy
        apart = [_stands(crowd, rules, [budget], runs, workers, order, watch) for budget in budgets]
        return [one[0] for one in apart]
    rising = sorted(set(budgets))
    found = dict(zip(rising, _stands(crowd, rules, rising, runs, workers, order, watch), strict=True))
    return [found[budget] for budget in budgets]


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
