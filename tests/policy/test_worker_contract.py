"""Laws that every worker model keeps; a new one joins by a line in MODELS."""

from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from app.policy.belief import Facts
from app.policy.engine import Engine
from app.policy.prospect import Prospect
from app.policy.rules import Rules
from app.policy.workers import (
    Anonymous,
    AnyWorkerModel,
    Auto,
    Confusion,
    OneCoin,
    SpamFilter,
    Tiers,
    TwoCoin,
    Weighted,
)


def skill_of(model, classes, right, wrong):
    """A skill row of this model for a worker with so many right and wrong answers, errors spread evenly."""
    if isinstance(model, Anonymous):
        return np.empty(0)
    if isinstance(model, Tiers):
        return np.array([right / 4, 0.8 + wrong / 20])
    if isinstance(model, SpamFilter):
        return np.array([round(right), round(right) + round(wrong)], dtype=float)
    return type(model)(prior=(right, wrong)).newcomer(classes)


def lopsided(model, classes, right, wrong):
    """The same, but better at the first class than at the others where the model can tell."""
    skill = skill_of(model, classes, right, wrong)
    if model.tells_classes_apart:
        skill[0] += 3.0
    return skill


def renamed(model, skill, order):
    """The skill of the same worker once class c is called order[c]."""
    classes, back = len(order), np.argsort(order)
    if isinstance(model, TwoCoin):
        return skill.reshape(2, 2)[back].ravel()
    if isinstance(model, Confusion):
        return skill.reshape(classes, classes)[np.ix_(back, back)].ravel()
    return skill


MODELS = [
    Anonymous(),
    Tiers(),
    SpamFilter(),
    Weighted(),
    OneCoin(),
    TwoCoin(),
    Confusion(),
    Auto(),
]
CASES = [
    pytest.param(model, classes, id=f"{model.kind}-{classes}")
    for model in MODELS
    for classes in (2, 3, 5)
    if classes == 2 or not isinstance(model, TwoCoin)
]
ORDERLESS = [Anonymous(), SpamFilter(), Weighted(), Tiers(tiers={"only": {"initial": 1.2}})]

LIGHT = settings(max_examples=20, deadline=None)  # twenty cases each
GOOD_WORKER = st.tuples(st.floats(3, 12), st.floats(0.3, 1.2))
ANY_WORKER = st.tuples(st.floats(0.5, 12), st.floats(0.5, 12))


def answers(worker, most=8):
    """A history on one item: (right, wrong) of each worker, and the answer as a fraction of the classes."""
    return st.lists(st.tuples(worker, st.floats(0, 0.999)), max_size=most)


def told(model, classes, history, make=skill_of, facts=None):
    """The state after a history."""
    facts = facts or Facts.plain(1)

    def step(state, answer):
        (right, wrong), where = answer
        skill = make(model, classes, right, wrong)[None]
        return model.learn(state, facts, skill, np.array([int(where * classes)]))[0]

    return reduce(step, history, model.start(facts, classes))


@pytest.mark.parametrize(("model", "classes"), CASES)
@LIGHT
@given(history=answers(ANY_WORKER, 6), worker=ANY_WORKER, random=st.randoms(use_true_random=False))
def test_relabeling_classes_permutes_results(model, classes, history, worker, random):
    """No class is special: calling class c order[c] moves its numbers, and changes none."""
    order = np.array(random.sample(range(classes), classes))
    facts = Facts.plain(1)
    here, there = model.start(facts, classes), model.start(facts, classes)
    for (right, wrong), where in history:
        skill, label = lopsided(model, classes, right, wrong), int(where * classes)
        here, learned = model.learn(here, facts, skill[None], np.array([label]))
        there, also = model.learn(there, facts, renamed(model, skill, order)[None], np.array([order[label]]))
        assert also[0] == pytest.approx(renamed(model, learned[0], order), rel=1e-9)
    skill = lopsided(model, classes, *worker)
    now, then = (
        Prospect.of(model, here, facts, skill[None]),
        Prospect.of(model, there, facts, renamed(model, skill, order)[None]),
    )
    for name in ("votes", "weights", "alpha", "posterior"):
        assert getattr(then.now, name)[0, order] == pytest.approx(getattr(now.now, name)[0], rel=1e-8, abs=1e-10)
    assert then.chances[0, order] == pytest.approx(now.chances[0], rel=1e-9)


@pytest.mark.parametrize(("model", "classes"), CASES)
@LIGHT
@given(history=answers(ANY_WORKER), random=st.randoms(use_true_random=False))
def test_votes_are_the_same_in_any_order(model, classes, history, random):
    """Whatever else an order of answers changes, it does not change how many there are."""
    shuffled = random.sample(history, len(history))
    assert (told(model, classes, history).votes == told(model, classes, shuffled).votes).all()


