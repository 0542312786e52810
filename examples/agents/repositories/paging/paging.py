"""Pages of a list, counted from 1."""


def page_count(total, size):
    """Return how many pages of *size* there are; one, if there is nothing."""
    return total // size + 1


def page(items, number, size):
    """Return what is on a page."""
    first = (number - 1) * size
    return items[first : first + size]
