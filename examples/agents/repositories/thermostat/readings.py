"""What thermometers say."""


def mean(readings):
    """Return the mean of those readings that are there."""
    known = [one for one in readings if one is not None]
    if not known:
        raise ValueError("no reading")
    return sum(known) / len(known)


def decide(readings, target, is_away):
    """Say what to do, as the display shows it."""
    from thermostat import should_heat

    return "heat" if should_heat(readings, target, is_away=is_away) else "rest"
