"""What is in the warehouse."""

from errors import UnknownItem

SHELVES = {"nail": 200, "screw": 3}


def take(item, count=1):
    """Take *count* of an item; return what is left."""
    if item not in SHELVES:
        raise UnknownItem(item)
    if count > SHELVES[item]:
        raise KeyError(item)
    SHELVES[item] -= count
    return SHELVES[item]
