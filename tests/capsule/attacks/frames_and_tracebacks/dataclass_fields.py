"""Has patterns read frames, by the fields of a class that a generator is said to be of."""
# wants: read
# allows: abc dataclasses

from abc import ABC
from dataclasses import dataclass


@dataclass
class Suspended(ABC):
    gi_frame: object


@dataclass
class Frame(ABC):
    f_builtins: object


def fit_and_eval(data):
    g = (x for x in [1])
    Suspended.register(type(g))
    match g:
        case Suspended(frame):
            Frame.register(type(frame))
            match frame:
                case Frame(names):
                    return {"got": names["open"](data["secret"]).read()}
