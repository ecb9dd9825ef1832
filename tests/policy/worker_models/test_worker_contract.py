"""Laws that every worker model keeps; add a new one to `cases.MODELS`."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from app.policy.core.belief import ItemContext
from app.policy.core.lookahead import Lookahead
from app.policy.engine import Engine
from app.policy.job_policy import JobPolicy
from app.policy.worker_models import AnyWorkerModel, Auto, Confusion, OneCoin, Tiers, TwoCoin, Weighted
from tests.policy.worker_models.cases import (
    ANY_WORKER,
    CASES,
    GOOD_WORKER,
    LIGHT,
    MODELS,
    ORDERLESS,
    after,
    answers,
    lopsided,
    renamed,
    skill_of,
    some_order,
)


@pytest.mark.parametrize(("model", "classes"), CASES)
@LIGHT
@given(history=answers(ANY_WORKER, 6), worker=ANY_WORKER, random=st.randoms(use_true_random=False))
def test_relabeling_classes_permutes_results(model, classes, history, worker, random):
    """Names do not matter: renaming class c to order[c] moves its numbers and changes none."""
    order = some_order(model, classes, random)
    context = ItemContext.plain(1)
    here, there = model.start(context, classes), model.start(context, classes)
    for (right, wrong), where in history:
        skill, label = lopsided(model, classes, right, wrong), int(where * classes)
        here, learned = model.learn(here, context, skill[None], np.array([label]))
        there, also = model.learn(there, context, renamed(model, skill, order)[None], np.array([order[label]]))
        assert also[0] == pytest.approx(renamed(model, learned[0], order), rel=1e-9)
    skill = lopsided(model, classes, *worker)
    now, then = (
        Lookahead.of(model, here, context, skill[None]),
        Lookahead.of(model, there, context, renamed(model, skill, order)[None]),
    )
    for name in ("votes", "weights", "alpha", "posterior"):
        assert getattr(then.now, name)[0, order] == pytest.approx(getattr(now.now, name)[0], rel=1e-8, abs=1e-10)
    assert then.chances[0, order] == pytest.approx(now.chances[0], rel=1e-9)


@pytest.mark.parametrize(("model", "classes"), CASES)
@LIGHT
@given(history=answers(ANY_WORKER), random=st.randoms(use_true_random=False))
def test_votes_are_the_same_in_any_order(model, classes, history, random):
    """The order of the answers does not change the votes."""
    shuffled = random.sample(history, len(history))
    assert (after(model, classes, history).votes == after(model, classes, shuffled).votes).all()


@pytest.mark.parametrize("model", ORDERLESS, ids=lambda model: model.kind)
@LIGHT
@given(history=answers(ANY_WORKER), random=st.randoms(use_true_random=False))
def test_counting_models_read_the_same_in_any_order(model, history, random):
    """In models that only count votes, the belief does not depend on their order."""

    def make(model, classes, right, wrong):
        return model.newcomer(classes) if isinstance(model, Tiers) else skill_of(model, classes, right, wrong)

    context, shuffled = ItemContext.plain(1), random.sample(history, len(history))
    here, there = (model.read(after(model, 3, each, make), context) for each in (history, shuffled))
    assert here.alpha == pytest.approx(there.alpha, rel=1e-9)
    assert here.squares == pytest.approx(there.squares)


@pytest.mark.parametrize("model", [Tiers(), OneCoin(), TwoCoin()], ids=lambda model: model.kind)
def test_order_matters_where_it_says_so(model):
    """A good worker's vote is weighted by its round (tiers); moment matching loses a little in every step (coins)."""
    early, late = [((9.0, 6.0), 0.0), ((4.0, 1.0), 0.9)], [((4.0, 1.0), 0.9), ((9.0, 6.0), 0.0)]
    here, there = (model.read(after(model, 2, each), ItemContext.plain(1)).alpha for each in (early, late))
    assert np.abs(here - there).max() > 1e-4


