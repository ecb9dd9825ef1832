"""The curve of accuracy and cost, compared with all strategies, all sequences of answers, and simulated crowds."""

from functools import cache
from itertools import pairwise, product

import numpy as np
import pytest
from scipy import integrate, stats

from app.policy.planning.accuracy_cost import accuracy_cost, majority_of, max_accuracy_with_any_number, statuses
from app.policy.planning.cost_sensitive import Prior, best_strategy
from app.policy.planning.stopping_policy import ASK, chances, expected_outcome, stopping_policy
from app.policy.planning.value_functions import Entropy, Linear, Points, StepValue

SHAPES = [(6, 2), (8, 2), (3, 2), (1.5, 0.5), (2.5, 2.4)]
PRIORS = [Prior(*shape) for shape in SHAPES]
ITEMS = 60_000  # of a simulated crowd


@cache
def chance_of(a, b, right, wrong):
    """The probability of one sequence of right and wrong answers, by integrating over the workers' accuracy."""
    density = stats.beta(a, b).pdf
    return integrate.quad(lambda x: x**right * (1 - x) ** wrong * density(x), 0, 1, epsabs=1e-13, epsrel=1e-11)[0]


def sequences(a, b, length):
    """Every sequence of right (1) and wrong (0) answers, with its chance."""
    return [
        (answers, chance_of(a, b, sum(answers), length - sum(answers))) for answers in product((1, 0), repeat=length)
    ]


def vote_counts(answers):
    """(right, wrong) before the first answer and after each."""
    right = np.concatenate([[0], np.cumsum(answers)])
    return [(int(r), n - int(r)) for n, r in enumerate(right)]


def folded(standing):
    return max(standing), min(standing)


def where_it_ends(answers, goes_on):
    walk = vote_counts(answers)
    return next((at for at in walk if folded(at) not in goes_on), walk[-1])


def is_right(standing):
    right, wrong = standing
    return 0.5 if right == wrong else float(right > wrong)


def expected(a, b, most, goes_on):
    """Accuracy and number of answers of a strategy, over all sequences."""
    ends = [(where_it_ends(answers, goes_on), chance) for answers, chance in sequences(a, b, most)]
    return sum(c * is_right(end) for end, c in ends), sum(c * sum(end) for end, c in ends)


def every_strategy(most):
    """Each set of statuses at which to go on."""
    there = [(first, second) for first in range(most) for second in range(first + 1) if first + second < most]
    for chosen in product((False, True), repeat=len(there)):
        yield {status for status, on in zip(there, chosen, strict=True) if on}


def upper_hull(points):
    """The points (accuracy, answers) that maximise accuracy * loss - answers for some loss."""
    hull = [min(points, key=lambda point: (point[1], -point[0]))]
    while True:
        accuracy, answers = hull[-1]
        better = [point for point in points if point[0] > accuracy + 1e-9]
        if not better:
            return hull
        price = min((point[1] - answers) / (point[0] - accuracy) for point in better)
        same = [point for point in better if (point[1] - answers) / (point[0] - accuracy) < price + 1e-7]
        hull.append(max(same))


@pytest.mark.parametrize(("a", "b"), SHAPES)
@pytest.mark.parametrize("most", [1, 3, 4])
def test_the_curve_is_the_hull_of_all_strategies(a, b, most):
    """Algorithm 3 gives every strategy that is best at some loss, and the loss from which on it is best."""
    hull = upper_hull([expected(a, b, most, goes_on) for goes_on in every_strategy(most)])
    curve = accuracy_cost(Prior(a, b), most)
    np.testing.assert_allclose(np.transpose([curve.accuracy, curve.answers]), hull, atol=1e-8)
    losses = [(after[1] - before[1]) / (after[0] - before[0]) for before, after in pairwise(hull)]
    np.testing.assert_allclose(curve.loss, [0, *losses], rtol=1e-5)


