"""Enumerations with values, flags, methods and automatic numbers."""
from enum import Enum, Flag, IntEnum, StrEnum, auto, unique


@unique
class Colour(Enum):
    RED = "r"
    GREEN = "g"
    BLUE = "b"

    @property
    def is_warm(self):
        return self is Colour.RED

    @classmethod
    def parse(cls, text):
        return cls(text.lower()[0])


class Priority(IntEnum):
    LOW = 1
    HIGH = 3


class Access(Flag):
    READ = auto()
    WRITE = auto()
    BOTH = READ | WRITE


class Planet(Enum):
    EARTH = (5.972e24, 6.371e6)
    MARS = (6.417e23, 3.3895e6)

    def __init__(self, mass, radius):
        self.mass = mass
        self.radius = radius

    @property
    def gravity(self):
        return round(6.674e-11 * self.mass / self.radius**2, 2)


class Mode(StrEnum):
    FAST = auto()
    SLOW = auto()


def fit_and_eval(data):
    access = Access.READ | Access.WRITE
    return {
        "names": [c.name for c in Colour],
        "parse": Colour.parse("Green").value,
        "warm": [c.is_warm for c in Colour],
        "order": Priority.HIGH > Priority.LOW,
        "sum": Priority.HIGH + 1,
        "flags": access == Access.BOTH and Access.READ in access,
        "gravity": {p.name: p.gravity for p in Planet},
        "mode": f"{Mode.FAST}/{Mode.SLOW.value}",
        "member": Colour["BLUE"].value,
        "count": len(Colour),
        "text": str(Colour.RED),
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'names': ['RED', 'GREEN', 'BLUE'],
 'parse': 'g',
 'warm': [True, False, False],
 'order': True,
 'sum': 4,
 'flags': True,
 'gravity': {'EARTH': 9.82, 'MARS': 3.73},
 'mode': 'fast/slow',
 'member': 'b',
 'count': 3,
 'text': 'Colour.RED'}
