"""What models took, as a record has it."""

from __future__ import annotations

from muniment_plugins.workflow.records.rows import Row

__all__ = ["usage_view"]


def usage_view(sums: Row) -> Row:
    """Return tokens, calls, time and cost.

    Tokens are those that answers state; of how many calls they are not known is said. What
    totals say beyond what was read and written is told apart.
    The cost is a decimal text, of the calls whose price is known; there is none if no
    price is.
    """
    view: Row = {
        "input_tokens": sums.get("input_tokens", 0),
        "output_tokens": sums.get("output_tokens", 0),
        "call_count": sums.get("call_count", 0),
        "total_duration_ms": sums.get("duration_us", 0) // 1000,
        "models": sorted(sums.get("models", {})),
    }
    if sums.get("other_tokens"):
        view["other_tokens"] = sums["other_tokens"]
    if "usd" in sums:
        view["total_cost"] = sums["usd"]
    if sums.get("uncounted"):
        view["uncounted_calls"] = sums["uncounted"]
    if sums.get("unpriced"):
        view["unpriced_calls"] = sums["unpriced"]
    return view
