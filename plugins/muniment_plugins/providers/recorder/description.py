"""What a run records about its program before it begins.

    {"command": ["python", "agent.py", "--api-key", "[redacted]"], "directory": "desk",
     "program": {"file": "agent.py", "digest": "sha256:…"}, "python": "3.13.1",
     "variables": ["HOME", "OPENAI_API_KEY", "PATH"], "volatile": [],
     "exact_bodies": true, "weak_names": true}

Rules: the values of environment variables are never recorded. The command line is
recorded without the values of variables whose names are those of secrets.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from muniment.encoding.canonical import sha256_tag
from muniment_plugins.providers.secrets.command_lines import redacted
from muniment_plugins.providers.secrets.names import SecretNames

__all__ = ["EXACT_BODIES", "described", "program_of", "script_of"]

EXACT_BODIES = "providers.exact_bodies"
"""In the memory of a run: False if its record began before bodies were exact."""

_PYTHON = re.compile(r"^(?:python|pypy)[\d.]*(?:\.exe)?$")
_TAKES_A_VALUE = ("-W", "-X", "--check-hash-based-pycs")
"""Options of Python with a value of their own."""


def described(
    command: Sequence[str],
    volatile: Iterable[str] = (),
    keep: Iterable[str] = (),
    redact: Iterable[str] = (),
) -> dict[str, object]:
    """Return what is recorded of *command* and of the directory where it starts.

    Names in *keep* are not those of secrets; names in *redact* are.
    """
    chosen = {"keep": sorted(keep), "redact": sorted(redact)}
    return {
        "command": redacted(command, SecretNames.of(chosen["keep"], chosen["redact"])),
        "exact_bodies": True,
        "directory": os.fsencode(Path.cwd().name).decode("utf-8", "backslashreplace"),
        "program": program_of(command),
        "python": _python(command[0]),
        "variables": sorted(os.environ),
        "volatile": sorted(volatile),
        "weak_names": True,
        **{name: given for name, given in chosen.items() if given},
    }


def program_of(command: Sequence[str]) -> dict[str, str] | None:
    """Return name and digest of the file that *command* runs, if it runs one."""
    script = script_of(command)
    if script is None:
        return None
    return {"file": script.name, "digest": sha256_tag(script.read_bytes())}


def script_of(command: Sequence[str]) -> Path | None:
    """Return the file that *command* runs: a script, or an interpreter's argument."""
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


def _is_script(file: Path) -> bool:
    try:
        with file.open("rb") as stream:
            return stream.read(2) == b"#!"
    except OSError:
        return False


def _python(name: str) -> str | None:
    """Return the version of the Python *name*, if that can be seen."""
    found = shutil.which(name)
    if found is None or not _PYTHON.match(Path(name).name):
        return None
    if Path(found).resolve() == Path(sys.executable).resolve():
        return platform.python_version()
    try:
        settings = (Path(found).parent.parent / "pyvenv.cfg").read_text("utf-8")
    except OSError:
        return None
    version = re.search(r"^version(?:_info)?\s*=\s*([\d.]+)", settings, re.MULTILINE)
    return None if version is None else version[1].rstrip(".")
