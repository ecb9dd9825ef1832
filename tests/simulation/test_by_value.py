"""A job splits its budget by what each answer is worth: answer by answer it reaches the plan's split."""

from decimal import Decimal

import numpy as np
import pytest

from app.policy.allocation import ByValue, JobContext
from app.policy.core.belief import ItemContext, State
from app.policy.core.lookahead import Lookahead
from app.policy.job_policy import JobPolicy
from app.policy.planning.quotas import majority_error
from app.policy.planning.split import Group, Split, by_crowdbudget, by_worth, evenly
from app.policy.requirements import Ratio
from app.policy.worker_models import Anonymous
from app.simulation.crowds import Crowd, skilled
from app.simulation.simulated_job import SimulatedJob

GROUPS = [
    Group(Decimal("0.2"), 12, 0.9),
    Group(Decimal("0.5"), 12, 0.8),
    Group(Decimal("0.7"), 12, 0.7),
    Group(Decimal(1), 12, 0.6),
]
KNOWN = [{"cost": float(group.cost), "accuracy": group.accuracy} for group in GROUPS]


def test_a_value_is_what_the_answers_lower_the_expected_errors_by():
    """The error of a majority, a binomial sum; the second answer of a step completes it."""
    given = np.arange(12.0)
    context = ItemContext.plain(12)
    lookahead = Lookahead.of(Anonymous(), State(np.column_stack([given, 0 * given]), np.empty((12, 0))), context)
    value = ByValue(accuracy=0.7).value(lookahead, JobContext(Ratio()))
    errors = majority_error(np.arange(14), 0.7)
    assert value[0] == pytest.approx(errors[0] - errors[1])
    for n in range(1, 12, 2):
        assert value[n] == pytest.approx((errors[n] - errors[n + 2]) / 2)
        if n + 1 < 12:
            assert value[n + 1] == pytest.approx(errors[n] - errors[n + 2])


def answers_of_job(budget: Decimal, price: float = 1.0) -> list[list[int]]:
    """How many answers the items of each group have when the money is spent, largest first."""
    cost = np.concatenate([np.full(group.items, float(group.cost)) for group in GROUPS])
    items, workers = len(cost), 900
    rng = np.random.default_rng(3)
    policy = JobPolicy.model_validate(
        {
            "labels": ("cat", "dog"),
            "worker_model": {"kind": "anonymous"},
            "requirement": {"kind": "count", "labels": 99},
            "max_votes_per_label": None,
            "allocation": {"kind": "by-value", "costs": KNOWN},
        }
    )
    crowd = Crowd(rng.integers(0, 2, items), skilled(np.full(workers, 0.75), 2))
    context = ItemContext(cost, np.zeros(items), np.arange(1, items + 1))
    job = SimulatedJob(policy, crowd, rng, context=context, price=np.full(workers, price), budget=float(budget) * price)
    for worker in range(workers):  # each comes once
        if not job.serve(worker):
            break
    given = np.array([len(ballots) for ballots in job.job.ballots]).reshape(len(GROUPS), -1)
    return [sorted(group.tolist(), reverse=True) for group in given]


def answers_of_plan(split: Split) -> list[list[int]]:
    return [[more] * extra + [fewer] * (group.items - extra) for group, fewer, more, extra in split.parts]


@pytest.mark.parametrize("most", [20, 60, 110, 160])
@pytest.mark.parametrize("price", [1.0, 0.05])
def test_the_job_buys_what_the_plan_buys(most, price):
    """To the answer, where the money ends with a step; at any price, because all answers cost it."""
    split = by_worth(Decimal(most), GROUPS)
    assert answers_of_job(split.spent, price) == answers_of_plan(split)


@pytest.mark.parametrize("most", [90, 100, 130, 150])
def test_where_the_money_ends_within_a_step_it_misses_the_plan_by_less_than_a_step(most):
    """The plan leaves out a step that it cannot pay; the job may begin it. CrowdBudget expects a third more errors."""
    plans = {split: split(Decimal(most), GROUPS).expected_errors for split in (by_worth, by_crowdbudget, evenly)}
    given = answers_of_job(Decimal(most))
    errors = sum(majority_error(n, group.accuracy).sum() for group, n in zip(GROUPS, given, strict=True))
    assert plans[by_worth] - 1e-9 <= errors < plans[by_worth] + 0.05
    assert errors < min(plans[by_crowdbudget] / 1.3, plans[evenly])
