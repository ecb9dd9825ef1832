"""Replaying the answers of many items gives the same as answering them one by one."""

import numpy as np
import pytest
from hypothesis import given

from app.policy.core.ballots import Ballots
from app.policy.core.belief import ItemContext
from app.policy.worker_models import Anonymous, SpamFilter, Weighted
from app.policy.worker_models.inference.answer_replay import replayed
from tests.policy.worker_models.cases import ANSWERS, CASES, CROWD, ITEMS, LIGHT, context_with_a_prior, job, lopsided


@pytest.mark.parametrize(("model", "classes"), CASES)
@LIGHT
@given(answers=ANSWERS, crowd=CROWD)
def test_replaying_is_answering_one_by_one(model, classes, answers, crowd):
    """Equal to the last bit, in the order of the answers, with priors and gold; rows are padded with NaN at the end."""
    ballots, context = job(answers, classes), context_with_a_prior(classes)
    skill = np.stack([lopsided(model, classes, *worker) for worker in crowd])
    together = replayed(model, ballots, context, skill)
    for i in range(ITEMS):
        one = context.rows(slice(i, i + 1))
        alone = model.start(one, classes)
        for a in np.flatnonzero(ballots.item == i):
            alone = model.after_answer(alone, one, skill[ballots.worker[[a]]], ballots.label[[a]])
        width = alone.model_state.shape[1]
        assert (together.votes[i] == alone.votes[0]).all()
        assert np.array_equal(together.model_state[i, :width], alone.model_state[0])
        assert np.isnan(together.model_state[i, width:]).all()


def test_a_spammers_votes_are_not_counted_again():
    """Votes that the spam filter did not count are not counted in a replay either."""
    model, ballots = SpamFilter(), Ballots.of([0, 0], [0, 1], [1, 0])
    skill = np.array([[10.0, 20.0], [19.0, 20.0]])
    assert replayed(model, ballots, ItemContext.plain(1), skill).votes.tolist() == [[1.0, 0.0]]


def test_padding_changes_no_reading():
    """An item has the same belief next to an item with more answers."""
    model, rng = Weighted(), np.random.default_rng(5)
    ballots = Ballots.of([0, 1, 1, 1, 0], [0, 1, 2, 0, 3], [1, 0, 0, 1, 0])
    skill, context = rng.uniform(1, 9, (4, 2)), ItemContext.plain(2)
    few = Ballots.of([0, 0], [0, 3], [1, 0])
    beside = model.read(replayed(model, ballots, context, skill), context).alpha[0]
    alone = model.read(replayed(model, few, ItemContext.plain(1), skill), ItemContext.plain(1)).alpha[0]
    assert beside == pytest.approx(alone, rel=1e-9)


def test_without_answers_items_stand_as_they_start():
    """Without answers to replay, nothing changes."""
    state = replayed(Anonymous(), Ballots.of([], [], [], items=3, classes=2), ItemContext.plain(3), np.empty((0, 0)))
    assert state.votes.tolist() == [[0.0, 0.0]] * 3