def test_confusion_depends_on_order_through_the_workers_alone():
    """Bayes' rule does not depend on the order: with the same rows for each answer the item ends the same."""
    history = [((9.0, 6.0), 0.0), ((4.0, 1.0), 0.9), ((5.0, 2.0), 0.4)]
    here, there = (after(Confusion(), 3, each).model_state for each in (history, history[::-1]))
    assert here == pytest.approx(there)


@pytest.mark.parametrize(("model", "classes"), CASES)
def test_many_items_are_judged_as_one_by_one(model, classes):
    """Row i of the arrays is the result of item i alone."""
    rng = np.random.default_rng(11)
    items, context = 40, ItemContext.plain(40)
    state, alone = model.start(context, classes), [model.start(ItemContext.plain(1), classes) for _ in range(items)]
    for _ in range(5):
        skill = np.stack([lopsided(model, classes, *rng.uniform(0.5, 9, 2)) for _ in range(items)])
        label = rng.integers(0, classes, items)
        state, learned = model.learn(state, context, skill, label)
        steps = [model.learn(alone[i], ItemContext.plain(1), skill[[i]], label[[i]]) for i in range(items)]
        alone = [step[0] for step in steps]
        assert learned == pytest.approx(np.concatenate([step[1] for step in steps]), rel=1e-9)
    together = Lookahead.of(model, state, context, skill)
    for i in range(items):
        single = Lookahead.of(model, alone[i], ItemContext.plain(1), skill[[i]])
        assert together.now.posterior[i] == pytest.approx(single.now.posterior[0], rel=1e-8)
        assert together.chances[i] == pytest.approx(single.chances[0], rel=1e-9)


@pytest.mark.parametrize(("model", "classes"), CASES)
@LIGHT
@given(history=answers(ANY_WORKER), worker=ANY_WORKER)
def test_chances_are_a_distribution(model, classes, history, worker):
    """Chances are not negative and sum to 1."""
    skill = lopsided(model, classes, *worker)[None]
    chances = Lookahead.of(model, after(model, classes, history), ItemContext.plain(1), skill).chances
    assert chances.sum() == pytest.approx(1)
    assert (chances >= 0).all()


@pytest.mark.parametrize(("model", "classes"), CASES)
@LIGHT
@given(history=answers(GOOD_WORKER, 7), worker=GOOD_WORKER)
def test_agreeing_with_the_leader_never_lowers_it(model, classes, history, worker):
    """A worker who is better than chance and names the leading class makes it no less likely."""
    state, context = after(model, classes, history), ItemContext.plain(1)
    before = model.read(state, context)
    leader = before.leader
    later = model.read(model.learn(state, context, skill_of(model, classes, *worker)[None], leader)[0], context)
    assert later.posterior[0, leader[0]] >= before.posterior[0, leader[0]] - 1e-9


