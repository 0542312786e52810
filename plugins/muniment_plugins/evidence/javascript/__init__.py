"""The verifier of bundles in JavaScript: `verify_evidence.mjs`, one file without dependencies.

Rule: a page that carries its evidence has the same program but for the part for Node, and
`page_check.mjs`, which shows what it finds: made shorter by esbuild into
`page_program.mjs`, whose first line names the SHA-256 of what it was made of.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

__all__ = ["in_page", "page_source", "program"]

_FOR_NODE = "// -- for Node "


@cache
def program() -> str:
    """Return the program."""
    return _text("verify_evidence.mjs")


@cache
def in_page() -> str:
    """Return the program as a page has it."""
    return _text("page_program.mjs")


def page_source() -> str:
    """Return what `in_page` is made of."""
    return program().partition(_FOR_NODE)[0] + _text("page_check.mjs")


def _text(name: str) -> str:
    return files(__name__).joinpath(name).read_text("utf-8")
