"""Replay a policy on recorded answers with many seeds, and measure how much of the truth it knows at each budget."""

from collections import defaultdict
from collections.abc import Callable, Sequence

import numpy as np

from app.policy.core.policy import Uses
from app.policy.job_policy import JobPolicy
from app.policy.worker_choice import Pair, UpperConfidence
from app.simulation.group_maxima import NOWHERE
from app.simulation.named_policies import PolicyUnknown, Workers
from app.simulation.recorded_crowd import RecordedAnswers
from app.simulation.recorded_runs import RecordedRuns
from app.simulation.scores import Scores
from app.simulation.selection import AnswerSelection, ItemSelection, Order, PairSelection, order_of_arrival
from app.simulation.sequential_replay import replay_sequentially

_ROUNDING = 1e-9  # 1.1 labels per item on ten items are 11, although floats give less
OnProgress = Callable[[int], None]  # called with the number of answers since the last call


def ignore_progress(_answers: int) -> None:
    """Do nothing: for callers that show no progress."""


def replay(  # noqa: PLR0913  all but two are keywords with a default
    crowd: RecordedAnswers,
    policy: JobPolicy,
    labels_per_item: Sequence[float],
    *,
    runs: int,
    workers: Workers = "pull",
    order: Order = "random",
    most_labels: int | None = None,
    progress: OnProgress = ignore_progress,
    gold: int = 0,
) -> list[Scores]:
    """The scores of the policy after each of these numbers of labels per item, in their order.

    `pull`: the policy picks the item by its priority. A random worker with a recorded answer on it that is not used
    yet answers (or, in the recorded order, the next one). `choose`: the policy picks item and worker among the
    recorded pairs. A run ends early when no item is open, or all answers on the open items are used. An answer costs
    1, and `most_labels` is the budget of the job itself. In each run the truth of `gold` random items is known to the
    job, and the scores are those of all other items.
    """
    policy = with_worker_choice(policy, workers)
    most = np.inf if most_labels is None else most_labels
    budgets = [int(min(np.floor(each * len(crowd.items) + _ROUNDING), most)) for each in labels_per_item]
    found: dict[int, Scores] = {}
    for group in group_budgets(policy, budgets, len(crowd.items)):
        found |= zip(group, _scores_at(crowd, policy, group, runs, workers, order, progress, gold), strict=True)
    return [found[budget] for budget in budgets]


def group_budgets(policy: JobPolicy, budgets: Sequence[int], items: int) -> list[list[int]]:
    """Group budgets, in answers, under which a job decides the same until its money ends; each group rises.

    One run serves all budgets of a group.

    >>> from app.simulation.named_policies import policy_of
    >>> names = ("information", "crowdbudget", "opt-kg")
    >>> [group_budgets(policy_of(name, ["a", "b"], "choose"), [5, 2, 4, 2], 2) for name in names]
    [[[2], [4, 5]], [[2], [4], [5]], [[2, 4, 5]]]
    """
    groups = defaultdict(list)
    for budget in sorted(set(budgets)):
        groups[_effect_of_budget(policy, budget, items)].append(budget)
    return list(groups.values())


def _effect_of_budget(policy: JobPolicy, budget: int, items: int) -> float:
    """Equal for budgets under which the job decides the same."""
    if Uses.BUDGET in policy.uses:
        return budget
    return float(policy.worker_choice.trial_share(budget / items))


def _scores_at(
    crowd: RecordedAnswers,
    policy: JobPolicy,
    budgets: list[int],
    seeds: int,
    workers: Workers,
    order: Order,
    progress: OnProgress,
    gold: int,
) -> list[Scores]:
    if gold or runs_sequentially(policy, workers):
        return replay_sequentially(
            crowd, policy, budgets, runs=seeds, workers=workers, order=order, progress=progress, gold=gold
        )
    runs = RecordedRuns(crowd, policy, seeds, budget=float(budgets[-1]))
    selection = selection_for(runs, workers, order)
    found = []
    for budget in budgets:
        while runs.given.max() < budget and (answers := step(runs, selection)):
            progress(answers)
        found.append(runs.scores())
    return found


def with_worker_choice(policy: JobPolicy, workers: Workers) -> JobPolicy:
    """The policy; with `pair` as its worker choice where it has to choose workers and has no choice of its own.

    Raises `PolicyUnknown` where answers are of a kind about which `pair` does not decide.
    """
    if workers == "pull" or policy.worker_choice.chooses:
        return policy
    pair, kind = Pair(), policy.answer.kind
    if kind not in pair.answer_kinds:
        takes = " or ".join(sorted(pair.answer_kinds))
        raise PolicyUnknown(f"Jobs choose workers where answers are {takes}, not {kind}")
    return policy.model_copy(update={"worker_choice": pair})


def runs_sequentially(policy: JobPolicy, workers: Workers) -> bool:
    """Whether the runs of this policy cannot go side by side, so that each is a job of its own."""
    ranks = workers == "choose" and isinstance(policy.worker_choice, UpperConfidence)
    return ranks or not RecordedRuns.supports(policy)


def selection_for(runs: RecordedRuns, workers: Workers, order: Order) -> AnswerSelection:
    """How these runs select the next answer."""
    if workers == "pull":
        return ItemSelection(runs, order_of_arrival(runs.crowd, runs.runs, order))
    return PairSelection(runs)


def step(runs: RecordedRuns, selection: AnswerSelection) -> int:
    """Take one more answer in every run that has something to ask; returns the number of these runs."""
    answer = selection.select()
    run = np.flatnonzero(answer != NOWHERE)
    if len(run):
        selection.update(run, answer[run], refitted=runs.take(run, answer[run]))
    return len(run)
