"""Laws of calibration: what items of known truth say about all others."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from app.policy.core.ballots import Ballots
from app.policy.core.belief import ItemContext
from app.policy.core.decision import Decision
from app.policy.engine import Engine
from app.policy.job_policy import JobPolicy
from app.policy.quality.calibration import WITH_GOLD, Calibration, calibrate, confidence_at, discounted
from app.policy.quality.fitting import FittedCrowd, fit
from app.policy.worker_models import Auto, Confusion, WorkerModel
from app.simulation.crowds import Crowd, skilled
from app.simulation.simulated_job import SimulatedJob, visits

NOTHING = calibrate(np.empty(0), np.empty(0), np.empty(0, dtype=bool))
EVERY = np.linspace(0.01, 0.9999, 200)
AGREED = np.zeros(200)

checks = st.lists(st.tuples(st.floats(0.3, 0.9999), st.integers(0, 9), st.booleans()), max_size=40)


def calibrated(checked: list[tuple[float, int, bool]]) -> Calibration:
    confidence, dissent, right = zip(*checked, strict=True) if checked else ((), (), ())
    return calibrate(np.array(confidence), np.array(dissent), np.array(right, dtype=bool))


@given(checks)
def test_more_confidence_is_never_less_accuracy_and_more_dissent_never_more(pairs):
    found = calibrated(pairs)
    for dissent in (0, 1, 7):
        assert (np.diff(found.of(EVERY, AGREED + dissent)) >= 0).all()
        assert (found.of(EVERY, AGREED + dissent + 1) <= found.of(EVERY, AGREED + dissent)).all()
    assert (np.array(found.favourable) >= np.array(found.accuracy) - 1e-12).all()


@given(checks, st.floats(0.3, 0.9999), st.integers(0, 9))
def test_a_right_label_never_lowers_the_map_and_a_wrong_one_never_raises_it(pairs, confidence, dissent):
    before, right, wrong = (
        calibrated(each)
        for each in (pairs, [*pairs, (confidence, dissent, True)], [*pairs, (confidence, dissent, False)])
    )
    at = np.array([confidence]), np.array([dissent])
    assert right.of(*at) >= before.of(*at) - 1e-9
    assert wrong.of(*at) <= before.of(*at) + 1e-9


@given(checks, st.floats(0.6, 0.99), st.integers(0, 9))
def test_the_confidence_that_an_accuracy_needs_has_that_accuracy(pairs, accuracy, dissent):
    found = calibrated(pairs)
    needed, against = found.needed_for(accuracy), np.array([dissent])
    if np.isinf(needed):
        assert found.accuracy[-1] < accuracy
    elif (confidence := confidence_at(needed, against))[0] < 1 - 1e-9:  # beyond, floats are too coarse
        assert found.of(confidence, against)[0] == pytest.approx(accuracy, abs=1e-5)
    assert found.needed_for(accuracy, favourable=True) <= needed


@pytest.mark.parametrize(("level", "slope"), [(1.0, 0.5), (2.0, 0.8), (3.0, 1.0)])
def test_many_items_teach_the_true_map(level, slope):
    rng = np.random.default_rng(5)
    confidence = special.expit(rng.uniform(0, 6, 4000))
    dissent = rng.integers(0, 3, 4000)
    true = special.expit(level + slope * (discounted(confidence, dissent) - 1.5))
    found = calibrate(confidence, dissent, rng.random(4000) < true)
    assert np.abs(found.of(confidence, dissent) - true).max() < 0.04
    assert np.abs(found.of(confidence, dissent) - true).mean() < 0.015


def test_a_few_dozen_items_are_nearer_to_the_truth_than_none_on_average():
    """Crowds of all kinds, 30 items each: the mean error of the map falls, and in few crowds it rises."""
    rng = np.random.default_rng(6)
    before, after = [], []
    for _ in range(300):
        level = rng.normal(WITH_GOLD.level, WITH_GOLD.level_spread)
        slope = np.exp(rng.normal(WITH_GOLD.log_slope, WITH_GOLD.log_slope_spread))
        confidence, dissent = special.expit(rng.normal(3, 1.2, 30)), rng.integers(0, 3, 30)
        true = special.expit(level + slope * (discounted(confidence, dissent) - 1.5))
        found = calibrate(confidence, dissent, rng.random(30) < true)
        for errors, known in ((before, NOTHING), (after, found)):
            errors.append(np.abs(known.of(confidence, dissent) - true).mean())
    assert np.mean(after) < 0.6 * np.mean(before)


def test_a_calibration_is_stored_and_read_without_loss():
    found = calibrated([(0.9, 0, True), (0.97, 2, False), (0.99, 1, True)])
    assert Calibration.from_json(found.as_json()) == found


@pytest.mark.parametrize("model", [Auto(), Confusion()])
@pytest.mark.parametrize("classes", [2, 3])
def test_an_items_own_truth_does_not_change_its_blind_state(model: WorkerModel, classes):
    """It is left out of the skills that judge it, so the map is never taught by an item that taught its own fit."""
    rng = np.random.default_rng(classes)
    item, worker = (each.ravel() for each in np.meshgrid(np.arange(30), np.arange(6)))
    ballots = Ballots.of(item, worker, rng.integers(0, classes, len(item)), items=30, workers=6, classes=classes)
    gold = rng.integers(0, classes, 30)
    newcomer = np.tile(model.newcomer(classes), (6, 1))

    def blind_state_of_the_first(truth: int) -> np.ndarray:
        context = replace(ItemContext.plain(30), gold=np.array([truth, *gold[1:]]))
        found = fit(model, 0, ballots, context, FittedCrowd(newcomer, newcomer), stage_only=True)
        return found.refitted.blind.model_state[0]

    first, *others = (blind_state_of_the_first(truth) for truth in range(classes))
    for other in others:
        np.testing.assert_allclose(np.exp(other), np.exp(first), atol=1e-9)


@pytest.mark.parametrize("gold", [0, 9, 10])
def test_a_job_is_calibrated_from_ten_items_of_known_truth_on(gold):
    item, worker = (each.ravel() for each in np.meshgrid(np.arange(20), np.arange(3)))
    ballots = Ballots.of(item, worker, np.zeros(60, dtype=int), items=20, workers=3, classes=2)
    context = replace(ItemContext.plain(20), gold=np.where(np.arange(20) < gold, 0, -1))
    newcomer = np.tile([4.0, 1.0], (3, 1))
    found = fit(Auto(), 0, ballots, context, FittedCrowd(newcomer, newcomer)).calibration
    assert (found is None) == (gold < 10)
    assert found is None or (found.checked, found.right) == (10, 10)


@pytest.mark.parametrize("model", [Auto(), Confusion()])
def test_audited_items_calibrate_and_teach_nothing_else(model: WorkerModel):
    """With gold on some items and audits of others, each item counts once, and gold outweighs an audit."""
    rng = np.random.default_rng(4)
    item, worker = (each.ravel() for each in np.meshgrid(np.arange(40), np.arange(3)))
    ballots = Ballots.of(item, worker, rng.integers(0, 2, 120), items=41, workers=3, classes=2)
    number, newcomer = np.arange(41), np.tile(model.newcomer(2), (3, 1))
    gold, audited = np.where(number < 15, 0, -1), np.where((number >= 10) & (number < 25) | (number == 40), 1, -1)
    crowd = FittedCrowd(newcomer, newcomer)

    def fitted(gold: np.ndarray | None, audited: np.ndarray | None):
        return fit(model, 0, ballots, replace(ItemContext.plain(41), gold=gold), crowd, audited=audited)

    nothing, audit, both = fitted(None, None), fitted(None, audited), fitted(gold, audited)
    assert nothing.calibration is None
    assert [found.calibration.checked for found in (audit, both)] == [15, 25]
    leading = audit.refitted.state.votes.argmax(axis=1)[10:25]
    assert audit.calibration.right == np.count_nonzero(leading == 1)
    for one, other in ((nothing, audit), (fitted(gold, None), both)):
        np.testing.assert_array_equal(one.refitted.state.model_state, other.refitted.state.model_state)
        np.testing.assert_array_equal(one.refitted.skill, other.refitted.skill)


def shared_errors(rng: np.random.Generator, wrong: float, items: int = 300, gold: int = 60) -> SimulatedJob:
    """A crowd of good workers who all mistake the same share of the items for the other class."""
    apparent = rng.integers(0, 2, items)
    truth = np.where(rng.random(items) < wrong, 1 - apparent, apparent)
    known = np.full(items, -1)
    known[:gold] = truth[:gold]
    context = replace(ItemContext.plain(items), gold=known)
    policy = JobPolicy(labels=("a", "b"), seed=int(rng.integers(1 << 30)))
    job = SimulatedJob(policy, Crowd(apparent, skilled(np.full(12, 0.85), 2)), rng, context=context)
    for _ in visits(job, rng):
        pass
    return job


def test_a_crowd_that_errs_together_is_found_out_and_its_items_are_given_up():
    job = shared_errors(np.random.default_rng(2), wrong=0.3).job
    given_up = (~job.open) & (job.label < 0)
    assert given_up[60:].mean() > 0.8
    assert (job.label[60:] >= 0).mean() < 0.1
    number = int(np.flatnonzero(given_up)[-1])
    verdict = job.verdict(number)
    assert (verdict.decision, verdict.reason.code) == (Decision.GIVE_UP, "crowd-cannot-reach")


def test_a_good_crowd_is_believed():
    simulated = shared_errors(np.random.default_rng(2), wrong=0.0)
    resolved = simulated.job.label[60:] >= 0
    assert resolved.mean() > 0.85
    assert (simulated.job.label == simulated.crowd.truth)[60:][resolved].mean() > 0.95


def test_truth_gives_up_no_item_of_a_job_that_asks_for_votes():
    """The map says nothing about a ratio of votes: the limits of the job alone end such an item."""
    policy = JobPolicy(labels=("a", "b"), requirement={"kind": "ratio", "min_ratio": 4})
    engines = Engine(policy), Engine(policy, calibration=calibrated([(0.97, 0, n >= 2) for n in range(50)]))
    context = ItemContext.plain(1)
    state = engines[0].initial(context)
    for label in (0, 1) * 4:
        state, _ = engines[0].learn(state, context, engines[0].newcomer()[None], np.array([label]))
    plain, known = (engine.judge(state, context) for engine in engines)
    assert not plain.closed[0]
    assert not known.closed[0]
    assert known.max_open_assignments[0] == plain.max_open_assignments[0]


def test_results_carry_the_calibrated_confidence():
    calibration = calibrated([(0.99, 0, n >= 10) for n in range(50)])
    policy = JobPolicy(labels=("a", "b"))
    plain, known = Engine(policy), Engine(policy, calibration=calibration)
    context = ItemContext.plain(1)
    state = plain.initial(context)
    for _ in range(4):
        state, _ = plain.learn(state, context, plain.newcomer()[None], np.array([0]))
    believed, measured = (engine.judge(state, context).confidence for engine in (plain, known))
    assert measured == pytest.approx(calibration.of(believed, np.zeros(1)))
    assert measured < believed


def test_dissent_raises_what_a_label_needs():
    """With gold, the answers that an item still needs are those that meet the raised bound, and none fewer do."""
    calibration = calibrated([(0.99, 0, n >= 2) for n in range(50)])
    engine, context = Engine(JobPolicy(labels=("a", "b", "c")), calibration=calibration), ItemContext.plain(1)
    needed = []
    for answers in ((0,), (1, 0), (1, 2, 0)):
        state = engine.initial(context)
        for label in answers:
            state, _ = engine.learn(state, context, engine.newcomer()[None], np.array([label]))
        lookahead = engine.lookahead(state, context)
        short = int(engine.requirement.shortfalls(lookahead)[0, 0])
        for _ in range(short - 1):
            lookahead = lookahead.after(0)
        assert not engine.requirement.satisfied(lookahead.now)[0]
        assert engine.requirement.satisfied(lookahead.after(0).now)[0]
        needed.append(calibration.needed_for(0.95) + 2.5 * np.log(len(answers)))
        assert special.logit(lookahead.after(0).now.certainty[0]) >= needed[-1] - 1e-6
    assert needed == sorted(set(needed))
