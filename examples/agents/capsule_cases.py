"""Modules in the capsule, held against cases: what they return is compared out of reach.

    judged([{"call": "prices:total", "given": [[3, 4], 2], "wanted": 5}], {"prices.py": …})
    {"ok": False, "cases": 1, "wrong": [{"call": "prices:total", …, "found": {"wanted": 7}}]}

Rules:

- The capsule runs one program: each module becomes a function of it, and takes what it
  imports from its siblings out of theirs (``import a``, ``from a import b``). Modules that
  no case leads to are left out.
- The program is told what to call, and not what is wanted; its answers are data, compared
  here. So no module can pass by ending the process, by objects that equal everything, or
  by changing who compares.
- The cases are called in their order, in one process: what one leaves, the next one finds.
- A value that JSON has no form for is compared by its ``repr``; 1 is not 1.0, nor True.
"""

from __future__ import annotations

import ast
import json
import symtable
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from muniment_plugins.capsule import Capsule, Policy

__all__ = ["judged", "read_cases"]

IMPORTS = (
    *("calendar", "collections", "dataclasses", "datetime", "decimal", "enum"),
    *("fractions", "functools", "itertools", "json", "math", "re", "statistics"),
    *("string", "textwrap", "typing", "unicodedata"),
)
"""What modules may import, beside each other."""
SECONDS = 10
"""How long all cases may take together."""

_HARNESS = """
_made = {}

class _Module:
    pass

def _module(name):
    if name not in _made:
        _made[name] = _modules[name]()
    return _made[name]

def _imported(name):
    found = _Module()
    for each, get in _module(name).items():
        try:
            setattr(found, each, get())
        except NameError:
            continue
    return found

def _plain(value):
    if type(value) in (list, tuple):
        return [_plain(one) for one in value]
    if type(value) is dict and all(type(one) is str for one in value):
        return {name: _plain(one) for name, one in value.items()}
    known = value is None or type(value) in (bool, int, float, str)
    return value if known else repr(value)

def _called(module, name, given):
    try:
        return {"wanted": _plain(_module(module)[name]()(*given))}
    except Exception as error:
        return {"raises": type(error).__name__}

def fit_and_eval(calls):
    return {"found": [_called(*one) for one in calls]}
"""


class _Joined(ast.NodeTransformer):
    """Lets modules import each other where each is a function of one program."""

    def __init__(self, own: Collection[str]) -> None:
        self._own = own
        self.wanted: list[str] = []
        """The modules that were imported."""

    def visit_ImportFrom(self, node: ast.ImportFrom) -> Any:
        """Take names from a module of the folder."""
        if node.module is None or node.level or node.module not in self._own:
            return None if node.module == "__future__" else node
        self.wanted.append(node.module)
        asked = [(one.asname or one.name, one.name) for one in node.names]
        text = "\n".join(
            f"{to} = _module({node.module!r})[{name!r}]()" for to, name in asked
        )
        return ast.parse(text).body

    def visit_Import(self, node: ast.Import) -> Any:
        """Take a module of the folder."""
        own = [one for one in node.names if one.name in self._own]
        self.wanted += [one.name for one in own]
        text = "\n".join(
            f"{one.asname or one.name} = _imported({one.name!r})" for one in own
        )
        others = [one for one in node.names if one not in own]
        return [*ast.parse(text).body, *([ast.Import(others)] if others else [])]

    def visit_Global(self, node: ast.Global) -> Any:
        """Mean the variables of the module, which are those of its function here."""
        return ast.Nonlocal(node.names)


def program(modules: Mapping[str, str], called: Collection[str]) -> str:
    """Return the modules that are *called*, and what they import, as one program.

    Raises:
        SyntaxError: one of them is no Python.

    """
    tree = ast.parse("from __future__ import annotations")
    own = {path[:-3].replace("/", "."): text for path, text in modules.items()}
    joined, rows = _Joined(own), dict[str, str]()
    left = [name for name in own if name in called]
    while left:
        name = left.pop()
        if name in rows:
            continue
        rows[name] = f"_module_{len(rows)}"
        symbols = symtable.symtable(own[name], name, "exec").get_symbols()
        bound = [one for one in symbols if one.is_assigned() or one.is_imported()]
        names = [one.get_name() for one in bound if one.get_name()[:2] != "__"]
        shown = ", ".join(f"{one!r}: lambda: {one}" for one in names)
        made = ast.parse(f"def {rows[name]}():\n    return {{{shown}}}").body[0]
        made.body[:0] = joined.visit(ast.parse(own[name])).body  # type: ignore[attr-defined]
        tree.body.append(made)
        left += joined.wanted
    table = ", ".join(f"{name!r}: {made}" for name, made in rows.items())
    return f"{ast.unparse(tree)}\n_modules = {{{table}}}\n{_HARNESS}"


def read_cases(path: Path) -> list[Any]:
    """Return the cases in a file.

    Raises:
        OSError: there is none.
        ValueError: it has something else, or a case does not say what it calls and wants.

    """
    if path.exists() and not path.is_file():  # a pipe would wait for ever
        raise ValueError(f"{path}: it is no file")
    cases: Any = json.loads(path.read_text())
    for number, case in enumerate(cases if isinstance(cases, list) else [None]):
        calls = isinstance(case, dict) and str(case.get("call")).count(":") == 1
        if not calls or len({"wanted", "raises"} & {*case}) != 1:
            found = (
                f'{path}: case {number} needs "call": "module:function", and either '
            )
            raise ValueError(f'{found}"wanted" or "raises"')
    return cases  # type: ignore[no-any-return]


def judged(cases: list[Any], modules: Mapping[str, str]) -> dict[str, Any]:
    """Return how the cases come out.

    The program is told what to call, and not what is wanted: what it returns is compared
    here, out of its reach.
    """
    calls = [[*one["call"].split(":"), one.get("given", [])] for one in cases]
    try:
        code = program(modules, {module for module, *_ in calls})
    except SyntaxError as error:
        return {"ok": False, "error": f"no Python: {error}"}
    ran = Capsule(Policy(allowed_imports=IMPORTS, time_s=SECONDS)).run(code, calls)
    if ran.status != "ok":
        return {"ok": False, "error": (ran.error or {}).get("message", ran.status)}
    found: Any = (ran.metrics or {})["found"]
    pairs = zip(cases, found, strict=True)
    wrong = [{**case, "found": one} for case, one in pairs if not _holds(case, one)]
    return {"ok": bool(cases) and not wrong, "cases": len(cases), "wrong": wrong}


def _holds(case: Mapping[str, Any], found: object) -> bool:
    """Tell whether what was found is what a case wants, to the letter."""
    wanted = {name: case[name] for name in ("wanted", "raises") if name in case}
    texts = (json.dumps(one, sort_keys=True) for one in (wanted, found))
    return len({*texts}) == 1
