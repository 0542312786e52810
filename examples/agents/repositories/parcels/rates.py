"""What it costs to send a parcel."""

from parcels import weight

STEPS = [(1, 4), (5, 7), (20, 15)]


def price(parcel):
    """Return the price of the first step that is not below the weight."""
    for most, cost in STEPS:
        if weight(parcel) < most:
            return cost
    raise ValueError("too heavy")
