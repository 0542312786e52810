"""Has deepcopy call a function that stands in the place of a method."""
# wants: read
# allows: copy

import copy


class Thing:
    pass


def fit_and_eval(data):
    setattr(Thing, "__deepcopy__", lambda self, memo: memo.setdefault.__self__)
    memo = copy.deepcopy(Thing(), {"open": len.__self__.open})
    return {"got": memo["open"](data["secret"]).read()}
