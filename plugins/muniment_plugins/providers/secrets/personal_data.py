"""Removing personal data from what is written, by presidio, if a user asks for it.

    MUNIMENT_REDACT=presidio
    {"content": "write to ada@example.org"}   {"content": "write to [redacted]"}

Rules:

- Found is what form or checksum reveal: e-mail addresses, credit cards, IBANs, telephone
  numbers with their country, US social security numbers. Names and places are not found:
  they need a language model, and nothing is fetched here.
- A JSON number is not text: counts and times would be taken for telephone numbers.
- A replay needs the same setting, since requests are compared as they are written.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any

from muniment.errors import UsageError
from muniment_plugins.providers.refusals import missing

__all__ = ["VARIABLE", "personal"]

VARIABLE = "MUNIMENT_REDACT"

_RECOGNIZERS = (
    *("CreditCardRecognizer", "EmailRecognizer", "IbanRecognizer"),
    *("PhoneRecognizer", "UsSsnRecognizer"),
)
_JSON = ("{", "[", "data:", "event:")
_QUOTE = re.compile(r'(?<!\\)"')


def personal(text: str) -> Iterator[tuple[int, int]]:
    """Yield where personal data is in *text*, if the user asks for it.

    Raises:
        UsageError: the tool asked for is unknown, or not installed.

    """
    asked = os.environ.get(VARIABLE)
    if not asked:
        return
    if asked != "presidio":
        raise UsageError(
            f"{asked!r} redacts nothing",
            rule="provider/redact",
            place=VARIABLE,
            remedy="set it to presidio, or take it away",
        )
    for recognizer in _recognizers():
        for found in recognizer.analyze(text, recognizer.supported_entities, None):
            start, end = found.start, found.end
            called = found.entity_type == "PHONE_NUMBER"
            if _is_text(text, start) and not (called and text[start] != "+"):
                yield start, end


@cache
def _recognizers() -> tuple[Any, ...]:
    try:
        known = import_module("presidio_analyzer.predefined_recognizers")
    except ImportError:
        raise missing("presidio", "presidio") from None
    made: tuple[Any, ...] = tuple(getattr(known, name)() for name in _RECOGNIZERS)
    for one in made:
        if "EMAIL_ADDRESS" in one.supported_entities:
            one.validate_result = _as_it_is  # its own asks the network for suffixes
    return made


def _as_it_is(_: str) -> None:
    """Leave the score of a pattern as it is."""


def _is_text(text: str, start: int) -> bool:
    """Tell text from a JSON number, which is outside of quotation marks."""
    line = text[text.rfind("\n", 0, start) + 1 : start]
    is_json = text.lstrip().startswith(_JSON)
    return not is_json or len(_QUOTE.findall(line)) % 2 == 1
