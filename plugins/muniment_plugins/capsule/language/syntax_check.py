"""Checks a syntax tree, node by node, against the tables of `rules`.

    getattr -> fine, the guard's own     open -> Forbidden call, or Forbidden name
    x.real  -> fine                      x.__class__ -> Forbidden attribute

Rules: node types have an allow-list; names and attributes count in every position,
called or not; text in annotations is read as the expression that it may become; nothing
is assigned to imported objects. If the object at hand decides, the check is left to
`rewrite`, unless no object in the program could have the attribute.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, NoReturn

from muniment.programs.parsing import undisturbed
from muniment_plugins.capsule.language.alternatives import instead_of
from muniment_plugins.capsule.language.refusals import (
    INSTEAD,
    check_format,
    refuse,
    refuse_private,
    refuse_size,
)
from muniment_plugins.capsule.language.rules import (
    CLASS_VARIABLES,
    FORBIDDEN_NAMES,
    FRAMES,
    GUARDED,
    HOOKS,
    METHODS,
    MODULE_VARIABLES,
    NARROWED,
    NODES,
    READABLE,
    SEPARATELY_NAMED,
    TEXTS,
    is_dunder,
    is_guarded,
    is_private,
    words,
)
from muniment_plugins.capsule.language.syntax import (
    is_above,
    named,
    renamed,
    root,
    sets_field,
    sets_option,
)

__all__ = ["SyntaxCheck"]

MAX_PARTS = 60_000
MAX_DEPTH = 150

_FUTURE = frozenset({"annotations"})
_OWN = frozenset({"cls", "self"})

_Look = Callable[[Any, Any, Any], None]
_OF_SUPER = METHODS | {"__init_subclass__", "__sklearn_tags__"}
_LATE = TEXTS | {"args", "format", "obj"}
"""Guarded attributes that many objects have, and that are harmless on most of them."""


class SyntaxCheck:
    """Walks a tree once; the first forbidden thing ends the walk."""

    def __init__(self, modules: frozenset[str], syntax: str = "wide") -> None:
        self.modules = modules
        self.refused = NARROWED if syntax == "narrow" else {}
        self.imports: set[str] = set()
        self.bound: set[str] = set()
        self.attributes: set[str] = set()
        self.renamed: set[ast.expr] = set()
        self.own: set[str] = set()
        self.classes: set[str] = set()
        self.private: dict[str, ast.AST] = {}
        self.parts = 0

    def planned(self) -> set[str]:
        """Return what the program imports, and submodules it reaches by attribute."""
        planned = set(self.imports)
        for name in sorted(self.modules):  # packages come before their submodules
            above, _, last = name.rpartition(".")
            if above in planned and last in self.attributes:
                planned.add(name)
        return planned

    def read(self, tree: ast.AST, *, at: ast.AST | None = None) -> None:
        """Check every node of *tree*, in the order of the source."""
        stack: list[tuple[Any, Any, int]] = [(tree, None, 0)]
        while stack:
            node, parent, depth = stack.pop()
            self.parts += 1
            if depth >= MAX_DEPTH or self.parts > MAX_PARTS:
                refuse_size(MAX_DEPTH if depth >= MAX_DEPTH else 0, MAX_PARTS)
            shape = _SHAPES.get(type(node))
            if shape is None or (self.refused and type(node).__name__ in self.refused):
                self._refuse_node(node if at is None else at, node)
            look, fields = shape
            if look is not None:
                look(self, node, parent)
            for name in fields:
                inner: Any = getattr(node, name)
                if inner.__class__ is list:
                    stack += [(one, node, depth + 1) for one in reversed(inner) if one]
                elif inner is not None:
                    stack.append((inner, node, depth + 1))

    def settle(self) -> None:
        """Refuse the private attributes that the program reads and does not define."""
        for name in sorted(self.private.keys() - self.own):
            refuse_private(self.private[name], name)

    def _refuse_node(self, at: ast.AST, node: ast.AST) -> NoReturn:
        kind = type(node).__name__
        if kind == "AsyncFunctionDef":
            name = getattr(node, "name", "")
            refuse(at, "async", f"{name} must be a sync function", "use a plain def")
        word = {**SEPARATELY_NAMED, **self.refused}.get(kind, kind)
        instead = INSTEAD.get(kind) or INSTEAD.get(word, _PLAIN)
        refuse(at, word, f"Forbidden syntax: {word}", instead)

    def _import(self, node: ast.Import, _parent: ast.AST | None) -> None:
        for alias in node.names:
            self._allow_module(node, alias.name)
            self._check_name(node, alias.asname or alias.name.split(".")[0])
            self.bound.add(alias.asname or alias.name.split(".")[0])

    def _import_from(self, node: ast.ImportFrom, _parent: ast.AST | None) -> None:
        module = node.module or ""
        if module == "__future__" and {a.name for a in node.names} <= _FUTURE:
            return
        if node.level:
            refuse(node, "import", "Import not allowed: relative", _absolute(self))
        for alias in node.names:
            full = f"{module}.{alias.name}"
            if module not in self.modules and full not in self.modules:
                self._allow_module(node, module)
            self._check_imported(node, alias)
            self.imports.add(full if full in self.modules else module)
            self.bound.add(alias.asname or alias.name)

    def _allow_module(self, node: ast.AST, name: str) -> None:
        if name not in self.modules:
            refuse(node, "import", f"Import not allowed: {name}", _absolute(self))
        self.imports.add(name)

    def _check_imported(self, node: ast.AST, alias: ast.alias) -> None:
        if alias.name == "*" or alias.name.startswith("_"):
            refuse(
                node,
                "import",
                f"Import not allowed: {alias.name}",
                "import public names, one by one",
            )
        self._check_attribute(node, alias.name)
        self._check_name(node, alias.asname or alias.name)

    def _name(self, node: ast.Name, parent: ast.AST | None) -> None:
        stored = isinstance(node.ctx, ast.Store)
        if stored and node.id in CLASS_VARIABLES:
            self._check_class_variable(node, parent)
            return
        if node.id in MODULE_VARIABLES:
            return
        if (not stored and node.id == "__name__") or node in self.renamed:
            return
        if stored:
            self.own.add(node.id)
        if node.id in FORBIDDEN_NAMES or node.id == "__import__":
            called = isinstance(parent, ast.Call) and parent.func is node
            word = "call" if called else "name"
            instead = instead_of(f"{node.id} is ") or _NO_BUILTIN
            refuse(node, "call", f"Forbidden {word}: {node.id}", instead)
        self._check_name(node, node.id)

    def _check_class_variable(self, node: ast.Name, parent: ast.AST | None) -> None:
        """Allow literal names only, and check them: they become attributes."""
        value = parent.value if isinstance(parent, ast.Assign) else None
        items = value.elts if isinstance(value, ast.Tuple | ast.List) else [value]
        for item in items:
            if not (isinstance(item, ast.Constant) and isinstance(item.value, str)):
                refuse(node, "dunder", f"Forbidden name: {node.id}", _NO_NAMES)
            self.own.add(item.value)
            self._check_pattern(item, item.value)

    def _check_name(self, node: ast.AST, name: str | None) -> None:
        if name is None or (name[:2] != "__" and name not in FORBIDDEN_NAMES):
            return
        if name in FORBIDDEN_NAMES:
            refuse(node, "call", f"Forbidden name: {name}", _NO_BUILTIN)
        if is_dunder(name):
            refuse(node, "dunder", f"Forbidden name: {name}", _NO_DUNDER)

    def _attribute(self, node: ast.Attribute, _parent: ast.AST | None) -> None:
        self.attributes.add(node.attr)
        loaded = isinstance(node.ctx, ast.Load)
        if node.attr[0] == "_" and is_private(node.attr):
            self._private(node, loaded=loaded)
        if not loaded and root(node) in self.bound and not sets_option(node):
            refuse(
                node,
                "store",
                f"Forbidden assignment: {root(node)} was imported",
                "keep state in names of your own",
            )
        if loaded and node.attr in READABLE:
            return
        if loaded and sets_field(node):
            return
        if loaded and node.attr in _OF_SUPER and is_above(node.value, self.classes):
            return
        if node.attr == "format":
            check_format(node)
        if node.attr in GUARDED - _LATE and root(node) not in self.bound:
            if not loaded:
                self.own.add(node.attr)
            self.private.setdefault(node.attr, node)
        self._check_attribute(node, node.attr)

    def _private(self, node: ast.Attribute, *, loaded: bool) -> None:
        """Note whether the program defines a private attribute or reads another's."""
        if not loaded:
            self.own.add(node.attr)
        elif root(node) in self.bound:
            refuse_private(node, node.attr)
        elif not (isinstance(node.value, ast.Name) and node.value.id in _OWN):
            self.private.setdefault(node.attr, node)

    def _check_attribute(self, node: ast.AST, name: str) -> None:
        if is_dunder(name):
            instead = instead_of(f"{name} is ") or _NO_DUNDER
            refuse(node, "dunder", f"Forbidden attribute: {name}", instead)
        if name in FRAMES:
            refuse(node, "attribute", f"Forbidden attribute: {name}", _NO_FRAME)

    def _function(self, node: ast.FunctionDef, parent: ast.AST | None) -> None:
        is_method = isinstance(parent, ast.ClassDef)
        if not (is_method and node.name in METHODS | HOOKS | FORBIDDEN_NAMES):
            self._check_name(node, node.name)
        self.own.add(node.name)
        self._read_annotation(node.returns)

    def _class(self, node: ast.ClassDef, _parent: ast.AST | None) -> None:
        self._check_name(node, node.name)
        self.classes.add(node.name)
        for statement in node.body:
            self.renamed.update(renamed(statement))
            for name in named(statement):
                if name in FRAMES:
                    self._check_attribute(statement, name)
        for keyword in node.keywords:
            if keyword.arg in (None, "metaclass"):
                refuse(
                    keyword,
                    "metaclass",
                    "Forbidden syntax: metaclass",
                    "inherit, or use a decorator",
                )

    def _argument(self, node: ast.arg, _parent: ast.AST | None) -> None:
        self._check_name(node, node.arg)
        self._read_annotation(node.annotation)

    def _annotated(self, node: ast.AnnAssign, _parent: ast.AST | None) -> None:
        self._read_annotation(node.annotation)

    def _keyword(self, node: ast.keyword, _parent: ast.AST | None) -> None:
        if node.arg is not None and node.arg[0] == "_":
            self.own.add(node.arg)
            if is_dunder(node.arg):
                self._check_name(node, node.arg)

    def _comprehension(self, node: ast.comprehension, _parent: ast.AST | None) -> None:
        if node.is_async:
            refuse(node.target, "async", "Forbidden syntax: async", INSTEAD["async"])

    def _match_class(self, node: ast.MatchClass, _parent: ast.AST | None) -> None:
        self._check_dotted(node.cls)
        for name in node.kwd_attrs:
            self._check_pattern(node, name)

    def _check_pattern(self, node: ast.AST, name: str) -> None:
        """Check the attribute that a pattern reads, possibly of any object."""
        self._check_attribute(node, name)
        if is_private(name) or (is_guarded(name) and name != "args"):
            refuse(
                node,
                "attribute",
                f"Forbidden attribute: {name} in a pattern",
                "match the class alone, and read the attribute in the case",
            )

    def _match_value(self, node: ast.MatchValue, _parent: ast.AST | None) -> None:
        self._check_dotted(node.value)

    def _check_dotted(self, node: ast.expr) -> None:
        while isinstance(node, ast.Attribute):
            self._check_pattern(node, node.attr)
            node = node.value

    def _handler(self, node: ast.ExceptHandler, _parent: ast.AST | None) -> None:
        self._check_name(node, node.name)

    def _shared(self, node: ast.Global | ast.Nonlocal, _parent: ast.AST | None) -> None:
        for name in node.names:
            self._check_name(node, name)

    def _match_as(self, node: ast.MatchAs, _parent: ast.AST | None) -> None:
        self._check_name(node, node.name)

    def _match_star(self, node: ast.MatchStar, _parent: ast.AST | None) -> None:
        self._check_name(node, node.name)

    def _match_mapping(self, node: ast.MatchMapping, _parent: ast.AST | None) -> None:
        self._check_name(node, node.rest)

    def _read_annotation(self, annotation: ast.expr | None) -> None:
        """Read text inside an annotation as the expression that it may become."""
        if annotation is None or type(annotation) is ast.Name:
            return
        for node in ast.walk(annotation):
            if not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
                continue
            text = node.value.strip().lstrip("*")
            try:
                inner = undisturbed(partial(ast.parse, text, mode="eval"))
            except (SyntaxError, ValueError, MemoryError, RecursionError):
                continue  # what does not parse cannot be evaluated either
            self.read(inner, at=node)

    looks: ClassVar[dict[type[ast.AST], _Look]] = {
        ast.AnnAssign: _annotated,
        ast.Attribute: _attribute,
        ast.ClassDef: _class,
        ast.ExceptHandler: _handler,
        ast.FunctionDef: _function,
        ast.Global: _shared,
        ast.Import: _import,
        ast.ImportFrom: _import_from,
        ast.MatchAs: _match_as,
        ast.MatchClass: _match_class,
        ast.MatchMapping: _match_mapping,
        ast.MatchStar: _match_star,
        ast.MatchValue: _match_value,
        ast.Name: _name,
        ast.Nonlocal: _shared,
        ast.arg: _argument,
        ast.comprehension: _comprehension,
        ast.keyword: _keyword,
    }


