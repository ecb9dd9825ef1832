"""What is specific to each worker model, with numbers from the papers or from independent arithmetic."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from scipy import optimize

from app.policy.core.belief import ItemContext, State
from app.policy.worker_models import Anonymous, Auto, Confusion, OneCoin, SpamFilter, Tiers, TwoCoin, Weighted
from app.policy.worker_models.weighted import most_likely_share, weighted_counts

FACTS = ItemContext.plain(1)
RELIABILITY = st.floats(0.02, 0.98)


def ballots(*pairs, classes=2):
    """A state of one item with these (label, theta)."""
    votes = np.bincount([label for label, _ in pairs], minlength=classes).astype(float)
    return State(votes[None], np.array(pairs, dtype=float).reshape(1, -1))


def test_tiers_weigh_by_the_round_and_keep_the_weight():
    """Weights are lambda gamma^(t-1): good, good, bad at 10 % per round give 1, 1.1 and 0.81, and stay the same."""
    model = Tiers()
    state = model.start(FACTS, 2)
    for tier, label in (("good", 0), ("good", 0), ("bad", 1)):
        state, _ = model.learn(state, FACTS, model.skill_of(tier)[None], np.array([label]))
    belief = model.read(state, FACTS)
    assert belief.weights[0] == pytest.approx([2.1, 0.81])
    assert belief.squares[0] == pytest.approx(1 + 1.21 + 0.6561)
    assert belief.alpha[0] == pytest.approx([3.1, 1.81])


def test_the_first_tier_takes_the_newcomers():
    """The order in which tiers are named matters."""
    model = Tiers.model_validate({"tiers": {"silver": {"initial": 0.9, "growth": 1.0}, "gold": {"initial": 2}}})
    assert model.newcomer(2).tolist() == [0.9, 1.0]


def test_a_tier_cannot_outgrow_floats():
    """After ten thousand votes a growing weight is still a number."""
    state = State(np.array([[9999.0, 0.0]]), np.array([[9999.0, 0.0, 9999.0]]))
    after, _ = Tiers().learn(state, FACTS, np.array([[1.0, 1.5]]), np.array([1]))
    assert np.isfinite(after.model_state).all()


def test_a_spammers_vote_does_not_count():
    """Only this worker's vote leaves the counts unchanged."""
    model, context = SpamFilter(alpha=0.1, min_labels=10), ItemContext.plain(3)
    skill = np.array([[5.0, 10.0], [9.0, 10.0], [3.0, 6.0]])
    state, _ = model.learn(model.start(context, 2), context, skill, np.array([0, 0, 0]))
    assert state.votes.tolist() == [[0, 0], [1, 0], [1, 0]]


def test_who_guesses_among_five_labels_is_right_once_in_five():
    """A worker who is right half of the time is no guesser with five labels, but is one with two."""
    model, context = SpamFilter(), ItemContext.plain(2)
    guesser, good = [6.0, 30.0], [15.0, 30.0]
    for classes, counted in ((5, [0, 1]), (2, [1, 0])):
        state, _ = model.learn(model.start(context, classes), context, np.array([guesser, good]), np.array([0, 0]))
        assert state.votes[:, 0].tolist() == counted


def test_scores_make_and_unmake_a_spammer():
    """Skill changes when items finish: a guesser is found at the tenth item, and a better record clears the worker."""
    model = SpamFilter(alpha=0.1, min_labels=10)
    skill = model.newcomer(2)[None]
    for agreed in [True, False] * 5:
        assert not model.is_spammer(skill, classes=2)[0]
        skill = model.score(skill, np.array([agreed]))
    assert model.is_spammer(skill, classes=2)[0]
    for _ in range(20):
        skill = model.score(skill, np.array([True]))
    assert skill.tolist() == [[25.0, 30.0]]
    assert not model.is_spammer(skill, classes=2)[0]


