"""A simulation decides like the job in memory, and its results match exact arithmetic."""

from dataclasses import replace

import numpy as np
import pytest

from app.policy.core.ballots import Ballots
from app.policy.core.belief import NOBODY, ItemContext
from app.policy.engine import Engine
from app.policy.job_policy import JobPolicy
from app.policy.quality.fitting import FittedCrowd, fit
from app.simulation.crowds import Crowd, skilled, truths
from app.simulation.monte_carlo import JobSnapshot, MonteCarloSimulation
from app.simulation.sampled_worlds import Worlds, worlds_of_prior
from app.simulation.simulated_job import SimulatedJob, visits
from tests.depth import depth

MODELS = ["anonymous", "auto", "one-coin", "two-coin", "confusion", "weighted", "spam-filter", "tiers"]


def policy_of(**others):
    return JobPolicy.model_validate({"labels": ["a", "b"], "max_labels": 9, **others})


def finished(policy, worlds, context=None, **others):
    items = worlds.truth.shape[1]
    context = ItemContext.plain(items) if context is None else context
    simulation = MonteCarloSimulation(Engine(policy), context, worlds, np.random.default_rng(1), **others)
    for _ in simulation.steps(40):
        pass
    return simulation


@pytest.mark.parametrize("model", MODELS)
def test_every_model_comes_to_an_end_and_the_books_add_up(model):
    worlds = worlds_of_prior((8, 2), 0.5, (4, 15, 12), 2, np.random.default_rng(2))
    simulation = finished(policy_of(worker_model={"kind": model}), worlds)
    first, last = simulation.tallies[0], simulation.tallies[-1]
    np.testing.assert_array_equal(last.resolved + last.given_up, 15)
    np.testing.assert_array_equal(last.spent, last.labels)
    assert (last.right <= last.resolved).all()
    assert first.labels.sum() == 0 < last.labels.min()
    for earlier, later in zip(simulation.tallies, simulation.tallies[1:], strict=False):
        assert (later.labels >= earlier.labels).all()


def test_nobody_answers_an_item_twice():
    """Nine labels by ten workers: if workers were drawn with replacement, most items would get one worker twice."""
    worlds = worlds_of_prior((2, 2), 0.5, (5, 20, 10), 2, np.random.default_rng(2))
    simulation = finished(policy_of(requirement={"kind": "count", "labels": 9}), worlds)
    for row in simulation._who:
        named = row[row >= 0]
        assert len(np.unique(named)) == len(named) == 9


def test_votes_alone_cost_what_a_walk_costs():
    """Ratio 4, all workers right with .8: three agreeing votes close an item; enumeration gives the mean length."""
    policy = policy_of(requirement={"kind": "ratio", "min_ratio": 4}, worker_model={"kind": "anonymous"}, max_labels=7)
    size = (20, 400, 30)
    worlds = Worlds.plain(
        np.zeros(size[:2], dtype=np.int64),
        np.zeros(size[:2]),
        np.full((20, 30), np.log(4)),
        np.zeros((20, 30)),
        np.ones(30) / 30,
        2,
    )
    last = finished(policy, worlds).tallies[-1]
    length, resolved, right = _walk(0.8, 7)
    assert last.labels.mean() / 400 == pytest.approx(length, rel=0.02)
    assert last.resolved.mean() / 400 == pytest.approx(resolved, rel=0.02)
    assert (last.right / last.resolved).mean() == pytest.approx(right, abs=0.01)


def _walk(p, most):
    """Expected labels, the share of resolved items, and their accuracy, at ratio 4 with one extra vote per label."""
    length = resolved = right = 0.0
    states = {(0, 0): 1.0}
    for taken in range(1, most + 1):
        following: dict[tuple[int, int], float] = {}
        for (a, b), chance in states.items():
            for a_, b_, share in ((a + 1, b, p), (a, b + 1, 1 - p)):
                mass = chance * share
                if max(a_ + 1, b_ + 1) >= 4 * min(a_ + 1, b_ + 1):
                    length, resolved, right = length + mass * taken, resolved + mass, right + mass * (a_ > b_)
                elif taken == most:
                    length += mass * taken
                else:
                    following[a_, b_] = following.get((a_, b_), 0) + mass
        states = following
    return length, resolved, right / resolved


