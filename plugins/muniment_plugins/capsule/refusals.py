"""The one exception by which a program is refused before it runs.

    program:1:1: Import not allowed: os [capsule/import]; allowed imports: math

Every refusal has a message, a rule, line and column, and what would be allowed instead.
"""

from __future__ import annotations

import ast
from typing import NoReturn

from muniment.canonical import JsonValue
from muniment.errors import RefusedError

__all__ = ["INSTEAD", "BoundedExecutionError", "refuse", "refuse_size"]

_WIDER = "{}; or ask for a policy with syntax='wide'"
INSTEAD = {
    "async": "use plain functions and loops",
    "global": _WIDER.format("pass values in and return them"),
    "nonlocal": _WIDER.format("keep state in a list, a dict or an object"),
    "try": _WIDER.format("test before you compute, and use no except*"),
    "with": _WIDER.format("work on values"),
}
"""What to write instead of syntax that is refused, by its name."""


class BoundedExecutionError(RefusedError):
    """A program says something that its bounds do not allow.

    ``line`` and ``column`` count from 1; both are 0 where no place can be named.
    """

    def __init__(
        self, message: str, *, rule: str, remedy: str, line: int = 0, column: int = 0
    ) -> None:
        """Keep the position beside what every error keeps."""
        place = f"program:{line}:{column}" if line else "program"
        super().__init__(message, rule=f"capsule/{rule}", place=place, remedy=remedy)
        self.line = line
        self.column = column

    def to_json(self) -> dict[str, JsonValue]:
        """Return the refusal as executions carry it."""
        return {
            "column": self.column,
            "line": self.line,
            "message": self.message,
            "remedy": self.remedy,
            "rule": self.rule,
            "type": type(self).__name__,
        }


def refuse(node: ast.AST, rule: str, message: str, remedy: str) -> NoReturn:
    """Refuse the program for what stands at *node*."""
    raise BoundedExecutionError(
        message,
        rule=rule,
        line=getattr(node, "lineno", 0),
        column=getattr(node, "col_offset", -1) + 1,
        remedy=remedy,
    )


def refuse_size(depth: int, parts: int) -> NoReturn:
    """Refuse a program that is nested beyond *depth*, or has more than *parts*."""
    if depth:
        raise BoundedExecutionError(
            f"the program is nested deeper than {depth}",
            rule="size",
            remedy="name intermediate results, or use a loop",
        )
    raise BoundedExecutionError(
        f"the program has more than {parts} parts",
        rule="size",
        remedy="pass large tables in as data",
    )
