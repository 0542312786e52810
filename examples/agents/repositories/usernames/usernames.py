"""Names by which people log in."""

from folding import folded

_TAKEN = {}


def is_same(one, other):
    """Tell whether two names are the same to people who type them."""
    return folded(one) == folded(other)


def register(name):
    """Take a name; return how it is shown, or raise ValueError if it is taken."""
    key = folded(name)
    if key in _TAKEN:
        raise ValueError(f"{_TAKEN[key]} is taken")
    _TAKEN[key] = name.strip()
    return _TAKEN[key]
