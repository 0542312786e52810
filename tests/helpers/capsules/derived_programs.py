"""Small programs made of what the standard library's own tests say of its modules.

    self.assertEqual(textwrap.dedent("  a"), "a")    ->  a program that gives the former

Rules: taken is what an assertion calls or compares, where it is made of built-in names
and of names that the test imports from modules that a spec may list. Each program gives
the text of its value, or of its error.
"""

from __future__ import annotations

import ast
import builtins
import importlib.util
from collections.abc import Iterator
from pathlib import Path

__all__ = ["PROGRAM", "derived"]

MODULES = (
    *("bisect", "calendar", "cmath", "collections", "colorsys", "copy", "csv"),
    *("dataclasses", "datetime", "decimal", "difflib", "enum", "fnmatch", "fractions"),
    *("functools", "graphlib", "hashlib", "heapq", "html", "ipaddress", "itertools"),
    *("json", "keyword", "math", "numbers", "operator", "pprint", "random", "re"),
    *("reprlib", "shlex", "statistics", "string", "struct", "textwrap", "typing"),
    *("unicodedata", "uuid", "zlib", "base64", "binascii", "array", "contextlib"),
)
"""Modules whose tests are read, and from which they may import."""

PROGRAM = """{imports}
def fit_and_eval(data):
    try:
        value = repr({expression})
    except Exception as error:
        value = type(error).__name__
    return {{"value": value}}
"""

_EACH = 25
_SKIPPED = ("id", "input", "open", "hash", "globals", "locals", "vars", "exec", "eval")


def derived() -> dict[str, str]:
    """Return programs by the module and the line of the test that they are from."""
    spec = importlib.util.find_spec("test")
    folders = list((spec and spec.submodule_search_locations) or ())
    found: dict[str, str] = {}
    for module in MODULES:
        for folder in folders:
            path = Path(folder) / f"test_{module}.py"
            if path.is_file():
                programs = list(_programs(module, path.read_text(encoding="utf-8")))
                step = max(1, len(programs) // _EACH)
                found.update(programs[::step][:_EACH])
    return found


def _programs(module: str, text: str) -> Iterator[tuple[str, str]]:
    tree = ast.parse(text)
    imported = _imported(tree)
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        for expression in _expressions(node):
            names = {n.id for n in ast.walk(expression) if isinstance(n, ast.Name)}
            bound = {
                n.id
                for n in ast.walk(expression)
                if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
            }
            bound |= {n.arg for n in ast.walk(expression) if isinstance(n, ast.arg)}
            free = names - bound - set(dir(builtins))
            if not free or not free <= imported.keys() or names & {*_SKIPPED}:
                continue
            lines = "\n".join(sorted({imported[name] for name in free}))
            source = ast.unparse(expression)
            program = PROGRAM.format(imports=lines, expression=source)
            yield f"{module}:{node.lineno}:{node.col_offset}", program


def _expressions(call: ast.Call) -> Iterator[ast.expr]:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if name in ("assertEqual", "assertIs", "assertAlmostEqual", "assertTrue"):
        yield from [one for one in call.args[:1] if not isinstance(one, ast.Constant)]
    if name == "assertRaises" and len(call.args) > 1 and not call.keywords:
        yield ast.Call(call.args[1], call.args[2:], [])


def _imported(tree: ast.Module) -> dict[str, str]:
    found: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name in MODULES:
                    one = ast.unparse(ast.Import([alias]))
                    found[alias.asname or alias.name] = one
        if isinstance(node, ast.ImportFrom) and node.module in MODULES:
            for alias in node.names:
                if alias.name != "*":
                    one = ast.unparse(ast.ImportFrom(node.module, [alias], 0))
                    found[alias.asname or alias.name] = one
    return found
