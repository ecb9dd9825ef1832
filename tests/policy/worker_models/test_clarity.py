"""Items that are not clear: laws, an exact sum over degrees, and calibrated confidence."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.policy.allocation import Information, JobContext
from app.policy.core.ballots import Ballots
from app.policy.core.belief import ItemContext, State
from app.policy.core.lookahead import Lookahead
from app.policy.requirements import Posterior
from app.policy.worker_models import Auto, Confusion
from app.policy.worker_models.inference.answer_replay import replayed
from app.policy.worker_models.inference.error_rate import ClearItems
from app.policy.worker_models.inference.true_class import OF_CROWDS
from app.simulation.crowd_generator import Distribution, Recipe, generate_answers
from app.simulation.named_policies import policy_of
from app.simulation.policy_replay import replay
from tests.depth import depth

FACTS = ItemContext.plain(1)
ONE_ACCURACY, ROWS = Auto(), Auto().stages(2).model(1)


def after(model, answers, classes=2):
    """The state of one item after answers (right, wrong, label): the worker's right and wrong answers, the label."""
    state = model.start(FACTS, classes)
    for right, wrong, label in answers:
        skill = type(model)(prior=(right, wrong)).newcomer(classes)[None]
        state = model.after_answer(state, FACTS, skill, np.array([label]))
    return state


ANSWERS = st.lists(st.tuples(st.floats(0.5, 50), st.floats(0.5, 50), st.integers(0, 2)), max_size=8)


@given(answers=ANSWERS)
def test_the_belief_is_the_sum_over_all_truths_and_degrees(answers):
    """With three classes, P(t, g) ~ P(g) times the probability of every answer, written out."""
    weight = np.zeros(3)
    for truth, (degree, share) in product(range(3), zip(OF_CROWDS.degrees, OF_CROWDS.shares, strict=True)):
        chance = share
        for right, wrong, label in answers:
            hit = right / (right + wrong)
            chance *= degree * (hit if label == truth else (1 - hit) / 2) + (1 - degree) / 3
        weight[truth] += chance
    found = ONE_ACCURACY.read(after(ONE_ACCURACY, answers, 3), FACTS).posterior[0]
    assert found == pytest.approx(weight / weight.sum(), rel=1e-9)


@given(answers=ANSWERS, right=st.floats(0.5, 50), wrong=st.floats(0.5, 50))
def test_what_will_be_answered_is_what_beliefs_average_to(answers, right, wrong):
    """Exact Bayes: the mean of the posteriors after each answer, weighted by its probability, is the posterior now."""
    skill = np.array([[right, wrong]])
    lookahead = Lookahead.of(ONE_ACCURACY, after(ONE_ACCURACY, answers, 3), FACTS, skill)
    mean = sum(lookahead.chances[0, c] * lookahead.after_all(c).now.posterior[0] for c in range(3))
    assert lookahead.chances.sum() == pytest.approx(1)
    assert mean == pytest.approx(lookahead.now.posterior[0], abs=1e-9)


def test_divided_opinions_tell_of_the_item_and_not_of_its_workers():
    """After five votes for each class, a further answer has less information than on an item with few answers."""
    begun, divided = ([(4.0, 1.0, k % 2) for k in range(n)] for n in (2, 10))
    value = [
        Information(order=2.5).value(
            Lookahead.of(ONE_ACCURACY, after(ONE_ACCURACY, answers), FACTS), JobContext(Posterior())
        )[0]
        for answers in (begun, divided)
    ]
    assert value[0] > 1.3 * value[1]
    skill = np.array([[4.0, 1.0]])
    gained = [
        (ONE_ACCURACY.learn(after(ONE_ACCURACY, answers), FACTS, skill, np.array([0]))[1] - skill).sum()
        for answers in (begun, divided)
    ]
    assert gained[0] > gained[1] + 0.1
    assert gained[0] < 1


