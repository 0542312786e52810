"""What a call cost, by the price table of ``genai-prices`` if that is installed.

    {"usd": "0.00018", "input_usd": "0.00003", "output_usd": "0.00015",
     "table": "genai-prices 0.2.3"}

Rules: amounts are decimal texts; the table's version stands beside them, since prices
change. A model that the table does not know has no cost. Nothing is fetched.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from importlib.metadata import version

__all__ = ["cost"]


def cost(provider: str, model: str, usage: Mapping[str, int]) -> dict[str, str] | None:
    """Return what *usage* of *model* costs, or None if that is unknown."""
    if not usage:
        return None
    try:
        import genai_prices  # noqa: PLC0415 - an extra
    except ImportError:
        return None
    counts = dict(usage)
    if counts.pop("total_tokens", 0):
        return None  # more was taken than the parts that have a price
    if provider == "anthropic":  # counts cached tokens beside the input, not within
        cached = counts.get("cache_read_tokens", 0) + counts.get(
            "cache_write_tokens", 0
        )
        counts["input_tokens"] = counts.get("input_tokens", 0) + cached
    try:
        price = genai_prices.calc_price(
            genai_prices.Usage(**counts), model, provider_id=provider
        )
    except (LookupError, ValueError):  # a model or a provider that it does not know
        return None
    return {
        "usd": _text(price.total_price),
        "input_usd": _text(price.input_price),
        "output_usd": _text(price.output_price),
        "table": f"genai-prices {version('genai-prices')}",
    }


def _text(amount: Decimal) -> str:
    return format(amount.normalize(), "f")
