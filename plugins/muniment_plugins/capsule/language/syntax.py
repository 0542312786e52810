"""Small questions about parts of a syntax tree.

numpy.linalg.norm     root        "numpy"
super().__init__      is_above    true of the node before the dot
"{0.__class__}"       walks       a field that reads something forbidden
"""

from __future__ import annotations

import ast
import re
import string

from muniment_plugins.capsule.language.rules import METHODS, is_kept

__all__ = [
    "is_above",
    "named",
    "renamed",
    "root",
    "sets_field",
    "sets_option",
    "walks",
]


def is_above(node: ast.expr, classes: set[str]) -> bool:
    """Tell whether *node* is ``super()``, ``super(Own, self)``, or one of *classes*."""
    if isinstance(node, ast.Name):
        return node.id in classes
    if not (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "super"
        and len(node.args) in (0, 2)
        and not node.keywords
    ):
        return False
    return all(isinstance(one, ast.Name) and one.id in classes for one in node.args[:1])


def renamed(statement: ast.stmt) -> list[ast.expr]:
    """Return the names in ``__rmul__ = __mul__`` or ``__hash__ = None``, if any."""
    if not isinstance(statement, ast.Assign):
        return []
    value, targets = statement.value, statement.targets
    empty = isinstance(value, ast.Constant) and value.value is None
    names = [*targets, *([] if empty else [value])]
    if all(isinstance(name, ast.Name) and name.id in METHODS for name in names):
        return names
    return []


def root(node: ast.expr) -> str:
    """Return the name with which a chain of attributes begins, or an empty text."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        if isinstance(node, ast.Subscript):
            return ""
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def named(statement: ast.stmt) -> list[str]:
    """Return the names that a statement in a class body defines."""
    if isinstance(statement, ast.FunctionDef):
        return [statement.name]
    targets: list[ast.expr] = []
    if isinstance(statement, ast.AnnAssign):
        targets = [statement.target]
    if isinstance(statement, ast.Assign):
        targets = [*statement.targets]
    parts = (part for one in targets for part in ast.walk(one))
    return [one.id for one in parts if isinstance(one, ast.Name)]


def sets_option(node: ast.Attribute) -> bool:
    """Tell whether *node* is an option of a package, as ``pd.options.display.width``."""
    names: list[str] = []
    inner: ast.expr = node
    while isinstance(inner, ast.Attribute):
        names.append(inner.attr)
        inner = inner.value
    return names[-1:] == ["options"] and len(names) > 1


def sets_field(node: ast.Attribute) -> bool:
    """Tell whether *node* is ``object.__setattr__``, as frozen classes use it."""
    return (
        node.attr == "__setattr__"
        and isinstance(node.value, ast.Name)
        and node.value.id == "object"
    )


def walks(text: str) -> bool:
    """Tell whether a text for ``format`` has fields that read something forbidden."""
    try:
        fields = list(string.Formatter().parse(text))
    except ValueError:
        return False  # the program gets this error when it formats the text
    for _, name, spec, _ in fields:
        parts = re.split(r"[.\[]", name or "")[1:]
        if any(map(is_kept, parts)):
            return True
        if spec and walks(spec):
            return True
    return False
