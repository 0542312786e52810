"""Parcels."""

from units import kilograms


def weight(parcel):
    """Return what a parcel weighs, with its box, in kilograms."""
    return kilograms(parcel["weight"], parcel.get("unit", "kg")) + 0.25
