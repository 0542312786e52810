"""The verifier of bundles in JavaScript: `verify_evidence.mjs`, one file without dependencies.

Rule: a page that carries its evidence has the same program, without comments, indentation
and the part for Node, and with `page_check.mjs`, which shows what it finds.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

__all__ = ["in_page", "program"]

_FOR_NODE = "// -- for Node "


@cache
def program() -> str:
    """Return the program."""
    return files(__name__).joinpath("verify_evidence.mjs").read_text("utf-8")


@cache
def in_page() -> str:
    """Return the program as a page has it."""
    own = files(__name__).joinpath("page_check.mjs").read_text("utf-8")
    whole = program().partition(_FOR_NODE)[0] + own
    lines = (one.strip() for one in whole.splitlines())
    kept = (
        one for one in lines if one and not one.startswith(("//", "/*", "* ", "*/"))
    )
    return "\n".join(kept) + "\n"
