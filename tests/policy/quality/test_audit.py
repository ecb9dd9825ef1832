"""An audit is wrong no more often than it says, whenever one looks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.policy.quality.audit import AuditState, Claim
from tests.depth import depth

AUDITS = depth(1000, 2000)
TOLERANCE = (
    3 * (0.05 * 0.95 / AUDITS) ** 0.5
)  # three standard deviations of the share among so many audits: .0207, or .0146
MOST = 600  # looks
BAR = np.log(20)


def samples(population: int, right: int, seed: int) -> np.ndarray:
    """Running numbers right of simulated audits without replacement, shape (audits, looks)."""
    rng = np.random.default_rng(seed)
    found = np.zeros((AUDITS, min(MOST, population)), dtype=np.int64)
    left = np.full(AUDITS, right)
    for look in range(found.shape[1]):
        is_right = rng.random(AUDITS) * (population - look) < left
        left -= is_right
        found[:, look] = right - left
    return found


@pytest.mark.parametrize("population", [400, 5000, 100_000])
@pytest.mark.parametrize("accuracy", [0.90, 0.94, 0.949, 0.95, 0.951, 0.96, 0.98, 1.0])
def test_claims_are_wrong_in_at_most_one_of_twenty_audits_at_any_look(population: int, accuracy: float):
    claim, right = Claim(0.95, 0.95, population), round(accuracy * population)
    is_true = right > claim.too_few
    counts = samples(population, right, seed=population + right)
    size = np.arange(1, counts.shape[1] + 1)
    evidence = claim.log_evidence_against(counts, size) if is_true else claim.log_evidence_for(counts, size)
    assert (evidence >= BAR).any(axis=1).mean() <= 0.05 + TOLERANCE


@pytest.mark.parametrize(("population", "accuracy"), [(300, 0.5), (300, 0.95), (5000, 0.8), (5000, 0.98), (5000, 1.0)])
def test_the_interval_holds_at_every_look(population: int, accuracy: float):
    """The true number is ruled out at some look in at most one of twenty audits; looks are those of `accuracy`."""
    claim, right = Claim(0.95, 0.95, population), round(accuracy * population)
    counts = samples(population, right, seed=right)
    missed = np.zeros(AUDITS, dtype=bool)
    for size in range(1, counts.shape[1] + 1, 7):
        for number in np.unique(counts[:, size - 1]):
            low, high = claim._interval(int(number), size)
            missed[counts[:, size - 1] == number] |= not low <= right <= high
    assert missed.mean() <= 0.05 + TOLERANCE


@pytest.mark.parametrize("population", [1000, 5000, 100_000])
def test_a_proof_takes_few_more_checks_than_a_test_of_fixed_size(population: int):
    """The smallest exact test of fixed size with power .8 takes 193, 231 and 234 checks: see bench/audit.py."""
    fixed = {1000: 193, 5000: 231, 100_000: 234}[population]
    claim = Claim(0.95, 0.95, population)
    counts = samples(population, round(0.98 * population), seed=population)
    proven = claim.log_evidence_for(counts, np.arange(1, counts.shape[1] + 1)) >= BAR
    stopped = np.where(proven.any(axis=1), proven.argmax(axis=1) + 1, 1.2 * MOST)
    assert stopped.mean() <= 1.3 * fixed


@given(st.lists(st.sampled_from([True, True, True, False, None]), max_size=80), st.randoms())
def test_a_missing_check_never_decides(checks: list[bool | None], random: object):
    """Whatever the missing checks will say, a decision made without them is also made with them."""
    claim = Claim(0.8, 0.9, 80)
    decided = claim.state(checks)
    filled = [random.random() < 0.5 if one is None else one for one in checks]
    if decided is AuditState.RUNNING or AuditState.RUNNING is claim.state(filled):
        assert decided is AuditState.RUNNING
        return
    for_it = claim.log_evidence_for(np.cumsum(filled), np.arange(1, len(filled) + 1)).max()
    against = claim.log_evidence_against(np.cumsum(filled), np.arange(1, len(filled) + 1)).max()
    assert (for_it if decided is AuditState.PROVEN else against) >= np.log(10) - 1e-9


def test_a_whole_population_decides():
    claim = Claim(0.95, 0.95, 20)
    assert claim.state([True] * 20) is AuditState.PROVEN
    assert claim.state([True] * 10 + [False] * 2) is AuditState.REFUTED
    found = claim.accuracy([True] * 19 + [False])
    assert (found.low, found.estimate, found.high) == (0.95, 0.95, 0.95)


def test_one_item_more_is_enough_at_the_boundary():
    """19 of 20 are .95, and .95 is reached: floating point must not ask for 20."""
    assert Claim(0.95, 0.95, 20).too_few == 18
    assert Claim(0.95, 0.95, 100_000).too_few == 94_999