_NO_NODES = words(
    """
    arg asname attr conversion ctx id is_async kind kwd_attrs level module names op ops
    rest simple type_comment type_ignores
    """
)
"""Fields that hold text, numbers, or operators and contexts that are always allowed."""


def _shape(kind: type[ast.AST]) -> tuple[_Look | None, tuple[str, ...]]:
    """Return the check for nodes of *kind*, and their fields with nodes, reversed."""
    named = kind.__name__ == "TypeAlias"  # where name is a node
    fields = [
        name
        for name in kind._fields
        if name not in _NO_NODES and (named or name != "name")
    ]
    if kind in {ast.Constant, ast.MatchSingleton}:
        fields.remove("value")
    return SyntaxCheck.looks.get(kind), tuple(reversed(fields))


_SHAPES = {
    kind: _shape(kind)
    for kind in (getattr(ast, name, None) for name in NODES)
    if kind is not None  # some exist only in later Pythons
}

_PLAIN = "use plain statements, functions and classes"
_NO_BUILTIN = "compute with values; the capsule has no files and no evaluation"
_NO_DUNDER = "use operators, built-in functions, or super().__init__()"
_NO_NAMES = "assign a tuple of names that are written out"
_NO_FRAME = "use public attributes of values"


def _absolute(reader: SyntaxCheck) -> str:
    allowed = ", ".join(sorted(reader.modules)) or "none"
    return f"allowed imports: {allowed}"
