"""What workers charge, seen by the rules that weigh an answer against its cost."""

from decimal import Decimal
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.policy.core.belief import ItemContext, State
from app.policy.core.prices import has_moved
from app.policy.engine import Engine
from app.policy.job_policy import JobPolicy
from app.policy.planning.quotas import quotas
from app.simulation.crowds import Crowd, skilled
from app.simulation.memory_job import MemoryJob
from app.simulation.simulated_job import SimulatedJob, choices, visits

VOTES = {"labels": ("cat", "dog"), "worker_model": {"kind": "anonymous"}, "max_votes_per_label": None}
COSTS = np.array([0.2, 0.5, 0.7, 1.0])


def profit_job(loss: float, **limits: object) -> JobPolicy:
    return JobPolicy.model_validate(VOTES | {"requirement": {"kind": "profit", "value": 9, "loss": loss}} | limits)


def split_job() -> JobPolicy:
    count = {"kind": "count", "labels": 200}
    return JobPolicy.model_validate(VOTES | {"requirement": count, "allocation": {"kind": "crowdbudget"}})


def is_open(engine: Engine, votes: list[int], cost: float = 1.0) -> bool:
    context = ItemContext(np.array([cost]), np.zeros(1), np.ones(1, dtype=np.int64))
    return not engine.judge(State(np.array([votes], dtype=float), np.empty((1, 0))), context).closed[0]


def answers_by_item(price: float, budget: float, workers: int = 68) -> list[int]:
    crowd = Crowd(np.zeros(4, dtype=np.int64), skilled(np.full(workers, 0.8), 2))
    context = ItemContext(COSTS, np.zeros(4), np.arange(1, 5))
    job = SimulatedJob(
        split_job(), crowd, np.random.default_rng(1), context=context, price=np.full(workers, price), budget=budget
    )
    for worker in range(workers):  # each comes once, so all items are open to every worker
        job.serve(worker)
    return [len(ballots) for ballots in job.job.ballots]


def test_profit_goes_on_where_workers_are_cheap():
    """A cost of 1 and a loss of 5: one vote is enough at the price 1, and not at .05, where the loss is 100 answers."""
    assert not is_open(Engine(profit_job(5)), [1, 0])
    cheap = Engine(profit_job(5), price=0.05)
    assert is_open(cheap, [1, 0])
    assert [is_open(cheap, votes) for votes in ([1, 0], [2, 0], [3, 0], [3, 1])] == [
        is_open(Engine(profit_job(100)), votes) for votes in ([1, 0], [2, 0], [3, 0], [3, 1])
    ]


def test_crowdbudget_splits_what_the_budget_buys():
    """At half the price, a budget of 10 buys the quotas of a budget of 20; the quotas of 10 would be [27, 4, 2, 1]."""
    assert answers_by_item(0.5, 10.0) == answers_by_item(1.0, 20.0) == quotas_of(20) == [54, 8, 4, 2]


def quotas_of(budget: int) -> list[int]:
    return quotas(Decimal(budget), [Decimal("0.2"), Decimal("0.5"), Decimal("0.7"), Decimal(1)])


@pytest.mark.parametrize("scale", [0.01, 7.0])
@pytest.mark.parametrize("scaled", ["costs", "prices"])
def test_the_unit_of_money_changes_no_decision(scale, scaled):
    """All costs, or all prices, and budget, value and loss times the same number."""
    rng = np.random.default_rng(5)
    crowd = Crowd(rng.integers(0, 2, 12), skilled(rng.uniform(0.6, 0.95, 30), 2))
    prices, costs = rng.choice([0.1, 0.5, 3.0], 30), rng.choice(COSTS, 12)

    def labels_and_ballots(money: float) -> tuple[list[int], list[list[tuple[int, int]]], float]:
        requirement = {"kind": "profit", "value": 9 * money, "loss": 12 * money}
        fields = {"requirement": requirement, "allocation": {"kind": "crowdbudget"}}
        cost, price = (costs * money, prices) if scaled == "costs" else (costs, prices * money)
        context = ItemContext(cost, np.zeros(12), np.arange(1, 13))
        policy, draws = JobPolicy.model_validate(VOTES | fields), np.random.default_rng(1)
        job = SimulatedJob(policy, crowd, draws, context=context, price=price, budget=30 * money)
        for _ in visits(job, np.random.default_rng(2)):
            pass
        given = [[(ballot.worker, ballot.label) for ballot in ballots] for ballots in job.job.ballots]
        return job.job.label.tolist(), given, job.job.engine.price * (1 if scaled == "costs" else 1 / money)

    plain, other = labels_and_ballots(1.0), labels_and_ballots(scale)
    assert plain[:2] == other[:2]
    assert plain[2] == pytest.approx(other[2])


