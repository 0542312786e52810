"""Places in packages where a text decides what is called, found in their source.

    sites("pandas")     {"getattr": {"pandas.core.apply": ["Apply.apply_str", …]}, …}

Rules:

- Every module is searched that a package and its companions load, as a worker loads them,
  at the version that is installed.
- A site looks an attribute up by a name that is not a literal, evaluates, imports or opens.
  What a new version brings has no place in `REVIEWED`, and a test names it.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from muniment_plugins.capsule.language.companions import COMPANIONS

__all__ = ["REVIEWED", "sites"]

Sites = dict[str, dict[str, list[str]]]

_ATTRIBUTES = frozenset({"getattr", "attrgetter", "methodcaller"})
_RUNNING = frozenset({"compile", "eval", "exec"})
_IMPORTING = frozenset({"__import__", "import_module"})


def _read(text: str) -> dict[str, frozenset[str]]:
    kinds: dict[str, set[str]] = {}
    kind = ""
    for line in text.splitlines():
        words = line.partition("#")[0].split()
        if words[:1] == ["kind"]:
            kind = words[1]
        else:
            kinds.setdefault(kind, set()).update(words)
    return {kind: frozenset(names) for kind, names in kinds.items() if kind}


REVIEWED = _read(Path(__file__).with_name("texts.txt").read_text())
"""Kind -> the modules whose sites were read, and take no text of a program's."""


_LOADED = """
import importlib, json, sys
for name in sys.argv[1:]:
    importlib.import_module(name)
files = {name: getattr(one, "__file__", None) or "" for name, one in sys.modules.items()}
print(json.dumps(files))
"""
"""In a process of its own: what a test has loaded before is not a part of a package."""


def sites(package: str) -> Sites:
    """Return the sites of *package*, by kind and module: the functions that have them."""
    wanted = (package, *sorted(COMPANIONS[package]))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _LOADED, *wanted],
        capture_output=True,
        text=True,
        check=True,
    )
    found: Sites = {}
    for name, file in sorted(json.loads(done.stdout).items()):
        if name.partition(".")[0] != package or not file.endswith(".py"):
            continue
        for kind, place in _in(ast.parse(Path(file).read_bytes()), ()):
            found.setdefault(kind, {}).setdefault(name, []).append(place)
    return found


def _in(node: ast.AST, around: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for inner in ast.iter_child_nodes(node):
        named = isinstance(inner, ast.FunctionDef | ast.ClassDef)
        names = (*around, inner.name) if named else around  # type: ignore[attr-defined] # as it says
        kind = _kind(inner) if isinstance(inner, ast.Call) else ""
        if (
            kind and names
        ):  # what a module does while it is imported, it does for itself
            yield kind, ".".join(names)
        yield from _in(inner, names)


def _kind(call: ast.Call) -> str:
    """Return the kind of site that *call* is; empty for none."""
    function = call.func
    name = getattr(function, "id", getattr(function, "attr", ""))
    at = 1 if name == "getattr" else 0
    is_said = len(call.args) > at and isinstance(call.args[at], ast.Constant)
    if name in _ATTRIBUTES:
        return "" if is_said else "name"
    is_method = isinstance(function, ast.Attribute)
    if name in _RUNNING and not is_method:
        return "run"
    if name in _IMPORTING:
        return "" if is_said else "import"
    return "open" if name == "open" and not is_method else ""
