"""A plan's expectation for a requirement equals what the engine does: by enumeration, formula, and simulation."""

from functools import cache
from itertools import product
from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from app.experiments.gold_streams import side_by_side
from app.policy.core.belief import NOBODY, Belief, ItemContext, State
from app.policy.engine import Engine
from app.policy.job_policy import JobPolicy
from app.policy.planning.cost_sensitive import Prior, best_strategy
from app.policy.planning.requirement_search import choices, roundest, settings
from app.policy.planning.stopping import Limits, label_curve, stopping_outcomes
from app.policy.requirements import Count, Margin, Posterior, Profit, Ratio, Significance
from app.policy.worker_models import Anonymous
from app.simulation.crowds import Crowd, skilled, truths
from app.simulation.memory_job import MemoryJob

ONE_OF_EACH = [
    Ratio(min_ratio=2),
    Significance(alpha=0.2),
    Margin(c=1.5, epsilon=0.3),
    Posterior(min_probability=0.85),
    Profit(value=50, loss=50),
    Count(labels=3),
    Count(labels=4),
]
NAMES = [f"{each.kind}-{n}" for n, each in enumerate(ONE_OF_EACH)]
SMALL = [Limits(1, 6, None), Limits(3, 7, 4), Limits(2, None, 4)]


def policy(requirement, limits):
    return JobPolicy(
        labels=("no", "yes"),
        requirement=requirement,
        worker_model=Anonymous(),
        min_labels=limits.min_labels,
        max_labels=limits.max_labels,
        max_votes_per_label=limits.max_votes_per_label,
    )


def counted_out(engine, most, prior):
    """Labels, share resolved and share right, over every sequence of right and wrong answers."""

    @cache
    def judged(*votes):
        return engine.judge(State(np.array([votes], dtype=float), np.empty((1, 0))), ItemContext.plain(1))

    ends = {}
    for answers in product((0, 1), repeat=most):
        paths = (answers[:length] for length in range(most + 1))
        path, judgement = next(
            (path, found) for path in paths if (found := judged(path.count(0), path.count(1))).closed[0]
        )
        ends[path] = int(judgement.winner[0])
    chance = {
        path: np.exp(
            special.betaln(prior.a + path.count(0), prior.b + path.count(1)) - special.betaln(prior.a, prior.b)
        )
        for path in ends
    }
    assert sum(chance.values()) == pytest.approx(1)
    labels = sum(len(path) * chance[path] for path in ends)
    right, wrong = (sum(chance[path] for path in ends if ends[path] == label) for label in (0, 1))
    return labels, right + wrong, right / (right + wrong)


@pytest.mark.parametrize("limits", SMALL, ids=str)
@pytest.mark.parametrize("requirement", ONE_OF_EACH, ids=NAMES)
def test_the_chain_is_every_sequence_of_answers(requirement, limits):
    """Label 0 is the true one; the job's own policy decides where each sequence ends."""
    prior = Prior(3.5, 1.5)
    expected = counted_out(Engine(policy(requirement, limits)), limits.most_labels, prior)
    (found,) = stopping_outcomes([requirement], limits, prior)
    assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("loss", [5.0, 30.0, 60.0])
def test_profit_is_as_its_own_strategy_says(loss):
    """Without limits, labels and accuracy (a coin decides ties) are those of Gao et al. (2013), Algorithms 4 and 5."""
    prior = Prior(6, 2)
    strategy = best_strategy(prior, loss)
    (found,) = stopping_outcomes([Profit(value=1, loss=loss)], Limits(1, None, 40), prior)
    assert found.labels == pytest.approx(strategy.answers)
    assert found.resolved * found.accuracy + (1 - found.resolved) / 2 == pytest.approx(strategy.accuracy)


