"""Small questions about parts of a syntax tree.

numpy.linalg.norm     root        "numpy"
super().__init__      is_super    of the node before the dot
"{0.real}"            walks       a field that reads attributes
"""

from __future__ import annotations

import ast
import string

from muniment_plugins.capsule.rules import METHODS

__all__ = ["is_super", "renamed", "root", "walks"]


def is_super(node: ast.expr) -> bool:
    """Tell whether *node* is ``super()`` without arguments."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "super"
        and not node.args
        and not node.keywords
    )


def renamed(statement: ast.stmt) -> list[ast.expr]:
    """Return the names in ``__rmul__ = __mul__`` or ``__hash__ = None``, else none."""
    if not isinstance(statement, ast.Assign):
        return []
    value, targets = statement.value, statement.targets
    empty = isinstance(value, ast.Constant) and value.value is None
    names = [*targets, *([] if empty else [value])]
    if all(isinstance(name, ast.Name) and name.id in METHODS for name in names):
        return names
    return []


def root(node: ast.expr) -> str:
    """Return the name that a chain of attributes begins with; empty if none does."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        if isinstance(node, ast.Subscript):
            return ""
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def walks(text: str) -> bool:
    """Tell whether a text for ``format`` has fields beyond plain ones."""
    try:
        fields = list(string.Formatter().parse(text))
    except ValueError:
        return True
    return any(
        set("._[") & set(name or "") or "{" in (spec or "")
        for _, name, spec, _ in fields
    )
