"""Estimates of how hard questions are, compared with the distribution itself and with crowds of known difficulty."""

import numpy as np
import pytest
from scipy import integrate, stats

from app.policy.planning.difficulty import (
    DifficultyVotes,
    NoBetterThanGuessing,
    TooFewVotes,
    _log_likelihood,
    estimated,
)


def frequencies(a, b, answers, items=10_000_000):
    """How many of these items are expected to have m votes against l, if workers' accuracy is Beta(a, b)."""
    first = np.arange((answers + 1) // 2, answers + 1)
    right, wrong = (stats.betabinom.pmf(votes, answers, a, b) for votes in (first, answers - first))
    return first, answers - first, np.where(2 * first == answers, right, right + wrong) * items


def drawn(a, b, answers, items, rng):
    right = rng.binomial(answers, rng.beta(a, b, items))
    return DifficultyVotes.of(np.maximum(right, answers - right), np.minimum(right, answers - right))


@pytest.mark.parametrize(("a", "b"), [(6, 2), (8, 2), (3, 2), (9, 0.5), (40, 20)])
def test_the_distribution_itself_is_recovered(a, b):
    """With as many items of each kind as Beta(a, b) expects, a and b are the most likely parameters."""
    first, second, items = frequencies(a, b, 9)
    found = estimated(DifficultyVotes.of(first, second, items.round().astype(np.int64)))
    assert (found.prior.a, found.prior.b) == pytest.approx((a, b), rel=0.03)
    assert found.interval[0] <= a / (a + b) <= found.interval[1]
    assert found.interval[1] - found.interval[0] < (0.01 if a > b + 1 else 0.2)


@pytest.mark.parametrize(("first", "second"), [(4, 1), (3, 3), (7, 0)])
def test_the_likelihood_is_an_integral(first, second):
    """The stronger class is right in half of the cases; p(m, l) is compared up to the binomial coefficient."""

    def chance(x):
        return 0.5 * (x**first * (1 - x) ** second + x**second * (1 - x) ** first) * stats.beta.pdf(x, 4.5, 1.5)

    votes = DifficultyVotes.of(np.array([first]), np.array([second]))
    by_hand = np.log(2 * integrate.quad(chance, 0, 1)[0])
    assert _log_likelihood(votes, 0.75, 6.0) == pytest.approx(by_hand, rel=1e-7)


def test_three_answers_cannot_tell_and_four_can():
    """With the same E(x - 1/2)^2, crowds of mean .7 and .8 have the same votes up to three answers."""

    def with_moment(mean, moment):  # mean (1 - mean) / (sum + 1) + (mean - 1/2)^2 = moment
        total = mean * (1 - mean) / (moment - (mean - 0.5) ** 2) - 1
        return mean * total, (1 - mean) * total

    one, other = with_moment(0.7, 0.1), with_moment(0.8, 0.1)
    for answers in (2, 3):
        np.testing.assert_allclose(frequencies(*one, answers)[2], frequencies(*other, answers)[2], rtol=1e-9)
    assert abs(frequencies(*one, 4)[2] - frequencies(*other, 4)[2]).max() > 10_000  # of ten million


@pytest.mark.parametrize("b", [0.7, 2, 5])
def test_one_more_than_even_votes_like_even(b):
    """Beta(b + 1, b), whose workers know something, and Beta(b, b), whose workers guess, have the same votes."""
    np.testing.assert_allclose(frequencies(b + 1, b, 9)[2], frequencies(b, b, 9)[2], rtol=1e-9)


def test_then_the_interval_begins_at_one_half():
    first, second, items = frequencies(2, 2, 9)
    found = estimated(DifficultyVotes.of(first, second, items.round().astype(np.int64)))
    assert (found.prior.a, found.prior.b) == pytest.approx((3, 2), rel=0.01)
    assert found.interval[0] == 0.5


@pytest.mark.parametrize("answers", [1, 2, 3])
def test_too_few_answers_are_refused(answers):
    many = DifficultyVotes.of(np.full(500, answers), np.zeros(500, dtype=np.int64))
    with pytest.raises(TooFewVotes, match="At least 10 items need 4 or more answers each; 0 have that many"):
        estimated(many)


def test_too_few_items_are_refused():
    with pytest.raises(TooFewVotes, match="9 have that many"):
        estimated(DifficultyVotes.of(np.full(9, 5), np.ones(9, dtype=np.int64)))


def test_guessing_is_recognised():
    """Votes that are often five to five look like guesses."""
    with pytest.raises(NoBetterThanGuessing):
        estimated(DifficultyVotes.of(np.full(50, 5), np.full(50, 5)))


def test_items_that_tell_nothing_are_left_out():
    found = DifficultyVotes.of(np.array([1, 0, 4, 4, 2]), np.array([0, 0, 1, 1, 0]))
    assert (found.first.tolist(), found.second.tolist(), found.items.tolist()) == ([2, 4], [0, 1], [1, 2])
    assert (found.answers, found.informative) == (12, 2)


def test_intervals_cover_the_truth():
    """In at least 45 of 50 pilots the 95 % interval contains the mean; at a true 95 %, fewer has probability .04."""
    rng = np.random.default_rng(20130622)
    held = 0
    for _ in range(50):
        found = estimated(drawn(6, 2, 10, 100, rng))
        held += found.interval[0] <= 0.75 <= found.interval[1]
    assert held >= 45


def test_stopping_early_does_no_harm():
    """A job that stops at a lead of three votes gives the same estimate as a fixed number of answers."""
    rng = np.random.default_rng(7)
    right, wrong = np.zeros((2, 4000), dtype=np.int64)
    accuracy = rng.beta(6, 2, 4000)
    for _ in range(25):
        open_ = abs(right - wrong) < 3
        says_right = rng.random(4000) < accuracy
        right, wrong = right + (open_ & says_right), wrong + (open_ & ~says_right)
    found = estimated(DifficultyVotes.of(np.maximum(right, wrong), np.minimum(right, wrong)))
    assert found.interval[0] <= 0.75 <= found.interval[1]
    assert found.prior.mean == pytest.approx(0.75, abs=0.04)