@pytest.mark.parametrize("model", [ONE_ACCURACY, ROWS, Auto().stages(2).model(2)], ids=["first", "second", "third"])
def test_evidence_of_before_is_read_as_it_was(model):
    """States stored as P(class) alone keep that belief and take further answers, next to states with degrees."""
    wide = after(ROWS, [(4.0, 1.0, 0)])
    narrow = np.pad(np.log([[0.8, 0.2]]), ((0, 0), (0, wide.model_state.shape[1] - 2)), constant_values=np.nan)
    both = State(np.array([[1.0, 0.0], [1.0, 0.0]]), np.concatenate([narrow, wide.model_state]))
    context = ItemContext.plain(2)
    assert model.read(both, context).posterior[0] == pytest.approx([0.8, 0.2])
    alone = State(both.votes[:1], np.log([[0.8, 0.2]]))
    assert model.read(alone, FACTS).posterior[0] == pytest.approx([0.8, 0.2])
    skill = np.tile(model.newcomer(2), (2, 1))
    here = model.after_answer(both, context, skill, np.array([0, 0]))
    there = model.after_answer(alone, FACTS, skill[:1], np.array([0]))
    assert here.model_state[0] == pytest.approx(there.model_state[0])
    assert np.isfinite(here.model_state).all()


@pytest.mark.parametrize(("classes", "kept"), [(2, 10), (20, 100), (21, 21), (100, 100)])
def test_no_more_is_kept_of_an_item_than_some_hundred_numbers(classes, kept):
    """With many labels all items count as clear, in every stage."""
    for stage in range(3):
        model = Auto().stages(classes).model(stage)
        state = model.start(FACTS, classes)
        after, _ = model.learn(state, FACTS, model.newcomer(classes)[None], np.array([1]))
        assert (state.model_state.shape, after.model_state.shape) == ((1, kept), (1, kept))
        assert model.read(after, FACTS).leader[0] == 1


def test_a_prior_makes_classes_differ_though_nobody_has_voted():
    """With priors of .6, .3 and .1 for three labels, each answer leads to a different result."""
    context = replace(FACTS, prior=np.array([[0.6, 0.3, 0.1]]))
    lookahead = Lookahead.of(ONE_ACCURACY, ONE_ACCURACY.start(context, 3), context)
    assert lookahead.namesakes.tolist() == [0, 1, 2]
    level = Lookahead.of(ONE_ACCURACY, ONE_ACCURACY.start(FACTS, 3), FACTS)
    assert level.namesakes.tolist() == [0, 0, 0]


CLEAR = Recipe(items=400, workers=30, answers_per_item=10, skill=Distribution("beta", 12, 2))
HARD = replace(CLEAR, difficulty=Distribution("uniform", 0, 1))


def surprise(model, crowd):
    """The mean log-probability of the truth, from all answers."""
    sizes = {"items": len(crowd.items), "workers": len(crowd.workers), "classes": len(crowd.labels)}
    ballots = Ballots.of(crowd.item, crowd.worker, crowd.label, **sizes)
    prior = np.tile(model.newcomer(2), (ballots.workers, 1))
    context = ItemContext.plain(ballots.items)
    posterior = model.read(model.refit(ballots, context, prior, prior).state, context).posterior
    return -np.log(np.maximum(posterior[np.arange(ballots.items), crowd.truth], 1e-6)).mean()


@pytest.mark.parametrize("seed", range(3))
def test_where_items_are_hard_the_truth_comes_as_less_of_a_surprise(seed):
    """A model that takes hard items for bad workers is overconfident; where all items are clear, little is lost."""
    hard, clear = (generate_answers(recipe, np.random.default_rng(seed)) for recipe in (HARD, CLEAR))
    for ours, theirs in ((ONE_ACCURACY, ClearItems()), (ROWS, Confusion())):
        assert surprise(ours, hard) < surprise(theirs, hard) - 0.03
        assert surprise(ours, clear) < surprise(theirs, clear) + 0.03


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
