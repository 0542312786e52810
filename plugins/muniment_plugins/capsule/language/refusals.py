"""The one exception by which a program is refused before it runs.

    program:1:1: Import not allowed: os [capsule/import]; allowed imports: math

Every refusal has a message, a rule, line and column, and what would be allowed instead.
"""

from __future__ import annotations

import ast
from typing import NoReturn

from muniment.encoding.canonical import JsonValue
from muniment.errors import RefusedError
from muniment_plugins.capsule.language.alternatives import instead_of
from muniment_plugins.capsule.language.syntax import walks

__all__ = [
    "INSTEAD",
    "ProgramRefused",
    "check_format",
    "refuse",
    "refuse_private",
    "refuse_size",
]

_WIDER = '{}; or allow it by syntax="wide", of the spec or the policy'
INSTEAD = {
    "async": "use plain functions and loops",
    "global": _WIDER.format("pass values in and return them"),
    "nonlocal": _WIDER.format("keep state in a list, a dict or an object"),
    "TryStar": "catch with except, one type after the other",
    "try": _WIDER.format("test before you compute"),
    "with": _WIDER.format("work on values"),
}
"""Name or node type of refused syntax → what to write instead."""


RECORDED_AS = "BoundedExecutionError"
"""The name of the refusal in executions, by which users and records know it."""


class ProgramRefused(RefusedError):
    """A program contains something that its bounds do not allow.

    ``line`` and ``column`` count from 1; both are 0 if the place is unknown.
    """

    def __init__(
        self, message: str, *, rule: str, remedy: str, line: int = 0, column: int = 0
    ) -> None:
        """Keep the position in addition to what every error keeps."""
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
            "type": RECORDED_AS,
        }


def refuse(node: ast.AST, rule: str, message: str, remedy: str) -> NoReturn:
    """Refuse the program because of *node*."""
    raise ProgramRefused(
        message,
        rule=rule,
        line=getattr(node, "lineno", 0),
        column=getattr(node, "col_offset", -1) + 1,
        remedy=remedy,
    )


def refuse_private(node: ast.AST, name: str) -> NoReturn:
    """Refuse the program because attribute *name* is private to others."""
    instead = instead_of(f"{name} is private") or ""
    refuse(node, "private", f"Forbidden attribute: {name} is private", instead)


def check_format(node: ast.Attribute) -> None:
    """Refuse ``"{0.__class__}".format`` early; other templates are checked on use."""
    value = node.value
    if (
        isinstance(value, ast.Constant)
        and isinstance(value.value, str)
        and walks(value.value)
    ):
        instead = "name the value before, and fill it in with an f-string"
        refuse(node, "format", "Forbidden call: format with fields", instead)


def refuse_size(depth: int, parts: int) -> NoReturn:
    """Refuse a program that is nested beyond *depth*, or has more than *parts*."""
    if depth:
        raise ProgramRefused(
            f"the program is nested deeper than {depth}",
            rule="size",
            remedy="name intermediate results, or use a loop",
        )
    raise ProgramRefused(
        f"the program has more than {parts} parts",
        rule="size",
        remedy="pass large tables in as data",
    )