def step_by_step(prior, most):
    """Algorithm 3 with its misprints corrected: from a large loss down to the next loss at which a status changes."""
    loss = 1e4
    for _ in range(1000):
        there = statuses(prior, loss, most)
        yield there.accuracy[0], there.answers[0], loss
        if not there.goes_on.any():
            return
        ties = there.answers[there.goes_on] / (there.accuracy - there.right)[there.goes_on]  # Lemma 5.1
        loss = ties.max() * (1 - 1e-9)
    raise AssertionError("the loss does not fall")


@pytest.mark.parametrize("prior", [Prior(6, 2), Prior(3, 2), Prior(9, 0.5)], ids=str)
@pytest.mark.parametrize("most", [12, 40])
def test_algorithm_3_walks_over_the_same_points(prior, most):
    walked = np.array(list(step_by_step(prior, most)))[::-1]
    curve = accuracy_cost(prior, most)
    points = slice(curve.at_loss(1e4) + 1)
    np.testing.assert_allclose(walked[:, :2], np.transpose([curve.accuracy, curve.answers])[points], atol=1e-9)
    np.testing.assert_allclose(walked[:-1, 2], curve.loss[points][1:], rtol=1e-6)


@pytest.mark.parametrize(("a", "b"), SHAPES)
@pytest.mark.parametrize("loss", [3.0, 15.0, 60.0, 900.0])
def test_each_status_by_enumeration(a, b, loss):
    """For each status, over all sequences that reach it: probability, accuracy now and at the end, answers to come."""
    most = 7
    there = statuses(Prior(a, b), loss, most)
    table = zip(there.first.tolist(), there.second.tolist(), strict=True)
    rows = {status: row for row, status in enumerate(table)}
    goes_on = {status for status, row in rows.items() if there.goes_on[row]}
    seen = {status: np.zeros(4) for status in rows}
    for answers, chance in sequences(a, b, most):
        end = where_it_ends(answers, goes_on)
        for at in vote_counts(answers)[: sum(end) + 1]:
            seen[folded(at)] += chance * np.array([1, is_right(at), is_right(end), sum(end) - sum(at)])
    for status, row in rows.items():
        reached, *sums = seen[status]
        found = (there.reached[row], there.right[row], there.accuracy[row], there.answers[row])
        assert found == pytest.approx((reached, *(total / reached for total in sums)), abs=1e-9), status


@pytest.mark.parametrize(("a", "b"), SHAPES)
@pytest.mark.parametrize("loss", [3.0, 15.0, 60.0, 900.0])
def test_the_table_is_the_best_strategy(a, b, loss):
    """No strategy with at most four answers has a larger profit than that of the table."""
    most = 4
    there = statuses(Prior(a, b), loss, most)
    earned = there.accuracy[0] * loss - there.answers[0]
    best = max(accuracy * loss - cost for accuracy, cost in (expected(a, b, most, on) for on in every_strategy(most)))
    assert earned == pytest.approx(best, rel=1e-8)


@pytest.mark.parametrize("prior", PRIORS, ids=str)
@pytest.mark.parametrize("guess", [0.5, 0.8])
def test_chances_are_integrals(prior, guess):
    """Theorems 4.1 to 4.4 for a label that is right with a given probability before any vote."""

    def both(right_votes, wrong_votes):
        return guess * chance_of(prior.a, prior.b, right_votes, wrong_votes), (1 - guess) * chance_of(
            prior.a, prior.b, wrong_votes, right_votes
        )

    def right(label_votes, other_votes):
        yes, no = both(label_votes, other_votes)
        return max(yes, no) / (yes + no)

    for total in range(5):
        found = chances(prior, 5, guess)[total]
        for count in range(total + 1):
            agrees = sum(both(count + 1, total - count)) / sum(both(count, total - count))
            later = agrees * right(count + 1, total - count) + (1 - agrees) * right(count, total - count + 1)
            assert found.right[count] == pytest.approx(right(count, total - count), rel=1e-8)
            assert found.agreement[count] == pytest.approx(agrees, rel=1e-8)
            assert found.rise[count] == pytest.approx(later - right(count, total - count), abs=1e-8)


