"""What can go wrong in the warehouse."""


class UnknownItem(LookupError):
    """There is no such item."""


class OutOfStock(Exception):
    """There is less of it than is wanted."""
