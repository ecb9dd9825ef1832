"""Online majority gives the label of the whole majority vote, by trying all sequences of answers."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.policy.core.belief import NOBODY, Belief, ItemContext, State
from app.policy.core.decision import Decision
from app.policy.core.lookahead import Lookahead
from app.policy.engine import Engine
from app.policy.job_policy import JobPolicy
from app.policy.requirements import OnlineMajority, Requirement
from app.policy.worker_models import Anonymous, Auto, Weighted


def counts_after_each(sequences: np.ndarray, classes: int) -> np.ndarray:
    """The votes after 0, 1, ... n answers, shape (sequences, n + 1, classes)."""
    added = np.eye(classes)[sequences]
    return np.concatenate([np.zeros((len(sequences), 1, classes)), added.cumsum(axis=1)], axis=1)


def can_still_differ(votes: tuple[float, ...], remaining: int) -> bool:
    """Whether two ways of giving the remaining votes end with different majorities; None is a tie."""
    ends = set()
    for rest in product(range(len(votes)), repeat=remaining):
        end = Counter(dict(enumerate(votes))) + Counter(rest)
        (first, most), *others = end.most_common()
        ends.add(None if others and others[0][1] == most else first)
    return len(ends) > 1


@pytest.mark.parametrize(("labels", "classes"), [(1, 2), (2, 2), (5, 2), (6, 2), (9, 2), (5, 3), (6, 3), (5, 4)])
def test_every_sequence_ends_with_the_majority_of_all(labels, classes):
    """The first time that the rule holds, its label is that of all n votes, and no earlier stop would be as safe."""
    rule = OnlineMajority(labels=labels)
    sequences = np.array(list(product(range(classes), repeat=labels)))
    votes = counts_after_each(sequences, classes)
    flat = Belief.of(votes.reshape(-1, classes))
    stops, winner = (each.reshape(votes.shape[:2]) for each in (rule.satisfied(flat), rule.winner(flat)))
    assert stops[:, -1].all()
    stopped = stops.argmax(axis=1)
    rows = np.arange(len(sequences))
    ordered = np.sort(votes[:, -1], axis=1)
    tie = ordered[:, -1] == ordered[:, -2]
    majority = np.where(tie, NOBODY, votes[:, -1].argmax(axis=1))
    np.testing.assert_array_equal(winner[rows, stopped], majority)
    for given_votes in {tuple(each) for each in votes.reshape(-1, classes).tolist()}:
        remaining = labels - int(sum(given_votes))
        assert rule.satisfied(Belief.of(given_votes))[0] != can_still_differ(given_votes, remaining)


def test_it_needs_fewer_answers_than_the_whole_vote():
    """By the binomial: with workers right in .8, five votes are decided after 3, 4 or 5, on average 3.56 votes."""
    votes = counts_after_each(np.array(list(product(range(2), repeat=5))), 2)
    stops = OnlineMajority(labels=5).satisfied(Belief.of(votes.reshape(-1, 2))).reshape(votes.shape[:2])
    chance = 0.8 ** votes[:, -1, 0] * 0.2 ** votes[:, -1, 1]
    by_hand = 3 * (0.8**3 + 0.2**3) + 4 * 3 * (0.8**3 * 0.2 + 0.2**3 * 0.8) + 5 * 6 * 0.8**2 * 0.2**2
    assert chance @ stops.argmax(axis=1) == pytest.approx(by_hand)


def test_a_tie_of_all_votes_gives_the_item_up():
    engine = Engine(
        JobPolicy(labels=("cat", "dog"), requirement=OnlineMajority(labels=4), worker_model={"kind": "anonymous"})
    )
    judgement = engine.judge(State(np.array([[2.0, 2.0], [2.0, 1.0]]), np.empty((2, 0))), ItemContext.plain(2))
    tie, open_item = engine.verdict(judgement, 0), engine.verdict(judgement, 1)
    assert (tie.decision, tie.reason.code, tie.label) == (Decision.GIVE_UP, "tie", None)
    assert open_item.decision is Decision.CONTINUE
    assert open_item.reason.message == "2 votes to 1. The 1 vote that is missing from 4 can change the majority."
    assert judgement.max_open_assignments.tolist() == [0, 1]


@given(st.sampled_from([Anonymous(), Auto(), Weighted()]), st.integers(2, 4), st.integers(1, 9), st.data())
def test_the_formula_is_what_walking_finds(model, classes, labels, data):
    """With any worker model, adding votes one by one gives the same shortfalls, where the model breaks no ties."""
    context, state = ItemContext.plain(1), model.start(ItemContext.plain(1), classes)
    skill = model.newcomer(classes)[None]
    for answer in data.draw(st.lists(st.integers(0, classes - 1), max_size=11)):
        state, _ = model.learn(state, context, skill, np.array([answer]))
    lookahead, rule = Lookahead.of(model, state, context), OnlineMajority(labels=labels)
    assert rule.shortfalls(lookahead).tolist() == Requirement.shortfalls(rule, lookahead).tolist()


@pytest.mark.parametrize(("labels", "fewest"), [(1, 1), (2, 2), (5, 3), (27, 14)])
def test_fewest_labels_are_more_than_half(labels, fewest):
    assert OnlineMajority(labels=labels).fewest_labels(Anonymous(), 2) == fewest