@pytest.mark.parametrize("model", ORDERLESS, ids=lambda model: model.kind)
@LIGHT
@given(history=answers(ANY_WORKER), random=st.randoms(use_true_random=False))
def test_counting_models_read_the_same_in_any_order(model, history, random):
    """Where votes keep no trace of when they came, neither does the belief."""

    def make(model, classes, right, wrong):
        return model.newcomer(classes) if isinstance(model, Tiers) else skill_of(model, classes, right, wrong)

    facts, shuffled = Facts.plain(1), random.sample(history, len(history))
    here, there = (model.read(told(model, 3, each, make), facts) for each in (history, shuffled))
    assert here.alpha == pytest.approx(there.alpha, rel=1e-9)
    assert here.squares == pytest.approx(there.squares)


@pytest.mark.parametrize("model", [Tiers(), OneCoin(), TwoCoin()], ids=lambda model: model.kind)
def test_order_matters_where_it_says_so(model):
    """A good vote weighs by its round (tiers); moment matching forgets a little with every step (coins)."""
    early, late = [((9.0, 6.0), 0.0), ((4.0, 1.0), 0.9)], [((4.0, 1.0), 0.9), ((9.0, 6.0), 0.0)]
    here, there = (model.read(told(model, 2, each), Facts.plain(1)).alpha for each in (early, late))
    assert np.abs(here - there).max() > 1e-4


def test_confusion_depends_on_order_through_the_workers_alone():
    """Bayes itself is orderless: with the same rows for each answer the item ends the same."""
    history = [((9.0, 6.0), 0.0), ((4.0, 1.0), 0.9), ((5.0, 2.0), 0.4)]
    here, there = (told(Confusion(), 3, each).evidence for each in (history, history[::-1]))
    assert here == pytest.approx(there)


@pytest.mark.parametrize(("model", "classes"), CASES)
def test_many_items_are_judged_as_one_by_one(model, classes):
    """Row i of the arrays is what item i would be alone."""
    rng = np.random.default_rng(11)
    items, facts = 40, Facts.plain(40)
    state, alone = model.start(facts, classes), [model.start(Facts.plain(1), classes) for _ in range(items)]
    for _ in range(5):
        skill = np.stack([lopsided(model, classes, *rng.uniform(0.5, 9, 2)) for _ in range(items)])
        label = rng.integers(0, classes, items)
        state, learned = model.learn(state, facts, skill, label)
        steps = [model.learn(alone[i], Facts.plain(1), skill[[i]], label[[i]]) for i in range(items)]
        alone = [step[0] for step in steps]
        assert learned == pytest.approx(np.concatenate([step[1] for step in steps]), rel=1e-9)
    together = Prospect.of(model, state, facts, skill)
    for i in range(items):
        single = Prospect.of(model, alone[i], Facts.plain(1), skill[[i]])
        assert together.now.posterior[i] == pytest.approx(single.now.posterior[0], rel=1e-8)
        assert together.chances[i] == pytest.approx(single.chances[0], rel=1e-9)


@pytest.mark.parametrize(("model", "classes"), CASES)
@LIGHT
@given(history=answers(ANY_WORKER), worker=ANY_WORKER)
def test_chances_are_a_distribution(model, classes, history, worker):
    """Some answer comes, and none with a negative chance."""
    skill = lopsided(model, classes, *worker)[None]
    chances = Prospect.of(model, told(model, classes, history), Facts.plain(1), skill).chances
    assert chances.sum() == pytest.approx(1)
    assert (chances >= 0).all()


@pytest.mark.parametrize(("model", "classes"), CASES)
@LIGHT
@given(history=answers(GOOD_WORKER, 7), worker=GOOD_WORKER)
def test_agreeing_with_the_leader_never_lowers_it(model, classes, history, worker):
    """A worker who is better than chance and names the leading class makes it no less likely."""
    state, facts = told(model, classes, history), Facts.plain(1)
    before = model.read(state, facts)
    leader = before.leader
    after = model.read(model.learn(state, facts, skill_of(model, classes, *worker)[None], leader)[0], facts)
    assert after.posterior[0, leader[0]] >= before.posterior[0, leader[0]] - 1e-9


