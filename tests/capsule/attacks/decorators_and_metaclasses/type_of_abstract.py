"""Gets a class of classes by asking for the type of an abstract class."""
# wants: read
# allows: abc copy

import abc
import copy


class Base(abc.ABC):
    pass


def fit_and_eval(data):
    def made_of(self, protocol):
        return getattr, (len, "__se" "lf__")

    thing = type(Base)("Thing", (), {"__reduce_ex__": made_of})()
    return {"got": copy.copy(thing).open(data["secret"]).read()}
