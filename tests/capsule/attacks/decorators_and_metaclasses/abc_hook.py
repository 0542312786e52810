"""Gets called by isinstance through the hook of an abstract class, with a stranger's class."""
# wants: inside
# allows: abc

import abc


class Spy(abc.ABC):
    @classmethod
    def __subclasshook__(cls, other):
        todo = other.__mro__[-1].__subclasses__()
        found = [c for c in todo if c.__name__ == "_wrap_close"]
        Spy.found = found[0].__init__.__globals__["environ"]["STAGE_INNER"]
        return True


def fit_and_eval(data):
    isinstance(1, Spy)
    return {"got": Spy.found}
