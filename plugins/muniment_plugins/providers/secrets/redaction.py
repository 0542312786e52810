"""Removing secrets from what goes over the wire, before anything is written.

    Authorization: Bearer sk-proj-4f…     the header is left out of requests
    Set-Cookie: session=8c…; Path=/       Set-Cookie: session=[redacted]; Path=/
    https://h/v1?key=AIza…&alt=sse        https://h/v1?key=redacted&alt=sse
    {"password": "hunter2"}               {"password": "[redacted]"}

Rules:

- There is one `Redaction` per exchange, used for all of its parts. It hides a value that
  is named as a secret, however short (`names`, `places`), and anything in the shape of a
  well-known key (`shapes`).
- The credentials of a request are taken out wherever they appear again, in any spelling
  (`encodings`), unless they are short or ordinary words.
- Secrets in an answer get names of their own (`issued`), there and wherever they appear
  again, so that two of them stay different.
- A body keeps its chunks: a secret across two of them is taken out of both.
- A redacted text stays a text, and JSON stays JSON.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import cast
from urllib.parse import parse_qsl, unquote, urlsplit

from muniment_plugins.providers.secrets.begun import begun
from muniment_plugins.providers.secrets.encodings import Sought
from muniment_plugins.providers.secrets.issued import Answered, Issued
from muniment_plugins.providers.secrets.masking import cut, joined
from muniment_plugins.providers.secrets.names import NAMES, SecretNames
from muniment_plugins.providers.secrets.percent_encoded import in_encoded
from muniment_plugins.providers.secrets.personal_data import personal
from muniment_plugins.providers.secrets.places import MASK, Span, named
from muniment_plugins.providers.secrets.shapes import shaped
from muniment_plugins.providers.secrets.wide_texts import plain_text, wide_text

__all__ = ["MASK", "Headers", "Redaction"]

Headers = Iterable[tuple[str, str]]

_URL_MASK = "redacted"
"""Without brackets, which in a URL enclose addresses."""

_IN_QUOTES = (re.compile(r'"((?:[^"\\]++|\\.)++)"'), re.compile(r'\\"([^"\\]+)\\"'))
"""A text of JSON, and of JSON within JSON."""
_NUMBER = re.compile(r"-?\d[\d.eE+-]*")

_COOKIE = re.compile(r"([^=;\s]+)=([^;]*)(.*)", re.DOTALL)
"""A cookie as a server sets it (RFC 6265, 4.1): name, value, attributes."""


@dataclass(frozen=True, slots=True)
class Redaction:
    """The secrets of one exchange, and how to hide them."""

    known: tuple[str, ...] = ()
    """Credentials that the request carries, longest first."""
    names: SecretNames = NAMES
    """Tells from its name what is a secret."""
    issued: Issued = field(default_factory=Issued)
    """The secrets in answers, whose names are written instead."""
    _sought: Sought = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_sought", Sought(dict.fromkeys(self.known, MASK)))

    @classmethod
    def of(
        cls,
        url: str,
        headers: Headers,
        secrets: Iterable[str] = (),
        names: SecretNames = NAMES,
        issued: Issued | None = None,
    ) -> Redaction:
        """Return the redaction for a request to *url* with *headers*.

        Args:
            url: with its query.
            headers: names and values.
            secrets: credentials that are known from elsewhere.
            names: tells from its name what is a secret.
            issued: secrets in the answers of the run.

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

    def is_secret_header(self, name: str, value: str | None = None) -> bool:
        """Tell whether a header of this *name*, with this *value*, is a credential."""
        return self.names.is_secret(name, alone=True, value=value)

    def text(self, text: str) -> str:
        """Return *text* without secrets."""
        return self._text(text, None)

    def url(self, url: str) -> str:
        """Return *url* without secrets; it stays a URL."""
        return self.text(url).replace(MASK, _URL_MASK)

    def chunks(
        self,
        chunks: Sequence[bytes],
        answered: Answered | None = None,
        *,
        is_open: bool = False,
    ) -> tuple[bytes, ...]:
        """Return the *chunks* of one body without secrets, as many as there were.

        Secrets of an answer are replaced by names, which *answered* gives. If the body
        *is_open*, what may be the beginning of a secret at its end is hidden, too.
        """
        data = b"".join(chunks)
        text = data.decode("latin-1")  # one character for each byte
        spans = self._closed(text, answered, is_open=is_open)
        wide = wide_text(data)
        if wide is not None:
            inner = self._closed(wide.text, answered, is_open=is_open)
            spans = joined([*spans, *map(wide.placed, inner)])
        if not spans:
            return tuple(chunks)
        redacted: list[bytes] = []
        begin = 0
        for chunk in chunks:
            part = cut(text, spans, begin, begin + len(chunk))
            redacted.append(part.encode("latin-1"))
            begin += len(chunk)
        return tuple(redacted)

    def _closed(
        self, text: str, answered: Answered | None, *, is_open: bool
    ) -> list[Span]:
        """Return where secrets are in *text*; if it *is_open*, also one that only began."""
        spans = list(self._spans(text, answered))
        start = self._begun(text) if is_open else len(text)
        if start == len(text):
            return spans
        before = [one for one in spans if one.stop <= start]
        rest = next((one for one in spans if one.stop > start), None)
        first = start if rest is None else min(start, rest.start)
        written = MASK if rest is None else rest.written
        if answered is not None and rest is None:
            answered.tell(MASK)
        return [*before, Span(first, len(text), written=written)]

    def begun(self, data: bytes) -> int:
        """Return where in *data* a begun secret may start; else its length."""
        start = self._begun(data.decode("latin-1"))
        wide = wide_text(data)
        if wide is None:
            return start
        inner = self._begun(wide.text)
        return start if inner == len(wide.text) else min(start, inner * wide.width)

    def _begun(self, text: str) -> int:
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
        """Return the names of the secrets in *value* that come from answers."""
        found = self.issued.sought.find(value)
        return tuple(told for _, _, told, name in found if name != MASK)

    def _header(self, name: str, value: str, answered: Answered | None) -> str:
        if not self.is_secret_header(name, value):
            return self._text(value, answered)
        cookie = _COOKIE.match(value) if name == "set-cookie" else None
        if cookie is None:
            return self._hidden(name, value, answered)
        rest = self._text(cookie[3], answered)
        return f"{cookie[1]}={self._hidden(cookie[1], cookie[2], answered)}{rest}"

    def _hidden(self, label: str, value: str, answered: Answered | None) -> str:
        spans = [Span(0, len(value), label), *self._found(value)]
        return cut(value, _named(value, spans, answered))

    def _text(self, text: str, answered: Answered | None) -> str:
        return cut(text, self._spans(text, answered))

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
        told = value if isinstance(value, str) else ""
        if self.names.is_secret(str(name), value=told):
            return self._masked(name, value)
        if self.names.is_secret(str(name)) and isinstance(value, list | tuple):
            return self._masked(name, cast("list[object]", value))
        return self.value(value)

    def _masked(self, name: object, value: object) -> object:
        if isinstance(value, list | tuple):
            return [self._member(name, one) for one in cast("list[object]", value)]
        plain = isinstance(value, str | bytes | int | float)
        return MASK if plain and not isinstance(value, bool) else self.value(value)

    def _spans(self, text: str, answered: Answered | None = None) -> Iterator[Span]:
        """Yield where the secrets are, from left to right, none within another."""
        found = self._in_place(text)
        plain = plain_text(text)
        if plain is not None:
            found += map(plain.placed, self._in_place(plain.text))
        if answered is None:
            # A bare number elsewhere is a number: only texts are sought there.
            said = [one for one in found if one.written is None]
            own = [part for one in said for part in _texts(text, one)]
            self.issued.bring(one for one in own if not _NUMBER.fullmatch(one))
        found += self._found(text)
        found += in_encoded(text, self._found)
        if plain is not None:
            found += map(plain.placed, self._found(plain.text))
            found += map(plain.placed, in_encoded(plain.text, self._found))
        return _named(text, found, answered)

    def _in_place(self, text: str) -> list[Span]:
        lowered = text.lower()
        found = [Span(*span) for span in shaped(text, lowered)]
        found += [Span(*span, written=MASK) for span in personal(text)]
        found += named(text, lowered, self.names)
        found += in_encoded(text, self._named_in)
        return found

    def _named_in(self, text: str) -> Iterator[Span]:
        return named(text, text.lower(), self.names)

    def _found(self, text: str) -> Iterator[Span]:
        for start, stop, written, name in self.issued.sought.find(text):
            names = () if name == MASK else (name,)
            yield Span(start, stop, written=written, names=names)
        for start, stop, written, _ in self._sought.find(text):
            yield Span(start, stop, written=written)