def test_a_test_that_no_worker_can_pass_is_refused():
    """Five of five has p = 0.0625: at level 0.05 even a perfect worker would be a spammer."""
    with pytest.raises(ValidationError, match="perfect worker"):
        SpamFilter(alpha=0.05, min_labels=5)
    assert SpamFilter(alpha=0.05, min_labels=6).min_labels == 6


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 1), RELIABILITY), max_size=8))
def test_weighted_shares_maximise_the_likelihood(pairs):
    """P of Eq. 9, pseudo-ballots included, is the maximum of the likelihood by direct search."""
    pull = np.array([[(2 * theta - 1) * (1 if label == 0 else -1) for label, theta in pairs]])

    def minus_log_likelihood(share):
        of_ballots = sum(
            np.log(theta * p + (1 - theta) * (1 - p))
            for label, theta in pairs
            for p in [share if label == 0 else 1 - share]
        )
        return -(of_ballots + np.log(share) + np.log(1 - share))

    found = optimize.minimize_scalar(minus_log_likelihood, bounds=(1e-9, 1 - 1e-9), options={"xatol": 1e-10}).x
    assert most_likely_share(pull)[0] == pytest.approx(found, abs=1e-6)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 1), RELIABILITY), max_size=8))
def test_weighted_counts_only_move_votes(pairs):
    """a~ + b~ = a + b, pseudo-votes included (Eq. 10), and a reliability below 1/2 is a vote for the other class."""
    state = ballots(*pairs)
    flipped = State(
        state.votes, np.array([(1 - label, 1 - theta) for label, theta in pairs], dtype=float).reshape(1, -1)
    )
    assert weighted_counts(state).sum() == pytest.approx(len(pairs) + 2)
    assert weighted_counts(state) == pytest.approx(weighted_counts(flipped), abs=1e-9)


def test_perfect_workers_make_weighted_counts_plain():
    """With a reliability of 1 for everybody, weighted counts are plain counts, for any number of classes."""
    state = ballots(*[(label, 1.0) for label in (0, 0, 1, 0, 2)], classes=3)
    assert Weighted().read(state, FACTS).weights[0] == pytest.approx([3, 1, 1])


def test_unsteady_workers_count_less():
    """One ballot of a reliable worker outweighs one of an unreliable worker."""
    assert np.diff(weighted_counts(ballots((0, 0.9), (1, 0.6))))[0, 0] < -0.2


def test_items_with_few_ballots_stand_beside_items_with_many():
    """Rows are padded with NaN: the next ballot goes to the first free place of its own row."""
    model, context = Weighted(), ItemContext.plain(2)
    padded = np.array([[0.0, 0.9, 1.0, 0.7], [1.0, 0.8, np.nan, np.nan]])
    state = State(np.array([[1.0, 1.0], [0.0, 1.0]]), padded)
    after, _ = model.learn(state, context, np.array([[4.0, 1.0], [3.0, 1.0]]), np.array([0, 1]))
    assert after.model_state[1].tolist()[:4] == [1.0, 0.8, 1.0, 0.75]
    assert np.isnan(after.model_state[1, 4:]).all()
    assert model.read(after, context).weights[1] == pytest.approx(weighted_counts(ballots((1, 0.8), (1, 0.75)))[0] - 1)
    again, _ = model.learn(State(after.votes[1:], after.model_state[1:]), FACTS, np.array([[4.0, 1.0]]), np.array([0]))
    assert again.model_state.shape == (1, 6)


def test_a_weight_moves_when_items_finish():
    """One right or one wrong answer is added."""
    record = np.array([[9.0, 1.0], [2.0, 3.0]])
    assert Weighted().score(record, np.array([False, True])).tolist() == [[9.0, 2.0], [3.0, 3.0]]


