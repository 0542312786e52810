"""Which names say that what they name is a secret.

    X-Vault-Token  clientSecret  DD-API-KEY  db.password      secret
    sort_key  nextPageToken  thoughtSignature  max_tokens     not
    token  key  signature                                     alone: parameters only

Rules:

- A name is read word by word; words end at a change of case, and at what is no letter.
- The last word decides. ``token``, ``key`` and ``signature`` are everyday words: they
  count beside another word, unless that word says what else they are.
- Of a parameter of a URL, a form, a header or a command line they count alone too.
- A number at the end, or what says that a value comes twice, changes nothing.
- ``keep`` and ``hide`` are names that a user decides about, compared word by word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

__all__ = ["HINTS", "NAMES", "Names", "words"]


def _table(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

_ALWAYS = _table("""
    accesskey accesstoken apikey apisecret apitoken auth authkey authorization authtoken
    bearertoken clientsecret cookie credential credentials idtoken jwt passcode
    passphrase passwd password passwords privatekey pwd refreshtoken secret secretkey
    secrets securitytoken sessionkey sessiontoken
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
"""Beside one of these, a key, a token or a signature is none."""

_ALONE = frozenset({*_BESIDE, "appid", "code_verifier"})
_AGAIN = frozenset({"again", "confirm", "confirmation", "repeat", "verification"})

HINTS = (
    *(
        "appid",
        "auth",
        "cookie",
        "credential",
        "jwt",
        "key",
        "passcode",
        "passphrase",
        "passw",
    ),
    *("pat", "pwd", "secret", "sig", "token"),
)
"""In lower case; a text without any of them has no name of a secret in it."""


def words(name: str) -> tuple[str, ...]:
    """Return the words of *name*, in lower case: ``apiKey2`` is api, key, 2."""
    return tuple(word.lower() for word in _WORD.findall(name))


@dataclass(frozen=True, slots=True)
class Names:
    """Tells by their name what is secret, as a user has it."""

    keep: frozenset[tuple[str, ...]] = frozenset()
    hide: frozenset[tuple[str, ...]] = frozenset()

    @classmethod
    def of(cls, keep: Iterable[str] = (), hide: Iterable[str] = ()) -> Names:
        """Return the rule with names that are kept, and names that are hidden."""
        return cls(frozenset(map(words, keep)), frozenset(map(words, hide)))

    def is_secret(self, name: str, *, alone: bool = False) -> bool:
        """Tell whether *name* is that of a secret.

        Args:
            name: of a member, a header, a parameter, a variable or an option.
            alone: whether an everyday word counts by itself, as in a URL.

        """
        return _is_secret(self, name, alone)

    def hides(self, name: str) -> bool:
        """Tell whether a user decided that *name* is that of a secret."""
        return words(name) in self.hide


@lru_cache(maxsize=4096)
def _is_secret(names: Names, name: str, alone: bool) -> bool:
    said = words(name)
    if said in names.keep:
        return False
    if names.hides(name):
        return True
    while said and (said[-1].isdigit() or said[-1] in _AGAIN):
        said = said[:-1]
    if not said:
        return False
    if said[-1] in _ALWAYS or said[-1].endswith(_ENDINGS):
        return True
    if said[-1] in _BESIDE and len(said) > 1:
        return not _HARMLESS.intersection(said[:-1])
    return alone and "_".join(said) in _ALONE


NAMES = Names()
"""The rule as it is where nobody decides otherwise."""
