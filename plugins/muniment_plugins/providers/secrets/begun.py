r"""Where a text may end in the middle of a secret, whose rest has not arrived yet.

    data: {"access_token": "8c4        from 8c4 on
    … Bearer sk-proj-Ab                from sk-proj-Ab on
    -----BEGIN PRIVATE KEY-----\nMII   from the first dash on

Rules: the beginning of a secret shows as whole secrets do: by a name before an open
value, the hint of a shape in the last word, or the first characters of a value that is
sought. Up to `TOLD` characters of a value are not secret.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from muniment_plugins.providers.secrets.names import SecretNames
from muniment_plugins.providers.secrets.shapes import SHAPES

__all__ = ["TOLD", "begun"]

TOLD = 3
"""How many characters of a value may be written."""

_NAME = r"(?<![\w.$@-])([A-Za-z_@$][\w.$@-]{0,80}+)"
_TEXT = r"\\*\"((?:[^\"\\]++|\\.)*+\\?)\Z"
_FORM = (
    r"form-data;[^\r\n]*?\bname=\"?([\w.\[\]-]+)\"?[^\r\n]*\r?\n"
    r"(?:[^\r\n]++\r?\n)*+\r?\n((?:[^\r\n]++|(?!\r?\n--).)*+)\Z"
)
_OPEN = (
    rf"{_NAME}(?=\\*[\"']?\s*[:=]\s*(?:\[\s*)?{_TEXT})",
    rf"{_NAME}(?=\\*[\"']?\s*[:=]\s*\[([^\[\]{{}}]*)\Z)",
    rf"{_NAME}(?=[\"']?\s*[:=]\s*'((?:[^'\\]++|\\.)*+\\?)\Z)",
    rf"{_NAME}(?=\\*[\"']?\s*[:=]\s*(-?\d[\d.eE+-]*)\Z)",
    rf"\"(?:name|key|header)\\*\"\s*:\s*\\*\"{_NAME}\\*\"\s*,\s*\\*\"value\\*\"\s*:\s*{_TEXT}",
    r"(?:^|[?&;#])([\w.%-]+)=(?=([^&;\s\"'#<>]*)\Z)",
    r"<(?:[\w-]+:)?([A-Za-z_][\w.-]*)(?:\s[^<>]*)?>\s*(?:<!\[CDATA\[)?([^<>]*)(?:<[^<>]*)?\Z",
    _FORM,
)
"""A name and after it a value that is open at the end, which may hold names."""
_PATTERNS = tuple(re.compile(one, re.ASCII | re.DOTALL) for one in _OPEN)
_WORD = re.compile(r"(?:(?i:bearer|basic)\s+)?[^\s\"'<>,;{}()\[\]]+\Z")
_KEY = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----"
    r"(?:[^-]++|-(?!----END [A-Z ]*PRIVATE KEY-----))*+\Z",
    re.DOTALL,
)
_NEAR = 4096
"""How far back to look for a value that is open at the end."""


def begun(text: str, forms: Iterable[str], names: SecretNames) -> int:
    """Return where in *text* a begun secret may start; its length if there is none.

    Args:
        text: the text so far.
        forms: spellings of the values that are sought.
        names: tells from its name what is a secret.

    """
    start = len(text)
    near = max(0, start - _NEAR)
    end = text[near:]
    for form in forms:
        for count in range(min(len(form) - 1, len(end)), TOLD, -1):
            if end.endswith(form[:count]):
                start = min(start, len(text) - count)
                break
    for pattern in _PATTERNS:
        for found in pattern.finditer(end):
            if names.is_secret(found[1], alone=True):
                start = min(start, near + found.start(2))
    word = _WORD.search(end)
    if word is not None and _has_hint(word[0].lower()):
        start = min(start, near + word.start())
    key = _KEY.search(text)
    return start if key is None else min(start, key.start())


def _has_hint(word: str) -> bool:
    return any(
        hint in word for shape in SHAPES for hint in shape.hints if hint != "://"
    )
