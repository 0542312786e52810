"""Puts checks into a program where only the object at hand can decide.

    self._total += x           one check for each call: is self the program's own?
    other._total               @own(other, "_total")._total
    template.format(x)         @format(template)(x)
    try: … except Exception:   a limit's error ends the program before the handler

Rules:

- No program can write a name that begins with @.
- The checks change nothing: lines, columns, docstrings, annotations and results stay
  the program's.
- Only names in the tables of `rules` are checked: an ordinary attribute costs what it
  costs anywhere.

Runs in the child, which compiles the program; imports nothing but built-in modules.
"""

from __future__ import annotations

import _ast

from muniment_plugins.capsule.child.ownership import (
    above,
    formatting,
    own,
    reach,
    set_field,
    stored,
    written,
)
from muniment_plugins.capsule.child.runtime_refusal import (
    LIMITS,
    raised,
    refused,
    settle,
)
from muniment_plugins.capsule.isolation.syscall_trap import PROGRAM
from muniment_plugins.capsule.language.rules import (
    METHODS,
    TEXTS,
    is_guarded,
    is_private,
)

TYPE_CHECKING = False  # typing itself costs more than a bare interpreter's start
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType
    from typing import Any

__all__ = ["QUESTIONS", "compiled", "walk"]

QUESTIONS: dict[str, object] = {
    "@above": above,
    "@error": BaseException,
    "@format": formatting,
    "@limits": LIMITS,
    "@own": own,
    "@raised": raised,
    "@reach": reach,
    "@set": set_field,
    "@settle": settle,
    "@stored": stored,
    "@text": written,
}
"""The names that are inserted."""

_ANNOTATIONS = {
    "AnnAssign": "annotation",
    "FunctionDef": "returns",
    "arg": "annotation",
}
_LEAVES = (_ast.Constant, _ast.Name, _ast.Load, _ast.Store)
"""The most frequent nodes, in which there is nothing to check."""

_NO_NAMES = {"Attribute", "Constant", "keyword"}


def compiled(code: str) -> CodeType:
    """Return *code* with the checks in it, ready to run."""
    tree = compile(code, PROGRAM, "exec", _ast.PyCF_ONLY_AST, dont_inherit=True)
    made: CodeType = compile(_Rewriter(tree).done, PROGRAM, "exec", dont_inherit=True)
    return made


class _Rewriter:
    """Walks one tree; what it returns for a node replaces the node."""

    def __init__(self, tree: Any) -> None:
        self._classes: list[str] = []
        self._known: dict[str, set[str]] = {}
        """First arguments that are checked once, at the start of their function."""
        self._are_texts = any(
            type(one) is _ast.ImportFrom and one.module == "__future__"
            for one in tree.body
        )
        self.done = self._inside(tree)

    def _visit(self, node: Any) -> Any:
        if type(node) in _LEAVES:
            return node
        look = getattr(self, f"_{type(node).__name__}", self._inside)
        return look(node)

    def _inside(self, node: Any) -> Any:
        kept = _ANNOTATIONS.get(type(node).__name__) if self._are_texts else None
        for name in node._fields:
            value: Any = getattr(node, name, None)
            if name == kept:
                continue
            if value.__class__ is list:
                value[:] = [
                    self._visit(one) if isinstance(one, _ast.AST) else one
                    for one in value
                ]
            elif isinstance(value, _ast.AST):
                setattr(node, name, self._visit(value))
        return node

    def _Attribute(self, node: Any) -> Any:  # noqa: N802 - named as the node is
        name: str = node.attr
        if name == "__setattr__" and getattr(node.value, "id", "") == "object":
            return _load(node, "@set")
        node.value = self._visit(node.value)
        if name in METHODS:
            if not _is_bare(node.value):
                node.value = _call(node, "@above", node.value, name)
        elif is_private(name):
            mangled = self._mangled(name)
            asked = self._known.get(getattr(node.value, "id", ""))
            if asked is None:
                node.value = _call(node, "@own", node.value, mangled)
            else:
                asked.add(mangled)
        elif not is_guarded(name):
            if not isinstance(node.ctx, _ast.Load):
                node.value = _call(node, "@stored", node.value)
            return node
        elif name == "format" and isinstance(node.ctx, _ast.Load):
            return _call(node, "@format", node.value)
        elif name in TEXTS and isinstance(node.ctx, _ast.Load):
            return _call(node, "@text", node.value, name)
        else:
            node.value = _call(node, "@reach", node.value, name)
        return node

    def _ClassDef(self, node: Any) -> Any:  # noqa: N802
        for name in ("decorator_list", "bases", "keywords"):
            held = getattr(node, name)
            held[:] = [self._visit(one) for one in held]
        outer, self._known = self._known, {}
        self._classes.append(node.name)
        node.body = [
            self._method(one) if type(one) is _ast.FunctionDef else self._visit(one)
            for one in node.body
        ]
        self._classes.pop()
        self._known = outer
        return node

    def _method(self, node: Any) -> Any:
        """Check the first argument once if it is never rebound."""
        first = [*node.args.posonlyargs, *node.args.args][:1]
        if not first or _is_rebound(node, first[0]):
            return self._visit(node)
        names: set[str] = set()
        name = first[0].arg
        body, node.body = node.body, []
        self._visit(node)  # defaults and decorators are outside its scope
        node.body = body
        self._known = {**self._known, name: names}
        self._body(node)
        del self._known[name]
        if names:
            given = _load(node, name)
            asked = _call(node, "@own", given, *sorted(names))
            node.body.insert(_is_documented(node), _at(node, _ast.Expr(asked)))
        return node

    def _FunctionDef(self, node: Any) -> Any:  # noqa: N802
        body, node.body = node.body, []
        self._inside(node)
        node.body = body
        if not body:
            return node
        self._known = {
            name: names
            for name, names in self._known.items()
            if all(one.arg != name for one in _arguments(node.args))
        }
        return self._body(node)

    def _body(self, node: Any) -> Any:
        """Let an error from a limit end the program when it leaves this function."""
        start = _is_documented(node)
        inner = [self._visit(one) for one in node.body[start:]]
        if inner:
            node.body[start:] = [_guarded(node, inner, "@limits")]
        return node

    def _Raise(self, node: Any) -> Any:  # noqa: N802
        self._inside(node)
        if node.exc is not None:
            node.exc = _call(node.exc, "@raised", node.exc)
        return node

    def _Try(self, node: Any) -> Any:  # noqa: N802
        self._inside(node)
        node.body = [_guarded(node, node.body, "@error")]
        for one in node.handlers:
            one.body = [_guarded(one, one.body, "@error")]
        if node.orelse:
            node.orelse = [_guarded(node, node.orelse, "@error")]
        return node

    _TryStar = _Try

    def _With(self, node: Any) -> Any:  # noqa: N802
        self._inside(node)
        node.body = [_guarded(node, node.body, "@error")]
        return node

    def _MatchValue(self, node: Any) -> Any:  # noqa: N802
        return _refuse_names(node)

    def _MatchClass(self, node: Any) -> Any:  # noqa: N802
        _refuse_names(node.cls)
        for name in node.kwd_attrs:
            if name != "args" and (is_private(name) or is_guarded(name)):
                _refuse_name(name)
        node.patterns[:] = [self._visit(one) for one in node.patterns]
        node.kwd_patterns[:] = [self._visit(one) for one in node.kwd_patterns]
        return node

    def _mangled(self, name: str) -> str:
        """Return *name* as Python mangles it inside the class."""
        around = self._classes[-1].lstrip("_") if self._classes else ""
        return f"_{around}{name}" if around and name[:2] == "__" else name


