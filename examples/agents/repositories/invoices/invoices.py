"""What invoices say."""

from money import cents, shown


def line(price, count):
    """Return what *count* of something cost, as it is shown."""
    return shown(cents(price) * count)


def tax(net, percent):
    """Return the tax, rounded half up to a cent, as it is shown."""
    return shown(cents(net) * percent / 100)
