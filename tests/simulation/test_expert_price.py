"""An expert at seven times the price, known to be good, is asked where the crowd disagrees."""

import numpy as np
import pytest

from app.policy.job_policy import JobPolicy
from app.policy.requirements import Posterior
from app.policy.worker_choice import Pair
from app.simulation.crowds import Crowd, skilled, truths
from app.simulation.simulated_job import SimulatedJob, choices

ITEMS, CROWD, EXPERT_PRICE = 200, 20, 7.0


class Watched(SimulatedJob):
    """A job that notes, for each answer of the last worker, the votes that the item had before."""

    before: list[list[float]]

    def _answer(self, item: int, worker: int, label: int) -> None:
        if worker == CROWD:
            self.before.append(self.job.rows.votes[item].tolist())
        super()._answer(item, worker, label)


@pytest.mark.parametrize("asked", [0.9, 0.95])
def test_an_expensive_expert_is_asked_only_where_the_crowd_disagrees(asked: float):
    asked_expert = 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        crowd = Crowd(truths(ITEMS, 2, rng), skilled(np.append(rng.uniform(0.65, 0.85, CROWD), 0.98), 2))
        stated = np.full((CROWD + 1, 2), np.nan)
        stated[CROWD] = 0.98, 20
        price = np.append(np.ones(CROWD), EXPERT_PRICE)
        requirement = Posterior(min_probability=asked)
        policy = JobPolicy(labels=("a", "b"), requirement=requirement, worker_choice=Pair(), seed=seed)
        job = Watched(policy, crowd, rng, price=price, stated=stated)
        job.before = []
        for _ in choices(job):
            pass
        assert all(min(votes) > 0 for votes in job.before)
        assert job.job.spent < 0.9 * EXPERT_PRICE * ITEMS
        asked_expert += len(job.before)
    assert asked_expert > 0