def _is_bare(node: Any) -> bool:
    """Tell whether *node* is ``super()``, which refers to the class around it."""
    called = getattr(getattr(node, "func", None), "id", "")
    return called == "super" and not node.args


def _refuse_names(node: Any) -> Any:
    """Refuse names that need a check in a place where none can be put."""
    for one in walk(node):
        name = one.attr if type(one) is _ast.Attribute else ""
        if name and (is_private(name) or is_guarded(name)):
            _refuse_name(name)
    return node


def _refuse_name(name: str) -> None:
    refused(AttributeError(f"{name} cannot be read by a pattern in a capsule"))


def _is_rebound(function: Any, first: Any) -> bool:
    """Tell whether argument *first* may be rebound."""
    for node in walk(function):
        if node is first or type(node).__name__ in _NO_NAMES:
            continue
        if type(node) is _ast.Name and isinstance(node.ctx, _ast.Load):
            continue
        for name in node._fields:
            value = getattr(node, name, None)
            if value == first.arg or (isinstance(value, list) and first.arg in value):
                return True
    return False


def walk(tree: Any) -> Iterator[Any]:
    """Yield *tree* and every node in it."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        for name in node._fields:
            value: Any = getattr(node, name, None)
            held: list[Any] = value if value.__class__ is list else [value]
            waiting += [one for one in held if isinstance(one, _ast.AST)]


def _arguments(given: Any) -> list[Any]:
    alone = [one for one in (given.vararg, given.kwarg) if one is not None]
    return [*given.posonlyargs, *given.args, *given.kwonlyargs, *alone]


def _is_documented(node: Any) -> bool:
    first = node.body[0]
    return (
        type(first) is _ast.Expr
        and type(first.value) is _ast.Constant
        and isinstance(first.value.value, str)
    )


def _guarded(node: Any, body: list[Any], caught: str) -> Any:
    """Return *body* in a ``try`` that checks its errors before any other handler."""
    look = _at(node, _ast.Expr(_call(node, "@settle")))
    again = _at(node, _ast.Raise(None, None))
    kind = _load(node, caught)
    handler = _at(node, _ast.ExceptHandler(kind, None, [look, again]))
    return _at(node, _ast.Try(body, [handler], [], []))


def _call(node: Any, name: str, *values: Any) -> Any:
    given = [
        _at(node, _ast.Constant(one, None)) if isinstance(one, str) else one
        for one in values
    ]
    return _at(node, _ast.Call(_load(node, name), given, []))


def _load(node: Any, name: str) -> Any:
    return _at(node, _ast.Name(name, _ast.Load()))


def _at(node: Any, made: Any) -> Any:
    """Return *made* with the position of *node*."""
    made.lineno, made.col_offset = node.lineno, node.col_offset
    made.end_lineno, made.end_col_offset = node.end_lineno, node.end_col_offset
    return made
