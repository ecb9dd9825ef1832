"""Jobs of numbers are closer to the truth than the median of as many answers, on public sets."""

import numpy as np
import pytest

from app.policy.answers import NumberAnswer
from app.simulation.named_policies import policy_of
from app.simulation.policy_replay import replay
from app.simulation.recorded_crowd import RecordedAnswers, read_recorded
from app.simulation.selection import order_of_arrival
from tests.public_sets import public_set

EACH = 4


def error_of_median(crowd: RecordedAnswers, seed: int) -> float:
    order = crowd.shuffled(np.random.default_rng(seed))
    by_item = order_of_arrival(order, 1, "recorded")[0].reshape(len(crowd.items), -1)
    return float(np.abs(np.median(order.label[by_item[:, :EACH]], axis=1) - crowd.truth).mean())


@pytest.mark.parametrize(
    ("name", "low", "high", "at_least"), [("affect_valence", -100, 100, 0.04), ("n_emotion", -100, 100, 0.02)]
)
def test_a_job_is_closer_than_the_median(name, low, high, at_least):
    folder = public_set(name)
    crowd = read_recorded(folder / "answers.csv", folder / "truth.csv", kind=NumberAnswer(low=low, high=high))
    (found,) = replay(crowd, policy_of("information", (), "pull", answer=crowd.answer), [EACH], runs=3)
    median = np.mean([error_of_median(crowd, seed) for seed in range(6)])
    assert found.errors["mean_absolute_error"].mean() < (1 - at_least) * median
