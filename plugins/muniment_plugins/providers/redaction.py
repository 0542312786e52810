"""Secrets out of what goes over the wire, before anything of it is written.

    Authorization: Bearer sk-proj-4f…     the header is left out of requests
    Set-Cookie: session=8c…; Path=/       Set-Cookie: session=[redacted]; Path=/
    https://h/v1?key=AIza…&alt=sse        https://h/v1?key=redacted&alt=sse
    {"password": "hunter2"}               {"password": "[redacted]"}

Rules:

- One `Redaction` per exchange, used for all of its parts. What is named as a secret is
  hidden where it stands, however short it is (`secret_names`, `secret_places`), and so is
  what has the shape of a well-known key (`secret_shapes`).
- The credentials that a request carries are taken out wherever they come up again, in
  any spelling (`secret_forms`), unless they are short or ordinary words.
- Secrets that an answer brings have names of their own (`issued`), there and wherever
  they come up again: two of them are not one.
- A body keeps its chunks: a secret that two of them share is taken out of both.
- What is redacted stays a text, and JSON stays JSON.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, cast
from urllib.parse import parse_qsl, unquote, urlsplit

from muniment_plugins.providers.issued import Answered, Issued
from muniment_plugins.providers.personal import personal
from muniment_plugins.providers.secret_begun import begun
from muniment_plugins.providers.secret_forms import Sought
from muniment_plugins.providers.secret_names import NAMES, Names
from muniment_plugins.providers.secret_places import MASK, Span, named
from muniment_plugins.providers.secret_shapes import shaped

__all__ = ["MASK", "Headers", "Redaction"]

Headers = Iterable[tuple[str, str]]

_Cut: TypeAlias = tuple[int, int, str]
"""Where something is cut out, and what is written there."""

_URL_MASK = "redacted"
"""In a URL, brackets stand around addresses."""

_IN_QUOTES = (re.compile(r'"((?:[^"\\]|\\.)+)"'), re.compile(r'\\"((?:[^"\\])+)\\"'))
"""A text of JSON, and of JSON within JSON."""
_NUMBER = re.compile(r"-?\d[\d.eE+-]*")

_COOKIE = re.compile(r"([^=;\s]+)=([^;]*)(.*)", re.DOTALL)
"""A cookie as a server sets it (RFC 6265, 4.1): name, value, attributes."""


@dataclass(frozen=True, slots=True)
class Redaction:
    """What is secret in one exchange."""

    known: tuple[str, ...] = ()
    """Credentials that the request carries, longest first."""
    names: Names = NAMES
    """Tells by its name what is a secret."""
    issued: Issued = field(default_factory=Issued)
    """What answers brought, for whose values names are written."""
    _sought: Sought = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_sought", Sought(dict.fromkeys(self.known, MASK)))

    @classmethod
    def of(
        cls,
        url: str,
        headers: Headers,
        secrets: Iterable[str] = (),
        names: Names = NAMES,
        issued: Issued | None = None,
    ) -> Redaction:
        """Return the redaction for a request to *url* with *headers*.

        Args:
            url: with its query.
            headers: names and values.
            secrets: credentials that are known from elsewhere.
            names: tells by its name what is a secret.
            issued: secrets that answers of the run brought.

        """
        brought = Issued() if issued is None else issued
        found = {*_credentials(url, headers, names), *secrets}
        found -= brought.sought.names.keys()
        known = tuple(sorted(found, key=lambda one: (-len(one), one)))
        # Whatever an error quotes of its own, none is written; what an answer brought
        # has a name already.
        brought.bring(one for one in known if not any(brought.sought.find(one)))
        return cls(known, names, brought)

    @classmethod
    def knowing(cls, *secrets: str | None) -> Redaction:
        """Return the redaction that takes *secrets* out; short ones are words."""
        return cls.of("", (), [one for one in secrets if one])

    def is_secret_header(self, name: str) -> bool:
        """Tell whether a header of this *name* is a credential."""
        return self.names.is_secret(name, alone=True)

    def text(self, text: str) -> str:
        """Return *text* without secrets."""
        return self._text(text, None)

    def url(self, url: str) -> str:
        """Return *url* without secrets, and still a URL."""
        return self.text(url).replace(MASK, _URL_MASK)

    def chunks(
        self,
        chunks: Sequence[bytes],
        answered: Answered | None = None,
        *,
        is_open: bool = False,
    ) -> tuple[bytes, ...]:
        """Return the *chunks* of one body without secrets, as many as there were.

        Secrets of an answer have names in their place, which *answered* gives. Where the
        body *is_open*, what may have begun a secret at its end is hidden, too.
        """
        text = b"".join(chunks).decode("latin-1")  # one character for each byte
        spans = list(self._spans(text, answered))
        start = self.begun(text) if is_open else len(text)
        if start < len(text):
            before = [one for one in spans if one[1] <= start]
            rest = next((one for one in spans if one[1] > start), None)
            first = start if rest is None else min(start, rest[0])
            written = MASK if rest is None else rest[2]
            if answered is not None and rest is None:
                answered.tell(MASK)
            spans = [*before, (first, len(text), written)]
        if not spans:
            return tuple(chunks)
        redacted: list[bytes] = []
        begin = 0
        for chunk in chunks:
            parts = _cut(text, begin, begin + len(chunk), spans)
            redacted.append("".join(parts).encode("latin-1"))
            begin += len(chunk)
        return tuple(redacted)

    def begun(self, text: str) -> int:
        """Return from where on *text* may be a begun secret; else its length."""
        forms = (*self._sought.forms, *self.issued.sought.forms)
        return begun(text, forms, self.names)

    def headers(
        self, headers: Headers, answered: Answered | None = None
    ) -> list[tuple[str, str]]:
        """Return *headers*, names in lower case, without secrets."""
        return [
            (name.lower(), self._header(name.lower(), value, answered))
            for name, value in headers
        ]

    def sent_again(self, value: str) -> tuple[str, ...]:
        """Return the names of the secrets in *value* that answers brought."""
        found = self.issued.sought.find(value)
        return tuple(told for _, _, told, name in found if name != MASK)

    def _header(self, name: str, value: str, answered: Answered | None) -> str:
        if not self.is_secret_header(name):
            return self._text(value, answered)
        cookie = _COOKIE.match(value) if name == "set-cookie" else None
        if cookie is None:
            return self._hidden(name, value, answered)
        rest = self._text(cookie[3], answered)
        return f"{cookie[1]}={self._hidden(cookie[1], cookie[2], answered)}{rest}"

    def _hidden(self, label: str, value: str, answered: Answered | None) -> str:
        spans = [Span(0, len(value), label), *self._found(value)]
        return "".join(_cut(value, 0, len(value), [*_named(value, spans, answered)]))

    def _text(self, text: str, answered: Answered | None) -> str:
        return "".join(_cut(text, 0, len(text), [*self._spans(text, answered)]))

    def value(self, value: object) -> object:
        """Return a value made of dicts, lists and texts without secrets."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            members = cast("dict[object, object]", value)
            return {name: self._member(name, told) for name, told in members.items()}
        if isinstance(value, list | tuple):
            parts = [self.value(one) for one in cast("list[object]", value)]
            return tuple(parts) if isinstance(value, tuple) else parts
        return value

    def _member(self, name: object, value: object) -> object:
        if not self.names.is_secret(str(name)):
            return self.value(value)
        if isinstance(value, list | tuple):
            return [self._member(name, one) for one in cast("list[object]", value)]
        plain = isinstance(value, str | bytes | int | float)
        return MASK if plain and not isinstance(value, bool) else self.value(value)

    def _spans(self, text: str, answered: Answered | None = None) -> Iterator[_Cut]:
        """Yield where the secrets stand, from left to right, none within another."""
        lowered = text.lower()
        found = [Span(*span) for span in shaped(text, lowered)]
        found += [Span(*span, written=MASK) for span in personal(text)]
        found += named(text, lowered, self.names)
        if answered is None:
            # A bare number elsewhere is a number: only what is a text is sought there.
            said = [one for one in found if one.written is None]
            own = [part for one in said for part in _texts(text, one)]
            self.issued.bring(one for one in own if not _NUMBER.fullmatch(one))
        found += self._found(text)
        return _named(text, found, answered)

    def _found(self, text: str) -> Iterator[Span]:
        for start, stop, written, name in self.issued.sought.find(text):
            names = () if name == MASK else (name,)
            yield Span(start, stop, written=written, names=names)
        for start, stop, written, _ in self._sought.find(text):
            yield Span(start, stop, written=written)


