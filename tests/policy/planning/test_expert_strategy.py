"""Crowd first, then an expert where doubt remains: the table of a job is the plan, and the job does what it says."""

import numpy as np
import pytest

from app.policy.core.belief import NOBODY, Belief, ItemContext
from app.policy.engine import Engine
from app.policy.job_policy import JobPolicy
from app.policy.planning.cost_sensitive import Prior
from app.policy.planning.expert_strategy import expert_strategy
from app.policy.planning.fitness import Market, Way, visits, ways
from app.policy.planning.stopping_policy import ACCEPT, ASK, REFER, Expert, stopping_policy
from app.policy.requirements import Profit
from app.simulation.memory_job import MemoryJob
from app.use_cases.plans.profit_strategy import AnswerStakes, strategy_with_expert

PRIOR = Prior(6, 2)


def crowd_then_expert(market: Market, loss: float) -> Way:
    return next(way for way in ways(market, loss) if way.name == "crowd-expert")


def rule(loss: float = 100, price: float = 12, accuracy: float = 1.0, most: int | None = 40) -> Profit:
    expert = {"price": price, "accuracy": accuracy}
    return Profit.model_validate({"value": 100, "loss": loss, "most_answers": most, "expert": expert})


def policy_with(requirement: Profit, **fields: object) -> JobPolicy:
    votes = {"worker_model": {"kind": "anonymous"}, "max_votes_per_label": None, "aggregation": {"kind": "majority"}}
    return JobPolicy.model_validate({"labels": ("cat", "dog"), "requirement": requirement} | votes | fields)


@pytest.mark.parametrize(
    ("loss", "price", "accuracy"), [(100, 12, 1.0), (100, 12, 0.95), (30, 7, 1.0), (1000, 90, 0.98)]
)
def test_the_requirement_follows_the_table_at_every_status(loss, price, accuracy):
    """Ask, accept or refer as the dynamic program does, up to 40 votes: 861 statuses."""
    stages = stopping_policy(PRIOR, loss, 40, expert=Expert(price, accuracy))
    requirement, tied = rule(loss, price, accuracy), 0
    for total, stage in enumerate(stages):
        votes = np.column_stack([np.arange(total + 1.0), total - np.arange(total + 1.0)])
        belief, action = Belief.of(votes), stage.action[:, 0]
        accepted, given_up = requirement.satisfied(belief), requirement.not_worth_asking(belief)
        assert (~accepted & ~given_up == (action == ASK)).all()
        is_tie = votes[:, 0] == votes[:, 1]
        assert (accepted == ((action == ACCEPT) & ~is_tie)).all()
        assert (given_up == ((action == REFER) | ((action == ACCEPT) & is_tie))).all()
        tied += int((is_tie & (action == REFER)).sum())
    assert tied > 0


def test_the_shortfall_is_counted_out():
    """Votes are added for one class until it is accepted, passing over votes at which the expert would be asked."""
    requirement = rule()
    strategy = expert_strategy(PRIOR, 100.0, Expert(12.0), 40)
    for mine in range(8):
        for others in range(8):
            further = next(
                k for k in range(60) if requirement.satisfied(Belief.of([mine + k, others]))[0] and mine + k > others
            )
            assert strategy.shortfalls(np.array([[mine, others]], dtype=float))[0, 0] == further


def test_an_expert_who_costs_too_much_changes_nothing():
    votes = np.array([[a, b] for a in range(12) for b in range(12)], dtype=float)
    alone, with_expert = Profit(value=100, loss=100, most_answers=40), rule(price=1000)
    belief = Belief.of(votes)
    assert (alone.satisfied(belief) == with_expert.satisfied(belief)).all()
    assert (alone.not_worth_asking(belief) == with_expert.not_worth_asking(belief)).all()


