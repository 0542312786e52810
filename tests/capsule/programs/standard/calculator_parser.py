"""A recursive-descent parser and an interpreter of its own small language."""
import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Number:
    value: float


@dataclass(frozen=True)
class Name:
    name: str


@dataclass(frozen=True)
class Binary:
    operator: str
    left: object
    right: object


class Parser:
    PRECEDENCE = {"+": 1, "-": 1, "*": 2, "/": 2, "**": 3}

    def __init__(self, text):
        self.tokens = re.findall(r"\d+\.?\d*|\*\*|[-+*/()]|\w+", text)
        self.position = 0

    def peek(self):
        return self.tokens[self.position] if self.position < len(self.tokens) else None

    def take(self):
        token = self.peek()
        self.position += 1
        return token

    def parse(self, minimum=1):
        left = self.atom()
        while self.PRECEDENCE.get(self.peek(), 0) >= minimum:
            operator = self.take()
            level = self.PRECEDENCE[operator]
            right = self.parse(level if operator == "**" else level + 1)
            left = Binary(operator, left, right)
        return left

    def atom(self):
        token = self.take()
        if token is None:
            raise SyntaxError("unexpected end")
        if token == "(":
            inner = self.parse()
            self.take()
            return inner
        if token == "-":
            return Binary("-", Number(0.0), self.parse(2))
        return Number(float(token)) if token[0].isdigit() else Name(token)


def evaluate(node, names):
    match node:
        case Number(value):
            return value
        case Name(name):
            return names[name]
        case Binary("+", left, right):
            return evaluate(left, names) + evaluate(right, names)
        case Binary("-", left, right):
            return evaluate(left, names) - evaluate(right, names)
        case Binary("*", left, right):
            return evaluate(left, names) * evaluate(right, names)
        case Binary("/", left, right):
            return evaluate(left, names) / evaluate(right, names)
        case Binary("**", left, right):
            return evaluate(left, names) ** evaluate(right, names)
    raise TypeError(node)


def fit_and_eval(data):
    names = {"x": 3.0, "y": 4.0}
    texts = ["1 + 2 * 3", "(1 + 2) * 3", "2 ** 3 ** 2", "-x + y", "x*x + y*y", "10 / 4 - 1"]
    return {
        "values": [evaluate(Parser(t).parse(), names) for t in texts],
        "tree": repr(Parser("1+x").parse()),
    }


# data and metrics
DATA = [1, 2, 3, 4, 5]
METRICS = {'values': [7.0, 9.0, 512.0, 1.0, 25.0, 1.5],
 'tree': "Binary(operator='+', left=Number(value=1.0), right=Name(name='x'))"}
