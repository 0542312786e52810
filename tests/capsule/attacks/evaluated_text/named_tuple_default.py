"""Plants code in the text from which named tuples are made."""
# wants: read
# allows: collections

import collections


class Name(str):
    def isidentifier(self):
        return True

    def startswith(self, *_):
        return False


def fit_and_eval(data):
    try:
        made = collections.namedtuple("T", [Name("a=__import__('io').open(p)")])
    except (TypeError, ValueError):
        made = None
    return {"got": made() if made else eval("open(p).read()", {"p": data["secret"]})}