@pytest.mark.parametrize("scale", [0.05, 20.0])
def test_the_unit_of_money_changes_no_decision(scale):
    """Prices of crowd and expert, value and loss times the same number; or costs, value and loss."""
    votes = np.array([[a, b] for a in range(9) for b in range(9)], dtype=float)
    plain = rule().satisfied(Belief.of(votes)), rule().not_worth_asking(Belief.of(votes))
    context = ItemContext.plain(len(votes))
    scaled = ItemContext(context.cost * scale, context.open_assignments, context.number)
    priced = ItemContext(context.cost, context.open_assignments, context.number, price=scale)
    for requirement, at in ((rule(100 * scale, 12), scaled), (rule(100 * scale, 12 * scale), priced)):
        belief = Belief.of(votes, at)
        assert (requirement.satisfied(belief) == plain[0]).all()
        assert (requirement.not_worth_asking(belief) == plain[1]).all()


def test_what_is_referred_says_so():
    verdicts = [verdict_at(votes) for votes in ([1, 1], [4, 0], [1, 0])]
    assert [(one.decision, one.reason.code) for one in verdicts] == [
        ("give_up", "crowd-cannot-reach"),
        ("stop", "profit"),
        ("continue", "profit-not-reached"),
    ]
    assert "an expert is expected to save more than it costs" in verdicts[0].reason.message


def verdict_at(votes: list[int]):
    engine = Engine(policy_with(rule()))
    state = engine.initial(ItemContext.plain(1))
    state.votes[:] = votes
    return engine.verdict(engine.judge(state, ItemContext.plain(1)), 0)


@pytest.mark.parametrize(("loss", "price", "accuracy"), [(100, 12, 1.0), (100, 20, 0.98)])
def test_a_job_reaches_the_planned_cost_and_error(loss, price, accuracy):
    """3,000 items as hard as B(6, 2) says; cost, accuracy and the expert's share are within four standard errors."""
    items, market = 3000, Market(PRIOR, 40, expert=Expert(price, accuracy))
    way = crowd_then_expert(market, loss)
    plan = strategy_with_expert(AnswerStakes(100, loss, 1.0), market, way, list(visits(market, way, loss)), price)
    rng = np.random.default_rng(7)
    easy, truth = rng.beta(6, 2, items), rng.integers(0, 2, items)
    prices = np.append(np.ones(40), price)
    job = MemoryJob(Engine(policy_with(plan.requirement)), ItemContext.plain(items), workers=41, price=prices)
    spent = np.zeros(items)
    for worker in range(40):
        if not len(asked := np.flatnonzero(job.open)):
            break
        right = rng.random(len(asked)) < easy[asked]
        job.take(asked, np.full(len(asked), worker), np.where(right, truth[asked], 1 - truth[asked]))
        spent[asked] += 1
    doubtful = job.unsettled
    for item in doubtful.tolist():
        job.settle(item, 40, int(truth[item] if rng.random() < accuracy else 1 - truth[item]))
    spent[doubtful] += price
    assert job.spent == pytest.approx(spent.sum())
    resolved = job.label != NOBODY
    errors = {
        spent.mean() - plan.cost_per_item: spent.std(),
        len(doubtful) / items - way.expert_share[0]: 0.5,
        (job.label == truth)[resolved].mean() - plan.accuracy: np.sqrt(plan.accuracy * (1 - plan.accuracy)),
    }
    assert all(abs(error) < 4 * deviation / np.sqrt(items) for error, deviation in errors.items()), errors
    assert resolved.mean() == pytest.approx(plan.resolved, abs=0.01)


@pytest.mark.parametrize(("price", "pays"), [(12, True), (200, False)])
def test_when_the_mix_pays(price, pays):
    """At a loss of 100 answers: crowd alone 16.67, expert alone the price; the mix with an expert of 12 costs 11.81."""
    by_name = {way.name: way.shortfall(100)[0] for way in ways(Market(PRIOR, 40, expert=Expert(price)), 100)}
    assert by_name["crowd"] == pytest.approx(16.67, abs=0.005)
    assert (by_name["crowd-expert"] < min(by_name["crowd"], by_name["expert"]) - 1e-9) == pays
    if pays:
        assert by_name["crowd-expert"] == pytest.approx(11.81, abs=0.005)