@pytest.mark.parametrize("model", ["anonymous", "auto"])
def test_it_ends_where_the_job_in_memory_ends(model):
    """A simulated job with the same crowd, answer by answer, needs the same labels per item within random error."""
    rng = np.random.default_rng(4)
    rate = rng.uniform(0.6, 0.95, 25)
    policy = policy_of(worker_model={"kind": model})
    real = []
    for seed in range(depth(4, 8)):
        simulated_job = SimulatedJob(policy, Crowd(truths(120, 2, rng), skilled(rate, 2)), np.random.default_rng(seed))
        for _ in visits(simulated_job, rng):
            pass
        real.append((simulated_job.job.answers / 120, (simulated_job.job.label >= 0).mean(), simulated_job.accuracy()))
    ability = np.tile(np.log(rate / (1 - rate)), (19, 1))
    worlds = Worlds.plain(
        rng.integers(2, size=(19, 120)), np.zeros((19, 120)), ability, 0 * ability, np.full(25, 1 / 25), 2
    )
    last = finished(policy, worlds).tallies[-1]
    predicted = last.labels.mean() / 120, last.resolved.mean() / 120, (last.right / last.resolved).mean()
    np.testing.assert_allclose(predicted, np.mean(real, axis=0), rtol=0.08, atol=0.02)


def test_those_who_guess_are_turned_away_as_in_a_job():
    """Every world excludes guessers by its own fits, and nobody else."""
    ability = np.tile(np.repeat([0.0, 2.0], [6, 14]), (4, 1))
    truth = np.random.default_rng(4).integers(2, size=(4, 150))
    worlds = Worlds.plain(truth, np.zeros(truth.shape), ability, 0 * ability, np.full(20, 1 / 20), 2)
    simulation = finished(policy_of(requirement={"kind": "count", "labels": 7}), worlds)
    assert (simulation.excluded[:, :6].sum(axis=1) >= 3).all()
    assert not simulation.excluded[:, 6:].any()
    of_guessers = (simulation._who < 6) & (simulation._who >= 0)
    assert of_guessers.sum() < 0.22 * (simulation._who >= 0).sum()  # they would give three of ten answers


def test_who_is_shut_out_of_the_job_does_not_come_in_its_rehearsal():
    worlds = worlds_of_prior((8, 2), 0.5, (3, 12, 15), 2, np.random.default_rng(2))
    policy = policy_of()
    engine, context, shut_out = Engine(policy), ItemContext.plain(12), np.arange(15) < 5
    skill = np.tile(engine.newcomer(), (15, 1))
    snapshot = JobSnapshot(
        answers=Ballots.of([], [], [], items=12, workers=15, classes=2),
        state=engine.initial(context),
        label=np.full(12, NOBODY),
        closed=np.zeros(12, dtype=bool),
        skill=skill,
        prior=skill,
        price=np.ones(15),
        excluded=shut_out,
        given=0,
        refit_at=policy.first_refit,
    )
    who = finished(policy, worlds, snapshot=snapshot)._who
    assert set(np.unique(who[who >= 0])) == set(range(5, 15))


def test_a_world_is_refitted_as_a_job_of_all_items_that_it_represents():
    """Each item three times over, fitted as one job: the same skills."""
    worlds = worlds_of_prior((8, 2), 0.5, (2, 40, 10), 2, np.random.default_rng(2))
    policy = policy_of(worker_model={"kind": "two-coin"}, requirement={"kind": "count", "labels": 5})
    simulation = finished(policy, worlds, weight=3.0)
    every = simulation.ballots()
    second = every.only(every.item >= 40)
    ballots = Ballots.of(second.item - 40, second.worker - 10, second.label, items=40, workers=10)
    thrice = Ballots.of(
        np.concatenate([ballots.item + 40 * copy for copy in range(3)]),
        np.tile(ballots.worker, 3),
        np.tile(ballots.label, 3),
        items=120,
        workers=10,
    )
    newcomers = np.tile(Engine(policy).newcomer(), (10, 1))
    whole = fit(policy.worker_model, 0, thrice, ItemContext.plain(120), FittedCrowd(newcomers, newcomers))
    simulation.refit(np.arange(2), every)
    found = simulation.skill_of(0, np.arange(10, 20))
    np.testing.assert_allclose(found.sum(axis=1), whole.refitted.skill.sum(axis=1))
    model = policy.worker_model
    np.testing.assert_allclose(model.accuracy(found), model.accuracy(whole.refitted.skill), atol=0.01)


def test_costs_and_prices_are_paid():
    worlds = worlds_of_prior((8, 2), 0.0, (3, 10, 20), 2, np.random.default_rng(2))
    context = replace(ItemContext.plain(10), cost=np.full(10, 2.5))
    last = finished(policy_of(), worlds, context).tallies[-1]
    np.testing.assert_allclose(last.spent, 2.5 * last.labels)


def test_few_workers_leave_items_open():
    """With three workers no item gets five labels."""
    worlds = worlds_of_prior((8, 2), 0.0, (3, 10, 3), 2, np.random.default_rng(2))
    last = finished(policy_of(requirement={"kind": "count", "labels": 5}), worlds).tallies[-1]
    assert (last.labels == 30).all()
    assert (last.resolved + last.given_up == 0).all()
