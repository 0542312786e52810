"""Orders of several parcels."""

from rates import price


def total(parcels):
    """Return what all of them cost."""
    return sum(price(one) for one in parcels)
