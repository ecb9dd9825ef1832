"""Expected amounts, which are arithmetic and not accounts, as amounts are written."""

from decimal import Decimal


def money(amount: float) -> Decimal:
    """To six decimals, without zeros at the end.

    >>> [f"{money(amount):f}" for amount in (2.5, 1 / 3, 1e-9, -0.0, 1200.0)]
    ['2.5', '0.333333', '0', '0', '1200']
    """
    return Decimal(f"{amount:.6f}").normalize() + 0