def _texts(text: str, span: Span) -> list[str]:
    """Return the texts of *span* to seek elsewhere: of a list, each without quotes."""
    value = text[span.start : span.stop]
    if not value.startswith(('"', '\\"')):
        return [value]
    return _IN_QUOTES[value.startswith("\\")].findall(value) or [value]


def _named(text: str, spans: list[Span], answered: Answered | None) -> Iterator[Span]:
    """Yield *spans* with their replacements, those that overlap as one."""
    for one in joined(spans):
        written = one.written
        if answered is not None:
            for name in one.names:
                answered.tell(name)
        if written is None and answered is not None:
            value = text[one.start : one.stop]
            written = (
                answered.tell(MASK) if one.quote else answered.name(one.label, value)
            )
        written = f"{one.quote}{written or MASK}{one.quote}"
        yield Span(one.start, one.stop, written=written)


def _credentials(url: str, headers: Headers, names: SecretNames) -> Iterator[str]:
    for name, value in headers:
        if names.is_secret(name, alone=True, value=value):
            yield value
            scheme, _, token = value.partition(" ")
            yield token.strip()
            yield from _basic(token) if scheme.lower() == "basic" else ()
            if name.lower() == "cookie":
                yield from (part.partition("=")[2] for part in value.split("; "))
    parts = urlsplit(url)
    yield from (one for one in (parts.password,) if one)
    yield from (unquote(one) for one in (parts.password,) if one)
    for name, value in parse_qsl(f"{parts.query}&{parts.fragment}"):
        if names.is_secret(name, alone=True, value=value):
            yield value


def _basic(token: str) -> Iterator[str]:
    """Yield user and password of RFC 7617 credentials, and the password alone."""
    try:
        pair = base64.b64decode(token, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return
    yield pair
    yield pair.partition(":")[2]
