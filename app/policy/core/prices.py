"""What a job expects its workers to charge: rules that weigh an answer against its cost need it."""

from math import floor

from app.policy.core.tuning import TUNED

MIN_PRICE = 1e-9  # a free answer is taken to cost this much, so that value per cost is finite


def expected_price(registered: float, paid: float, answers: float) -> float:
    """The mean price of the answers so far, with the usual price of registered workers as a start.

        (k registered + sum of the prices of n answers) / (k + n),    k = `registered_answers`.

    `registered` is the median over the registered workers, so that one expert among many does not move it.

    >>> expected_price(0.05, 0.0, 0), round(expected_price(1.0, 90 * 0.05, 90), 6)
    (0.05, 0.145)
    """
    start = TUNED.prices.registered_answers
    return (start * registered + paid) / (start + answers)


def is_price_due(before: int, now: int) -> bool:
    """Whether the expected price is determined again, after the answers of a job have grown from `before` to `now`.

    At 10, 15, 22, 33 ... answers, so that the price is in force for long stretches and rarely moves.

    >>> [n for n in range(1, 80) if is_price_due(n - 1, n)]
    [10, 15, 22, 33, 49, 73]
    """
    step = TUNED.prices.first_step
    while step <= before:
        step = floor(step * TUNED.prices.growth)
    return step <= now


def has_moved(price: float, found: float) -> bool:
    """Whether the price that was found differs from the one in force by enough to judge the items again.

    >>> has_moved(1.0, 1.05), has_moved(1.0, 0.05), has_moved(0.0, 0.0)
    (False, True, False)
    """
    low, high = sorted((max(price, MIN_PRICE), max(found, MIN_PRICE)))
    return high > low * TUNED.prices.tolerance
