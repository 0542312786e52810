"""Secrets out of what goes over the wire, before anything of it is written.

    Authorization: Bearer sk-proj-4f…     the header is left out of requests
    Set-Cookie: session=8c…; Path=/       Set-Cookie: session=[redacted]; Path=/
    https://h/v1?key=AIza…&alt=sse        https://h/v1?key=redacted&alt=sse
    {"password": "hunter2"}               {"password": "[redacted]"}

Rules:

- One `Redaction` per exchange, used for all of its parts. It knows the credentials that
  the request itself carries, and takes them out wherever they come up again.
- Beside those it knows the shapes of well-known keys, and names of headers, parameters
  and members that hold secrets.
- A body keeps its chunks: a secret that two of them share is taken out of both.
- What is redacted stays a text, and JSON stays JSON.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import cast
from urllib.parse import parse_qsl, unquote, urlsplit

from muniment_plugins.providers.personal import personal

__all__ = [
    "MASK",
    "SECRET_HEADERS",
    "SECRET_NAMES",
    "SHAPES",
    "Headers",
    "Redaction",
    "Shape",
]

Headers = Iterable[tuple[str, str]]

MASK = "[redacted]"
_URL_MASK = "redacted"
"""In a URL, brackets stand around addresses."""

SECRET_HEADERS = frozenset(
    {
        "api-key",
        "authorization",
        "cookie",
        "ocp-apim-subscription-key",
        "proxy-authorization",
        "set-cookie",
        "x-amz-security-token",
        "x-api-key",
        "x-auth-token",
        "x-csrf-token",
        "x-goog-api-key",
    }
)
"""Headers whose values are credentials."""

SECRET_NAMES = (
    "access_token",
    "api-key",
    "api_key",
    "apikey",
    "auth_token",
    "client_secret",
    "id_token",
    "passwd",
    "password",
    "private_key",
    "refresh_token",
    "secret",
    "secret_key",
)
"""Members of JSON bodies, and parameters, whose texts are credentials."""

_PARAMETERS = (*SECRET_NAMES, "key", "token", "sig", "signature", "x-amz-signature")
"""Parameters of URLs and forms; as members of JSON these are everyday words."""

SHORTEST = 8
"""Below this length a credential is a word that may stand anywhere."""


_COOKIE = re.compile(r"([^=;\s]+)=[^;]*(.*)", re.DOTALL)
"""A cookie as a server sets it (RFC 6265, 4.1): name, value, attributes."""


def _any(names: Iterable[str]) -> str:
    return "|".join(re.escape(name) for name in names)


@dataclass(frozen=True, slots=True)
class Shape:
    """What a kind of secret looks like; where there is a group, it is the secret."""

    hints: tuple[str, ...]
    """In lower case; a text without any of them holds no such secret."""
    pattern: re.Pattern[str]

    @classmethod
    def of(cls, hints: str | Iterable[str], pattern: str) -> Shape:
        """Return the shape with *hints*, one where they are a text."""
        found = (hints,) if isinstance(hints, str) else tuple(hints)
        return cls(found, re.compile(pattern, re.ASCII | re.DOTALL))


_WORD = r"(?<![A-Za-z0-9_])"
SHAPES: tuple[Shape, ...] = (
    Shape.of("sk-", rf"{_WORD}sk-[\w-]{{16,}}"),  # OpenAI, Anthropic, OpenRouter
    Shape.of(("_live_", "_test_"), rf"{_WORD}[spr]k_(?:live|test)_\w{{16,}}"),  # Stripe
    Shape.of(("akia", "asia"), rf"{_WORD}(?:AKIA|ASIA)[0-9A-Z]{{16}}\b"),  # AWS
    Shape.of(("ghp_", "gho_", "ghs_", "ghu_", "ghr_"), rf"{_WORD}gh[oprsu]_\w{{30,}}"),
    Shape.of("github_pat_", rf"{_WORD}github_pat_\w{{22,}}"),
    Shape.of("glpat-", rf"{_WORD}glpat-[\w-]{{20,}}"),  # GitLab
    Shape.of("xox", rf"{_WORD}xox[a-z]-[\w-]{{10,}}"),  # Slack
    Shape.of("aiza", rf"{_WORD}AIza[\w-]{{35}}"),  # Google
    Shape.of("ya29.", rf"{_WORD}ya29\.[\w-]{{20,}}"),
    Shape.of("hf_", rf"{_WORD}hf_[A-Za-z0-9]{{30,}}"),  # Hugging Face
    Shape.of("gsk_", rf"{_WORD}gsk_[A-Za-z0-9]{{20,}}"),  # Groq
    Shape.of("xai-", rf"{_WORD}xai-[A-Za-z0-9]{{20,}}"),
    Shape.of("r8_", rf"{_WORD}r8_[A-Za-z0-9]{{30,}}"),  # Replicate
    Shape.of("pypi-ag", rf"{_WORD}pypi-Ag[\w-]{{40,}}"),
    Shape.of("npm_", rf"{_WORD}npm_[A-Za-z0-9]{{36}}"),
    Shape.of(":aa", rf"{_WORD}\d{{8,10}}:AA[\w-]{{33}}\b"),  # Telegram
    Shape.of("eyj", rf"{_WORD}eyJ[\w-]{{8,}}\.eyJ[\w-]{{8,}}\.[\w-]{{8,}}"),  # JWT
    Shape.of(
        "private key-----",
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?:[^-]|-(?!----))*"
        r"-----END [A-Z ]*PRIVATE KEY-----",
    ),
    Shape.of("://", r"://[^/\s:@\"]*:([^/\s:@\"]+)(?=@)"),  # a password in a URL
    Shape.of(("bearer", "basic"), r"(?i)\b(?:bearer|basic)\s+([\w.~+/=-]{16,})"),
    Shape.of(
        SECRET_NAMES,
        rf"(?i)\"(?:{_any(SECRET_NAMES)})\\?\"\s*:\s*\\?\"([^\"\\]+)",
    ),
    Shape.of(
        [f"{name}=" for name in _PARAMETERS],
        rf"(?i)(?:^|[?&])(?:{_any(_PARAMETERS)})=([^&\s\"#]+)",
    ),
)


@dataclass(frozen=True, slots=True)
class Redaction:
    """What is secret in one exchange."""

    known: tuple[str, ...] = ()
    """Credentials that the request carries, longest first."""

    @classmethod
    def of(cls, url: str, headers: Headers, secrets: Iterable[str] = ()) -> Redaction:
        """Return the redaction for a request to *url* with *headers*.

        *secrets* are credentials that are known from elsewhere.
        """
        return cls.knowing(*_credentials(url, headers), *secrets)

    @classmethod
    def knowing(cls, *secrets: str | None) -> Redaction:
        """Return the redaction that takes *secrets* out; short ones are words."""
        found = {one for one in secrets if one and len(one) >= SHORTEST}
        return cls(tuple(sorted(found, key=lambda one: (-len(one), one))))

    def text(self, text: str) -> str:
        """Return *text* without secrets."""
        parts: list[str] = []
        end = 0
        for start, stop in self._spans(text):
            parts += [text[end:start], MASK]
            end = stop
        return "".join([*parts, text[end:]])

    def url(self, url: str) -> str:
        """Return *url* without secrets, and still a URL."""
        return self.text(url).replace(MASK, _URL_MASK)

    def chunks(self, chunks: Sequence[bytes]) -> tuple[bytes, ...]:
        """Return the *chunks* of one body without secrets, as many as there were."""
        text = b"".join(chunks).decode("latin-1")  # one character for each byte
        spans = list(self._spans(text))
        if not spans:
            return tuple(chunks)
        redacted: list[bytes] = []
        begin = 0
        for chunk in chunks:
            redacted.append(_cut(text, begin, begin + len(chunk), spans))
            begin += len(chunk)
        return tuple(redacted)

    def headers(self, headers: Headers) -> list[tuple[str, str]]:
        """Return *headers*, names in lower case, without secrets."""
        return [
            (name.lower(), self._header(name.lower(), value)) for name, value in headers
        ]

    def _header(self, name: str, value: str) -> str:
        if name not in SECRET_HEADERS:
            return self.text(value)
        cookie = _COOKIE.match(value) if name == "set-cookie" else None
        return MASK if cookie is None else f"{cookie[1]}={MASK}{self.text(cookie[2])}"

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
        secret = isinstance(value, str) and str(name).lower() in SECRET_NAMES
        return MASK if secret else self.value(value)

    def _spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield where the secrets stand, from left to right, none within another."""
        lowered = text.lower()
        found = [
            match.span(match.re.groups)
            for shape in SHAPES
            if any(hint in lowered for hint in shape.hints)
            for match in shape.pattern.finditer(text)
            if match[match.re.groups] != MASK
        ]
        found += personal(text)
        for secret in self.known:
            found += [one.span() for one in re.finditer(re.escape(secret), text)]
        yield from _joined(sorted(found))


def _joined(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for start, stop in spans:
        if joined and start < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(stop, joined[-1][1]))
        else:
            joined.append((start, stop))
    return joined


def _cut(text: str, begin: int, end: int, spans: list[tuple[int, int]]) -> bytes:
    """Return the characters from *begin* to *end*; a mask stands where a span begins."""
    parts: list[str] = []
    at = begin
    for start, stop in spans:
        if stop <= begin or start >= end:
            continue
        parts.append(text[at : max(start, at)])
        if start >= begin:
            parts.append(MASK)
        at = min(stop, end)
    return "".join([*parts, text[at:end]]).encode("latin-1")


def _credentials(url: str, headers: Headers) -> Iterator[str]:
    for name, value in headers:
        if name.lower() in SECRET_HEADERS:
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
        if name.lower() in _PARAMETERS:
            yield value


def _basic(token: str) -> Iterator[str]:
    """Yield user and password of RFC 7617 credentials, and the password alone."""
    try:
        pair = base64.b64decode(token, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return
    yield pair
    yield pair.partition(":")[2]
