"""Auto: one accuracy per worker, until another model predicts the answers better."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from app.policy.core.ballots import Ballots
from app.policy.core.belief import ItemContext
from app.policy.worker_models import Auto, Confusion
from app.policy.worker_models.auto.copied_answers import Copied
from app.policy.worker_models.auto.held_out import folds, gain
from tests.depth import depth
from tests.policy.recorded_ballots import accuracy, recorded

MODEL = Auto()


def crowd(ballots, stage=0):
    newcomers = np.tile(MODEL.newcomer(ballots.classes), (ballots.workers, 1))
    return MODEL.stages(ballots.classes).convert(newcomers, 0, stage)


def chosen(ballots, stage=0, seed=0):
    return MODEL.stages(ballots.classes).choose(
        ballots, ItemContext.plain(ballots.items, seed), crowd(ballots, stage), stage
    )


def simulated(seed, *, bias, items=200, workers=15, each=4):
    """Answers on two classes by workers who are right with .75, but favour one class or the other by `bias`."""
    rng = np.random.default_rng(seed)
    truth, lean = rng.integers(2, size=items), bias * rng.choice([-1, 1], workers)
    item, worker = np.repeat(np.arange(items), each), rng.integers(workers, size=items * each)
    second = np.where(truth[item] == 1, 0.75, 0.25) + lean[worker]
    return Ballots.of(item, worker, (rng.random(len(item)) < second).astype(int), items=items, workers=workers)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("bias", "stage"), [(0.0, 0), (0.22, 1)])
def test_the_crowd_decides(seed, bias, stage):
    """Workers with equal error rates on both classes keep one accuracy; workers who favour a class get two."""
    assert chosen(simulated(seed, bias=bias)).stage == stage


def test_it_does_not_flip():
    """If the gain is below the margin, the stage in force stays."""
    ballots = simulated(1, bias=0.06)
    assert [chosen(ballots, stage).stage for stage in (0, 1)] == [0, 1]


def test_it_goes_back_if_matrices_predict_worse():
    """Ten answers per worker distinguish an expert from a guesser, but are too few for a matrix."""
    rng = np.random.default_rng(3)
    item, truth, worker = np.repeat(np.arange(300), 8), rng.integers(2, size=300), rng.permutation(2400) // 10
    label = np.where((worker % 2 == 0) & (rng.random(2400) < 0.95), truth[item], rng.integers(2, size=2400))
    choice = chosen(Ballots.of(item, worker, label), stage=1)
    assert choice.stage == 0
    assert choice.held_out["one-coin"] > choice.held_out["two-coin"]


def test_more_than_two_labels_leave_one_accuracy():
    """Also a job that an earlier version gave matrices goes back, however much better they predict answers."""
    rng = np.random.default_rng(3)
    item, worker = np.repeat(np.arange(200), 5), np.tile(np.arange(5), 200)
    ballots = Ballots.of(item, worker, rng.integers(3, size=1000), classes=3)
    for stage in (0, 1):
        assert (chosen(ballots, stage).stage, chosen(ballots, stage).reason.code) == (0, "one-stage")


@pytest.mark.parametrize(("stage", "share"), [(0, 0.5), (1, 0.2)])
def test_a_fit_is_the_average_of_both_models(stage, share):
    """Probabilities are averaged, gold included; skills are those of the stage in force."""
    ballots = replace(simulated(1, bias=0.1), gold=np.where(np.arange(200) < 10, 1, -1))
    context, own, other = ItemContext.plain(200), crowd(ballots, stage), crowd(ballots, 1 - stage)
    here = MODEL.stages(2).model(stage).refit(ballots, context, own, own)
    there = MODEL.stages(2).model(1 - stage).refit(ballots, context, other, other)
    found = MODEL.stages(2).refit(stage, ballots, context, own, own)
    beliefs = [MODEL.read(each.state, context).posterior for each in (here, there, found)]
    assert np.abs(beliefs[0] - beliefs[1]).max() > 0.05
    np.testing.assert_allclose(beliefs[2], (1 - share) * beliefs[0] + share * beliefs[1], atol=1e-12)
    np.testing.assert_array_equal(found.skill, here.skill)


def test_what_copying_says_is_not_averaged():
    """If some workers copy one source, the other two stages, which trust copiers, are not averaged in."""
    ballots = simulated(1, bias=0.1)
    context, own = ItemContext.plain(200), crowd(ballots, 2)
    here, there = (
        MODEL.stages(2).refit(2, ballots, context, own, own),
        MODEL.stages(2).model(2).refit(ballots, context, own, own),
    )
    np.testing.assert_array_equal(here.state.model_state, there.state.model_state)


def test_few_answers_decide_nothing():
    """With fewer than a hundred answers the stage stays, with a reason; copying cannot be suspected either."""
    ballots = simulated(1, bias=0.22).only(np.arange(800) < 99)
    for stage in (0, 1):
        choice = chosen(ballots, stage)
        assert (choice.stage, choice.answers, choice.reason.code) == (stage, 0, "too-few-answers")
    assert chosen(ballots, stage=2).stage == 0
    assert 0 < chosen(simulated(1, bias=0.22).only(np.arange(800) < 100)).answers <= 100


def test_a_clear_case_is_seen_on_a_fifth():
    """If the first fifth shows no gain, the others are not used; a change is decided on all answers."""
    plain, leaning = (chosen(simulated(2, bias=bias)) for bias in (0.0, 0.22))
    assert plain.answers == pytest.approx(160, abs=40)
    assert leaning.answers == 800


@pytest.mark.parametrize("seed", range(5))
def test_unequal_classes_are_no_reason_to_move(seed):
    """Workers are equally accurate on both classes; a rare class must not look like workers who favour the other."""
    rng = np.random.default_rng(seed)
    truth, item, worker = (rng.random(300) < 0.05).astype(int), np.repeat(np.arange(300), 3), rng.integers(15, size=900)
    label = np.where(rng.random(900) < 0.8, truth[item], 1 - truth[item])
    assert chosen(Ballots.of(item, worker, label, items=300, workers=15)).stage == 0


def test_too_many_labels_leave_one_stage():
    """A matrix of more than a hundred labels is not tried."""
    ballots = Ballots.of(np.arange(200), np.zeros(200), np.arange(200) % 101)
    assert chosen(ballots).reason.code == "one-stage"
    with pytest.raises(ValueError, match="no stage 1"):
        MODEL.stages(101).model(1)


def test_a_reason_names_both_models_and_the_numbers():
    """It says what was compared, on how many answers, and with which standard error."""
    choice = chosen(simulated(2, bias=0.22))
    apart = choice.held_out["two-coin"] - choice.held_out["one-coin"]
    assert choice.reason.code == "predicts-better"
    for word in ("two-coin", "one-coin", f"{apart:.3g} nats", "800 held-out answers", "1 standard error"):
        assert word in choice.reason.message


def test_the_same_job_decides_the_same():
    """Random draws depend on the seed alone."""
    ballots = simulated(4, bias=0.1)
    assert chosen(ballots, seed=5) == chosen(ballots, seed=5)
    assert chosen(ballots, seed=5).held_out != chosen(ballots, seed=6).held_out


@given(answers=st.integers(1, 2000), more=st.integers(0, 500), seed=st.integers(0, 2**62))
def test_an_answer_keeps_its_fold(answers, more, seed):
    """Every answer is held out once, and stays in the same fold when more answers arrive."""
    here, there = np.array(folds(answers, seed)), np.array(folds(answers + more, seed))
    assert (here.sum(axis=0) == 1).all()
    assert (there[:, :answers] == here).all()


def test_very_many_answers_are_held_out_once():
    """One fifth of them is enough."""
    (held,) = folds(60_000, 1)
    assert held.mean() == pytest.approx(0.2, abs=0.01)


@pytest.mark.parametrize("model", [Auto(), Confusion(), Copied()], ids=lambda model: model.kind)
def test_predictions_are_a_distribution(model):
    """The probabilities of all possible labels of a held-out answer sum to 1."""
    ballots, held = simulated(5, bias=0.1), np.arange(800) < 50
    prior, total = np.tile(model.newcomer(2), (ballots.workers, 1)), np.zeros(50)
    for label in range(2):
        other = replace(ballots, label=np.where(held, label, ballots.label))
        total += np.exp(
            model.heldout_log_likelihood(other.only(~held), other.only(held), ItemContext.plain(ballots.items), prior)
        )
    assert total == pytest.approx(1)


def test_the_error_of_a_gain_is_that_of_a_mean_of_workers():
    """If all workers have the same number of answers, it is the usual standard error of the workers' means."""
    rng = np.random.default_rng(7)
    worker = np.repeat(np.arange(20), 30)
    apart = rng.normal(size=20)[worker] + 0.1 * rng.normal(size=600)
    found = gain(apart, np.zeros(600), worker)
    assert found.error == pytest.approx(stats.sem(apart.reshape(20, 30).mean(axis=1)), rel=1e-9)
    alone = gain(apart, np.zeros(600), np.arange(600))
    assert alone.error == pytest.approx(stats.sem(apart), rel=1e-9)


