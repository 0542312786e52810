"""Parts of paths."""


def split(name):
    """Return the parts of a path, without those that mean nothing."""
    return [part for part in name.split("/") if part not in ("", ".")]
