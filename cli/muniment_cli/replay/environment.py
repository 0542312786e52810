"""The variables that a replayed program is given.

    given({"PATH": "/bin", "OPENAI_API_KEY": "sk-…", "MODEL": "m"}, ["MODEL"])
      variables  {"PATH": "/bin", "MODEL": "m"}        withheld  ["OPENAI_API_KEY"]

Rules:

- A replayed program gets the variables that say where and how Python runs on this
  machine, and those that ``--env`` asks for, but not the user's keys.
- No program gets keys of the ledger, whatever is asked for.
- Withheld variables are known by name, so that a program that looked for one can be
  told from one that changed.
- A recorded command, which was typed, gets all variables except keys of the ledger.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence

__all__ = ["asked_for", "given", "kept_from", "let_have", "notice", "variable"]

_LEDGER_KEYS = ("MUNIMENT_KEY", "MUNIMENT_PASSPHRASE")
_KEPT = frozenset(
    [
        "CI",
        "COLORTERM",
        "COLUMNS",
        "COMSPEC",
        "CURL_CA_BUNDLE",
        "FORCE_COLOR",
        "HOME",
        "LANG",
        "LANGUAGE",
        "LD_LIBRARY_PATH",
        "LINES",
        "LOCALAPPDATA",
        "LOGNAME",
        "NO_COLOR",
        "NUMBER_OF_PROCESSORS",
        "OS",
        "PATH",
        "PATHEXT",
        "PROCESSOR_ARCHITECTURE",
        "PROGRAMDATA",
        "PROGRAMFILES",
        "PWD",
        "REQUESTS_CA_BUNDLE",
        "SHELL",
        "SOURCE_DATE_EPOCH",
        "SSL_CERT_DIR",
        "SSL_CERT_FILE",
        "SYSTEMDRIVE",
        "SYSTEMROOT",
        "TEMP",
        "TERM",
        "TMP",
        "TMPDIR",
        "TZ",
        "TZDIR",
        "USER",
        "USERNAME",
        "USERPROFILE",
        "VIRTUAL_ENV",
        "WINDIR",
    ]
)
_KINDS = (
    *("BLIS_", "CONDA_", "DYLD_", "GOTO_", "LC_", "MKL_", "MUNIMENT_", "NUMEXPR_"),
    *("OMP_", "OPENBLAS_", "PYTHON", "VECLIB_", "XDG_"),
)
_IN_PYTHON = "replay it in Python (muniment.replay), without the layers"
_OF_PROCESS = re.compile(r"/proc/\d+(/|$)")
_SECRET = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSPHRASE", "CREDENTIAL")


def given(
    environment: Mapping[str, str], wanted: Sequence[str]
) -> tuple[dict[str, str], list[str]]:
    """Return the part of *environment* that a program gets, and the withheld names.

    Args:
        environment: the user's environment.
        wanted: ``NAME``, or ``NAME=VALUE`` for another value than it has here.

    """
    found = {name: value for name, value in environment.items() if _runs_python(name)}
    found |= asked_for(environment, wanted)
    return found, sorted({*environment} - {*found, *_LEDGER_KEYS})


def asked_for(environment: Mapping[str, str], wanted: Sequence[str]) -> dict[str, str]:
    """Return the variables that are *wanted* by name, or with their value."""
    split = [one.partition("=") for one in wanted]
    pairs = {
        name: value if sign else environment.get(name) for name, sign, value in split
    }
    return {
        name: value
        for name, value in pairs.items()
        if value is not None and name not in _LEDGER_KEYS
    }


def variable(name: str) -> str:
    """Return the name of a variable among the things that a program was denied."""
    return f"${name}"


def kept_from(
    denied: Sequence[object], ended: Mapping[str, object] | None
) -> list[str]:
    """Return what a program was *denied*; where no file is named, what its end says of it.

    Where one is named, an error about permission is what came of that.
    """
    found = [str(one)[:500] for one in denied[:20]]
    named = any(one.startswith("/") for one in found)
    if ended is not None and ended.get("error_type") == "PermissionError" and not named:
        found.append(str(ended["message"])[:500])
    return found


def let_have(denied: Sequence[str], hidden: Sequence[str], home: str) -> str:
    """Return what gives a program all that it was *denied*.

    No option gives it what is *hidden*, the trust *home*, or the names in a folder around
    that; what the system says of processes; or anything but reading.
    """
    ways: dict[str, None] = {}
    for one in denied:
        if one.startswith("$"):
            ways[f"--env {shlex.quote(one[1:])}"] = None
        elif one.startswith("memory "):
            ways["--memory MIB"] = None
        elif _is_given(one, hidden, home):
            ways[f"--readable {shlex.quote(one)}"] = None
        else:
            return f"no option gives it that: {_IN_PYTHON}"
    return f"let it have that with {' '.join(ways)}, or {_IN_PYTHON}"


def _is_given(place: str, hidden: Sequence[str], home: str) -> bool:
    """Tell whether an option gives a program *place*, which it was denied."""
    if not place.startswith("/") or _OF_PROCESS.match(place):
        return False
    secret = os.path.realpath(home)
    kept = [secret, *map(os.path.realpath, hidden)]
    within = any(f"{place}/".startswith(f"{one}/") for one in kept)
    return not (within or f"{secret}/".startswith(f"{place.rstrip('/')}/"))


def notice(withheld: Collection[str], looked_up: Callable[[str], None]) -> None:
    """Call *looked_up* with each name of *withheld* that this process asks for."""
    names, encode = frozenset(withheld), os.environ.encodekey

    def noticing(name: str) -> str:
        if name in names:
            looked_up(name)
        return encode(name)

    os.environ.encodekey = noticing


def _runs_python(name: str) -> bool:
    upper = name.upper() if os.name == "nt" else name
    if upper.rstrip("S").endswith(_SECRET):
        return False
    return upper in _KEPT or upper.startswith(_KINDS)
