"""Laws of what an earlier job says about the calibration of the next one."""

import numpy as np
import pytest
from scipy import special

from app.policy.quality.calibration import WITH_GOLD, Calibration, CalibrationPrior, calibrate, discounted
from app.policy.quality.earlier_jobs import prior_from, starting_map

AT = np.array([0.8, 0.9, 0.95, 0.98, 0.99, 0.999])
AGREED = np.zeros(len(AT))


def taught(rng: np.random.Generator, items: int, level: float, slope: float) -> Calibration:
    confidence, dissent = special.expit(rng.normal(3, 1.2, items)), rng.integers(0, 3, items)
    true = special.expit(level + slope * (discounted(confidence, dissent) - 1.5))
    return calibrate(confidence, dissent, rng.random(items) < true)


@pytest.mark.parametrize("level", [0.7, 1.5, 2.5])
@pytest.mark.parametrize("slope", [0.25, 0.4])
def test_the_next_job_starts_where_the_earlier_one_ended(level, slope):
    earlier = taught(np.random.default_rng(8), 200, level, slope)
    start = starting_map(prior_from(earlier))
    np.testing.assert_allclose(start.of(AT, AGREED), earlier.of(AT, AGREED), atol=0.02)
    assert (start.checked, start.right) == (0, 0)


def test_it_is_held_less_firmly_than_there_and_more_firmly_than_without():
    earlier = taught(np.random.default_rng(8), 300, 1.5, 0.3)
    widths = [high - low for low, high in (each.interval(0.8) for each in (earlier, starting_map(prior_from(earlier))))]
    nothing = starting_map(WITH_GOLD).interval(0.8)
    assert widths[0] < widths[1] < nothing[1] - nothing[0]


def test_nothing_learned_says_nothing():
    found = prior_from(starting_map(WITH_GOLD))
    assert found.level_spread == WITH_GOLD.level_spread
    assert found.log_slope_spread == pytest.approx(WITH_GOLD.log_slope_spread, abs=0.05)
    np.testing.assert_allclose(starting_map(found).of(AT, AGREED), starting_map(WITH_GOLD).of(AT, AGREED), atol=0.03)


def test_a_chain_of_jobs_without_truth_forgets():
    earlier = taught(np.random.default_rng(8), 300, 0.7, 0.3)
    priors: list[CalibrationPrior] = [prior_from(earlier)]
    for _ in range(12):
        priors.append(prior_from(starting_map(priors[-1])))
    spreads = [prior.level_spread for prior in priors]
    assert spreads == sorted(spreads)
    assert spreads[-1] > 0.9 * WITH_GOLD.level_spread
