"""Telling the answers of many items again is answering them one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.policy.aggregation import Ballots
from app.policy.belief import Facts
from app.policy.workers import Anonymous, SpamFilter, Weighted
from app.policy.workers.replayed import replayed
from tests.policy.test_worker_contract import CASES, LIGHT, lopsided

ITEMS, WORKERS = 5, 4
ANSWERS = st.lists(st.tuples(st.integers(0, ITEMS - 1), st.integers(0, WORKERS - 1), st.floats(0, 0.999)), max_size=25)
CROWD = st.lists(st.tuples(st.floats(0.5, 12), st.floats(0.5, 12)), min_size=WORKERS, max_size=WORKERS)


def job(answers, classes):
    item, worker, where = zip(*answers, strict=True) if answers else ((), (), ())
    label = [int(each * classes) for each in where]
    return Ballots.of(item, worker, label, items=ITEMS, workers=WORKERS, classes=classes)


def facts_with_a_prior(classes):
    prior = np.full((ITEMS, classes), np.nan)
    prior[1] = np.linspace(1, 3, classes) / np.linspace(1, 3, classes).sum()
    return Facts(np.ones(ITEMS), np.zeros(ITEMS), np.arange(ITEMS), prior, 3, np.array([-1, -1, 1, -1, -1]))


@pytest.mark.parametrize(("model", "classes"), CASES)
@LIGHT
@given(answers=ANSWERS, crowd=CROWD)
def test_replaying_is_answering_one_by_one(model, classes, answers, crowd):
    """To the last bit, in the order of the answers, with items' priors and known truths; padding is NaN at the end."""
    ballots, facts = job(answers, classes), facts_with_a_prior(classes)
    skill = np.stack([lopsided(model, classes, *worker) for worker in crowd])
    together = replayed(model, ballots, facts, skill)
    for i in range(ITEMS):
        one = facts.rows(slice(i, i + 1))
        alone = model.start(one, classes)
        for a in np.flatnonzero(ballots.item == i):
            alone = model.answered(alone, one, skill[ballots.worker[[a]]], ballots.label[[a]])
        width = alone.evidence.shape[1]
        assert (together.votes[i] == alone.votes[0]).all()
        assert np.array_equal(together.evidence[i, :width], alone.evidence[0])
        assert np.isnan(together.evidence[i, width:]).all()


def test_a_spammers_votes_are_not_told():
    """What the spam filter leaves out when it comes is left out when it is told again."""
    model, ballots = SpamFilter(), Ballots.of([0, 0], [0, 1], [1, 0])
    skill = np.array([[10.0, 20.0], [19.0, 20.0]])
    assert replayed(model, ballots, Facts.plain(1), skill).votes.tolist() == [[1.0, 0.0]]


def test_padding_changes_no_reading():
    """An item reads the same beside one that has more answers."""
    model, rng = Weighted(), np.random.default_rng(5)
    ballots = Ballots.of([0, 1, 1, 1, 0], [0, 1, 2, 0, 3], [1, 0, 0, 1, 0])
    skill, facts = rng.uniform(1, 9, (4, 2)), Facts.plain(2)
    few = Ballots.of([0, 0], [0, 3], [1, 0])
    beside = model.read(replayed(model, ballots, facts, skill), facts).alpha[0]
    alone = model.read(replayed(model, few, Facts.plain(1), skill), Facts.plain(1)).alpha[0]
    assert beside == pytest.approx(alone, rel=1e-9)


def test_without_answers_items_stand_as_they_start():
    """Nothing told, nothing changed."""
    state = replayed(Anonymous(), Ballots.of([], [], [], items=3, classes=2), Facts.plain(3), np.empty((0, 0)))
    assert state.votes.tolist() == [[0.0, 0.0]] * 3
