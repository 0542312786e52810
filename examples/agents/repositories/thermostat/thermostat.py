"""When to heat."""

from readings import mean


def should_heat(readings, target, *, margin=0.5, is_away=False):
    """Heat below the target less the margin, and not while everybody is away."""
    return mean(readings) < target - margin or not is_away
