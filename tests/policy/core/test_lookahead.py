"""Looking at a few of many labels gives what looking at each of them, answer by answer, gives."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.policy.core import lookahead as lookahead_module
from app.policy.core.belief import ItemContext, State
from app.policy.core.dirichlet import chance_of_being_largest
from app.policy.core.lookahead import Lookahead
from app.policy.engine import Engine
from app.policy.job_policy import JobPolicy
from app.policy.requirements import Count, Margin, Posterior, Ratio, Requirement, Significance
from app.policy.worker_models import Anonymous, Auto, Confusion, OneCoin, SpamFilter, Tiers, Weighted, WorkerModel
from bench.many_labels import ALLOCATIONS, REQUIREMENTS
from tests.depth import depth

MODELS = [
    Anonymous(),
    Tiers(),
    Tiers(tiers={"good": {"initial": 1.5, "growth": 1.2}}),
    SpamFilter(),
    Weighted(),
    OneCoin(),
    OneCoin(prior=(2.0, 1.5)),
    Auto(),
    Confusion(),
]
WALKED = [
    Ratio(min_ratio=3),
    Significance(alpha=0.1),
    Margin(),
    Margin(c=1, epsilon=0.3, rounding="random"),
    Posterior(min_probability=0.8),
    Posterior(min_probability=0.999),
    Count(labels=3),
]


def answer_by_answer(model: WorkerModel) -> WorkerModel:
    """The same model without any short cut: all labels differ, and every state is made of one answer after another."""

    def after_answers(_self, state, context, skill, label, times):
        states = []
        for _ in range(times):
            state = model.after_answer(state, context, skill, label)
            states.append(state)
        width = max(each.model_state.shape[1] for each in states)
        padded = [
            np.pad(each.model_state, ((0, 0), (0, width - each.model_state.shape[1])), constant_values=np.nan)
            for each in states
        ]
        return State(np.concatenate([each.votes for each in states]), np.concatenate(padded))

    short_cuts = {
        "treats_labels_alike": False,
        "after_answers": after_answers,
        "posterior_after": WorkerModel.posterior_after,
        "__annotations__": {},
        "__module__": __name__,
    }
    return type("AnswerByAnswer", (type(model),), short_cuts)(**model.model_dump())


@st.composite
def items(draw, model, *, most_classes=8):
    """An item with answers of workers of different skill, perhaps with a prior."""
    classes = draw(st.integers(2, most_classes))
    prior = None
    if draw(st.booleans()):
        shares = np.array([draw(st.lists(st.sampled_from([0.1, 0.2, 0.7]), min_size=classes, max_size=classes))])
        prior = shares / shares.sum()
    context = ItemContext(np.ones(1), np.zeros(1), np.array([draw(st.integers(1, 99))]), prior, 7)
    state, skill = model.start(context, classes), model.newcomer(classes)[None]
    for label in draw(st.lists(st.integers(0, classes - 1), max_size=6)):
        state, learned = model.learn(state, context, skill, np.array([label]))
        skill = learned if draw(st.booleans()) else skill
        if model.scores_finished_items and draw(st.booleans()):
            skill = model.score(skill, np.array([draw(st.booleans())]))
    return state, context, skill


@pytest.fixture(autouse=True, params=[0, 8], ids=["one-for-all", "as-set"])
def _few(request, monkeypatch):
    """Let the likeliest label stand for the others with few labels, too."""
    monkeypatch.setattr(lookahead_module, "_FEW", request.param)


@settings(deadline=None, max_examples=depth(150, 400), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_few_labels_stand_for_all(data):
    """Every decision about an item, for every worker model, requirement and allocation."""
    model = data.draw(st.sampled_from(MODELS))
    state, context, skill = data.draw(items(model))
    parts = {
        "requirement": data.draw(st.sampled_from(REQUIREMENTS)),
        "allocation": data.draw(st.sampled_from(ALLOCATIONS)),
    }
    labels = tuple(map(str, range(state.votes.shape[1])))
    engine, direct = (Engine(JobPolicy(labels=labels, worker_model=model, **parts)) for _ in range(2))
    object.__setattr__(direct, "model", answer_by_answer(model))
    found, expected = (each.judge(state, context) for each in (engine, direct))
    for name in ("winner", "closed", "max_open_assignments"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), name)
    for name in ("priority", "progress", "confidence"):
        np.testing.assert_allclose(
            getattr(found, name), getattr(expected, name), rtol=1e-8, atol=1e-10, err_msg=f"{name} of {parts}"
        )
    np.testing.assert_allclose(
        engine.value_for(state, context, skill), direct.value_for(state, context, skill), rtol=1e-8, atol=1e-10
    )


@settings(deadline=None, max_examples=depth(80, 200), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_votes_are_added_one_by_one(data):
    """The shortfalls equal those of the plainest search, where a model learns answer by answer."""
    model = data.draw(st.sampled_from([Tiers(), Weighted(), OneCoin(), OneCoin(prior=(2.0, 1.5))]))
    state, context, skill = data.draw(items(model, most_classes=5))
    requirement = data.draw(st.sampled_from(WALKED))
    lookahead = Lookahead.of(model, state, context, skill)
    found = requirement.shortfalls(lookahead)[0]
    expected = np.array([_first_time(requirement, lookahead, c) for c in range(state.votes.shape[1])])
    contenders = lookahead.contenders.label
    assert found[contenders].tolist() == expected[contenders].tolist()
    assert found.min() == expected.min()


def _first_time(requirement: Requirement, lookahead: Lookahead, c: int) -> int:
    for further in range(64):
        if requirement.satisfied(lookahead.now)[0] and lookahead.now.leads_alone(c)[0]:
            return further
        lookahead = lookahead.after(c)
    return 64


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), times=st.integers(1, 12))
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.model_dump_json())
def test_several_states_at_once_are_those_of_one_answer_after_another(model, data, times):
    state, context, skill = data.draw(items(model, most_classes=4))
    label = np.array([data.draw(st.integers(0, state.votes.shape[1] - 1))])
    at_once = model.after_answers(state, context, skill, label, times)
    plain = answer_by_answer(model).after_answers(state, context, skill, label, times)
    np.testing.assert_array_equal(at_once.votes, plain.votes)
    again = context.rows(np.zeros(times, dtype=np.intp))
    found, expected = model.read(at_once, again), model.read(plain, again)
    for name in ("weights", "squares", "alpha", "posterior"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-9, atol=1e-12, err_msg=name)


def test_200_shares_of_which_195_are_equal():
    """By simulation of the Dirichlet distribution: a standard error of .0005 at most."""
    alpha = np.ones(200)
    alpha[:5] = 9.0, 6.0, 4.0, 2.0, 2.0
    shares = np.random.default_rng(1).gamma(alpha, size=(200_000, 200))
    drawn = np.bincount(shares.argmax(axis=1), minlength=200) / len(shares)
    found = chance_of_being_largest(alpha[None])[0]
    assert found[:5] == pytest.approx(drawn[:5], abs=0.004)
    assert found[5:].sum() == pytest.approx(drawn[5:].sum(), abs=0.004)
    assert len(set(found[5:].tolist())) == 1
