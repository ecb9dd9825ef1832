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


def plain_amount(amount: decimal.Decimal) -> str:
    """Format an amount for programs: exact, whole or with cents where that is enough.

    >>> [plain_amount(decimal.Decimal(text)) for text in ("0.0", "12.50", "4.500", "0.0330", "100.00", "0.5", "0E-6")]
    ['0', '12.50', '4.50', '0.033', '100', '0.5', '0']
    """
    if amount == amount.to_integral_value():
        return f"{amount.to_integral_value():f}"
    whole, _, digits = f"{amount:f}".partition(".")
    return f"{whole}.{digits[:2]}{digits[2:].rstrip('0')}"