@pytest.mark.parametrize("model", [OneCoin(), TwoCoin(), Confusion(), Auto()], ids=lambda model: model.kind)
@LIGHT
@given(history=answers(ANY_WORKER), coins=st.floats(0.5, 20), label=st.integers(0, 1))
def test_a_coin_teaches_nothing(model, history, coins, label):
    """A worker who is right half of the time leaves what is believed of the item as it was."""
    state, facts = told(model, 2, history), Facts.plain(1)
    after, _ = model.learn(state, facts, skill_of(model, 2, coins, coins)[None], np.array([label]))
    assert after.evidence == pytest.approx(state.evidence, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(("model", "classes"), CASES)
def test_learning_changes_no_argument(model, classes):
    """State and skill that went in are as they were."""
    facts = Facts.plain(2)
    state = model.start(facts, classes)
    skill = np.stack([lopsided(model, classes, 6.0, 2.0)] * 2)
    kept = [array.copy() for array in (state.votes, state.evidence, skill)]
    model.learn(state, facts, skill, np.array([0, 1]))
    for array, before in zip((state.votes, state.evidence, skill), kept, strict=True):
        assert (array == before).all()


@pytest.mark.parametrize(("model", "classes"), CASES)
def test_an_items_own_prior_tips_the_balance(model, classes):
    """The class that the prior favours leads before any answer; an item without prior stays even."""
    prior = np.full((2, classes), 0.1 / (classes - 1))
    prior[0, 1], prior[1] = 0.9, np.nan
    facts = Facts(np.ones(2), np.zeros(2), np.arange(2), prior)
    belief = model.read(model.start(facts, classes), facts)
    assert belief.leader[0] == 1
    assert belief.certainty[0] > 1 / classes + 0.05
    assert belief.posterior[1] == pytest.approx(np.full(classes, 1 / classes))
    assert belief.weights == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(("model", "classes"), CASES)
@LIGHT
@given(history=answers(GOOD_WORKER), label=st.integers(0, 1))
def test_looking_ahead_is_learning(model, classes, history, label):
    """What `answered` foresees is what `learn` then does."""
    state, facts, skill = told(model, classes, history), Facts.plain(1), lopsided(model, classes, 5.0, 2.0)[None]
    foreseen, learned = (each(state, facts, skill, np.array([label])) for each in (model.answered, model.learn))
    assert (foreseen.votes == learned[0].votes).all()
    assert np.array_equal(foreseen.evidence, learned[0].evidence, equal_nan=True)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.kind)
def test_configuration_survives_json(model):
    """Every model is its own schema, told apart by its kind."""
    union = TypeAdapter(AnyWorkerModel)
    assert union.validate_json(union.dump_json(model)) == model
    assert union.validate_python({"kind": model.kind}) == model


@pytest.mark.parametrize("model", [Weighted(), OneCoin(), TwoCoin(), Confusion(), Auto()], ids=lambda model: model.kind)
def test_a_newcomer_is_better_than_chance(model):
    """A model that learns how often workers are right expects more of a newcomer than guessing."""
    assert model.accuracy(model.newcomer(2)[None])[0] == pytest.approx(0.8)


def test_two_coin_refuses_three_labels():
    """A clear refusal when the job is created, not a wrong number later."""
    with pytest.raises(ValidationError, match="at most 2 labels"):
        Rules(labels=("a", "b", "c"), worker_model=TwoCoin())
    with pytest.raises(ValueError, match="exactly two labels"):
        TwoCoin().start(Facts.plain(1), 3)


@pytest.mark.parametrize("classes", [3, 4, 5])
def test_weighted_votes_follow_the_likelihood(classes):
    """The winner by weighted counts is the class whose ballots pull most, however many weak ballots oppose it."""
    rng, model, facts = np.random.default_rng(classes), Weighted(), Facts.plain(400)
    state = model.start(facts, classes)
    pulls = np.zeros((400, classes))
    for _ in range(6):
        right = rng.uniform(1, 99, 400)
        skill, label = np.stack([right, 100 - right], axis=1), rng.integers(0, classes, 400)
        state, _ = model.learn(state, facts, skill, label)
        odds = right / 100 * (classes - 1) / (1 - right / 100)
        pulls[np.arange(400), label] += (odds - 1) / (odds + 1)
    alone = (pulls > pulls.max(axis=1, keepdims=True) - 1e-9).sum(axis=1) == 1
    assert alone.sum() > 100
    assert (model.read(state, facts).winner[alone] == pulls[alone].argmax(axis=1)).all()


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.kind)
def test_no_items_are_no_trouble(model):
    """An empty list of items is judged like any other."""
    engine = Engine(Rules(labels=("a", "b"), worker_model=model))
    facts = Facts.plain(0)
    state, skill = engine.learn(
        engine.initial(facts), facts, np.empty((0, engine.newcomer().size)), np.empty(0, dtype=int)
    )
    assert len(engine.judge(state, facts).priority) == 0
    assert skill.shape == (0, engine.newcomer().size)
