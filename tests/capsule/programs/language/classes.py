"""Shapes that inherit, compare, count and print."""
class Shape:
    sides = 0
    def __init__(self, name):
        self.name = name
        self._hits = 0
    @property
    def label(self):
        return f"{self.name}:{self.sides}"
    def __eq__(self, other):
        return isinstance(other, Shape) and self.name == other.name
    def __len__(self):
        return self.sides
    def __repr__(self):
        return f"{type(self).__name__}({self.name!r})"

class Square(Shape):
    sides = 4
    __slots__ = ("side",)
    def __init__(self, side):
        super().__init__("square")
        self.side = side
    @classmethod
    def unit(cls):
        return cls(1)
    @staticmethod
    def twice(x):
        return 2 * x
    def __repr__(self):
        return "<" + super().__repr__() + ">"

def fit_and_eval(data):
    s = Square.unit()
    return {"label": s.label, "len": len(s), "repr": repr(s),
            "eq": s == Square(9), "twice": Square.twice(s.side),
            "type": isinstance(Square, type) and type(s) == Square}


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'label': 'square:4',
 'len': 4,
 'repr': "<Square('square')>",
 'eq': True,
 'twice': 2,
 'type': True}
