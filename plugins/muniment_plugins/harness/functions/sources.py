"""Reads recorded source: the one function in it, what it takes and what it imports.

    @verifier
    def small(before: list, now, *, limit=3): ...    ->    def small(before, now, *, limit=3)

Rules:

- The harness's decorators and annotations are for the function's readers, and are left
  out. Any other decorator may change the function: it is not self-contained.
- Neither is a function that might not notice what it lacks: one that catches errors and
  takes names from around it.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import symtable
import textwrap

from muniment.programs.parsing import undisturbed

__all__ = ["bare_function", "imports", "parameters"]

_OURS = ("pipeline_step", "verifier")


def bare_function(text: str) -> ast.FunctionDef | None:
    """Return the function that is all of *text*, without decorators and annotations."""
    try:
        body = undisturbed(lambda: ast.parse(textwrap.dedent(text))).body
    except SyntaxError:  # a lambda in the middle of an expression
        return None
    if len(body) != 1 or not isinstance(body[0], ast.FunctionDef):
        return None
    function = body[0]
    if not all(map(_is_ours, function.decorator_list)) or _may_miss_nothing(function):
        return None
    function.decorator_list = []
    function.returns = None
    for node in ast.walk(function.args):
        if isinstance(node, ast.arg):
            node.annotation = None
    return function


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


def _may_miss_nothing(function: ast.FunctionDef) -> bool:
    """Tell whether the function could continue without the names from around it."""
    catches = (ast.Try, ast.TryStar, ast.With)
    if not any(isinstance(node, catches) for node in ast.walk(function)):
        return False
    table = symtable.symtable(ast.unparse(function), "<recorded>", "exec")
    taken = _globals(table.get_children()[0])
    return bool(taken - {function.name} - vars(builtins).keys())


def _globals(table: symtable.SymbolTable) -> set[str]:
    own = {one.get_name() for one in table.get_symbols() if one.is_global()}
    return own.union(*map(_globals, table.get_children()))
