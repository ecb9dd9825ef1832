"""The shortfall is exact: some sequence of that many votes satisfies the requirement, and no shorter one does."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.policy.core.ballots import UNKNOWN
from app.policy.core.belief import Belief, ItemContext, State
from app.policy.core.lookahead import Lookahead
from app.policy.requirements import Count, Posterior, Requirement
from app.policy.worker_models import Anonymous, Auto, Confusion

# (classes, most votes at the start, most votes in total); every shortfall of the tested kinds is within the total
SMALL_STATES = [(2, 6, 26), (3, 4, 18)]


def same_item(rows: int) -> ItemContext:
    """The item with number 5, seed 11 and cost 1, repeated: all rows have the same random draws."""
    return ItemContext(np.ones(rows), np.zeros(rows), np.full(rows, 5), None, 11)


def prospect_of(votes: np.ndarray) -> Lookahead:
    return Lookahead.of(Anonymous(), State(votes, np.empty((len(votes), 0))), same_item(len(votes)))


def all_votes(classes: int, most: int) -> np.ndarray:
    return np.array([votes for votes in product(range(most + 1), repeat=classes) if sum(votes) <= most], dtype=float)


@pytest.mark.parametrize(("classes", "start", "most"), SMALL_STATES)
def test_shortfall_is_the_shortest_way(requirement, classes, start, most):
    """From every small state, the nearest satisfied state is exactly as many votes away as the shortfall says."""
    reachable = all_votes(classes, most)
    good = reachable[requirement.satisfied(Belief.of(reachable, same_item(len(reachable))))]
    states = all_votes(classes, start)
    on_the_way = (good[None] >= states[:, None]).all(axis=2)
    distance = np.where(on_the_way, (good.sum(axis=1)[None] - states.sum(axis=1)[:, None]), np.inf).min(axis=1)
    assert np.isfinite(distance).all()
    np.testing.assert_array_equal(requirement.shortfall(prospect_of(states)), distance)


@pytest.mark.parametrize(("classes", "start"), [(2, 4), (3, 3)])
def test_shortfalls_are_the_first_time_a_class_wins(requirement, classes, start):
    """Votes for one class are added one by one until the requirement holds and that class leads alone."""
    states = all_votes(classes, start)
    found = requirement.shortfalls(prospect_of(states))
    for c in range(classes):
        first = np.full(len(states), np.inf)
        for further in range(40):
            votes = states + further * np.eye(classes)[c]
            alone = votes[:, c] > np.delete(votes, c, axis=1).max(axis=1)
            wins = alone & requirement.satisfied(Belief.of(votes, same_item(len(votes))))
            first = np.where(np.isinf(first) & wins, further, first)
        assert np.isfinite(first).all()
        np.testing.assert_array_equal(found[:, c], first)


@given(
    st.sampled_from([Auto(), Confusion(), Confusion(prior=(2.0, 3.0)), Auto(prior=(30.0, 1.0))]),
    st.integers(2, 5),
    st.sampled_from([0.6, 0.8, 0.95, 0.999]),
    st.data(),
)
def test_looking_ahead_at_once_is_what_walking_finds(model, classes, effective_requirement, data):
    """Models with a true class can predict any number of votes: search and step-by-step counting agree."""
    chances = data.draw(st.lists(st.floats(1e-6, 1), min_size=classes, max_size=classes))
    model_state = np.log(np.array([chances]) / sum(chances))
    lookahead = Lookahead.of(model, State(np.zeros((1, classes)), model_state), ItemContext.plain(1))
    requirement = Posterior(min_probability=effective_requirement)
    assert requirement.shortfalls(lookahead).tolist() == Requirement.shortfalls(requirement, lookahead).tolist()


@given(
    st.sampled_from([Auto(), Confusion(), Confusion(prior=(2.0, 3.0)), Auto(prior=(30.0, 1.0))]),
    st.integers(2, 5),
    st.sampled_from([1, 3, 40, 100]),
    st.data(),
)
def test_a_number_of_labels_is_predicted_at_once(model, classes, labels, data):
    """The same number for every class as by adding votes one by one, whatever has been answered."""
    context = ItemContext.plain(2)
    state, skill = model.start(context, classes), np.tile(model.newcomer(classes), (2, 1))
    for answers in data.draw(st.lists(st.lists(st.integers(0, classes - 1), min_size=2, max_size=2), max_size=6)):
        state, skill = model.learn(state, context, skill, np.array(answers))
    lookahead, requirement = Lookahead.of(model, state, context), Count(labels=labels)
    assert requirement.shortfalls(lookahead).tolist() == Requirement.shortfalls(requirement, lookahead).tolist()


@given(st.integers(2, 5), st.data())
def test_one_answer_foreseen_is_that_answer(classes, data):
    """In every stage of `auto`, the predicted posterior after an answer equals the learned one, also on gold items."""
    auto = Auto()
    stages = auto.stages(classes).models
    model = data.draw(st.sampled_from([*stages, Confusion(prior=(2.0, 3.0))]))
    context = replace(ItemContext.plain(3), gold=np.array([UNKNOWN, UNKNOWN, 1]))
    state, skill = model.start(context, classes), np.tile(model.newcomer(classes), (3, 1))
    for labels in data.draw(st.lists(st.lists(st.integers(0, classes - 1), min_size=3, max_size=3), max_size=4)):
        state, skill = model.learn(state, context, skill, np.array(labels))
    lookahead = Lookahead.of(model, state, context, skill)
    assert lookahead.posterior_after_votes is not None
    for c in range(classes):
        np.testing.assert_allclose(lookahead.posterior_after(c), lookahead.after(c).now.posterior, atol=1e-12)
