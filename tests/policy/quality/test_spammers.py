"""Workers whose answers cannot be distinguished from guesses."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import ValidationError
from scipy import stats

from app.policy.quality.spammers import Spammers
from app.policy.worker_models import SpamFilter

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


@given(counts=COUNTS.filter(lambda counts: counts[1] > 0), classes=st.integers(2, 9), alpha=st.floats(0.01, 0.9))
def test_by_interval_a_spammer_is_one_whose_interval_contains_the_share_of_a_guesser(counts, classes, alpha):
    """The paper's words, with scipy's interval; ends that touch the share to the last digits decide nothing."""
    interval = stats.binomtest(*counts).proportion_ci(1 - alpha, method="wilson")
    share = 1 / classes
    assume(min(abs(interval.low - share), abs(interval.high - share)) > 1e-9)
    model = SpamFilter.model_construct(test="interval", alpha=alpha, min_labels=1)
    agreed, answered = columns(counts)
    found = Spammers.model_construct(test="interval", alpha=alpha, min_answers=1).guesses(agreed, answered, classes)
    assert found.tolist() == [interval.low <= share <= interval.high]
    assert model.is_spammer(np.column_stack([agreed, answered]), classes).tolist() == found.tolist()


@given(counts=COUNTS.filter(lambda counts: counts[1] > 0), alpha=st.floats(0.01, 0.9))
def test_the_evidence_has_the_ends_of_scipys_interval(counts, alpha):
    spammers = Spammers.model_construct(test="interval", alpha=alpha, min_answers=1)
    evidence = spammers.evidence(*counts, classes=2)
    interval = stats.binomtest(*counts).proportion_ci(1 - alpha, method="wilson")
    assert (evidence["low"], evidence["high"]) == pytest.approx(tuple(interval), abs=1e-9)


@given(counts=COUNTS.filter(lambda counts: counts[1] > 0), alpha=st.floats(0.01, 0.9))
def test_between_two_labels_the_exact_test_is_that_of_the_exact_interval(counts, alpha):
    """Clopper and Pearson's interval contains 1/2 exactly where the exact test does not reject: no third test."""
    interval = stats.binomtest(*counts).proportion_ci(1 - alpha, method="exact")
    assume(min(abs(interval.low - 0.5), abs(interval.high - 0.5)) > 1e-9)
    agreed, answered = columns(counts)
    found = Spammers.model_construct(alpha=alpha, min_answers=1).guesses(agreed, answered, 2)
    assert found.tolist() == [interval.low <= 0.5 <= interval.high]


def blocked_within(answers, accuracy, spammers):
    """The probability that a worker is ever blocked if tested after each answer, with two labels."""
    going, blocked = np.ones(1), 0.0
    for n in range(1, answers + 1):
        going = accuracy * np.append(0, going) + (1 - accuracy) * np.append(going, 0)
        out = spammers.guesses(np.arange(n + 1.0), np.full(n + 1, float(n)), 2)
        blocked, going = blocked + going[out].sum(), np.where(out, 0, going)
    return blocked


@pytest.mark.parametrize(
    ("accuracy", "exact", "interval"),
    [
        (0.5, 0.989, 0.984),
        (0.6, 0.809, 0.760),
        (0.65, 0.591, 0.523),
        (0.7, 0.356, 0.295),
        (0.75, 0.166, 0.128),
        (0.8, 0.054, 0.039),
        (0.9, 0.001, 0.001),
    ],
)
def test_the_defaults_spare_the_good_and_find_the_guessers(accuracy, exact, interval):
    """The table of the docstring: it blocks below 6 % of workers with accuracy .8, and above 90 % of guessers."""
    assert blocked_within(200, accuracy, Spammers()) == pytest.approx(exact, abs=0.0006)
    assert blocked_within(200, accuracy, Spammers(test="interval")) == pytest.approx(interval, abs=0.0006)


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
    with pytest.raises(ValidationError, match="even a perfect worker"):
        Spammers(test="interval", min_answers=1)
    with pytest.raises(ValidationError, match="Extra inputs"):
        Spammers(beta=1)


def test_a_reason_has_its_numbers():
    """The reason has a code for machines and the counts for people."""
    reason = Spammers().reason(13, 40, classes=3)
    assert reason.code == "spammer"
    assert reason.message.startswith("13 of 40 answers agree with the final labels; guessing would give about 13.3")
