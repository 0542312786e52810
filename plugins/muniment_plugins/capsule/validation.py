r"""Reads a program before any of it runs, and says early what is not allowed.

    >>> validate("import os\ndef fit_and_eval(data): return {}", Policy())
    ProgramRefused: program:1:1: Import not allowed: os [capsule/import]; …

Rules:

- Sizes: 256 kB of source, 60,000 parts, nesting of 150.
- Node types have an allow-list; names and attributes are checked in every position,
  called or not, also inside textual annotations.
- There is one exception, `ProgramRefused`, whatever the source contains.

This layer explains early; it is no security boundary. The guard in the child and the
limits around it hold without it.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import re
import warnings
from collections.abc import Generator
from dataclasses import dataclass

from muniment.programs.parsing import undisturbed
from muniment_plugins.capsule.language.refusals import ProgramRefused
from muniment_plugins.capsule.language.syntax_check import SyntaxCheck
from muniment_plugins.capsule.policy import Policy

__all__ = ["Validated", "validate"]

MAX_SOURCE = 256 * 1024
_PROGRAM = "<program>"
_REMEMBERED = 64
_SILENT = f"{_PROGRAM}$"
_SILENCED = ("ignore", None, Warning, re.compile(_SILENT), 0)


@dataclass(frozen=True, slots=True)
class Validated:
    """A program that passed, and the modules that it names in its imports."""

    code: str
    entrypoint: str
    imports: tuple[str, ...]


def validate(code: str, policy: Policy, entrypoint: str = "fit_and_eval") -> Validated:
    """Return *code* with what it imports, or refuse it.

    Raises:
        ProgramRefused: it names the first thing that the policy does not allow.

    """
    return _validated(code, policy.modules, entrypoint, policy.syntax)


@functools.lru_cache(maxsize=_REMEMBERED)
def _validated(
    code: str, modules: frozenset[str], entrypoint: str, syntax: str
) -> Validated:
    """Read *code*, and remember it: replicates run the same program many times."""
    tree = _parsed(code)
    reader = SyntaxCheck(modules, syntax)
    reader.read(tree)
    reader.settle()
    _check_entrypoint(tree, entrypoint)
    with _python():
        # Some syntax errors only show here: a return outside a function.
        compile(tree, _PROGRAM, "exec", dont_inherit=True)
    return Validated(code, entrypoint, tuple(sorted(reader.planned())))


def _parsed(code: str) -> ast.Module:
    if len(code) > MAX_SOURCE or len(code.encode(errors="replace")) > MAX_SOURCE:
        raise ProgramRefused(
            f"the program has more than {MAX_SOURCE} bytes",
            rule="size",
            remedy="pass large tables in as data",
        )
    with _python():
        return undisturbed(lambda: ast.parse(code, _PROGRAM))


@contextlib.contextmanager
def _python() -> Generator[None]:
    r"""Turn every error of the parser and the compiler into one refusal.

    Their warnings (``"\d"``, ``x is 1``) concern the program, not its host.
    """
    if _SILENCED not in warnings.filters:
        # By name, and permanent: a temporary filter would also hold in other threads,
        # and could replace theirs for good.
        warnings.filterwarnings("ignore", module=_SILENT)
    try:
        yield
    except SyntaxError as error:
        raise ProgramRefused(
            f"not a Python program: {error.msg}",
            rule="syntax",
            line=error.lineno or 0,
            column=error.offset or 0,
            remedy="send a module that this Python can parse",
        ) from None
    except (ValueError, MemoryError, RecursionError) as error:
        raise ProgramRefused(
            f"not a Python program: {str(error) or 'nested too deeply'}",
            rule="syntax",
            remedy="send a module that this Python can parse",
        ) from None


def _check_entrypoint(tree: ast.Module, entrypoint: str) -> None:
    for node in reversed(tree.body):
        if isinstance(node, ast.FunctionDef) and node.name == entrypoint:
            return
    raise ProgramRefused(
        f"Entrypoint missing: {entrypoint}",
        rule="entrypoint",
        remedy=f"define def {entrypoint}(data): … at the top of the program",
    )
