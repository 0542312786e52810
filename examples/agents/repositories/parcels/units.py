"""Units of weight."""

KILOGRAMS = {"kg": 1, "g": 1000}


def kilograms(amount, unit):
    """Return an amount in kilograms."""
    return amount * KILOGRAMS[unit]
