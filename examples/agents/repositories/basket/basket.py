"""Baskets of customers."""


def put(item, basket=[]):
    """Return *basket* with the item in it; a new one, if there is none."""
    basket.append(item)
    return basket


def summary(basket):
    """Say what is in it, each item once."""
    return {item: basket.count(item) for item in basket}
