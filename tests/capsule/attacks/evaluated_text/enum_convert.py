"""Has an enumeration collect open from the table of a module, by a method with one line."""
# wants: read
# allows: enum

import enum


class Found(enum.Enum):
    pass


def fit_and_eval(data):
    names = Found._convert_("Names", "builtins", lambda name: name == "open")
    return {"got": names["open"].value(data["secret"]).read()}
