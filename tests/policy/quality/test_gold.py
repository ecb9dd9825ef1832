"""Items whose truth is known: answers on them count in full for their workers, and the items stay certain."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.policy.core.belief import ItemContext
from app.policy.worker_models import Auto, Confusion, OneCoin, TwoCoin
from tests.policy.worker_models.cases import ANY_WORKER, CASES, LIGHT, lopsided

LEARNING = [
    pytest.param(model, classes, id=f"{model.kind}-{classes}")
    for model in (OneCoin(), TwoCoin(), Confusion(), Auto())
    for classes in (2, 3, 7)
    if classes <= model.most_labels
]


def known(truth):
    return ItemContext(np.ones(1), np.zeros(1), np.arange(1), None, 0, np.array([truth]))


@pytest.mark.parametrize(("model", "classes"), LEARNING)
@LIGHT
@given(worker=ANY_WORKER, truth=st.integers(0, 1), right=st.booleans())
def test_an_answer_on_gold_counts_in_full(model, classes, worker, truth, right):
    """It adds one right or one wrong answer to the row of the true class, and nothing else."""
    context, skill = known(truth), lopsided(model, classes, *worker)[None]
    label = truth if right else (truth + 1) % classes
    _, learned = model.learn(model.start(context, classes), context, skill, np.array([label]))
    gained = (model.dirichlets(learned) - model.dirichlets(skill))[0]
    expected = np.zeros_like(gained)
    one_row = len(gained) == 1
    expected[0 if one_row else truth, (0 if right else 1) if one_row else label] = 1.0
    assert gained == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("model", [OneCoin(), TwoCoin(), Confusion(), Auto()], ids=lambda model: model.kind)
def test_even_a_near_perfect_worker_errs_in_full(model):
    """A worker with 9,999 of 10,000 right answers who contradicts gold is wrong; the gold is not doubted."""
    context, skill = known(0), type(model)(prior=(9999, 1)).newcomer(2)[None]
    _, learned = model.learn(model.start(context, 2), context, skill, np.array([1]))
    assert (learned - skill).sum() == pytest.approx(1, abs=1e-6)
    assert model.dirichlets(learned)[0, 0, 1] == pytest.approx(2, abs=1e-6)


@pytest.mark.parametrize(("model", "classes"), LEARNING)
def test_gold_stays_certain(model, classes):
    """Two hundred contradicting answers by trusted workers do not change the truth."""
    context, skill = known(1), type(model)(prior=(99, 1)).newcomer(classes)[None]
    state = model.start(context, classes)
    for _ in range(200):
        state = model.after_answer(state, context, skill, np.array([0]))
    belief = model.read(state, context)
    assert np.isfinite(state.model_state).all()
    assert belief.leader[0] == 1
    assert belief.posterior[0, 1] == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize(("model", "classes"), CASES)
def test_items_without_gold_start_as_ever(model, classes):
    """Neither -1 nor the gold of another item changes an item."""
    context = ItemContext(np.ones(2), np.zeros(2), np.arange(2), None, 0, np.array([-1, 0]))
    state, plain = model.start(context, classes), model.start(ItemContext.plain(2), classes)
    assert np.array_equal(state.model_state[0], plain.model_state[0])
    assert np.array_equal(state.votes, plain.votes)


def test_facts_are_cut_with_their_gold():
    """Selecting some items also selects their gold."""
    context = ItemContext(np.ones(3), np.zeros(3), np.arange(3), np.eye(3), 9, np.array([-1, 2, 0]))
    some = context.rows(np.array([2, 1, 1]))
    assert some.gold is not None
    assert some.gold.tolist() == [0, 2, 2]
    assert some.seed == 9
    assert Auto().read(Auto().start(some, 3), some).leader.tolist() == [0, 2, 2]
