"""How a flow fails: one line, with the step, the rule and what to do.

Rule: whatever a function of a flow raises fails the flow, and the error names it, an exit
(`SystemExit`) and a `BaseException` of its own included, unless it is not the function's
(`muniment.runs.halts.raised`).
"""

from __future__ import annotations

from muniment.errors import MunimentError, printable

__all__ = ["FlowFailed", "told"]


class FlowFailed(MunimentError):
    """A step broke its contract, was judged to fail, or exhausted a budget."""

    exit_code = 1


def told(error: BaseException) -> str:
    """Return what a function raised, in a line."""
    name, text = type(error).__name__, printable(error)
    return f"{name}: {text}" if text else name
