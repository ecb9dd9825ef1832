"""Checks that every allocation must pass, including those in the documentation."""

from dataclasses import replace

import numpy as np

from app.policy.allocation import Allocation, JobContext
from app.policy.core.belief import ItemContext, State
from app.policy.core.lookahead import Lookahead
from app.policy.core.policy import Uses
from app.policy.engine import priority_of
from app.policy.requirements import Ratio
from app.policy.worker_models import Anonymous, OneCoin

_ITEMS = 400


def check_uses(allocation: Allocation) -> None:
    """The allocation depends only on what `uses` names; items with equal votes differ in everything else here."""
    rng = np.random.default_rng(3)
    context = ItemContext(
        cost=rng.choice([0.5, 1.0, 3.0], _ITEMS),
        open_assignments=rng.integers(0, 4, _ITEMS).astype(float),
        number=rng.permutation(_ITEMS) + 1,
        seed=5,
    )
    votes = rng.integers(0, 4, (_ITEMS, 2)).astype(float)
    job = JobContext(Ratio(), budget=300.0, inverse_costs=float((1 / context.cost).sum()))
    counted = Lookahead.of(Anonymous(), State(votes, np.empty((_ITEMS, 0))), context)
    assert counted.distinct() is not None, "no items have equal votes, so nothing is checked"
    _check_one_by_one(allocation, counted, job)
    _check_changes(allocation, counted, job)
    _check_workers(allocation, votes, context, job)


def _check_one_by_one(allocation: Allocation, lookahead: Lookahead, job: JobContext) -> None:
    """Every item has the same priority alone and together with the others."""
    together = priority_of(allocation, lookahead, job)
    for row in range(0, _ITEMS, 7):
        state = State(lookahead.state.votes[[row]], lookahead.state.model_state[[row]])
        alone = Lookahead.of(lookahead.model, state, lookahead.context.rows(np.array([row])))
        np.testing.assert_allclose(together[row], priority_of(allocation, alone, job)[0], atol=1e-11, rtol=1e-9)


def _check_changes(allocation: Allocation, lookahead: Lookahead, job: JobContext) -> None:
    """A change of something unused changes no value, and no priority unless it is the cost."""
    context, state = lookahead.context, lookahead.state
    changed = {
        Uses.OPEN_ASSIGNMENTS: replace(context, open_assignments=context.open_assignments + 2),
        Uses.NUMBER: replace(context, number=context.number + 1000, seed=context.seed + 1),
        Uses.COST: replace(context, cost=context.cost * 2),
        Uses.PRICE: replace(context, price=context.price * 3),
    }
    for used, other in changed.items():
        if used in allocation.uses:
            continue
        after = Lookahead.of(lookahead.model, state, other)
        np.testing.assert_array_equal(allocation.value(lookahead, job), allocation.value(after, job), str(used))
        if used is not Uses.COST and not (used is Uses.NUMBER and allocation.breaks_ties):
            np.testing.assert_array_equal(
                priority_of(allocation, lookahead, job), priority_of(allocation, after, job), str(used)
            )
    if Uses.BUDGET not in allocation.uses:
        rich = replace(job, budget=9000.0, inverse_costs=job.inverse_costs * 3)
        np.testing.assert_array_equal(
            priority_of(allocation, lookahead, job), priority_of(allocation, lookahead, rich), "budget"
        )


def _check_workers(allocation: Allocation, votes: np.ndarray, context: ItemContext, job: JobContext) -> None:
    if Uses.WORKER in allocation.uses:
        return
    model = OneCoin()
    state = State(votes, votes + 1)
    good, poor = (np.tile(skill, (len(votes), 1)) for skill in ([9.0, 1.0], [6.0, 4.0]))
    one, other = (priority_of(allocation, Lookahead.of(model, state, context, skill), job) for skill in (good, poor))
    np.testing.assert_array_equal(one, other, "worker")
