"""Goes through two allowed modules to a function that neither offers."""
# wants: read
# allows: fractions

import fractions


def fit_and_eval(data):
    return {"got": fractions.operator.attrgetter("__self__.open")(len)(data["secret"]).read()}
