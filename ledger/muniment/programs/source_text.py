"""The source of one definition, cut from a file, and its digest.

    digests_of(data, ["main"])      {"sha256:…"}    of each text that defines ``main``
    source_of(main)                 "def main(run): …"

Rules:

- What was compiled without a file has no text, such as code of ``python -c``: Python 3.13
  keeps that text, and finds it for all code that calls its file ``<string>``, whoever made it.
- A function or a class is cut as `inspect.getsource` cuts it, decorators and all.
- The source of an object that a statement makes, ``scorer = Scorer(limit=3)``, is that
  statement, after the source of its class if that is in the same file.
"""

from __future__ import annotations

import ast
import inspect
import io
import tokenize
from collections.abc import Iterator, Sequence
from typing import Any

from muniment.encoding.canonical import sha256_tag
from muniment.programs.parsing import undisturbed

__all__ = ["digests_of", "source_of", "statement_of"]

_NO_FILES = frozenset({"<string>", "<stdin>"})
"""What Python calls the files of all code that has none."""

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def source_of(thing: Any) -> str:
    """Return the text of a function, a class, a module or a code object.

    Raises:
        OSError: it has none here.
        TypeError: it is built in.

    """
    if inspect.getfile(inspect.unwrap(thing)) in _NO_FILES:
        raise OSError("it was compiled without a file")
    return undisturbed(lambda: inspect.getsource(thing))


def digests_of(data: bytes, name: Sequence[str]) -> set[str]:
    """Return the digests of all texts that define *name* in the file *data*."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        text = io.TextIOWrapper(io.BytesIO(data), encoding).read()
        text += "" if text.endswith("\n") else "\n"  # as `inspect` reads it
        tree = undisturbed(lambda: ast.parse(text))
    except (SyntaxError, UnicodeDecodeError, ValueError):
        return set()
    blocks = _blocks(text, _definitions(tree, name))
    if not blocks and (made := statement_of(text, name[0])) is not None:
        classes = [one for one in ast.walk(tree) if isinstance(one, ast.ClassDef)]
        blocks = [made, *(block + made for block in _blocks(text, classes))]
    return {sha256_tag(block.encode()) for block in blocks}


def statement_of(text: str, name: str) -> str | None:
    """Return the last statement in a module's *text* that assigns to *name*."""
    found = None
    for node in _at_the_top(undisturbed(lambda: ast.parse(text))):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if any(isinstance(one, ast.Name) and one.id == name for one in targets):
            found = node
    if found is None:
        return None
    lines = io.StringIO(text).readlines()
    return "".join(lines[found.lineno - 1 : found.end_lineno])


def _at_the_top(tree: ast.AST) -> Iterator[ast.Assign | ast.AnnAssign]:
    """Yield the assignments of the module itself, also those under conditions."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign):
            yield node
        elif not isinstance(node, _Definition):
            yield from _at_the_top(node)


def _blocks(text: str, nodes: Iterator[_Definition] | list[ast.ClassDef]) -> list[str]:
    lines = io.StringIO(text).readlines()
    starts = [_first_line(node) for node in nodes]
    return ["".join(inspect.getblock(lines[start - 1 :])) for start in starts]


def _definitions(tree: ast.AST, name: Sequence[str]) -> Iterator[_Definition]:
    for node in ast.iter_child_nodes(tree):
        if not isinstance(node, _Definition):
            yield from _definitions(node, name)
        elif node.name == name[0]:
            if len(name) == 1:
                yield node
            else:
                yield from _definitions(node, name[1:])


def _first_line(node: _Definition) -> int:
    return min([node.lineno, *(one.lineno for one in node.decorator_list)])
