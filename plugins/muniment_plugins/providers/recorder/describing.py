"""What a run records about the program that it is, before it begins.

    {"command": ["python", "agent.py", "--api-key", "[redacted]"], "directory": "desk",
     "program": {"file": "agent.py", "digest": "sha256:…"}, "python": "3.13.1",
     "variables": ["HOME", "OPENAI_API_KEY", "PATH"], "volatile": []}

Rules: the values of environment variables are never recorded, nor is what the command
line repeats of one whose name says that it holds a secret.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from muniment.canonical import sha256_tag
from muniment_plugins.providers.redaction import MASK, Redaction
from muniment_plugins.providers.secret_names import NAMES, Names

__all__ = ["described", "program_of", "redacted", "script_of", "secret_values"]

_PYTHON = re.compile(r"^(?:python|pypy)[\d.]*(?:\.exe)?$")
_TAKES_A_VALUE = ("-W", "-X", "--check-hash-based-pycs")
"""Options of Python with a value of their own."""
_DIRECTORIES = ("OLDPWD", "PWD")
"""Variables of the shell, which are no passwords."""


def described(
    command: Sequence[str],
    volatile: Iterable[str] = (),
    keep: Iterable[str] = (),
    redact: Iterable[str] = (),
) -> dict[str, object]:
    """Return what is recorded of *command* and of where it starts.

    Names that *keep* and *redact* give are no secrets, or are.
    """
    chosen = {"keep": sorted(keep), "redact": sorted(redact)}
    return {
        "command": redacted(command, Names.of(chosen["keep"], chosen["redact"])),
        "directory": Path.cwd().name,
        "program": program_of(command),
        "python": _python(command[0]),
        "variables": sorted(os.environ),
        "volatile": sorted(volatile),
        **{name: given for name, given in chosen.items() if given},
    }


def program_of(command: Sequence[str]) -> dict[str, str] | None:
    """Return name and digest of the file that *command* runs, if it runs one."""
    script = script_of(command)
    if script is None:
        return None
    return {"file": script.name, "digest": sha256_tag(script.read_bytes())}


def script_of(command: Sequence[str]) -> Path | None:
    """Return the file that *command* runs: a script, or what an interpreter is given."""
    first = shutil.which(command[0])
    if not _PYTHON.match(Path(command[0]).name):
        found = None if first is None else Path(first)
        return found if found is not None and _is_script(found) else None
    skip = False
    for argument in command[1:]:
        if skip:
            skip = False
        elif argument in _TAKES_A_VALUE:
            skip = True
        elif argument.startswith(("-c", "-m")) or argument == "-":
            return None
        elif not argument.startswith("-"):
            return Path(argument) if Path(argument).is_file() else None
    return None


def secret_values(names: Names = NAMES) -> list[str]:
    """Return the values of the variables whose names say that they hold secrets.

    One that says where something lies holds none: ``PWD``, ``SSH_KEY=/etc/ssh/key``.
    """
    return [
        value
        for name, value in os.environ.items()
        if names.is_secret(name.removesuffix("S"), alone=True)
        and (names.hides(name) or not _is_place(name, value))
    ]


def _is_place(name: str, value: str) -> bool:
    """Tell whether a variable has a path: the shell's own, or one of a file."""
    return value.startswith(os.sep) and (name in _DIRECTORIES or os.path.lexists(value))


def _is_script(file: Path) -> bool:
    try:
        with file.open("rb") as stream:
            return stream.read(2) == b"#!"
    except OSError:
        return False


def _python(name: str) -> str | None:
    """Return the version of the Python that is started, where that can be seen."""
    found = shutil.which(name)
    if found is None or not _PYTHON.match(Path(name).name):
        return None
    if Path(found).resolve() == Path(sys.executable).resolve():
        return platform.python_version()
    try:
        settings = (Path(found).parent.parent / "pyvenv.cfg").read_text()
    except OSError:
        return None
    version = re.search(r"^version(?:_info)?\s*=\s*([\d.]+)", settings, re.MULTILINE)
    return None if version is None else version[1].rstrip(".")


def redacted(command: Sequence[str], names: Names = NAMES) -> list[str]:
    """Return *command* without secrets: its own, those of options, known shapes."""
    redaction = Redaction.of("", (), secret_values(names), names)
    told: list[str] = []
    masked = False
    for argument in command:
        name, equals, _ = argument.partition("=")
        secret = name.startswith("-") and names.is_secret(name, alone=True)
        if masked:
            told.append(MASK)
        elif secret and equals:
            told.append(f"{name}={MASK}")
        else:
            told.append(redaction.text(argument))
        masked = secret and not equals and not masked
    return told
