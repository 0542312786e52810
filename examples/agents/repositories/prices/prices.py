"""What customers pay."""


def total(prices, discount=0):
    """Return the sum of the prices, less the discount, and never less than nothing."""
    if discount > sum(prices):
        return sum(prices)
    return sum(prices) - discount
