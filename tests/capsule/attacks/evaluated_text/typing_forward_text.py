"""Has typing evaluate text by a private method that it names like one of its own."""
# wants: read
# allows: typing

import typing


class Own:
    def _evaluate(self):
        return None


def fit_and_eval(data):
    got = []
    text = "got.append(open(" + repr(data["secret"]) + ").read())"
    for reference in typing.get_args(typing.Optional[text])[:1]:
        try:
            reference._evaluate({}, {"got": got}, recursive_guard=frozenset())
        except TypeError:
            reference._evaluate({}, {"got": got}, (), recursive_guard=frozenset())
    return {"got": str(got)}
