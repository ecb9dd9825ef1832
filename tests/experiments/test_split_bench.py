"""What splitting by price saves, and whether its exact errors match those of a simulated crowd."""

from decimal import Decimal

import numpy as np
import pytest

from app.policy.planning.quotas import majority_error
from app.policy.planning.split import by_crowdbudget
from bench.split import PROFILES, error_table, errors, per_item

HARDER = PROFILES[1]  # accuracy .9, .8, .7, .6 at cost 0.2, 0.5, 0.7, 1


@pytest.mark.parametrize(("budget", "less"), [(10, 0.12), (20, 0.08)])
def test_crowdbudget_beats_equal_numbers_where_money_is_short_and_dear_items_are_hard(budget, less):
    """The paper finds up to 40 % less error, with a noise that it does not give; here 14 % and 10 %."""
    wrong = errors(HARDER, budget)
    assert wrong["crowdbudget"] < (1 - less) * wrong["uniform"]


@pytest.mark.parametrize("profile", [profile for profile in PROFILES if not profile.noise], ids=lambda each: each.name)
@pytest.mark.parametrize("budget", [10, 60, 150, 400])
def test_the_split_by_worth_is_never_worse_where_its_profile_is_right(profile, budget):
    wrong = errors(profile, budget)
    assert wrong["by worth"] <= min(wrong["uniform"], wrong["crowdbudget"]) + 1e-9


def test_equal_numbers_win_where_money_is_ample():
    """CrowdBudget gives expensive items too few answers: with a budget of 200 and easy items it errs twice as often."""
    wrong = errors(PROFILES[3], 200)
    assert wrong["crowdbudget"] > 2 * wrong["uniform"]


def test_without_noise_the_table_is_the_formula():
    for accuracy in (0.51, 0.7, 0.95):
        assert error_table(accuracy, 0.0, 40) == pytest.approx(majority_error(np.arange(41), accuracy))


@pytest.mark.parametrize("profile", [HARDER, PROFILES[6]], ids=lambda each: each.name)
def test_a_crowd_that_answers_errs_as_often_as_expected(profile):
    """In 2,000 simulated jobs of 100 items, the mean number of wrong majorities is within four standard errors."""
    rng = np.random.default_rng(1)
    answers = np.array(per_item(by_crowdbudget(Decimal(100), profile.items())))
    accuracy = np.tile(profile.accuracy, 25)
    place = np.arange(1, answers.max() + 1)
    chance = 0.5 + (accuracy - 0.5)[:, None] * (1 - profile.noise**place)  # that the j-th answer is right
    given = place <= answers[:, None]
    wrong = []
    for _ in range(2_000):
        lead = np.where(given, np.where(rng.random(chance.shape) < chance, 1, -1), 0).sum(axis=1)
        coin = rng.random(len(lead)) < 0.5
        wrong.append(int(((lead < 0) | ((lead == 0) & coin)).sum()))
    assert abs(np.mean(wrong) - profile.errors(answers.tolist())) < 4 * np.std(wrong) / np.sqrt(len(wrong))
