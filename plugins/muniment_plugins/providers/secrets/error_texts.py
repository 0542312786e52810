"""Removing secrets from the texts of errors, whoever raised them, before writing.

    Invalid URL: https://h/v1?api_key=8c41…    https://h/v1?api_key=[redacted]
    cannot reach https://ada:8c41…@h/          https://ada:[redacted]@h/
    no such user: hunter2-hunter2              no such user: [redacted]

Rules: hidden are URL parameters whose names are those of secrets, passwords in URLs,
anything in the shape of a well-known key, and the values of environment variables with
such names, unless they are short or ordinary words. All else stays: the error needs it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from muniment_plugins.providers.secrets.encodings import Sought
from muniment_plugins.providers.secrets.masking import masked
from muniment_plugins.providers.secrets.names import NAMES
from muniment_plugins.providers.secrets.percent_encoded import in_encoded
from muniment_plugins.providers.secrets.places import MASK, Span, named
from muniment_plugins.providers.secrets.shapes import shaped
from muniment_plugins.providers.secrets.variables import secret_values

__all__ = ["in_urls", "without_secrets"]

# Bounded, so that a long word does not cost its square.
_URL = re.compile(r"[A-Za-z0-9+.-]{1,32}://[^\s'\"<>]+")
_PARAMETER = re.compile(r"(?<=[?&#])([\w.%-]+)=([^&;\s\"'#<>\\]+)", re.ASCII)


def without_secrets(text: str) -> str:
    """Return the *text* of an error without secrets."""
    sought = _sought(tuple(secret_values()))
    spans = [*_of_urls(text), *_of_parameters(text)]
    spans += [Span(*span) for span in shaped(text, text.lower())]
    spans += [Span(start, stop) for start, stop, _, _ in sought.find(text)]
    return masked(text, spans)


def in_urls(text: str) -> str:
    """Return *text* without the secrets that URLs in it name, however short."""
    return masked(text, _of_urls(text))


def _of_urls(text: str) -> Iterator[Span]:
    for url in _URL.finditer(text):
        for one in [*_named(url[0]), *in_encoded(url[0], _named)]:
            yield Span(url.start() + one.start, url.start() + one.stop)


def _named(text: str) -> Iterator[Span]:
    return named(text, text.lower(), NAMES)


def _of_parameters(text: str) -> Iterator[Span]:
    """Yield the values of parameters that are secrets, also after a path alone."""
    for found in _PARAMETER.finditer(text):
        if NAMES.is_secret(found[1], alone=True, value=found[2]):
            yield Span(*found.span(2))


@lru_cache(maxsize=1)
def _sought(values: tuple[str, ...]) -> Sought:
    return Sought(dict.fromkeys(values, MASK))
