"""How a flow fails: one line, with the step, the rule and what to do."""

from __future__ import annotations

from muniment.errors import MunimentError

__all__ = ["FlowFailed"]


class FlowFailed(MunimentError):
    """A step broke its contract, was judged to fail, or exhausted a budget."""

    exit_code = 1
