"""Has typing evaluate an annotation that is a text."""
# wants: read
# allows: typing

import typing


def fit_and_eval(data):
    def f(x: "open(path).read()"):
        pass

    return {"got": str(typing.get_type_hints(f, {"path": data["secret"]}, {"open": open}))}
