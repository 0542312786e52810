"""Uses the class of the string module that formats, with attribute walks of its own."""
# wants: inside
# allows: random string

import random
import string


def fit_and_eval(data):
    text = "{0.randrange.__globals__[_os].environ[STAGE_INNER]}"
    return {"got": string.Formatter().format(text, random.Random)}
