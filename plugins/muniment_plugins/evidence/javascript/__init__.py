"""The verifier of bundles in JavaScript: `verify_evidence.mjs`, one file without dependencies."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

__all__ = ["program"]


@cache
def program() -> str:
    """Return the program."""
    return files(__name__).joinpath("verify_evidence.mjs").read_text("utf-8")
