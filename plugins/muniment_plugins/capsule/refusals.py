"""The one exception by which a program is refused before it runs.

    program:1:1: Import not allowed: os [capsule/import]; allowed imports: math

Every refusal has a message, a rule, line and column, and what would be allowed instead.
"""

from __future__ import annotations

import ast
from typing import NoReturn

from muniment.canonical import JsonValue
from muniment.errors import RefusedError

__all__ = ["BoundedExecutionError", "refuse"]


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
