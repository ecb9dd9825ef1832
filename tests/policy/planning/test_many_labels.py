"""The profit rule with more than two labels, against trying everything out with scipy's distributions."""

from functools import cache
from itertools import product

import numpy as np
import pytest
from scipy import stats

from app.policy.core.belief import Belief, ItemContext, State
from app.policy.core.lookahead import Lookahead
from app.policy.planning import many_labels
from app.policy.planning.cost_sensitive import Prior, best_strategy
from app.policy.planning.many_labels import chance_of_leader, many_label_strategy
from app.policy.requirements import Profit
from app.policy.worker_models import Anonymous

PRIORS = [Prior(6, 2), Prior(3, 2), Prior(1.5, 0.5), Prior(2, 1.9)]
Votes = tuple[int, ...]


def votes_up_to(labels: int, most: int) -> np.ndarray:
    return np.array([votes for votes in product(range(most + 1), repeat=labels) if sum(votes) <= most], dtype=float)


@cache
def chances_of_truth(prior: Prior, votes: Votes) -> tuple[float, ...]:
    """P(label k is right | votes) by Bayes, with the likelihood of a Dirichlet-multinomial for each k."""
    if not sum(votes):
        return (1 / len(votes),) * len(votes)
    likelihood = []
    for k in range(len(votes)):
        alpha = [prior.a if j == k else prior.b / (len(votes) - 1) for j in range(len(votes))]
        likelihood.append(float(stats.dirichlet_multinomial(alpha, sum(votes)).pmf(votes)))
    return tuple(each / sum(likelihood) for each in likelihood)


@cache
def chances_of_answers(prior: Prior, votes: Votes) -> tuple[float, ...]:
    """P(the next answer is j | votes): the predictive mean of each Dirichlet, weighed by what may be right."""
    found = np.zeros(len(votes))
    for k, right in enumerate(chances_of_truth(prior, votes)):
        alpha = np.array([prior.a if j == k else prior.b / (len(votes) - 1) for j in range(len(votes))])
        found += right * (alpha + votes) / (alpha + votes).sum()
    return tuple(found)


def outcome_of_the_best(prior: Prior, loss: float, most: int, votes: Votes) -> tuple[float, float]:
    """Profit and answers to come of the best strategy with `most` answers, by trying both actions at every status."""

    @cache
    def best(votes: Votes) -> tuple[float, float]:
        stopping = -(1 - max(chances_of_truth(prior, votes))) * loss
        if sum(votes) >= most:
            return stopping, 0.0
        going_on, answers = -1.0, 1.0
        for j, chance in enumerate(chances_of_answers(prior, votes)):
            profit, more = best(tuple(own + (j == k) for k, own in enumerate(votes)))
            going_on, answers = going_on + chance * profit, answers + chance * more
        return (going_on, answers) if going_on > stopping + 1e-9 else (stopping, 0.0)

    return best(votes)


@pytest.mark.parametrize("prior", PRIORS, ids=str)
@pytest.mark.parametrize(("labels", "most"), [(3, 5), (4, 4)])
def test_chances_are_those_of_a_dirichlet(prior, labels, most):
    votes = votes_up_to(labels, most)
    expected = [max(chances_of_truth(prior, tuple(each))) for each in votes.astype(int).tolist()]
    np.testing.assert_allclose(chance_of_leader(prior, votes), expected, rtol=1e-9)


def test_workers_are_right_as_often_as_under_the_beta():
    """Before any answer, the first one is right in a / (a + b), whatever the number of labels."""
    for labels in (2, 3, 5, 1000):
        one = np.eye(1, labels)
        assert chance_of_leader(Prior(6, 2), one)[0] == pytest.approx(0.75)


def test_two_labels_are_the_papers():
    """With two labels the same formulas give Theorem 4.2, and the same tables the strategy of Algorithm 1."""
    votes = votes_up_to(2, 40)
    first, second = votes.max(axis=1).astype(int), votes.min(axis=1).astype(int)
    for prior, loss in product(PRIORS, [1.0, 5.0, 30.0, 90.0]):
        np.testing.assert_allclose(chance_of_leader(prior, votes), prior.result_accuracy(first, second), rtol=1e-9)
        for limit in (None, 1, 4, 9):
            many, two = many_label_strategy(prior, 2, loss, limit), best_strategy(prior, loss, limit)
            np.testing.assert_allclose(many.answers_after(votes), two.answers_to_come(first, second), atol=1e-9)
            np.testing.assert_array_equal(many.stopped(votes), two.stopped(votes))
            np.testing.assert_array_equal(many.shortfalls(votes), two.shortfalls(votes))