def test_the_first_answer_on_a_fresh_item_teaches_nothing_about_its_worker():
    """There is no other answer to compare with; on a decided item, agreement raises the skill."""
    model, skill = OneCoin(), np.array([[4.0, 1.0]])
    _, unchanged = model.learn(model.start(FACTS, 2), FACTS, skill, np.array([0]))
    decided = State(np.array([[20.0, 0.0]]), np.array([[21.0, 1.0]]))
    accuracies = [model.accuracy(model.learn(decided, FACTS, skill, np.array([label]))[1])[0] for label in (0, 1)]
    assert unchanged[0] == pytest.approx(skill[0])
    assert accuracies[0] > 0.8 > accuracies[1] + 0.05


def test_perfect_one_coin_workers_are_anonymous():
    """With rho = 1 the one-coin model is the paper's first model, plain counting."""
    sure, label = np.array([[1e9, 1e-6]]), np.array([1])
    state, _ = OneCoin().learn(State(np.zeros((1, 3)), np.array([[3.0, 2.0, 1.0]])), FACTS, sure, label)
    plain, _ = Anonymous().learn(State(np.array([[2.0, 1.0, 0.0]]), np.empty((1, 0))), FACTS, np.empty((1, 0)), label)
    assert state.model_state == pytest.approx(Anonymous().read(plain, FACTS).alpha)


def test_confusion_is_bayes_with_the_expected_rows():
    """Three answers with given matrices, multiplied by hand; the last answer is counted in every row by probability."""
    prior = np.array([[0.5, 0.3, 0.2]])
    context = ItemContext(np.ones(1), np.zeros(1), np.arange(1), prior)
    model, rng = Confusion(), np.random.default_rng(2)
    state, expected = model.start(context, 3), prior[0]
    for label in (0, 2, 2):
        matrix = rng.uniform(0.5, 5, (3, 3))
        state, learned = model.learn(state, context, matrix.reshape(1, 9), np.array([label]))
        expected = expected * (matrix / matrix.sum(axis=1, keepdims=True))[:, label]
        expected = expected / expected.sum()
    assert model.read(state, context).posterior[0] == pytest.approx(expected)
    matrix[:, 2] += expected
    assert learned.reshape(3, 3) == pytest.approx(matrix)


def test_confusion_hears_the_worker_who_is_always_wrong():
    """A worker who is known to call every cat a dog gives as much information as one who is always right."""
    model = Confusion()
    state, _ = model.learn(model.start(FACTS, 2), FACTS, np.array([[1.0, 9.0, 9.0, 1.0]]), np.array([0]))
    assert model.read(state, FACTS).posterior[0] == pytest.approx([0.1, 0.9])


def test_a_certain_prior_can_still_be_corrected():
    """A prior of 1 counts as nearly 1: enough answers overturn it."""
    context = ItemContext(np.ones(1), np.zeros(1), np.arange(1), np.array([[1.0, 0.0]]))
    model = Confusion()
    state = model.start(context, 2)
    for _ in range(12):
        state, _ = model.learn(state, context, model.newcomer(2)[None], np.array([1]))
    assert model.read(state, context).leader[0] == 1


@pytest.mark.parametrize(
    ("model", "classes"),
    [(TwoCoin(), 2), *((model, classes) for model in (OneCoin(), Confusion(), Auto()) for classes in (2, 3, 12))],
    ids=lambda value: getattr(value, "kind", value),
)
def test_an_answer_teaches_to_the_last_bit_what_it_teaches_alone(model, classes):
    """The other rows do not matter: a replayed job must have the same result."""
    rng, items = np.random.default_rng(classes), 33
    context = ItemContext.plain(items)
    state, skill = model.start(context, classes), rng.uniform(0.5, 9, (items, model.newcomer(classes).size))
    for _ in range(3):
        label = rng.integers(classes, size=items)
        before, known = state, skill
        state, skill = model.learn(before, context, known, label)
        for i in range(items):
            one = State(before.votes[[i]], before.model_state[[i]])
            alone, learned = model.learn(one, ItemContext.plain(1), known[[i]], label[[i]])
            assert (alone.model_state[0] == state.model_state[i]).all()
            assert (learned[0] == skill[i]).all()
