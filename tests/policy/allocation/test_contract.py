"""Laws that every allocation keeps with every worker model; add a new one to ALLOCATIONS."""

from typing import ClassVar, Literal, get_args

import numpy as np
import pytest
from pydantic import TypeAdapter, ValidationError

from app.policy.allocation import (
    Allocation,
    AnyAllocation,
    ByValue,
    CrowdBudget,
    CvarKnowledgeGradient,
    Dispatch,
    Information,
    JobContext,
    KnowledgeGradient,
    LabelUncertainty,
    OptimisticKnowledgeGradient,
    RandomChoice,
    Requallo,
    RoundRobin,
)
from app.policy.core.belief import ItemContext, State
from app.policy.core.lookahead import Lookahead
from app.policy.core.policy import Uses
from app.policy.engine import Engine, priority_of
from app.policy.job_policy import JobPolicy
from app.policy.requirements import Ratio
from app.policy.worker_models import Anonymous, Auto, Confusion, OneCoin, SpamFilter, Tiers, TwoCoin, Weighted
from tests.policy.allocation.checks import check_uses

JOB = JobContext(Ratio())
ALLOCATIONS = [
    Requallo(),
    OptimisticKnowledgeGradient(),
    KnowledgeGradient(),
    KnowledgeGradient(ties="first"),
    CvarKnowledgeGradient(alpha=0.8),
    LabelUncertainty(),
    Information(),
    Information(order=1),
    Requallo(reward="expected"),
    RoundRobin(),
    RandomChoice(),
    Dispatch(),
    CrowdBudget(),
    ByValue(accuracy=0.7),
]
# Requallo looks at the two strongest classes only: with tied votes an earlier class wins.
INDIFFERENT_TO_NAMES = [allocation for allocation in ALLOCATIONS if not isinstance(allocation, Requallo)]
PER_COST = [allocation for allocation in INDIFFERENT_TO_NAMES if allocation.per_cost]
# An answer of a better worker is worth more; these allocations do not look at the worker at all.
LOOKING_AT_WORKERS = [allocation for allocation in PER_COST if not isinstance(allocation, LabelUncertainty | ByValue)]
MODELS = [Anonymous(), Tiers(), SpamFilter(), Weighted(), OneCoin(), TwoCoin(), Confusion(), Auto()]


def name(member):
    """The name of the test case: kind and parameters."""
    return member.model_dump_json(exclude_defaults=True) + member.kind


def crowd(model, classes=2, items=30, seed=4, order=None):
    """Items after a few random answers of newcomers; `order` renames the classes."""
    rng, context = np.random.default_rng(seed), ItemContext.plain(items, seed)
    order = np.arange(classes) if order is None else order
    state = model.start(context, classes)
    skill = np.broadcast_to(model.newcomer(classes), (items, len(model.newcomer(classes))))
    for _ in range(4):
        leaning = np.minimum((rng.random(items) * (classes + 1)).astype(int), classes - 1)
        state, _ = model.learn(state, context, skill, order[leaning])
    return Lookahead.of(model, state, context)


def row(lookahead, i):
    """Item i alone."""
    context = lookahead.context
    state = State(lookahead.state.votes[[i]], lookahead.state.model_state[[i]])
    alone = ItemContext(context.cost[[i]], context.open_assignments[[i]], context.number[[i]], None, context.seed)
    return Lookahead(lookahead.model, state, alone, lookahead.skill[[i]])


@pytest.mark.parametrize("model", MODELS, ids=name)
@pytest.mark.parametrize("allocation", ALLOCATIONS, ids=name)
def test_priorities_are_finite_and_repeatable(allocation, model):
    """The same items and the same seed give the same numbers."""
    first, again = (priority_of(allocation, crowd(model), JOB) for _ in range(2))
    assert first.shape == (30,)
    assert np.isfinite(first).all()
    assert (first == again).all()


@pytest.mark.parametrize("model", MODELS, ids=name)
@pytest.mark.parametrize("allocation", ALLOCATIONS, ids=name)
def test_one_item_has_the_priority_it_has_among_many(allocation, model):
    """One implementation serves one item and a million."""
    lookahead = crowd(model)
    together = priority_of(allocation, lookahead, JOB)
    alone = [priority_of(allocation, row(lookahead, i), JOB)[0] for i in range(30)]
    assert together == pytest.approx(alone, abs=1e-10)


@pytest.mark.parametrize("model", MODELS, ids=name)
@pytest.mark.parametrize("allocation", INDIFFERENT_TO_NAMES, ids=name)
def test_relabeling_classes_changes_no_priority(allocation, model):
    """The value of a label does not depend on the names of the classes."""
    classes = 2 if isinstance(model, TwoCoin) else 3
    order = np.arange(classes)[::-1]
    here, there = (priority_of(allocation, crowd(model, classes, order=way), JOB) for way in (None, order))
    assert here == pytest.approx(there, abs=1e-9)


