"""Wrong answers to one item repeat: checked by integrals over Dirichlet distributions, and on labels in pairs."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax

from app.policy.core.belief import ItemContext
from app.policy.job_policy import JobPolicy
from app.policy.worker_models import Auto
from app.policy.worker_models.inference.repeated_errors import factor_of_answer, log_factor, log_factor_of_more
from app.simulation.crowds import Crowd, truths
from app.simulation.simulated_job import SimulatedJob, visits

FACTS = ItemContext.plain(1)
LABELS = st.lists(st.integers(0, 3), min_size=1, max_size=6)


def belief_after(labels: list[int], classes: int) -> np.ndarray:
    """P(class) after answers of new workers."""
    model, state = Auto(), Auto().start(FACTS, classes)
    for label in labels:
        state = model.after_answer(state, FACTS, model.newcomer(classes)[None], np.array([label]))
    return model.read(state, FACTS).posterior[0]


@given(labels=LABELS)
def test_the_factor_is_the_mean_over_the_items_own_errors(labels):
    """With c ~ Dirichlet(1, 1, 1) over the wrong labels, P(wrong answers) is the mean of the product of their c."""
    votes = np.bincount(labels, minlength=4).astype(float)
    errors = np.random.default_rng(0).dirichlet([1.0, 1.0, 1.0], 200_000)
    for truth in range(4):
        wrong = np.delete(votes, truth)
        drawn = np.exp(np.log(errors) @ wrong).mean() * 3 ** wrong.sum()
        assert np.exp(log_factor(votes[None], 3.0))[0, truth] == pytest.approx(drawn, rel=0.15)


@given(labels=LABELS)
def test_the_order_of_the_answers_does_not_matter(labels):
    beliefs = [belief_after(list(order), 4) for order in list(permutations(labels))[:6]]
    for belief in beliefs[1:]:
        np.testing.assert_allclose(belief, beliefs[0], rtol=1e-9)


@given(labels=LABELS, c=st.integers(0, 3), more=st.integers(0, 5))
def test_several_answers_at_once_are_answers_one_by_one(labels, c, more):
    votes = np.bincount(labels, minlength=4)[None].astype(float)
    step_by_step, now = np.zeros((1, 4)), votes.copy()
    for _ in range(more):
        step_by_step += np.log(factor_of_answer(now, np.array([c]), 3.0))
        now[0, c] += 1
    at_once = log_factor_of_more(votes, np.array([c]), np.array([float(more)]), 3.0)
    np.testing.assert_allclose(at_once, step_by_step, atol=1e-9)


@given(labels=st.lists(st.integers(0, 1), max_size=8))
def test_with_two_labels_nothing_changes(labels):
    """Each answer of a new worker, right with .8, counts log 4."""
    votes = np.bincount(labels, minlength=2)
    expected = softmax(np.log(4) * votes)
    np.testing.assert_allclose(belief_after(labels, 2), expected, rtol=1e-9)


@pytest.mark.parametrize(("classes", "independent"), [(40, 0.9984), (200, 0.9997)])
def test_two_strangers_who_agree_are_not_certain(classes, independent):
    """They say about as much as with four labels, not more with every label that a job has."""
    agreed = belief_after([0, 0], classes)[0]
    assert 0.95 < agreed < 0.985 < independent


def test_labels_in_pairs_are_right_as_often_as_is_claimed():
    """40 labels, each of which people mistake for its twin alone: claims are .05 too high, not .1 as they were."""
    rng, twins = np.random.default_rng(4), np.arange(40) ^ 1
    items, workers = 250, 30
    rows = 0.8 * np.eye(40) + 0.2 * np.eye(40)[twins]
    crowd = Crowd(truths(items, 40, rng), np.tile(rows, (workers, 1, 1, 1)))
    policy = JobPolicy(labels=tuple(f"l{n}" for n in range(40)))
    simulated = SimulatedJob(policy, crowd, rng)
    for _ in visits(simulated, rng):
        pass
    job = simulated.job
    resolved = job.label >= 0
    right = (job.label == crowd.truth)[resolved].mean()
    claimed = job.engine.lookahead(job.rows.all(), job.context).now.certainty[resolved].mean()
    assert resolved.mean() > 0.9
    assert abs(claimed - right) < 0.07
    assert right > 0.9