@pytest.mark.parametrize("prior", PRIORS, ids=str)
@pytest.mark.parametrize(
    ("labels", "loss", "most"), [(3, 5.0, 7), (3, 12.0, 8), (3, 40.0, 9), (4, 15.0, 6), (5, 9.0, 5)]
)
def test_stops_where_trying_everything_says(prior, labels, loss, most):
    """Every status with at most `most` answers: the decision, and how many answers are to be expected."""
    strategy = many_label_strategy(prior, labels, loss, most)
    votes = votes_up_to(labels, most)
    expected = [outcome_of_the_best(prior, loss, most, tuple(each))[1] for each in votes.astype(int).tolist()]
    np.testing.assert_allclose(strategy.answers_after(votes), expected, atol=1e-9)
    np.testing.assert_array_equal(strategy.stopped(votes), np.array(expected) == 0)


@pytest.mark.parametrize("loss", [3.0, 6.0, 12.0])
def test_without_a_limit_it_is_the_limit_of_many_answers(loss):
    """With a small loss no strategy goes far, so trying out 14 answers finds the best."""
    strategy = many_label_strategy(Prior(6, 2), 3, loss)
    votes = votes_up_to(3, 4)
    expected = [outcome_of_the_best(Prior(6, 2), loss, 14, tuple(each))[1] for each in votes.astype(int).tolist()]
    np.testing.assert_allclose(strategy.answers_after(votes), expected, atol=1e-6)


def test_it_differs_from_the_two_strongest():
    """Three labels with a vote each have more to gain than two: at a loss of four, only they are asked about again."""
    three = Profit(value=9, loss=4.0)
    assert three.not_worth_asking(Belief.of([1, 1])).all()
    assert not three.not_worth_asking(Belief.of([1, 1, 1])).any()


def test_a_larger_table_decides_the_same(monkeypatch):
    """Up to 12 votes, three times as many statuses change hardly a decision, though fewer would: it ends far enough."""
    votes = np.unique(-np.sort(-votes_up_to(4, 12), axis=1), axis=0)
    decisions = {}
    for statuses in (100, 10_000, 30_000):
        monkeypatch.setattr(many_labels, "_MOST_STATUSES", statuses)
        many_labels._status_table.cache_clear()
        many_label_strategy.cache_clear()
        decisions[statuses] = many_label_strategy(Prior(6, 2), 4, 300.0).answers_after(votes) > 0
    many_labels._status_table.cache_clear()
    many_label_strategy.cache_clear()
    few, enough = ((decisions[statuses] != decisions[30_000]).mean() for statuses in (100, 10_000))
    assert enough <= 0.01 < few


@pytest.mark.parametrize("labels", [3, 40, 1000])
def test_many_votes_are_decided_by_the_two_strongest(labels):
    """Beyond the table: a lead is accepted, a tie is asked about while one answer pays, and a limit is kept."""
    votes = np.zeros((3, labels))
    votes[:, 0], votes[:, 1], votes[:, 2] = [200, 60, 60], [100, 60, 60], [0, 0, 59]
    expected = many_label_strategy(Prior(6, 2), labels, 100.0).answers_after(votes)
    assert (expected > 0).tolist() == [False, True, True]
    assert many_label_strategy(Prior(6, 2), labels, 100.0).stopped(votes).tolist() == [True, False, False]
    assert not many_label_strategy(Prior(6, 2), labels, 100.0, 100).answers_after(votes).any()
    assert many_label_strategy(Prior(6, 2), labels, 100.0, 100).stopped(votes).all()


@pytest.mark.parametrize("labels", [3, 12, 1000])
def test_a_vote_at_a_time_leads_to_the_shortfall(labels):
    """From random items, votes for one label are added until it is accepted: as many as the shortfall says."""
    rng, rule = np.random.default_rng(4), Profit(value=1, loss=60)
    votes = np.zeros((30, labels))
    np.add.at(votes, (np.repeat(np.arange(30), 5), rng.integers(0, min(labels, 6), 150)), 1)
    lookahead = Lookahead.of(Anonymous(), State(votes, np.empty((30, 0))), ItemContext.plain(30))
    found = rule.shortfalls(lookahead)
    for c in (0, 1, labels - 1):
        for item in range(30):
            steps = votes[item] + np.eye(labels)[c] * np.arange(found[item, c] + 1)[:, None]
            belief = Belief.of(steps)
            accepted = rule.satisfied(belief) & (rule.winner(belief) == c)
            assert accepted.tolist() == [False] * int(found[item, c]) + [True]
