"""A vector, a fraction and a matrix that overload operators."""
import math


class Vector:
    __slots__ = ("x", "y")

    def __init__(self, x, y):
        self.x, self.y = x, y

    def __add__(self, other):
        return Vector(self.x + other.x, self.y + other.y)

    def __sub__(self, other):
        return Vector(self.x - other.x, self.y - other.y)

    def __mul__(self, scalar):
        if isinstance(scalar, Vector):
            return self.x * scalar.x + self.y * scalar.y
        return Vector(self.x * scalar, self.y * scalar)

    __rmul__ = __mul__

    def __neg__(self):
        return Vector(-self.x, -self.y)

    def __abs__(self):
        return math.hypot(self.x, self.y)

    def __eq__(self, other):
        if not isinstance(other, Vector):
            return NotImplemented
        return (self.x, self.y) == (other.x, other.y)

    def __hash__(self):
        return hash((self.x, self.y))

    def __bool__(self):
        return bool(self.x or self.y)

    def __iter__(self):
        return iter((self.x, self.y))

    def __getitem__(self, index):
        return (self.x, self.y)[index]

    def __repr__(self):
        return f"Vector({self.x}, {self.y})"


class Matrix:
    def __init__(self, rows):
        self.rows = rows

    def __matmul__(self, other):
        columns = list(zip(*other.rows))
        return Matrix([[sum(a * b for a, b in zip(r, c)) for c in columns] for r in self.rows])

    def __getitem__(self, key):
        row, column = key
        return self.rows[row][column]

    def __setitem__(self, key, value):
        row, column = key
        self.rows[row][column] = value

    def __contains__(self, value):
        return any(value in row for row in self.rows)

    def __call__(self, scale):
        return [[scale * x for x in row] for row in self.rows]


def fit_and_eval(data):
    a, b = Vector(1, 2), Vector(3, 4)
    x, y = a
    m = Matrix([[1, 2], [3, 4]]) @ Matrix([[0, 1], [1, 0]])
    m[0, 0] = 9
    return {
        "sum": repr(a + b),
        "dot": a * b,
        "scaled": [repr(a * 2), repr(3 * a), repr(-a)],
        "abs": abs(b),
        "equal": [a == Vector(1, 2), a == 1, a != b],
        "set": len({a, Vector(1, 2), b}),
        "bool": bool(Vector(0, 0)),
        "unpacked": x + y + b[1],
        "matrix": m.rows,
        "contains": [9 in m, 5 in m],
        "called": m(2),
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'sum': 'Vector(4, 6)',
 'dot': 11,
 'scaled': ['Vector(2, 4)', 'Vector(3, 6)', 'Vector(-1, -2)'],
 'abs': 5.0,
 'equal': [True, False, True],
 'set': 2,
 'bool': False,
 'unpacked': 7,
 'matrix': [[9, 1], [4, 3]],
 'contains': [True, False],
 'called': [[18, 2], [8, 6]]}
