"""The numbers and theorems of Gao et al. (SIGMOD 2013), and an enumeration without dynamic programming."""

from itertools import product

import numpy as np
import pytest
from scipy import integrate, special

from app.policy.planning.cost_sensitive import Prior, best_strategy

TABLE_2_STATUSES = [(1, 0), (3, 3), (4, 0), (8, 2), (100, 100), (101, 100), (110, 100)]
PRIORS = [Prior(6, 2), Prior(8, 2), Prior(3, 2), Prior(1.5, 0.5), Prior(2.5, 2.4)]


def statuses_below(horizon):
    return [(first, second) for first in range(horizon) for second in range(first + 1)]


SMALL = statuses_below(4)


@pytest.mark.parametrize(
    ("prior", "answer_accuracy", "result_accuracy"),
    [
        (
            Prior(6, 2),
            [0.75, 0.643, 0.821, 0.762, 0.51, 0.51, 0.513],
            [0.75, 0.5, 0.962, 0.953, 0.5, 0.51, 0.591],
        ),
        (
            Prior(8, 2),
            [0.8, 0.687, 0.853, 0.795, 0.514, 0.514, 0.52],  # printed 0.79 for (8, 2)
            [0.8, 0.5, 0.985, 0.983, 0.5, 0.514, 0.634],
        ),
    ],
)
def test_table_2(prior, answer_accuracy, result_accuracy):
    """A_Q and A_R to three decimals; (3, 3) under B(8, 2) is 0.6875, which the paper cuts off."""
    first, second = np.transpose(TABLE_2_STATUSES)
    np.testing.assert_allclose(prior.answer_accuracy(first, second), answer_accuracy, atol=5.01e-4)
    np.testing.assert_allclose(prior.result_accuracy(first, second), result_accuracy, atol=5.01e-4)


@pytest.mark.parametrize("prior", PRIORS, ids=str)
@pytest.mark.parametrize(("first", "second"), [(0, 0), (1, 0), (3, 1), (2, 2), (5, 0)])
def test_expectations_are_integrals(prior, first, second):
    """Theorems 4.1 to 4.3, by integrating over the workers' accuracy."""

    def mean(weight):
        density = lambda x: x ** (prior.a - 1) * (1 - x) ** (prior.b - 1)  # noqa: E731  reads like the paper
        seen = lambda x: x**first * (1 - x) ** second + x**second * (1 - x) ** first  # noqa: E731
        total = integrate.quad(lambda x: seen(x) * density(x), 0, 1)[0]
        return integrate.quad(lambda x: weight(x) * density(x), 0, 1)[0] / total

    right = lambda x: x**first * (1 - x) ** second  # noqa: E731  the majority is right
    wrong = lambda x: x**second * (1 - x) ** first  # noqa: E731
    close = {"rel": 1e-6}
    assert prior.result_accuracy(first, second) == pytest.approx(mean(right), **close)
    assert prior.answer_accuracy(first, second) == pytest.approx(mean(lambda x: x * (right(x) + wrong(x))), **close)
    agreement = mean(lambda x: x * right(x) + (1 - x) * wrong(x))
    assert prior.chance_of_agreement(first, second) == pytest.approx(agreement, **close)


@pytest.mark.parametrize("prior", PRIORS, ids=str)
def test_marginal_income_by_definition(prior):
    """Definition 4.2 gives (a - b) / (2 (a + b + 2m)) at a tie, and 0 elsewhere (Theorem 4.4)."""
    for first, second in statuses_below(12):
        agrees = prior.chance_of_agreement(first, second)
        other = (first, second + 1) if first > second else (second + 1, first)
        after = agrees * prior.result_accuracy(first + 1, second) + (1 - agrees) * prior.result_accuracy(*other)
        income = float(after - prior.result_accuracy(first, second))
        tied = (prior.a - prior.b) / (2 * (prior.a + prior.b + 2 * first)) if first == second else 0.0
        assert income == pytest.approx(tied, abs=1e-12)
        assert float(prior.marginal_income(first, second)) == pytest.approx(tied, abs=1e-15)


