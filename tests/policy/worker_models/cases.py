"""Worker models, workers and jobs for the tests of worker models; add a new model to MODELS."""

from functools import reduce

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st

from app.policy.core.ballots import Ballots
from app.policy.core.belief import ItemContext
from app.policy.worker_models import Anonymous, Auto, Confusion, OneCoin, SpamFilter, Tiers, TwoCoin, Weighted
from app.policy.worker_models.inference.knows_or_guesses import KnowsOrGuesses


def skill_of(model, classes, right, wrong):
    """A skill row of this model for a worker with these numbers of right and wrong answers, errors spread evenly."""
    if isinstance(model, Anonymous):
        return np.empty(0)
    if isinstance(model, Tiers):
        return np.array([right / 4, 0.8 + wrong / 20])
    if isinstance(model, SpamFilter):
        return np.array([round(right), round(right) + round(wrong)], dtype=float)
    return type(model)(prior=(right, wrong)).newcomer(classes)


def lopsided(model, classes, right, wrong):
    """The same, but better at the first class than at the others, if the model has a row per class."""
    skill = skill_of(model, classes, right, wrong)
    if isinstance(model, TwoCoin | Confusion):
        skill[0] += 3.0
    if isinstance(model, KnowsOrGuesses):
        skill[-classes] += 0.3
    return skill


def renamed(model, skill, order):
    """The skill of the same worker when class c is renamed order[c]."""
    classes, back = len(order), np.argsort(order)
    if isinstance(model, TwoCoin):
        return skill.reshape(2, 2)[back].ravel()
    if isinstance(model, Confusion):
        return skill.reshape(classes, classes)[np.ix_(back, back)].ravel()
    if isinstance(model, KnowsOrGuesses):
        return np.concatenate([skill[:-classes], skill[-classes:][back]])
    return skill


def evidence(model, skill):
    """How many answers are behind each skill."""
    return (skill[:, :2] if isinstance(model, KnowsOrGuesses) else skill).sum(axis=1)


def some_order(model, classes, random):
    """New names for the classes: any, or those of the reversed scale if the model looks at the order."""
    each = range(classes)
    return np.array(each[::-1] if isinstance(model, KnowsOrGuesses) else random.sample(each, classes))


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
IN_ORDER = Auto().in_order(5)  # what `auto` is where labels are in order; never a job's own configuration
CASES += [pytest.param(IN_ORDER, classes, id=f"in-order-{classes}") for classes in (3, 5)]
ORDERLESS = [Anonymous(), SpamFilter(), Weighted(), Tiers(tiers={"only": {"initial": 1.2}})]

LIGHT = settings(max_examples=20, deadline=None)
GOOD_WORKER = st.tuples(st.floats(3, 12), st.floats(0.3, 1.2))
ANY_WORKER = st.tuples(st.floats(0.5, 12), st.floats(0.5, 12))


def answers(worker, most=8):
    """A history on one item: (right, wrong) of each worker, and the answer as a fraction of the classes."""
    return st.lists(st.tuples(worker, st.floats(0, 0.999)), max_size=most)


def after(model, classes, history, make=skill_of, context=None):
    """The state after a history."""
    context = context or ItemContext.plain(1)

    def step(state, answer):
        (right, wrong), where = answer
        skill = make(model, classes, right, wrong)[None]
        return model.learn(state, context, skill, np.array([int(where * classes)]))[0]

    return reduce(step, history, model.start(context, classes))


ITEMS, WORKERS = 5, 4
ANSWERS = st.lists(st.tuples(st.integers(0, ITEMS - 1), st.integers(0, WORKERS - 1), st.floats(0, 0.999)), max_size=25)
CROWD = st.lists(st.tuples(st.floats(0.5, 12), st.floats(0.5, 12)), min_size=WORKERS, max_size=WORKERS)


def job(answers, classes):
    item, worker, where = zip(*answers, strict=True) if answers else ((), (), ())
    label = [int(each * classes) for each in where]
    return Ballots.of(item, worker, label, items=ITEMS, workers=WORKERS, classes=classes)


def context_with_a_prior(classes):
    prior = np.full((ITEMS, classes), np.nan)
    prior[1] = np.linspace(1, 3, classes) / np.linspace(1, 3, classes).sum()
    return ItemContext(np.ones(ITEMS), np.zeros(ITEMS), np.arange(ITEMS), prior, 3, np.array([-1, -1, 1, -1, -1]))
