"""Whether a program that runs again is the one that was recorded.

    was   python agent.py --ticket T-1 --api-key [redacted]
    now   .venv/bin/python agent.py --ticket T-2 --api-key s3cret
                                              command[3] was 'T-1', is 'T-2'

Rules:

- Each difference is a finding that warns: what the program asks and how it ends decide.
- Where a program stands differs from machine to machine, and so does the name of a
  Python; neither is a difference.
- Command lines are compared without their secrets. What the recorded one hid is hidden
  here, too, whatever this machine knows of it.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from muniment_plugins.providers.recorder.description import program_of
from muniment_plugins.providers.recorder.unrecorded import is_one_name
from muniment_plugins.providers.secrets.command_lines import redacted
from muniment_plugins.providers.secrets.names import NAMES, SecretNames
from muniment_plugins.providers.secrets.redaction import MASK

if TYPE_CHECKING:
    from muniment.runs.run import Run

__all__ = ["compared"]


def compared(
    run: Run,
    recorded: tuple[Sequence[str], Mapping[str, str] | None],
    command: Sequence[str],
    names: SecretNames = NAMES,
) -> list[str]:
    """Compare *command* with the *recorded* one and its script; return lines for people."""
    said: list[str] = []
    line, script = recorded
    if line:
        was, now = _alike(line, command, names)
        run.require_param("command", was, now, warns=True)
        if was != now:
            said.append(f"the recorded command line was `{shlex.join(was)}`")
    if script is not None:
        found = program_of(command)
        run.require_param("program", dict(script), found, warns=True)
        if found != script:
            said.append(_changed(script["file"], found))
    return said


def _alike(
    recorded: Sequence[str], command: Sequence[str], names: SecretNames
) -> tuple[list[str], list[str]]:
    """Return both command lines without what does not matter."""
    was, now = redacted(recorded, names), redacted(command, names)
    if now and is_one_name(was[0], now[0]):
        now[0] = was[0]
    for at, (known, given) in enumerate(zip(was, now, strict=False)):
        if MASK in known:
            now[at] = known if _fits(known, given) else MASK
    return was, now


def _fits(known: str, given: str) -> bool:
    """Tell whether *given* may be what *known* was before a secret was hidden in it."""
    pattern = ".+".join(map(re.escape, known.split(MASK)))
    return re.fullmatch(pattern, given, re.DOTALL) is not None


def _changed(recorded: str, now: Mapping[str, str] | None) -> str:
    """Return how the program that runs differs from the recorded one."""
    if now is not None and now["file"] == recorded:
        return f"{recorded} is not as it was when it was recorded"
    other = "no script that is there" if now is None else now["file"]
    return f"this command runs {other}, the recorded one ran {recorded}"
