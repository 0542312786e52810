"""Has deepcopy call a function that stands in the place of a method."""
# wants: write
# allows: copy

import copy


class Thing:
    pass


def fit_and_eval(data):
    setattr(Thing, "__deepcopy__", lambda self, memo: open(data["place"] + "/new", "w"))
    copy.deepcopy(Thing())
    return {}
