"""Models with one true class per item: Bayes' rule, checked by sums that are written out."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import beta

from app.policy.core.ballots import Ballots
from app.policy.core.belief import ItemContext
from app.policy.core.lookahead import Lookahead
from app.policy.worker_models import Auto
from app.policy.worker_models.inference.answer_replay import replayed
from app.simulation.crowd_generator import Recipe, generate_answers
from app.simulation.named_policies import policy_of
from app.simulation.policy_replay import replay
from tests.depth import depth

FACTS = ItemContext.plain(1)
ONE_ACCURACY = Auto()


def after(model, answers, classes=2):
    """The state of one item after answers (right, wrong, label): the worker's right and wrong answers, the label."""
    state = model.start(FACTS, classes)
    for right, wrong, label in answers:
        skill = type(model)(prior=(right, wrong)).newcomer(classes)[None]
        state = model.after_answer(state, FACTS, skill, np.array([label]))
    return state


ANSWERS = st.lists(st.tuples(st.floats(0.5, 50), st.floats(0.5, 50), st.integers(0, 2)), max_size=8)


@given(answers=ANSWERS)
def test_the_belief_is_the_product_of_the_answers_probabilities(answers):
    """With three classes, P(t) ~ the product of P(answer | t), written out; wrong answers share a Beta(1, 1)."""
    weight = np.ones(3)
    for right, wrong, label in answers:
        hit = right / (right + wrong)
        weight *= np.where(np.arange(3) == label, hit, 1 - hit)
    given = np.bincount([label for *_, label in answers], minlength=3)
    for truth in range(3):
        one, other = np.delete(given, truth)
        weight[truth] *= beta(one + 1, other + 1)
    found = ONE_ACCURACY.read(after(ONE_ACCURACY, answers, 3), FACTS).posterior[0]
    assert found == pytest.approx(weight / weight.sum(), rel=1e-9)


@given(answers=ANSWERS, right=st.floats(0.5, 50), wrong=st.floats(0.5, 50))
def test_what_will_be_answered_is_what_beliefs_average_to(answers, right, wrong):
    """Exact Bayes: the mean of the posteriors after each answer, weighted by its probability, is the posterior now."""
    skill = np.array([[right, wrong]])
    lookahead = Lookahead.of(ONE_ACCURACY, after(ONE_ACCURACY, answers, 3), FACTS, skill)
    mean = sum(lookahead.chances[0, c] * lookahead.after(c).now.posterior[0] for c in range(3))
    assert lookahead.chances.sum() == pytest.approx(1)
    assert mean == pytest.approx(lookahead.now.posterior[0], abs=1e-9)


@pytest.mark.parametrize("classes", [2, 21, 100])
def test_an_item_is_kept_as_one_number_per_class(classes):
    """In every stage."""
    for stage in range(3):
        model = Auto().stages(classes).model(stage)
        state = model.start(FACTS, classes)
        after, _ = model.learn(state, FACTS, model.newcomer(classes)[None], np.array([1]))
        assert (state.model_state.shape, after.model_state.shape) == ((1, classes), (1, classes))
        assert model.read(after, FACTS).leader[0] == 1


def test_a_prior_makes_classes_differ_though_nobody_has_voted():
    """With priors of .6, .3 and .1 for three labels, each answer leads to a different result."""
    context = replace(FACTS, prior=np.array([[0.6, 0.3, 0.1]]))
    lookahead = Lookahead.of(ONE_ACCURACY, ONE_ACCURACY.start(context, 3), context)
    assert sorted(lookahead.answers.label.tolist()) == [0, 1, 2]
    level = Lookahead.of(ONE_ACCURACY, ONE_ACCURACY.start(FACTS, 3), FACTS)
    assert level.answers.label.tolist() == [0]


def test_telling_answers_again_is_hearing_them_one_by_one():
    """Fresh and answered items are in one array."""
    ballots = Ballots.of([0, 0, 2], [0, 1, 0], [0, 1, 1], items=3)
    skill = np.array([[8.0, 2.0], [3.0, 2.0]])
    state = replayed(ONE_ACCURACY, ballots, ItemContext.plain(3), skill)
    found = ONE_ACCURACY.read(state, ItemContext.plain(3)).posterior
    assert found[0] == pytest.approx(ONE_ACCURACY.read(after(ONE_ACCURACY, [(8, 2, 0), (3, 2, 1)]), FACTS).posterior[0])
    assert found[1] == pytest.approx([0.5, 0.5])


def test_a_trial_pays_where_the_job_picks_its_workers():
    """Half of the crowd guesses; means of several runs at two labels per item, compared with the job without trial."""
    crowd = generate_answers(Recipe(items=200, workers=30, answers_per_item=20, spammers=0.5), np.random.default_rng(3))
    policy = policy_of("information", crowd.labels, "choose")
    without = policy.model_copy(update={"worker_choice": policy.worker_choice.model_copy(update={"trial": 0.0})})
    here, there = (
        replay(crowd, each, [2], runs=depth(3, 5), workers="choose")[0].accuracy.mean() for each in (policy, without)
    )
    assert here > there + 0.02
