"""Where uploaded files go: below the folder of who uploads them."""

from parts import split


def place(user, name):
    """Return where the file *name* of a user goes; ValueError if it is not below theirs."""
    if name.startswith("../"):
        raise ValueError(name)
    return "/".join(["uploads", user, *split(name)])
