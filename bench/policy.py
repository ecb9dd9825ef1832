"""Measure how long the priorities of a million items take, in passes of scipy's betainc over the same parameters."""

from collections.abc import Callable
from time import perf_counter

import numpy as np
from scipy import special

from app.policy.allocation import Allocation, Information, JobContext, OptimisticKnowledgeGradient, Requallo
from app.policy.core.belief import ItemContext, State
from app.policy.core.lookahead import Lookahead
from app.policy.engine import priority_of
from app.policy.requirements import Profit, Ratio, Requirement, Significance
from app.policy.worker_models import Anonymous, OneCoin, TwoCoin, WorkerModel

ITEMS = 1_000_000
RUNS = 3


def fastest(work: Callable[[], object]) -> float:
    """The least of a few runs, in seconds."""

    def once() -> float:
        start = perf_counter()
        work()
        return perf_counter() - start

    return min(once() for _ in range(RUNS))


def passes(
    allocation: Allocation, requirement: Requirement, model: WorkerModel, state: State, context: ItemContext
) -> float:
    """Priorities of all items, in passes of betainc over the same Beta parameters."""
    alpha = model.read(state, context).alpha
    reference = fastest(lambda: special.betainc(alpha[:, 1], alpha[:, 0], 0.5))
    circumstances = JobContext(requirement)
    return fastest(lambda: priority_of(allocation, Lookahead.of(model, state, context), circumstances)) / reference


def main() -> None:
    """Print one line per case: whole votes are pooled, a prior or a worker model makes every item its own case."""
    rng = np.random.default_rng(1)
    votes = rng.integers(0, 8, (ITEMS, 2)).astype(float)
    plain, counted = ItemContext.plain(ITEMS), State(votes, np.empty((ITEMS, 0)))
    with_prior = ItemContext(plain.cost, plain.open_assignments, plain.number, rng.dirichlet([1, 1], ITEMS))
    matched = State(votes, votes + 1 + rng.random((ITEMS, 2)))
    anonymous, ratio = Anonymous(), Ratio()
    cases = [
        (Requallo(), ratio, "anonymous", anonymous, counted, plain, 2),
        (Requallo(), Significance(alpha=0.2), "anonymous", anonymous, counted, plain, 2),
        (Requallo(), Profit(value=100, loss=100), "anonymous", anonymous, counted, plain, None),
        *(
            (allocation, ratio, what, model, state, context, 8)
            for allocation in (OptimisticKnowledgeGradient(), Information())
            for what, model, state, context in (
                ("anonymous", anonymous, counted, plain),
                ("anonymous with priors", anonymous, counted, with_prior),
                ("one-coin", OneCoin(), matched, plain),
                ("two-coin", TwoCoin(), matched, plain),
            )
        ),
    ]
    for allocation, requirement, what, model, state, context, goal in cases:
        taken = passes(allocation, requirement, model, state, context)
        aim = f"(goal: at most {goal})" if goal else "(no goal: the cost of each item matters, so nothing is pooled)"
        print(f"{allocation.kind:12} {requirement.kind:13} {what:22} {taken:5.1f} passes of betainc {aim}")


if __name__ == "__main__":
    main()
