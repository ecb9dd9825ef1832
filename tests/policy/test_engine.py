"""What the engine decides from votes alone."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.policy.allocation import Requallo, RoundRobin
from app.policy.core.belief import ItemContext, State
from app.policy.core.decision import Decision
from app.policy.engine import Engine, RememberedDecisions
from app.policy.job_policy import JobPolicy
from app.policy.quality.spammers import Spammers
from app.policy.requirements import Ratio
from app.policy.worker_models import Anonymous

PLAIN = {"worker_model": Anonymous(), "requirement": Ratio()}
VOTES = st.lists(st.integers(0, 13), min_size=2, max_size=4)


def judged(votes, **policy):
    labels = tuple("abcd"[: len(np.atleast_2d(votes)[0])])
    engine = Engine(JobPolicy(labels=labels, **PLAIN | policy))
    state = State(np.atleast_2d(np.asarray(votes, dtype=float)), np.empty((len(np.atleast_2d(votes)), 0)))
    judgement = engine.judge(state, ItemContext.plain(len(state.votes)))
    return engine, judgement


@given(VOTES)
def test_one_more_vote_for_the_winner_never_reopens_an_item(votes):
    _, judgement = judged([votes], max_votes_per_label=None)
    winner = int(judgement.winner[0])
    if winner >= 0:
        votes[winner] += 1
        assert judged([votes], max_votes_per_label=None)[1].winner[0] == winner


@given(VOTES, st.randoms())
def test_the_names_of_the_classes_do_not_matter(votes, random):
    order = list(range(len(votes)))
    random.shuffle(order)
    _, one = judged([votes])
    _, other = judged([[votes[c] for c in order]])
    assert one.max_open_assignments[0] == other.max_open_assignments[0]
    assert one.priority[0] == pytest.approx(other.priority[0], abs=1e-9)
    assert one.belief.posterior[0][order] == pytest.approx(other.belief.posterior[0], abs=1e-9)


@given(st.lists(st.tuples(st.integers(0, 13), st.integers(0, 13)), min_size=1, max_size=30))
def test_many_items_are_judged_as_each_alone(votes):
    """There are enough items for equal votes to be valued once."""
    _, together = judged(votes * 20)
    for row, pair in enumerate(votes):
        _, alone = judged([pair])
        assert together.priority[row] == alone.priority[0]
        assert together.max_open_assignments[row] == alone.max_open_assignments[0]
        assert together.progress[row] == alone.progress[0]


@given(VOTES)
def test_progress_is_between_none_and_all(votes):
    _, judgement = judged([votes])
    assert 0 <= judgement.progress[0] <= 1
    assert (judgement.progress[0] == 0) == (sum(votes) == 0)


@given(VOTES, st.integers(3, 20), st.integers(3, 14))
def test_an_open_item_never_wants_more_than_its_limits_allow(votes, max_labels, max_votes):
    _, judgement = judged([votes], max_labels=max_labels, max_votes_per_label=max_votes)
    wanted = judgement.max_open_assignments[0]
    assert wanted >= 0
    if wanted:
        assert sum(votes) + wanted <= max_labels
        assert max(votes) + wanted <= max_votes
    else:
        assert judgement.closed[0]


def test_the_minimum_counts_real_labels():
    """Ratio 4 holds at 3:0, but with a minimum of five labels the item needs two more."""
    engine, judgement = judged([[3, 0]], min_labels=5)
    assert judgement.max_open_assignments[0] == 2
    verdict = engine.verdict(judgement, 0)
    assert (verdict.decision, verdict.reason.code) == (Decision.CONTINUE, "count-not-reached")


@pytest.mark.parametrize(
    ("votes", "policy", "code"),
    [
        ([2, 2], {"max_labels": 4}, "max-labels"),
        ([14, 9], {}, "max-votes-per-label"),
        ([2, 2], {"requirement": {"kind": "count", "labels": 4}}, "tie"),
        ([0, 0], {"requirement": {"kind": "profit", "value": 9, "loss": 1}}, "does-not-pay"),
    ],
)
def test_a_limit_gives_up_and_says_which(votes, policy, code):
    engine, judgement = judged([votes], **policy)
    verdict = engine.verdict(judgement, 0)
    assert (verdict.decision, verdict.reason.code, verdict.label) == (Decision.GIVE_UP, code, None)


def test_a_resolved_item_is_never_given_up():
    """Fourteen votes reach the limit, but 14:1 also reaches the ratio."""
    engine, judgement = judged([[14, 1]])
    assert engine.verdict(judgement, 0).decision is Decision.STOP


def test_cost_divides_the_priority():
    engine = Engine(JobPolicy(labels=("a", "b"), allocation=Requallo(), **PLAIN))
    context = ItemContext(np.array([1.0, 4.0]), np.zeros(2), np.array([1, 2]))
    judgement = engine.judge(engine.initial(context), context)
    assert judgement.priority.tolist() == [0.16, 0.04]


@given(st.integers(0, 2**63 - 1))
def test_tie_breaks_hang_on_seed_and_number_alone(seed):
    engine = Engine(JobPolicy(labels=("a", "b"), seed=seed))
    numbers = np.arange(1, 200)
    ties = engine.tie_breaks(numbers)
    assert (engine.tie_breaks(numbers[50:60]) == ties[50:60]).all()
    assert (ties >= 0).all()
    assert len(set(ties.tolist())) == len(ties)


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=2, max_size=12))
def test_where_guessers_are_looked_for_begun_items_come_first(votes):
    """Begun items have a tier of their own; priorities, and so the order within a tier, do not change."""
    _, plain = judged(votes)
    _, first = judged(votes, spammers=Spammers())
    begun = np.array(votes).sum(axis=1) > 0
    valuable = plain.priority > 0
    assert first.priority.tolist() == plain.priority.tolist()
    assert (first.tier[valuable] == np.where(begun, 0, 1)[valuable]).all()
    assert not plain.tier.any()
    assert not judged(votes, spammers=Spammers(finish_first=False))[1].tier.any()


def test_begun_items_come_first_also_where_items_take_turns():
    """Round-robin asks where there are fewest votes: first among begun items, then among fresh ones."""
    _, judgement = judged([[0, 0], [2, 1], [1, 0]], allocation=RoundRobin(), spammers=Spammers())
    assert np.lexsort((-judgement.priority, judgement.tier)).tolist() == [2, 1, 0]


def test_a_begun_item_whose_next_answer_has_no_value_waits_behind_fresh_ones():
    engine = Engine(JobPolicy(labels=("a", "b"), spammers=Spammers()))
    tier = engine.tier(np.array([0.2, 0.1, 0.0, 0.0]), np.array([0.0, 3.0, 0.0, 3.0]))
    assert tier.tolist() == [1, 0, 3, 2]


def test_an_engine_is_sent_to_another_process_by_its_configuration():
    engine = Engine(JobPolicy(labels=("a", "b")), budget=10.0, inverse_costs=3.0, stage=1)
    engine.remembered.add({("a",): 1})
    copy = pickle.loads(pickle.dumps(engine))  # noqa: S301  our own bytes
    assert copy == engine
    assert copy.model == engine.model
    assert not copy.remembered.find([("a",)])


def test_remembered_decisions_are_bounded():
    remembered = RememberedDecisions()
    for number in range(3000):
        remembered.add({(number,): number})
    found = remembered.find([(number,) for number in range(3000)])
    assert 0 < len(found) <= 1000
    remembered.add({(number,): number for number in range(5000)})
    assert len(remembered.find([(number,) for number in range(5000)])) <= 1000