def by_definition(prior, loss, horizon, *, charged_again=0.0):
    """Which statuses go on by Definition 4.3: P_S compared with P_C, with all costs paid so far in both."""
    grid = np.indices((horizon + 2, horizon + 2))
    agreement = prior.chance_of_agreement(*grid)
    stopping = -(1 - prior.result_accuracy(*grid)) * loss - grid.sum(axis=0)
    best, going_on = stopping.copy(), set()
    for first, second in reversed(statuses_below(horizon)):
        other = best[first, second + 1] if first > second else best[first + 1, first]
        agrees = agreement[first, second]
        on = agrees * best[first + 1, second] + (1 - agrees) * other - charged_again
        best[first, second] = max(on, stopping[first, second])
        if on > stopping[first, second] + 1e-9:
            going_on.add((first, second))
    return going_on


@pytest.mark.parametrize("prior", PRIORS, ids=str)
@pytest.mark.parametrize("loss", [1.0, 5.0, 12.0, 40.0, 100.0])
def test_stops_where_the_definition_does(prior, loss):
    """The table, and the rule beyond it, equal a backward induction that looks three times as far (Theorem 4.5)."""
    strategy = best_strategy(prior, loss)
    horizon = max(3 * prior.horizon(loss), 60)
    going_on = by_definition(prior, loss, horizon)
    statuses = statuses_below(horizon)
    first, second = np.transpose(statuses)
    stops = strategy.stops(first, second)
    assert {status for status, stop in zip(statuses, stops, strict=True) if not stop} == going_on
    assert all(first < prior.horizon(loss) for first, second in going_on if second < first)


def test_a_large_loss_stops_where_the_definition_does_and_keeps_little():
    """A loss of 400 answers by the definition; at 3,000, leads up to 10 go on, so no table of 512 x 512 is kept."""
    prior, loss = Prior(6, 2), 400.0
    going_on = by_definition(prior, loss, 3 * prior.horizon(loss))
    first, second = np.transpose(statuses_below(3 * prior.horizon(loss)))
    goes_on = ~best_strategy(prior, loss).stops(first, second)
    assert set(zip(first[goes_on].tolist(), second[goes_on].tolist(), strict=True)) == going_on
    assert best_strategy(prior, 3000.0).lead.nbytes < 3_000


def test_as_printed_the_loss_counts_half():
    """Algorithm 1 subtracts the next answer's cost twice, which makes it right for half the loss."""
    printed = by_definition(Prior(6, 2), 60.0, 60, charged_again=1.0)
    assert printed == by_definition(Prior(6, 2), 30.0, 60)
    assert printed != by_definition(Prior(6, 2), 60.0, 60)


def expected(prior, goes_on):
    """Accuracy and number of answers, by enumerating every sequence of right and wrong answers until it stops."""
    accuracy, answers = 0.0, 0.0
    pending = [(0, 0)]
    while pending:
        right, wrong = pending.pop()
        if (max(right, wrong), min(right, wrong)) in goes_on:
            pending += [(right + 1, wrong), (right, wrong + 1)]
            continue
        chance = np.exp(special.betaln(prior.a + right, prior.b + wrong) - special.betaln(prior.a, prior.b))
        accuracy += chance * (0.5 if right == wrong else right > wrong)
        answers += chance * (right + wrong)
    return accuracy, answers


@pytest.mark.parametrize(("prior", "loss"), [(Prior(6, 2), 5.0), (Prior(6, 2), 22.0), (Prior(1.5, 0.5), 50.0)], ids=str)
def test_no_strategy_earns_more(prior, loss):
    """No strategy that stops at four votes for one class has a larger expected profit."""
    strategy = best_strategy(prior, loss)
    own = {status for status in SMALL if not strategy.stops(*np.array(status))}
    accuracy, answers = expected(prior, own)
    assert (strategy.accuracy, strategy.answers) == pytest.approx((accuracy, answers))
    profits = []
    for chosen in product([False, True], repeat=len(SMALL)):
        right, asked = expected(prior, {status for status, on in zip(SMALL, chosen, strict=True) if on})
        profits.append(-(1 - right) * loss - asked)
    assert strategy.profit(0.0) == pytest.approx(max(profits))


def test_value_shifts_profit_alone():
    """The value of an answer is added to the profit of a question and changes nothing else."""
    strategy = best_strategy(Prior(6, 2), 100.0)
    assert strategy.profit(30.0) - strategy.profit(10.0) == pytest.approx(20.0)


def test_more_at_stake_asks_more():
    """A larger loss never gives a strategy with less accuracy or fewer answers."""
    plans = [best_strategy(Prior(6, 2), float(loss)) for loss in range(1, 200, 7)]
    assert (np.diff([plan.accuracy for plan in plans]) >= -1e-12).all()
    assert (np.diff([plan.answers for plan in plans]) >= -1e-12).all()
