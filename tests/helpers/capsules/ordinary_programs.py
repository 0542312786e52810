"""Ordinary programs, as people and models write them, with the metrics they give.

    capsule/programs/<topic>/<name>.py    the program, then after a mark what it may
                                          import, its data, and its exact metrics

What a topic may import is what somebody who asks for such programs would allow.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from muniment_plugins.capsule import Policy

__all__ = ["ALLOWED", "ORDINARY", "Program", "load", "names", "policy"]

FOLDER = Path(__file__).parents[2] / "capsule" / "programs"
MARK = "# data and metrics\n"

ORDINARY = (
    *("abc", "array", "base64", "binascii", "bisect", "calendar", "cmath"),
    *("collections", "copy", "csv", "dataclasses", "datetime", "decimal", "difflib"),
    *("enum", "fractions", "functools", "graphlib", "hashlib", "heapq", "itertools"),
    *("json", "math", "numbers", "operator", "pprint", "random", "re", "statistics"),
    *("string", "struct", "textwrap", "time", "typing", "uuid", "warnings", "zlib"),
    "zoneinfo",
)

ALLOWED = {
    "language": ORDINARY,
    "numpy": (*ORDINARY, "numpy"),
    "pandas": (*ORDINARY, "numpy", "pandas"),
    "scipy": (*ORDINARY, "numpy", "scipy"),
    "sklearn": (*ORDINARY, "numpy", "pandas", "scipy", "sklearn"),
    "standard": ORDINARY,
}


@dataclass(frozen=True, slots=True)
class Program:
    """What is run, on what, within which imports, and what must come out."""

    code: str
    data: Any
    metrics: dict[str, Any]
    allowed: tuple[str, ...]


def names(*topics: str) -> list[str]:
    """Return the names of all programs, such as ``numpy/fourier``; or of *topics*."""
    found = [
        f"{path.parent.name}/{path.stem}"
        for topic in topics or sorted(ALLOWED)
        for path in sorted((FOLDER / topic).glob("*.py"))
    ]
    assert found
    return found


def load(name: str) -> Program:
    """Return the program of that name."""
    code, _, rest = (FOLDER / f"{name}.py").read_text().partition(MARK)
    said = {
        statement.targets[0].id: ast.literal_eval(statement.value)
        for statement in ast.parse(rest).body
        if isinstance(statement, ast.Assign)
        and isinstance(statement.targets[0], ast.Name)
    }
    allowed = said.get("ALLOWED") or ALLOWED[name.partition("/")[0]]
    return Program(code, said["DATA"], said["METRICS"], tuple(allowed))


def policy(program: Program, **more: Any) -> Policy:
    """Return bounds that leave *program* room."""
    return Policy(
        **{"allowed_imports": program.allowed, "time_s": 30, "mem_mb": 1024, **more}
    )
