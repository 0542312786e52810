"""Reads recorded source: the one function in it, what it takes and what it imports.

    @verifier
    def small(before: list, now, *, limit=3): ...    ->    def small(before, now, *, limit=3)

Rules:

- The harness's decorators and annotations are for the function's readers, and are left
  out. Any other decorator may change the function: it is not self-contained.
- Neither is a function that might not notice what it lacks: one that catches errors and
  takes names from around it; one that takes a name that builtins have, and that its
  module or an enclosing function bound; or one that takes ``__name__`` and its like,
  which each module has for itself.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import symtable
import textwrap
from collections.abc import Collection

from muniment.programs.parsing import undisturbed

__all__ = ["bare_function", "imports", "parameters"]

_OURS = ("pipeline_step", "verifier")
_OF_THE_MODULE = (
    *("__annotations__", "__builtins__", "__cached__", "__dict__", "__doc__"),
    *("__file__", "__loader__", "__name__", "__package__", "__path__", "__spec__"),
)


def bare_function(text: str, around: Collection[str] = ()) -> ast.FunctionDef | None:
    """Return the function that is all of *text*, without decorators and annotations.

    None if it is not self-contained; *around* are names of builtins that are bound around
    it.
    """
    try:
        body = undisturbed(lambda: ast.parse(textwrap.dedent(text))).body
    except SyntaxError:  # a lambda in the middle of an expression
        return None
    if len(body) != 1 or not isinstance(body[0], ast.FunctionDef):
        return None
    function = body[0]
    if not all(map(_is_ours, function.decorator_list)):
        return None
    function.decorator_list = []
    function.returns = None
    for node in ast.walk(function.args):
        if isinstance(node, ast.arg):
            node.annotation = None
    return None if _may_miss_nothing(function, around) else function


def parameters(taken: ast.arguments) -> tuple[inspect.Parameter, ...]:
    """Return what the function takes; a default's value is not kept."""
    first = [*taken.posonlyargs, *taken.args]
    required: list[ast.expr | None] = [None] * (len(first) - len(taken.defaults))
    defaults = [*required, *taken.defaults, *taken.kw_defaults]
    return tuple(
        inspect.Parameter(
            one.arg,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if default is None else ...,
        )
        for one, default in zip([*first, *taken.kwonlyargs], defaults, strict=True)
    )


def imports(function: ast.FunctionDef) -> tuple[str, ...]:
    """Return the modules that *function* imports itself."""
    found: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Import):
            found |= {one.name for one in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return tuple(sorted(found))


def _is_ours(decorator: ast.expr) -> bool:
    """Tell whether a decorator leaves the function as it is."""
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    name = called.attr if isinstance(called, ast.Attribute) else None
    return (called.id if isinstance(called, ast.Name) else name) in _OURS


def _may_miss_nothing(function: ast.FunctionDef, around: Collection[str]) -> bool:
    """Tell whether the function could continue without the names from around it."""
    table = symtable.symtable(ast.unparse(function), "<recorded>", "exec")
    # Its defaults are computed where it is defined, from the names there.
    taken = _globals(table, {function.name})
    if not taken.isdisjoint((*around, *_OF_THE_MODULE)):
        return True
    catches = (ast.Try, ast.TryStar, ast.With)
    if not any(isinstance(node, catches) for node in ast.walk(function)):
        return False
    return bool(taken - vars(builtins).keys())


def _globals(table: symtable.SymbolTable, known: Collection[str]) -> set[str]:
    """Return the names that *table* takes from a module, but for those *known*."""
    top = table.get_type() == "module"
    own = {
        one.get_name()
        for one in table.get_symbols()
        if one.is_referenced() and (top or one.is_global())
    }
    return (own - {*known}).union(
        *(_globals(one, known) for one in table.get_children())
    )
