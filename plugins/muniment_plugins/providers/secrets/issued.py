"""Secrets in answers, and the names that replace them in what is written.

    issued = Issued()                        one for each run, in memory alone
    answer = issued.answer("", 3)            scope and ordinal of the effect
    answer.name("access_token", "8c41…")     'secret_access_token_5d0c1be0a7f2'
    issued.sought.find("Bearer 8c41…")       where it appears again, and that name

Rules:

- A name follows from scope, ordinal, member and number: it says nothing about the value,
  and is the same if the call is made again. Two values never share one.
- Only names are written. A replay recalls them: there they are the values.
- A value too short to be sought is hidden, and has no name.
"""

from __future__ import annotations

import hashlib
import html
import json
import re
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from urllib.parse import unquote_plus

from muniment_plugins.providers.secrets.encodings import SHORTEST, Sought, is_sought
from muniment_plugins.providers.secrets.error_texts import in_urls
from muniment_plugins.providers.secrets.masking import masked
from muniment_plugins.providers.secrets.places import MASK, Span

__all__ = ["Answered", "Issued"]

_LONGEST = 32
_NAMED = re.compile(r"[^a-z0-9]+")


class Issued:
    """The secrets in the answers of one run."""

    def __init__(self) -> None:
        self.sought = Sought({})
        """Finds them wherever they appear again."""
        self._lock = threading.Lock()

    def answer(self, scope: str, ordinal: int) -> Answered:
        """Return the `Answered` that names the secrets in one effect's answer."""
        return Answered(self, f"{scope}\0{ordinal}")

    def bring(self, values: Iterable[str]) -> None:
        """Take *values* as the program's own: an answer that echoes them issues none."""
        for value in values:
            spelt = [one for one in _spelt(value) if one]
            is_long = len(min(spelt, key=len, default="")) >= SHORTEST  # unescaped
            if value not in self.sought.names and is_long:
                self.learn(MASK, spelt)

    def redacted(self, text: str) -> str:
        """Return *text* with names in place of this run's secrets.

        A value that a URL in it names as a secret is one, however short.
        """
        text = in_urls(text)
        found = self.sought.find(text)
        return masked(text, [Span(*one[:2], written=one[2]) for one in found])

    def is_own(self, value: str) -> bool:
        """Tell whether the program brought *value*."""
        return self.sought.names.get(value) == MASK

    def recall(self, names: Iterable[str]) -> None:
        """Take recorded *names* as the values: in a replay they are."""
        for name in names:
            self.learn(name, [name])

    def learn(self, name: str, values: Iterable[str]) -> str:
        """Let *name* stand for *values*, unless they have one; return their name."""
        with self._lock:
            known = [v for v in values if v in self.sought.names]
            if known:
                return self.sought.names[known[0]]
            new = {value: name for value in values if is_sought(value)}
            self.sought = self.sought.knowing(new)
        return name


@dataclass(slots=True)
class Answered:
    """The secrets of one answer, in order of appearance."""

    issued: Issued
    _place: str
    told: dict[str, None] = field(default_factory=dict[str, None])
    """What was written in place of secrets that the program did not have."""
    _numbers: Counter[str] = field(default_factory=Counter[str])

    def name(self, label: str, value: str) -> str:
        """Return what to write in place of *value*, which *label* names."""
        if self.issued.is_own(value):
            return MASK
        if not is_sought(value):
            return self.tell(MASK)
        known = self.issued.sought.names.get(value)
        if known is not None:
            return self.tell(known)
        slug = _NAMED.sub("_", label.lower()).strip("_")[:_LONGEST]
        number = self._numbers[slug]
        self._numbers[slug] += 1
        digest = hashlib.sha256(f"{self._place}\0{slug}\0{number}".encode())
        name = f"secret_{slug or 'value'}_{digest.hexdigest()[:12]}"
        return self.tell(self.issued.learn(name, [*_spelt(value)]))

    def tell(self, written: str) -> str:
        """Remember that *written* is in the answer."""
        self.told[written] = None
        return written


def _spelt(value: str) -> Iterator[str]:
    """Yield *value*, and what it may be once the escapes of its format are undone."""
    yield value
    yield value.partition(" ")[2]
    text = value
    for _ in range(2):  # JSON, and JSON in it
        try:
            text = str(json.loads(f'"{text}"'))
        except ValueError:
            break
        yield text
    yield html.unescape(value)
    yield unquote_plus(value)
    try:
        yield value.encode("latin-1").decode()
    except UnicodeError:
        return