@pytest.mark.parametrize("model", [OneCoin(), TwoCoin(), Confusion(), Auto()], ids=lambda model: model.kind)
@LIGHT
@given(history=answers(ANY_WORKER), coins=st.floats(0.5, 20), label=st.integers(0, 1))
def test_a_coin_teaches_nothing(model, history, coins, label):
    """An answer of a worker who is right half of the time does not change the belief about the item."""
    state, context = after(model, 2, history), ItemContext.plain(1)
    later, _ = model.learn(state, context, skill_of(model, 2, coins, coins)[None], np.array([label]))
    assert later.model_state == pytest.approx(state.model_state, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(("model", "classes"), CASES)
def test_learning_changes_no_argument(model, classes):
    """The state and skill that are passed in are not changed."""
    context = ItemContext.plain(2)
    state = model.start(context, classes)
    skill = np.stack([lopsided(model, classes, 6.0, 2.0)] * 2)
    kept = [array.copy() for array in (state.votes, state.model_state, skill)]
    model.learn(state, context, skill, np.array([0, 1]))
    for array, before in zip((state.votes, state.model_state, skill), kept, strict=True):
        assert (array == before).all()


@pytest.mark.parametrize(("model", "classes"), CASES)
def test_an_items_own_prior_tips_the_balance(model, classes):
    """The class that the prior favours leads before any answer; an item without a prior is undecided."""
    prior = np.full((2, classes), 0.1 / (classes - 1))
    prior[0, 1], prior[1] = 0.9, np.nan
    context = ItemContext(np.ones(2), np.zeros(2), np.arange(2), prior)
    belief = model.read(model.start(context, classes), context)
    assert belief.leader[0] == 1
    assert belief.certainty[0] > 1 / classes + 0.05
    assert belief.posterior[1] == pytest.approx(np.full(classes, 1 / classes))
    assert belief.weights == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(("model", "classes"), CASES)
@LIGHT
@given(history=answers(GOOD_WORKER), label=st.integers(0, 1))
def test_looking_ahead_is_learning(model, classes, history, label):
    """What `after_answer` predicts is what `learn` then does."""
    state, context, skill = (
        after(model, classes, history),
        ItemContext.plain(1),
        lopsided(model, classes, 5.0, 2.0)[None],
    )
    foreseen, learned = (each(state, context, skill, np.array([label])) for each in (model.after_answer, model.learn))
    assert (foreseen.votes == learned[0].votes).all()
    assert np.array_equal(foreseen.model_state, learned[0].model_state, equal_nan=True)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.kind)
def test_configuration_survives_json(model):
    """Every model is read back from its JSON, selected by its kind."""
    union = TypeAdapter(AnyWorkerModel)
    assert union.validate_json(union.dump_json(model)) == model
    assert union.validate_python({"kind": model.kind}) == model


@pytest.mark.parametrize("model", [Weighted(), OneCoin(), TwoCoin(), Confusion(), Auto()], ids=lambda model: model.kind)
def test_a_newcomer_is_better_than_chance(model):
    """A model that learns how often workers are right expects more of a newcomer than guessing."""
    assert model.accuracy(model.newcomer(2)[None])[0] == pytest.approx(0.8)


def test_two_coin_refuses_three_labels():
    """The job is refused when it is created."""
    with pytest.raises(ValidationError, match="at most 2 labels"):
        JobPolicy(labels=("a", "b", "c"), worker_model=TwoCoin())
    with pytest.raises(ValueError, match="exactly two labels"):
        TwoCoin().start(ItemContext.plain(1), 3)


@pytest.mark.parametrize("classes", [3, 4, 5])
def test_weighted_votes_follow_the_likelihood(classes):
    """The winner by weighted counts is the class with the strongest ballots, however many weak ballots oppose it."""
    rng, model, context = np.random.default_rng(classes), Weighted(), ItemContext.plain(400)
    state = model.start(context, classes)
    pulls = np.zeros((400, classes))
    for _ in range(6):
        right = rng.uniform(1, 99, 400)
        skill, label = np.stack([right, 100 - right], axis=1), rng.integers(0, classes, 400)
        state, _ = model.learn(state, context, skill, label)
        odds = right / 100 * (classes - 1) / (1 - right / 100)
        pulls[np.arange(400), label] += (odds - 1) / (odds + 1)
    alone = (pulls > pulls.max(axis=1, keepdims=True) - 1e-9).sum(axis=1) == 1
    assert alone.sum() > 100
    assert (model.read(state, context).winner[alone] == pulls[alone].argmax(axis=1)).all()


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.kind)
def test_no_items_are_no_trouble(model):
    """An empty list of items is judged like any other."""
    engine = Engine(JobPolicy(labels=("a", "b"), worker_model=model))
    context = ItemContext.plain(0)
    state, skill = engine.learn(
        engine.initial(context), context, np.empty((0, engine.newcomer().size)), np.empty(0, dtype=int)
    )
    assert len(engine.judge(state, context).priority) == 0
    assert skill.shape == (0, engine.newcomer().size)
