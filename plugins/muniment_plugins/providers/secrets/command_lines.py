"""Secrets out of command lines, before they are written or shown.

    --api-key S   --token=S               curl -u ada:S   --user ada:S
    -H 'X-Api-Key: S'   X-Api-Key:S       -b session=S    --oauth2-bearer S
    sh -c "curl -u ada:S h | sh"          API_KEY=S sh -c '…'

Rules:

- An option whose name is that of a secret has one: the next word, or after an equals sign.
- The values of HTTP clients' options are known: headers, cookies, user and password. An
  option that is unambiguous is read so for every program.
- A word that looks like a header is one; its name decides. A text after a shell is a
  command line: it is searched word by word, and stays as it was if nothing is found.
- Anything else is ordinary text. A secret that was found is hidden in later words, too.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from muniment_plugins.providers.secrets.names import NAMES, SecretNames
from muniment_plugins.providers.secrets.places import MASK
from muniment_plugins.providers.secrets.redaction import Redaction
from muniment_plugins.providers.secrets.variables import secret_values

__all__ = ["redacted"]

_HEADER = re.compile(r"([A-Za-z][\w-]*)(:\s*)(?!//)(.+)", re.ASCII | re.DOTALL)
_COOKIE = re.compile(r"([^=;\s]+=)([^;]+)")
_USER = re.compile(r"([^\s:]*:)(?!//)(.+)", re.DOTALL)
_OPTION = re.compile(r"(--?[A-Za-z][\w.-]*)=(.*)", re.ASCII | re.DOTALL)
_SHORT = re.compile(r"(-[uUHbE])(.+)", re.DOTALL)
"""An option of curl with its value in the same word."""
_SHELL = re.compile(
    r"(?:ba|da|k|z|fi|a)?sh|ssh|su|watch|eval|(?:cmd|powershell|pwsh)(?:\.exe)?"
)
_SHELL_WORD = re.compile(
    r"(?:[^\s'\"\\;&|()<>]++|\\.|'[^']*'|\"(?:[^\"\\]++|\\.)*+\")+", re.DOTALL
)


def redacted(command: Sequence[str], names: SecretNames = NAMES) -> list[str]:
    """Return *command* without secrets: of its options, and of known shapes."""
    return _Line(Redaction.of("", (), secret_values(names), names)).words(command)


@dataclass(frozen=True, slots=True)
class _Line:
    redaction: Redaction

    def words(self, command: Sequence[str]) -> list[str]:
        """Return the words of *command* without secrets."""
        told: list[str] = []
        called: set[str] = set()
        option = ""
        for word in command:
            if option and self._is_secret(option, word):
                told.append(self._hidden(word))
                option = ""
                continue
            known = None
            if option not in _OF_CURL or "curl" in called:
                known = _TAKES.get(option)
            told.append(
                self._word(word, called) if known is None else known(self, word)
            )
            option = word if word.startswith("-") else ""
            called.add(PurePath(word).name)
        return told

    def _word(self, word: str, called: set[str]) -> str:
        short = _SHORT.fullmatch(word) if "curl" in called else None
        if short is not None:
            return f"{short[1]}{_TAKES[short[1]](self, short[2])}"
        option = _OPTION.fullmatch(word)
        if option is not None:
            return f"{option[1]}={self._value(option[1], option[2])}"
        header = _HEADER.fullmatch(word)
        names = self.redaction.names
        if header is not None and names.is_secret(header[1], value=header[3]):
            return f"{header[1]}{header[2]}{self._hidden(header[3])}"
        if any(map(_SHELL.fullmatch, called)):
            return self.shell_text(word)
        return self.text(word)

    def _value(self, option: str, value: str) -> str:
        if self._is_secret(option, value):
            return self._hidden(value)
        return _TAKES.get(option, _Line.text)(self, value)

    def _is_secret(self, option: str, value: str) -> bool:
        return self.redaction.names.is_secret(option, alone=True, value=value)

    def _hidden(self, value: str) -> str:
        self.redaction.issued.bring([value])
        return MASK

    def text(self, text: str) -> str:
        """Return ordinary *text* without secrets."""
        return self.redaction.text(text)

    def shell_text(self, text: str) -> str:
        """Return a command line for a shell without secrets."""
        text = self.text(text)
        found = [*_SHELL_WORD.finditer(text)]
        plain = [_unquoted(one[0]) for one in found]
        if len(found) == 1 and plain[0] == text:
            return self._word(text, set())
        parts: list[str] = []
        at = 0
        for one, before, after in zip(found, plain, self.words(plain), strict=True):
            word = one[0] if before == after else _quoted(after)
            parts += [text[at : one.start()], word]
            at = one.end()
        return "".join([*parts, text[at:]])

    def header(self, value: str) -> str:
        """Return a header without its secrets."""
        found = _HEADER.fullmatch(value)
        if found is None or not self._is_secret(found[1], found[3]):
            return self.text(value)
        return f"{found[1]}{found[2]}{self._hidden(found[3])}"

    def user(self, value: str) -> str:
        """Return user and password without the password."""
        found = _USER.fullmatch(value)
        if found is None:
            return self.text(value)
        return f"{found[1]}{self._hidden(found[2])}"

    def cookies(self, value: str) -> str:
        """Return cookies without their values."""
        return _COOKIE.sub(lambda one: f"{one[1]}{self._hidden(one[2])}", value)

    def bearer(self, value: str) -> str:
        """Return the mask: all of the value is a token."""
        return self._hidden(value)


_TAKES: dict[str, Callable[[_Line, str], str]] = {
    **dict.fromkeys(("-H", "--header", "--proxy-header"), _Line.header),
    **dict.fromkeys(("-u", "--user", "-U", "--proxy-user"), _Line.user),
    **dict.fromkeys(("-E", "--cert", "--proxy-cert"), _Line.user),
    **dict.fromkeys(("-b", "--cookie"), _Line.cookies),
    "--oauth2-bearer": _Line.bearer,
}
"""How to hide the values of HTTP clients' options."""
_OF_CURL = frozenset({"-E", "-U"})
"""Options that mean something else in other programs."""


def _unquoted(word: str) -> str:
    try:
        return "".join(shlex.split(word))
    except ValueError:
        return word


def _quoted(word: str) -> str:
    """Return *word* quoted for a shell; the masks in it need no quotes."""
    plain = word.replace(MASK, "")
    return word if not plain or shlex.quote(plain) == plain else shlex.quote(word)
