"""Protocols, named tuples, typed dictionaries, generics and annotations of text."""
from __future__ import annotations

from typing import (
    Any, Callable, Dict, Final, Generic, Iterable, List, Literal, NamedTuple, Optional, Protocol,
    Tuple, TypedDict, TypeVar, Union, cast, overload, runtime_checkable,
)

T = TypeVar("T")
LIMIT: Final = 3
Number = Union[int, float]


@runtime_checkable
class Shape(Protocol):
    def area(self) -> float: ...


class Square:
    def __init__(self, side: float) -> None:
        self.side = side

    def area(self) -> float:
        return self.side**2


class Movie(TypedDict):
    title: str
    year: int


class Point(NamedTuple):
    x: float
    y: float = 0.0

    def norm(self) -> float:
        return (self.x**2 + self.y**2) ** 0.5


class Stack(Generic[T]):
    def __init__(self) -> None:
        self.items: List[T] = []

    def push(self, item: T) -> Stack[T]:
        self.items.append(item)
        return self

    def pop(self) -> Optional[T]:
        return self.items.pop() if self.items else None


@overload
def double(x: int) -> int: ...
@overload
def double(x: str) -> str: ...
def double(x: Any) -> Any:
    return x * 2


def total(shapes: Iterable[Shape]) -> float:
    return sum(shape.area() for shape in shapes)


def transform(values: List[int], f: Callable[[int], Number]) -> Dict[str, Tuple[int, Number]]:
    return {str(v): (v, f(v)) for v in values}


def mode(name: Literal["fast", "slow"] = "fast") -> str:
    return name


def fit_and_eval(data: list[int]) -> dict[str, Any]:
    movie: Movie = {"title": "M", "year": 1931}
    stack: Stack[int] = Stack()
    stack.push(1).push(2)
    return {
        "total": total([Square(2), Square(1.5)]),
        "protocol": [isinstance(Square(1), Shape), isinstance(3, Shape)],
        "movie": movie,
        "point": [Point(3, 4).norm(), Point(1), Point(1)._replace(y=2)],
        "pop": [stack.pop(), stack.pop(), stack.pop()],
        "double": [double(2), double("a")],
        "transform": transform(data[:2], lambda v: v / 2),
        "cast": cast(int, "x"),
        "mode": mode(),
        "limit": LIMIT,
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'total': 6.25,
 'protocol': [True, False],
 'movie': {'title': 'M', 'year': 1931},
 'point': [5.0, [1, 0.0], [1, 2]],
 'pop': [2, 1, None],
 'double': [4, 'aa'],
 'transform': {'1': [1, 0.5], '2': [2, 1.0]},
 'cast': 'x',
 'mode': 'fast',
 'limit': 3}
