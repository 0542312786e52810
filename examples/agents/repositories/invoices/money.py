"""Amounts of money, in cents."""

from decimal import Decimal


def cents(amount):
    """Return an amount, which is a text, in cents."""
    return float(Decimal(amount) * 100)


def shown(amount):
    """Return cents as they are shown, rounded to one."""
    return f"{round(amount) / 100:.2f}"
