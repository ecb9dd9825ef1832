"""How `ucb` does with the record of its paper, all votes on decided items, and without the votes that decided them."""

from __future__ import annotations

import numpy as np

from app.experiments.gold_streams import StreamOutcome, by_index, stream
from app.policy.core.belief import ItemContext
from app.policy.engine import Engine
from app.policy.job_policy import JobPolicy
from app.policy.requirements import AnyRequirement, Count, Margin
from app.policy.worker_choice import UpperConfidence
from app.policy.worker_models import Anonymous
from app.simulation.crowds import Crowd, polynomial_rates, skilled, truths
from app.simulation.memory_job import MemoryJob

WORKERS, ITEMS, SEEDS = 200, 1_000, 6
RULES: list[AnyRequirement] = [
    *(Margin(c=c, epsilon=0.05) for c in (1.25, 1.5, 1.75, 2.0)),
    *(Count(labels=labels) for labels in (3, 5, 7)),
]


def run(crowd: Crowd, rule: AnyRequirement, seed: int, *, own_votes: bool) -> StreamOutcome:
    """One stream of items, each asked of the workers with the best record."""
    policy = JobPolicy(
        labels=("no", "yes"),
        requirement=rule,
        worker_model=Anonymous(),
        worker_choice=UpperConfidence(own_votes=own_votes),
        max_votes_per_label=None,
    )
    job = MemoryJob(Engine(policy), ItemContext.plain(crowd.items), crowd.workers)
    return stream(job, crowd, by_index(job), np.random.default_rng(seed))


def main() -> None:
    """Print the share of wrong labels of both records, and the standard error of their difference."""
    crowds = []
    for seed in range(SEEDS):
        rng = np.random.default_rng(100 + seed)
        crowds.append(Crowd(truths(ITEMS, 2, rng), skilled(polynomial_rates(WORKERS, 1, rng), 2)))
    for rule in RULES:
        error = np.array(
            [
                [run(crowd, rule, seed, own_votes=own).error for own in (False, True)]
                for seed, crowd in enumerate(crowds)
            ]
        )
        apart = error[:, 1] - error[:, 0]
        print(
            f"{rule.model_dump()}: default {error[:, 0].mean():.4f}, own votes {error[:, 1].mean():.4f}, "
            f"standard error {apart.std(ddof=1) / SEEDS**0.5:.4f}"
        )


if __name__ == "__main__":
    main()
