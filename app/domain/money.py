"""Money is exact: amounts are decimals, and no sum or product is ever rounded."""

import decimal

# A cost times a price may have 36 digits, and sums have more.
decimal.DefaultContext.prec = 100
decimal.setcontext(decimal.Context(prec=100))


def amount_text(amount: decimal.Decimal) -> str:
    """Format an amount for people: whole, with cents, or with three digits if it is less than one and not in cents.

    >>> [amount_text(decimal.Decimal(text)) for text in ("2.00", "1234.5", "306.6612", "0.29998", "0.00125", "0")]
    ['2', '1,234.50', '306.66', '0.30', '0.00125', '0']
    """
    if amount == amount.to_integral_value():
        return f"{amount.to_integral_value():,f}"
    rounded = decimal.Decimal(f"{amount:.3g}")
    if abs(amount) >= 1 or rounded == round(rounded, 2):
        return f"{amount:,.2f}"
    return f"{rounded:f}"
