"""The names that code returns, as far as its text shows them.

    def fit_and_eval(data):
        return {"total": sum(data)}         ->  {"total"}

Rule: if one return is anything but a dict with literal names, the names are unknown,
and None says so.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator

from muniment.programs.parsing import undisturbed

__all__ = ["returned_names"]

_INNER = (ast.AsyncFunctionDef, ast.ClassDef, ast.FunctionDef, ast.Lambda)


def returned_names(code: str, entrypoint: str) -> frozenset[str] | None:
    """Return the names that *entrypoint* can return; None if they are unknown."""
    try:
        body = undisturbed(lambda: ast.parse(textwrap.dedent(code))).body
    except (SyntaxError, ValueError):
        return None
    named = [
        one
        for one in body
        if isinstance(one, ast.FunctionDef) and one.name == entrypoint
    ]
    if len(named) != 1:
        return None
    returned = [_names(one.value) for one in _returns(named[0])]
    known = [one for one in returned if one is not None]
    if not known or len(known) < len(returned):
        return None
    return frozenset[str]().union(*known)


def _returns(node: ast.AST) -> Iterator[ast.Return]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Return):
            yield child
        elif not isinstance(child, _INNER):
            yield from _returns(child)


def _names(value: ast.expr | None) -> frozenset[str] | None:
    if not isinstance(value, ast.Dict):
        return None
    names = [one.value for one in value.keys if isinstance(one, ast.Constant)]
    texts = [one for one in names if isinstance(one, str)]
    return frozenset(texts) if len(texts) == len(value.keys) else None