@given(labels=st.integers(1, 14), b=st.floats(0.1, 5), more=st.floats(0.1, 5))
def test_a_fixed_number_of_labels_is_a_beta_binomial(labels, b, more):
    right = stats.betabinom(labels, b + more, b).pmf(np.arange(labels + 1))
    most, least = right[(labels // 2) + 1 :].sum(), right[: (labels + 1) // 2].sum()
    (found,) = stopping_outcomes([Count(labels=labels)], Limits(), Prior(b + more, b))
    assert found == pytest.approx((labels, most + least, most / (most + least)))


def test_an_answer_that_costs_more_is_worth_less():
    """A loss is in money: ten times the cost per answer has the same effect as a tenth of the loss."""
    prior, limits = Prior(6, 2), Limits()
    dear = stopping_outcomes([Profit(value=1, loss=100)], limits, prior, cost=10.0)
    assert dear == stopping_outcomes([Profit(value=1, loss=10)], limits, prior)
    assert dear != stopping_outcomes([Profit(value=1, loss=100)], limits, prior)


@pytest.mark.parametrize("requirement", [*ONE_OF_EACH[:5], Count(labels=6)], ids=lambda each: each.kind)
def test_a_crowd_of_that_prior_does_as_expected(requirement):
    """2,000 simulated items with difficulties drawn from the prior agree within four standard errors."""
    rng, prior, limits, items = np.random.default_rng(5), Prior(6, 2), Limits(1, 15, 14), 2_000
    (expected,) = stopping_outcomes([requirement], limits, prior)
    rates = np.tile(rng.beta(prior.a, prior.b, items), (limits.most_labels, 1))
    crowd = Crowd(truths(items, 2, rng), skilled(rates, 2), np.arange(items))
    job = MemoryJob(Engine(policy(requirement, limits)), ItemContext.plain(items), crowd.workers)
    side_by_side(job, crowd, rng)
    given_labels = np.array([len(ballots) for ballots in job.ballots])
    resolved = job.label != NOBODY
    right = (job.label == crowd.truth)[resolved]
    assert abs(given_labels.mean() - expected.labels) <= 4 * given_labels.std() / sqrt(items) + 1e-9
    assert abs(resolved.mean() - expected.resolved) <= 4 * sqrt(0.25 / items)
    assert abs(right.mean() - expected.accuracy) <= 4 * sqrt(expected.accuracy * (1 - expected.accuracy) / len(right))


@given(low=st.floats(0, 100), width=st.floats(1e-6, 10))
def test_the_roundest_number_is_between(low, width):
    assert low < roundest(low, low + width) <= low + width


VALUES = {
    "ratio": st.floats(1.001, 14.9).map(lambda c: Ratio(min_ratio=c)),
    "significance": st.floats(0.0003, 0.5).map(lambda alpha: Significance(alpha=alpha)),
    "posterior": st.floats(0.51, 0.9999).map(lambda p: Posterior(min_probability=p)),
}


@pytest.mark.parametrize("kind", VALUES)
@given(drawn=st.data())
def test_every_behaviour_is_among_the_settings(kind, drawn):
    """Whatever the parameter, one of the settings accepts exactly the same votes."""
    limits = Limits(1, None, 14)
    votes = Belief.of(limits.vote_counts)
    asked = drawn.draw(VALUES[kind]).satisfied(votes)
    assert any((each.satisfied(votes) == asked).all() for each in settings(limits)[kind])


def test_settings_of_a_kind_behave_differently():
    votes = Belief.of(Limits().vote_counts)
    for kind, members in settings(Limits()).items():
        if kind != "margin":  # it has two parameters
            assert len({each.satisfied(votes).tobytes() for each in members}) == len(members)


def test_the_cheapest_of_each_kind_that_is_accurate_enough_comes_first():
    found = choices(0.95, 0.8, Limits(), Prior(6, 2))
    reached = [choice for choice in found if choice.reaches]
    assert {choice.kind for choice in reached} == {"posterior", "margin", "significance", "profit"}
    assert found[: len(reached)] == reached
    costs = [choice.best.outcome.answers_per_resolved_item for choice in reached]
    assert costs == sorted(costs)
    for choice in reached:
        assert choice.best.outcome.accuracy >= 0.95
        assert choice.best.outcome.resolved >= 0.8
        cheaper = [
            each
            for each in choice.tried
            if each.outcome.answers_per_resolved_item < choice.best.outcome.answers_per_resolved_item
        ]
        assert all(each.outcome.accuracy < 0.95 for each in cheaper)
    for choice in found[len(reached) :]:
        assert choice.best.outcome.accuracy == choice.max_accuracy < 0.95


def test_a_single_label_leaves_no_choice():
    """With one label per item, all requirements that stop at once are equal, and the others resolve nothing."""
    found = choices(0.7, 0.5, Limits(1, 1, None), Prior(6, 2))
    assert {choice.best.outcome for choice in found if choice.best} == {(1.0, 1.0, 0.75)}


def test_the_curve_rises():
    members = settings(Limits())["margin"]
    curve = label_curve(stopping_outcomes(members, Limits(), Prior(6, 2)))
    assert (np.diff(curve, axis=0) > 0).all()


@pytest.mark.parametrize("limits", [Limits(), Limits(2, 11, 14), Limits(1, 20, None)], ids=str)
def test_no_loss_does_much_better_than_the_one_found(limits):
    """No loss of a fine grid is cheaper by more than 5 % or more accurate by more than a point."""
    prior, wanted, share = Prior(6, 2), 0.9, 0.8
    profit = next(choice for choice in choices(wanted, share, limits, prior) if choice.kind == "profit")
    grid = stopping_outcomes([Profit(value=1, loss=loss) for loss in np.geomspace(4.1, 1500, 60)], limits, prior)
    enough = [each for each in grid if each.resolved >= share]
    assert profit.max_accuracy >= max(each.accuracy for each in enough) - 0.01
    cheapest = min(each.answers_per_resolved_item for each in enough if each.accuracy >= wanted)
    assert profit.best.outcome.answers_per_resolved_item <= 1.05 * cheapest
