"""Has copy call whatever an object says that it is made of."""
# wants: write
# allows: copy

import copy


class Call:
    def __reduce_ex__(self, protocol):
        return __import__("os").mkdir, (Call.path,)


def fit_and_eval(data):
    Call.path = data["place"] + "/new"
    copy.copy(Call())
    return {}
