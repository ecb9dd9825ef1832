"""Workers whose answers cannot be distinguished from guesses."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from scipy import stats

from app.policy.quality.spammers import Spammers

COUNTS = st.integers(0, 300).flatmap(lambda answered: st.tuples(st.integers(0, answered), st.just(answered)))


def columns(*counts):
    return (np.array(column, dtype=float) for column in zip(*counts, strict=True))


@given(counts=COUNTS)
def test_between_two_labels_it_is_the_test_of_a_coin(counts):
    """The p-value equals scipy's; it is 1 without answers."""
    agreed, answered = columns(counts)
    p_value = Spammers().p_value(agreed, answered, 2)[0]
    assert p_value == pytest.approx(stats.binomtest(*counts, 0.5).pvalue if counts[1] else 1.0, rel=1e-9)


@given(counts=COUNTS, classes=st.integers(3, 9))
def test_between_more_labels_the_smaller_tail_is_doubled(counts, classes):
    """Both tails equal scipy's."""
    agreed, answered = columns(counts)
    guess = stats.binom(counts[1], 1 / classes)
    tails = guess.cdf(counts[0]), guess.sf(counts[0] - 1)
    assert Spammers().p_value(agreed, answered, classes)[0] == pytest.approx(min(1, 2 * min(tails)), rel=1e-9)


def blocked_within(answers, accuracy, spammers):
    """The probability that a worker is ever blocked if tested after each answer, with two labels."""
    going, blocked = np.ones(1), 0.0
    for n in range(1, answers + 1):
        going = accuracy * np.append(0, going) + (1 - accuracy) * np.append(going, 0)
        out = spammers.guesses(np.arange(n + 1.0), np.full(n + 1, float(n)), 2)
        blocked, going = blocked + going[out].sum(), np.where(out, 0, going)
    return blocked


@pytest.mark.parametrize(
    ("accuracy", "share"),
    [(0.5, 0.989), (0.6, 0.809), (0.65, 0.591), (0.7, 0.356), (0.75, 0.166), (0.8, 0.054), (0.9, 0.001)],
)
def test_the_defaults_spare_the_good_and_find_the_guessers(accuracy, share):
    """The table of the docstring: it blocks below 6 % of workers with accuracy .8, and above 90 % of guessers."""
    assert blocked_within(200, accuracy, Spammers()) == pytest.approx(share, abs=0.0006)


def test_a_liar_is_no_spammer():
    """The answers of a worker who is nearly always wrong also show the truth."""
    agreed, answered = columns((2, 60), (30, 60), (20, 60))
    assert Spammers().guesses(agreed, answered, 2).tolist() == [False, True, False]


def test_guessing_depends_on_the_number_of_labels():
    """An accuracy of one half is guessing with two labels, and good with five."""
    agreed, answered = columns((20, 40))
    assert Spammers().guesses(agreed, answered, 2).tolist() == [True]
    assert Spammers().guesses(agreed, answered, 5).tolist() == [False]


@given(agreed=st.integers(0, 19), classes=st.integers(2, 9))
def test_nobody_is_tested_too_early(agreed, classes):
    """Below `min_answers` nobody is blocked."""
    assert not Spammers().guesses(np.array([float(agreed)]), np.array([19.0]), classes)[0]


def test_a_test_that_nobody_can_pass_is_refused():
    """Two answers cannot differ from a coin at any usual level."""
    with pytest.raises(ValidationError, match="even a perfect worker"):
        Spammers(min_answers=2)
    with pytest.raises(ValidationError, match="Extra inputs"):
        Spammers(beta=1)


def test_a_reason_has_its_numbers():
    """The reason has a code for machines and the counts for people."""
    reason = Spammers().reason(13, 40, classes=3)
    assert reason.code == "spammer"
    assert reason.message.startswith("13 of 40 answers agree with the final labels; guessing would give about 13.3")