@pytest.mark.parametrize("allocation", PER_COST, ids=name)
def test_twice_the_cost_is_half_the_priority(allocation):
    """Priorities are per cost, except for the random number that breaks ties."""
    lookahead = crowd(Anonymous())
    context = lookahead.context
    expensive = ItemContext(context.cost * 2, context.open_assignments, context.number, None, context.seed)
    costly = priority_of(allocation, Lookahead.of(Anonymous(), lookahead.state, expensive), JOB)
    assert 2 * costly == pytest.approx(priority_of(allocation, lookahead, JOB), abs=2e-6)


@pytest.mark.parametrize("model", [OneCoin(), Confusion()], ids=name)
@pytest.mark.parametrize("allocation", LOOKING_AT_WORKERS, ids=name)
def test_a_better_worker_is_worth_more(allocation, model):
    """On a fresh item, workers with nine, six and five right answers of ten have falling value; the last has none."""
    context = ItemContext.plain(3)
    skill = np.stack([type(model)(prior=pair).newcomer(2) for pair in ((9, 1), (6, 4), (5, 5))])
    value = allocation.value(Lookahead.of(model, model.start(context, 2), context, skill), JOB)
    assert value[0] > value[1] > value[2]
    assert value[2] == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("allocation", ALLOCATIONS, ids=name)
def test_it_uses_no_more_than_it_says(allocation):
    """With costs, open assignments, numbers, workers and budgets that differ."""
    check_uses(allocation)


class LooksAtCost(Allocation):
    """Its value depends on the cost, but its `uses` does not name the cost."""

    kind: Literal["looks-at-cost"] = "looks-at-cost"
    uses: ClassVar[Uses] = Uses.NOTHING

    def value(self, lookahead, job):  # noqa: ARG002  a liar
        return -lookahead.context.cost


class LooksAtOpenAssignments(LooksAtCost):
    def value(self, lookahead, job):  # noqa: ARG002  a liar
        return -lookahead.context.open_assignments


class LooksAtNumber(LooksAtCost):
    def value(self, lookahead, job):  # noqa: ARG002  a liar
        return lookahead.context.number / 2


class LooksAtWorker(LooksAtCost):
    def value(self, lookahead, job):  # noqa: ARG002  a liar
        return lookahead.model.accuracy(lookahead.skill)


class LooksAtBudget(LooksAtCost):
    def value(self, lookahead, job):
        return np.full(len(lookahead.state.votes), job.budget or 0.0)


@pytest.mark.parametrize("liar", [LooksAtCost, LooksAtOpenAssignments, LooksAtNumber, LooksAtWorker, LooksAtBudget])
def test_an_allocation_that_uses_more_than_it_says_is_found_out(liar):
    with pytest.raises(AssertionError):
        check_uses(liar())


@pytest.mark.parametrize("liar", [LooksAtCost, LooksAtOpenAssignments, LooksAtNumber, LooksAtWorker, LooksAtBudget])
def test_forgetting_to_say_what_is_used_costs_time_only(liar, monkeypatch):
    """By default everything counts as used, and every item is valued by itself."""
    monkeypatch.setattr(liar, "uses", Allocation.uses)
    check_uses(liar())


def test_every_kind_keeps_this_contract():
    """ALLOCATIONS has every member of the union; a missing one would be untested."""
    assert {type(allocation) for allocation in ALLOCATIONS} == set(get_args(get_args(AnyAllocation)[0]))


@pytest.mark.parametrize("allocation", ALLOCATIONS, ids=name)
def test_configuration_survives_json(allocation):
    """Every allocation is read back from its JSON, selected by its kind."""
    union = TypeAdapter(AnyAllocation)
    assert union.validate_json(union.dump_json(allocation)) == allocation


@pytest.mark.parametrize(
    "configuration",
    [
        {"kind": "cvar-kg", "alpha": 0},
        {"kind": "information", "order": 0.5},
        {"kind": "kg", "ties": "last"},
        {"kind": "?"},
    ],
)
def test_nonsense_is_refused(configuration):
    """The schema has bounds for every parameter."""
    with pytest.raises(ValidationError):
        TypeAdapter(AnyAllocation).validate_python(configuration)


class Contrary(Allocation):
    """An allocation for this test: ask where most answers are already."""

    kind: Literal["contrary"] = "contrary"

    def value(self, lookahead, job):  # noqa: ARG002  votes are enough
        return lookahead.now.total


def test_a_new_allocation_is_one_class():
    """With only the class above, the engine judges, orders and explains."""
    policy = JobPolicy(labels=("yes", "no"), worker_model=Anonymous()).model_copy(update={"allocation": Contrary()})
    engine, context = Engine(policy), ItemContext.plain(3)
    judgement = engine.judge(State(np.array([[1.0, 0.0], [2.0, 2.0], [0.0, 0.0]]), np.empty((3, 0))), context)
    assert judgement.priority.tolist() == [1.0, 4.0, 0.0]
    assert engine.explain(engine.verdict(judgement, 1).reason, 2).code == "contrary"


@pytest.mark.parametrize("model", MODELS, ids=name)
def test_a_new_allocation_works_with_every_worker_model(model):
    """An allocation sees only a belief, whichever model made it."""
    assert priority_of(Contrary(), crowd(model), JOB).tolist() == [4.0] * 30
