"""Programs that no narrow spec lets through, under the words that say what is blocked.

Rule: the words are those that users know; each program's own words are in its error. What
a wide spec lets through stands in ``WIDER``.
"""

from __future__ import annotations

from typing import Any

__all__ = ["BLOCKED", "TROUBLE", "WIDER"]

BODY = "def fit_and_eval(data): return {'total': sum(data)}\n"

BLOCKED: dict[str, dict[str, str]] = {
    "Imports unlisted modules": {
        f"import os\n{BODY}": "Import not allowed: os",
        f"import os.path\n{BODY}": "Import not allowed: os.path",
        f"from subprocess import run\n{BODY}": "Import not allowed: subprocess",
        f"from . import sibling\n{BODY}": "Import not allowed: relative",
        f"from math import __loader__\n{BODY}": "Import not allowed: __loader__",
        "def fit_and_eval(data):\n    import sys\n    return {}": (
            "Import not allowed: sys"
        ),
    },
    "Uses `eval()`, `exec()`, `__import__()`, or `open()`": {
        "def fit_and_eval(data): return eval('1+1')": "Forbidden call: eval",
        "def fit_and_eval(data): exec('x = 1')": "Forbidden call: exec",
        "def fit_and_eval(data): return __import__('os')": "Forbidden call: __import__",
        "def fit_and_eval(data): return open('f')": "Forbidden call: open",
        "def fit_and_eval(data): return [eval][0]('1')": "Forbidden name: eval",
        f"@eval\n{BODY}": "Forbidden name: eval",
    },
    "Accesses dunder attributes (`__class__`, `__mro__`, `__globals__`, etc.)": {
        f"def fit_and_eval(data): return (1).{name}": f"Forbidden attribute: {name}"
        for name in (
            *("__class__", "__mro__", "__globals__", "__subclasses__", "__dict__"),
            *("__self__", "__code__", "__closure__", "__builtins__", "__loader__"),
            *("__spec__", "__init__", "__func__", "gi_frame", "f_back", "tb_frame"),
        )
    },
    "Uses `global`, `nonlocal`, `with`, `try`, or async syntax": {
        "def fit_and_eval(data):\n    global x": "Forbidden syntax: global",
        "def fit_and_eval(data):\n    x = 1\n    def f(): nonlocal x": (
            "Forbidden syntax: nonlocal"
        ),
        "def fit_and_eval(data):\n    with data: pass": "Forbidden syntax: with",
        "def fit_and_eval(data):\n    try: pass\n    except ValueError: pass": (
            "Forbidden syntax: try"
        ),
        "def fit_and_eval(data):\n    try: pass\n    except* ValueError: pass": (
            "Forbidden syntax: try"
        ),
        "def fit_and_eval(data): return {x async for x in data}": (
            "Forbidden syntax: async"
        ),
        "def fit_and_eval(data):\n    async def f(): pass": "must be a sync function",
    },
    "Defines an async entrypoint": {
        "async def fit_and_eval(data): return {}": "must be a sync function",
    },
}
"""What is blocked → program → what its error says."""

WIDER = frozenset(
    program
    for program, said in BLOCKED[
        "Uses `global`, `nonlocal`, `with`, `try`, or async syntax"
    ].items()
    if said.startswith("Forbidden syntax")
    and "async" not in said
    and "except*" not in program
)
"""Programs that are blocked by a narrow spec alone."""

ENDLESS = "def fit_and_eval(data): return {'total': sum(i % 7 for i in range(9**9))}"

TROUBLE: dict[str, tuple[str, dict[str, Any]]] = {
    "BoundedExecutionError: Import not allowed": (f"import json\n{BODY}", {}),
    "BoundedExecutionError: Forbidden call": (f"x = eval('1')\n{BODY}", {}),
    "BoundedExecutionError: Entrypoint missing": (BODY.replace("fit_and", "run"), {}),
    "BoundedExecutionError: must be a sync function": (f"async {BODY}", {}),
    "Execution timeout": (ENDLESS, {"resources": {"time_s": 0.3}}),
}
"""What an error says → a program that gets it, under these changes of the spec."""
