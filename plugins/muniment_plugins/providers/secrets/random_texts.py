r"""Which texts look like secrets, if a name alone does not say so.

    mixed  Zq7Wv3Kx9L  550e8400-e29b-41d4-a716-446655440000     not: understanding, GPT4
    code   the same, and 123456                                 not: 3, accepted
    long   9f86d081884c7d65                                     not: PROJ-12, a/b1.csv

Rules:

- Letters and digits count in runs that have both: 8 are enough; for names that are
  everyday words, 16 in one run, in a text without dots and slashes.
- A text with white space is prose. An escape, as in JSON or in a URL, is not a run.
"""

from __future__ import annotations

import re
from typing import Literal

__all__ = ["Sort", "is_like"]

Sort = Literal["mixed", "code", "long"]

_ENOUGH = 8
_LONG = 16
_ESCAPE = re.compile(r"\\+(?:u[0-9A-Fa-f]{4}|[bfnrt])|%[0-9A-Fa-f]{2}")
_RUN = re.compile(r"[A-Za-z0-9]+")
_CODE = re.compile(r"[0-9]{4,12}")
_WORD = re.compile(r"[\w+=-]+", re.ASCII)


def is_like(sort: Sort, value: str) -> bool:
    """Tell whether *value* looks like a secret of that *sort*."""
    text = value.strip()
    if any(map(str.isspace, text)):
        return False
    if sort == "code" and _CODE.fullmatch(text):
        return True
    sizes = [len(run) for run in _RUN.findall(_ESCAPE.sub(" ", text)) if _is_mixed(run)]
    if sort == "long":
        return _WORD.fullmatch(text) is not None and max(sizes, default=0) >= _LONG
    return sum(sizes) >= _ENOUGH


def _is_mixed(run: str) -> bool:
    return not run.isdigit() and not run.isalpha()