@pytest.mark.parametrize("prior", PRIORS, ids=str)
@pytest.mark.parametrize("loss", [1.0, 5.0, 20.0, 100.0, 160.0])
def test_termination(prior, loss):
    """Theorem 4.5: with M votes of Eq. 1 for one class, and fewer for the other, the strategy stops.

    A cap far beyond M gives the same strategy as no cap.
    """
    horizon = prior.horizon(loss)
    levels, uncapped = stopping_policy(prior, loss, 2 * horizon + 2), best_strategy(prior, loss)
    for total, level in enumerate(levels[:-1]):
        for first in range((total + 1) // 2, total + 1):
            goes_on = level.action[first, 0] == ASK
            if first >= horizon and 2 * first > total:
                assert not goes_on
            if first <= horizon:
                assert goes_on != uncapped.stops(first, total - first)
    capped = expected_outcome(prior, [loss], 2 * horizon + 2)
    assert (capped.accuracy[0], capped.answers[0]) == pytest.approx((uncapped.accuracy, uncapped.answers), abs=1e-12)


def test_more_workers_reach_more_and_never_pass_the_ceiling():
    curves = [accuracy_cost(Prior(6, 2), most) for most in (1, 2, 5, 10, 20, 40, 80)]
    ceilings = [curve.max_accuracy for curve in curves]
    assert ceilings == sorted(ceilings)
    assert ceilings[-1] < max_accuracy_with_any_number(Prior(6, 2)) == pytest.approx(stats.beta(6, 2).sf(0.5))


def test_the_most_accurate_strategy_is_the_majority_of_all():
    """Asking until no further answer can matter gives the same result as the majority of all answers."""
    for most in (3, 5, 9):
        curve = accuracy_cost(Prior(6, 2), most)
        by_hand = sum(c for answers, c in sequences(6, 2, most) if 2 * sum(answers) > most)
        assert curve.max_accuracy == pytest.approx(by_hand, abs=1e-8)
        assert majority_of(Prior(6, 2), np.array([most])) == pytest.approx([by_hand], abs=1e-8)


def simulated(accuracies, there, most, rng):
    """Right results and answers of items with these accuracies, following the table alone."""
    table = zip(there.first.tolist(), there.second.tolist(), there.goes_on.tolist(), strict=True)
    goes_on = np.zeros((most + 2, most + 2), dtype=bool)
    for first, second, on in table:
        goes_on[first, second] = on
    right, wrong = np.zeros((2, len(accuracies)), dtype=np.int64)
    for _ in range(most):
        asked = goes_on[np.maximum(right, wrong), np.minimum(right, wrong)]
        says_right = rng.random(len(accuracies)) < accuracies
        right, wrong = right + (asked & says_right), wrong + (asked & ~says_right)
    lucky = rng.random(len(accuracies)) < 0.5
    return np.where(right == wrong, lucky, right > wrong), right + wrong


@pytest.mark.parametrize(("a", "b"), [(6, 2), (3, 2), (9, 0.5)])
@pytest.mark.parametrize("loss", [6.0, 50.0, 400.0])
def test_crowds_keep_the_promise(a, b, loss):
    """Accuracy and answers of crowds drawn from the prior are within four standard errors of the expectation."""
    rng = np.random.default_rng([int(10 * a), int(10 * b), int(loss)])
    there = statuses(Prior(a, b), loss, 40)
    right, answers = simulated(rng.beta(a, b, ITEMS), there, 40, rng)
    for seen, promised in ((right, there.accuracy[0]), (answers, there.answers[0])):
        error = np.std(seen) / np.sqrt(ITEMS)
        assert abs(np.mean(seen) - promised) <= 4 * error + 1e-12


def with_the_wrong_prior(accuracies, point, curve, rng):
    there = statuses(curve.prior, curve.loss_within(point), curve.most_answers)
    right, answers = simulated(accuracies, there, curve.most_answers, rng)
    return np.mean(right), np.mean(answers)


@pytest.mark.parametrize("promise", [0.9, 0.91, 0.92])
def test_harder_questions_than_expected(promise):
    """Figure 11: strategies for B(6, 2), a mean of .75, on questions that all have an accuracy of .65.

    They ask for more answers than expected, and reach their promise within two points if it is .9 or more.
    """
    curve, rng = accuracy_cost(Prior(6, 2), 40), np.random.default_rng(11)
    point = int(np.argmax(curve.accuracy >= promise))
    accuracy, answers = with_the_wrong_prior(np.full(ITEMS, 0.65), point, curve, rng)
    assert accuracy > curve.accuracy[point] - 0.02
    assert answers > 1.2 * curve.answers[point]


def test_where_the_robustness_ends():
    """Lower promises are missed, and so are all promises if questions vary as before about a mean of .65.

    Under B(5.2, 2.8), most workers are wrong on 18 % of the questions: no strategy is more accurate than .82.
    """
    curve, rng = accuracy_cost(Prior(6, 2), 40), np.random.default_rng(12)
    point = int(np.argmax(curve.accuracy >= 0.85))
    assert with_the_wrong_prior(np.full(ITEMS, 0.65), point, curve, rng)[0] < curve.accuracy[point] - 0.05
    point = int(np.argmax(curve.accuracy >= 0.91))
    assert with_the_wrong_prior(rng.beta(5.2, 2.8, ITEMS), point, curve, rng)[0] < curve.accuracy[point] - 0.1
    assert max_accuracy_with_any_number(Prior(5.2, 2.8)) < 0.82


def _between(accuracy):
    if accuracy > 0.8:
        return 4 + 16 * min(accuracy - 0.8, 0.1) / 0.1
    return -3 + 7 * (accuracy - 0.5) / 0.3


VALUES = [
    (Linear(value=3, loss=70), lambda a: 3 - 70 * (1 - a)),
    (StepValue(kind="step", accuracy=0.83, value=12), lambda a: 12.0 * (a >= 0.83)),
    (StepValue(kind="step", accuracy=0.75, value=12), lambda a: 12.0 * (round(a, 9) >= 0.75)),
    (Entropy(kind="entropy", value=25), lambda a: 25 * (1 + a * np.log2(a) + (1 - a) * np.log2(1 - a))),
    (Points(kind="points", points=[(0.5, -3), (0.8, 4), (0.9, 20)]), _between),
]


@pytest.mark.parametrize(("value", "by_hand"), VALUES, ids=lambda value: getattr(value, "kind", ""))
@pytest.mark.parametrize("cost", [0.1, 1.0])
def test_the_best_point_for_a_value_function(value, by_hand, cost):
    """The best point maximises worth minus cost over all points (Section 5.1); the value need not be concave."""
    curve = accuracy_cost(Prior(6, 2), 20)
    points = zip(curve.accuracy.tolist(), curve.answers.tolist(), strict=True)
    profits = [by_hand(accuracy) - cost * answers for accuracy, answers in points]
    best = curve.best(value.worth(curve.accuracy), cost)
    assert profits[best] == pytest.approx(max(profits), abs=1e-12)


def test_a_linear_value_chooses_what_its_loss_does():
    """V - (1 - A) L is the linear model itself, so the best point is that of the loss."""
    curve = accuracy_cost(Prior(6, 2), 20)
    for loss in (2.0, 10.0, 33.0, 150.0, 2000.0):
        assert curve.best(Linear(value=1, loss=loss).worth(curve.accuracy), 1.0) == curve.at_loss(loss)


def test_nothing_that_is_allowed_is_nothing():
    curve = accuracy_cost(Prior(6, 2), 5)
    assert curve.best(curve.accuracy, 1.0, np.zeros(len(curve.accuracy), dtype=bool)) is None