def _texts(text: str, span: Span) -> list[str]:
    """Return what is sought of *span* elsewhere: of a list its texts, without quotes."""
    value = text[span.start : span.stop]
    if not value.startswith(('"', '\\"')):
        return [value]
    return _IN_QUOTES[value.startswith("\\")].findall(value) or [value]


def _named(text: str, spans: list[Span], answered: Answered | None) -> Iterator[_Cut]:
    """Yield what is written in the place of each of *spans*, those that touch as one."""
    for one in _joined(sorted(spans, key=lambda one: one[:2])):
        written = one.written
        if answered is not None:
            for name in one.names:
                answered.tell(name)
        if written is None and answered is not None:
            value = text[one.start : one.stop]
            written = (
                answered.tell(MASK) if one.quote else answered.name(one.label, value)
            )
        yield one.start, one.stop, f"{one.quote}{written or MASK}{one.quote}"


def _joined(spans: list[Span]) -> list[Span]:
    """Return *spans* without overlaps; what answers brought counts first."""
    joined: list[Span] = []
    for one in spans:
        if not joined or one.start >= joined[-1].stop:
            joined.append(one)
            continue
        last = joined[-1]
        new = [name for name in one.names if name not in last.names]
        if last.names and one.names:
            written = f"{last.written}{one.written}" if new else last.written
        elif one.names or last.names:
            written = one.written if one.names else last.written
        else:
            written = last.written or one.written
        joined[-1] = last._replace(
            stop=max(last.stop, one.stop),
            label=last.label or one.label,
            quote=last.quote or one.quote,
            written=written,
            names=(*last.names, *new),
        )
    return joined


def _cut(text: str, begin: int, end: int, spans: list[_Cut]) -> Iterator[str]:
    """Yield the characters from *begin* to *end*; a mask stands where a span begins."""
    at = begin
    for start, stop, mask in spans:
        if stop <= begin or start >= end:
            continue
        yield text[at : max(start, at)]
        if start >= begin:
            yield mask
        at = min(stop, end)
    yield text[at:end]


def _credentials(url: str, headers: Headers, names: Names) -> Iterator[str]:
    for name, value in headers:
        if names.is_secret(name, alone=True):
            yield value
            scheme, _, token = value.partition(" ")
            yield token.strip()
            yield from _basic(token) if scheme.lower() == "basic" else ()
            if name.lower() == "cookie":
                yield from (part.partition("=")[2] for part in value.split("; "))
    parts = urlsplit(url)
    yield from (one for one in (parts.password,) if one)
    yield from (unquote(one) for one in (parts.password,) if one)
    for name, value in parse_qsl(parts.query):
        if names.is_secret(name, alone=True):
            yield value


def _basic(token: str) -> Iterator[str]:
    """Yield user and password of RFC 7617 credentials, and the password alone."""
    try:
        pair = base64.b64decode(token, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return
    yield pair
    yield pair.partition(":")[2]