@given(
    skill=st.lists(st.tuples(st.floats(4, 500), st.floats(1, 500)), min_size=1, max_size=5),
    classes=st.integers(2, 9),
)
def test_conversion_there_and_back_changes_nothing(skill, classes):
    """It also adds no evidence, and a newcomer stays a newcomer."""
    workers = np.array(skill)
    stages = MODEL.stages(classes)
    there, matrix = stages.convert(workers, 0, 1), stages.model(1)
    assert stages.convert(there, 1, 0) == pytest.approx(workers, rel=1e-9)
    assert (there.sum(axis=1) - matrix.newcomer(classes).sum()) == pytest.approx(workers.sum(axis=1) - 5, abs=1e-8)
    assert stages.convert(MODEL.newcomer(classes)[None], 0, 1)[0] == pytest.approx(matrix.newcomer(classes))
    assert stages.convert(workers, 0, 0) is workers


def test_items_read_the_same_in_either_stage():
    """The state has the same shape in both, so a change of stage alone changes no item."""
    context = ItemContext.plain(1)
    state = MODEL.start(context, 3)
    after = MODEL.after_answer(state, context, np.array([[7.0, 2.0]]), np.array([2]))
    here, there = (MODEL.stages(3).model(stage).read(after, context) for stage in (0, 1))
    assert (here.posterior == there.posterior).all()


@pytest.mark.parametrize(
    ("name", "stage", "least"),
    [
        ("bluebirds", 1, 0.87),
        ("rte", 1, 0.928),
        ("adult2", 0, 0.75),
        ("millionaire", 0, 0.91),
    ],
)
def test_recorded_crowds(name, stage, least):
    """The stage that recorded crowds lead to under any seed, and the accuracy of its fit; ties count one half."""
    ballots, truth = recorded(name)
    for seed in range(depth(1, 3) if len(ballots.item) < 50_000 else 1):
        assert chosen(ballots, seed=seed).stage == stage
    prior, model = crowd(ballots, stage), MODEL.stages(ballots.classes).model(stage)
    fit = model.refit(ballots, ItemContext.plain(ballots.items), prior, prior)
    assert accuracy(model.read(fit.state, ItemContext.plain(ballots.items)).posterior, truth) >= least