@given(votes=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=9))
def test_a_price_of_one_changes_nothing(votes):
    """Nor does any price where no policy weighs answers against their cost."""
    state = State(np.array(votes, dtype=float), np.empty((len(votes), 0)))
    context = ItemContext.plain(len(votes))
    plain = JobPolicy.model_validate(VOTES | {"requirement": {"kind": "ratio"}, "allocation": {"kind": "requallo"}})
    for policy, price in ((profit_job(8), 1.0), (split_job(), 1.0), (plain, 0.05)):
        one = Engine(policy, 50.0, inverse_costs=9.0).judge(state, context)
        other = Engine(policy, 50.0, inverse_costs=9.0, price=price).judge(state, context)
        assert (one.closed == other.closed).all()
        assert (one.priority == other.priority).all()


def test_the_price_follows_the_answers_in_steps():
    """The registered workers charge 1 in the middle, but those who come charge .1; open items are judged again.

    With 15 answers the mean is (10 x 1 + 15 x .1) / 25 = .46. At 10 answers it was .55.
    """
    policy = profit_job(6)
    crowd = Crowd(np.zeros(40, dtype=np.int64), skilled(np.ones(9), 2))
    prices = np.array([0.1, 0.1, 0.1, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    job = SimulatedJob(policy, crowd, np.random.default_rng(1), price=prices)
    seen = []
    while job.job.answers < 22 and job.serve(job.job.answers % 3):
        seen.append(job.job.engine.price)
    assert seen[:9] == [1.0] * 9
    assert seen[9:14] == pytest.approx([0.55] * 5)
    assert seen[14:21] == pytest.approx([0.46] * 7)
    assert seen[21] == pytest.approx((10 + 2.2) / 32)
    assert all(new == old or has_moved(old, new) for old, new in pairwise(seen))
    fresh = Engine(policy, price=job.job.engine.price).judge(job.job.state(np.arange(40)), job.job.context)
    assert job.job.open.any()
    assert not fresh.closed[job.job.open].any()
    assert (job.job.priority[job.job.open] == fresh.priority[job.job.open]).all()


def test_an_item_that_no_longer_pays_is_closed_at_the_step():
    """Nobody is asked again about items that the former price kept open."""
    policy, items = profit_job(6), 30
    prices = np.array([0.1, 0.1, 0.1, 4.0, 4.0, 4.0, 4.0])[:6]
    engine = Engine(policy, price=0.1)
    job = MemoryJob(engine, ItemContext.plain(items), workers=len(prices), price=prices)
    for item in range(9):
        job.take_one(item, 3 + item % 3, 0)
    assert job.open.all()  # one vote is not enough at .1
    job.take_one(9, 5, 0)  # the tenth answer: (10 x .1 + 10 x 4) / 20 = 2.05
    assert job.engine.price == pytest.approx(2.05)
    assert (~job.open).all()  # not worth asking, with one vote or without
    assert (job.label[:10] == 0).all()
    assert job.verdict(20).reason.code == "does-not-pay"


def test_the_job_that_chooses_asks_the_cheap_and_learns_their_price():
    policy = profit_job(6, worker_choice={"kind": "pair", "second_opinions": 0})
    crowd = Crowd(np.zeros(60, dtype=np.int64), skilled(np.full(8, 0.9), 2))
    prices = np.array([0.2, 0.2, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    job = SimulatedJob(policy, crowd, np.random.default_rng(1), price=prices)
    for given_answers in choices(job):
        if given_answers == 40:
            break
    assert job.job.engine.price < 0.5
