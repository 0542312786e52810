"""Which names say that their value is a secret.

    X-Vault-Token  clientSecret  DD-API-KEY  db.password      secret
    sort_key  nextPageToken  thoughtSignature  max_tokens     not
    token  key  signature                                     alone: parameters only
    {"token": "Zq7Wv3Kx9L"}  {"pin": "0412"}                  by name and value
    {"token": " GPT"}  {"key": "PROJ-12"}  {"pin": 3}         not

Rules:

- A name is read word by word; words end at a change of case, and at a non-letter.
- The last word decides. ``token``, ``key`` and ``signature`` are everyday words: they
  count beside another word, unless that word says what else they are.
- As parameters of a URL, a form, a header or a command line, they count alone too.
- Weak names, such as ``token`` alone, ``session`` or ``pin``, count everywhere if the
  value looks like a secret (`random_texts`), or is unknown.
- A number at the end, or a word for a repeated value, changes nothing.
- ``keep`` and ``hide`` are names that a user decided about, compared word by word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from muniment_plugins.providers.secrets.random_texts import Sort, is_like

__all__ = ["HINTS", "NAMES", "SecretNames", "words"]


def _table(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

_ALWAYS = _table("""
    accesskey accesstoken apikey apisecret apitoken auth authkey authorization authtoken
    bearertoken clientsecret cookie credential credentials csrfmiddlewaretoken csrftoken
    idtoken jwt passcode passphrase passwd password passwords privatekey pwd refreshtoken
    secret secretkey secrets securitytoken sessionkey sessiontoken xsrftoken
    """)
"""As the last word of a name, these are secrets."""

_ENDINGS = ("apikey", "authtoken", "accesstoken", "passwd", "password", "secret")
"""The same, where the words of a name run together."""

_BESIDE = frozenset({"key", "pat", "sig", "signature", "token"})
"""The same, beside a word that does not say what else they are."""

_HARMLESS = _table("""
    answer bos cache cls composite continuation cursor end eos foreign group hash
    idempotency image index issue lookup mask next object order pad page partition
    primary public range row sep shard sort special start stop sync thought translation
    unique unk
    """)
"""Beside one of these, a key, a token or a signature is not a secret."""

_ALONE = frozenset({*_BESIDE, "appid", "bearer", "code_verifier"})
_WEAK: dict[str, Sort] = {
    **dict.fromkeys(_table("bearer csrf hmac pat salt sas token tokens xsrf"), "mixed"),
    **dict.fromkeys(_table("phpsessid sessid"), "mixed"),
    **dict.fromkeys(_table("otp pass pin totp"), "code"),
    **dict.fromkeys(_table("key ticket"), "long"),
}
"""As the last word of a name, these are secrets if the value looks like one."""

_NO_CREDENTIAL = ("mcp", "session", "id")
"""The Model Context Protocol forbids using it as a credential."""
_AGAIN = frozenset({"again", "confirm", "confirmation", "repeat", "verification"})

HINTS = (
    *(
        "appid",
        "auth",
        "bearer",
        "code_verifier",
        "cookie",
        "credential",
        "hmac",
        "jwt",
    ),
    *("key", "otp", "pass", "pat", "pin", "pwd", "salt", "sas", "secret", "sessid"),
    *("session", "sig", "srf", "ticket", "token"),
)
"""In lower case; a text without any of them does not name a secret."""


def words(name: str) -> tuple[str, ...]:
    """Return the words of *name*, in lower case: ``apiKey2`` is api, key, 2."""
    return tuple(word.lower() for word in _WORD.findall(name))


@dataclass(frozen=True, slots=True)
class SecretNames:
    """Tells from its name what is secret, with a user's exceptions."""

    keep: frozenset[tuple[str, ...]] = frozenset()
    hide: frozenset[tuple[str, ...]] = frozenset()
    weak: bool = True
    """Whether weak names count; older records know none."""

    @classmethod
    def of(
        cls, keep: Iterable[str] = (), hide: Iterable[str] = (), *, weak: bool = True
    ) -> SecretNames:
        """Return the rule with names to keep and names to hide."""
        return cls(frozenset(map(words, keep)), frozenset(map(words, hide)), weak)

    def is_secret(
        self, name: str, *, alone: bool = False, value: str | None = None
    ) -> bool:
        """Tell whether *name* is that of a secret.

        Args:
            name: of a member, a header, a parameter, a variable or an option.
            alone: whether an everyday word counts by itself, as in a URL.
            value: the value with that name; None if unknown: then it is secret.

        """
        sort = _judged(self, name, alone)
        if isinstance(sort, bool):
            return sort
        return value is None or is_like(sort, value)

    def hides(self, name: str) -> bool:
        """Tell whether a user decided that *name* is that of a secret."""
        return words(name) in self.hide


@lru_cache(maxsize=4096)
def _judged(names: SecretNames, name: str, alone: bool) -> Sort | bool:
    """Return whether *name* is that of a secret, or which values make it one."""
    said = words(name)
    if said in names.keep:
        return False
    if names.hides(name):
        return True
    while said and (said[-1].isdigit() or said[-1] in _AGAIN):
        said = said[:-1]
    if not said:
        return False
    last, others = said[-1], said[:-1]
    harmless = not _HARMLESS.isdisjoint(others)
    beside = last in _BESIDE and bool(others) and not harmless
    always = last in _ALWAYS or last.endswith(_ENDINGS)
    if always or beside or (alone and "_".join(said) in _ALONE):
        return True
    return False if harmless or not names.weak else _weak(said)


def _weak(said: tuple[str, ...]) -> Sort | bool:
    """Return which values make the words of a name that of a secret."""
    if said[-3:] == _NO_CREDENTIAL:
        return False
    last = "".join(said[-2:] if said[-2:] == ("session", "id") else said[-1:])
    is_session = last.endswith(("session", "sessionid"))
    return "mixed" if is_session else _WEAK.get(last, False)


NAMES = SecretNames()
"""The rule without exceptions."""
