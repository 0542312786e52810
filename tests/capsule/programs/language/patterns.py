"""Patterns of design: observers, strategies, builders, states and commands that undo."""
from abc import ABC, abstractmethod
from collections import defaultdict
from typing import Callable


class Bus:
    def __init__(self):
        self._handlers: dict[str, list[Callable]] = defaultdict(list)

    def on(self, name):
        def register(function):
            self._handlers[name].append(function)
            return function
        return register

    def emit(self, name, *args, **kwargs):
        return [handler(*args, **kwargs) for handler in self._handlers[name]]


class Strategy(ABC):
    @abstractmethod
    def price(self, amount): ...


class Regular(Strategy):
    def price(self, amount):
        return amount * 10


class Bulk(Strategy):
    def price(self, amount):
        return amount * 8 if amount > 3 else amount * 10


class QueryBuilder:
    def __init__(self):
        self._parts = []

    def where(self, condition):
        self._parts.append(condition)
        return self

    def build(self):
        return " AND ".join(self._parts) or "TRUE"


class Light:
    TRANSITIONS = {"green": "yellow", "yellow": "red", "red": "green"}

    def __init__(self):
        self.state = "red"

    def next(self):
        self.state = self.TRANSITIONS[self.state]
        return self.state


class Editor:
    def __init__(self):
        self.text, self._undo = "", []

    def type(self, text):
        self._undo.append(self.text)
        self.text += text

    def undo(self):
        if self._undo:
            self.text = self._undo.pop()


def fit_and_eval(data):
    bus = Bus()

    @bus.on("sum")
    def add(values):
        return sum(values)

    @bus.on("sum")
    def double(values):
        return 2 * sum(values)

    light, editor = Light(), Editor()
    editor.type("hello")
    editor.type(" world")
    editor.undo()
    return {
        "bus": bus.emit("sum", data),
        "prices": {type(s).__name__: [s.price(x) for x in data] for s in (Regular(), Bulk())},
        "query": QueryBuilder().where("a > 1").where("b = 2").build(),
        "light": [light.next() for _ in range(4)],
        "text": editor.text,
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'bus': [15, 30],
 'prices': {'Regular': [10, 20, 30, 40, 50], 'Bulk': [10, 20, 30, 32, 40]},
 'query': 'a > 1 AND b = 2',
 'light': ['green', 'yellow', 'red', 'green'],
 'text': 'hello'}
