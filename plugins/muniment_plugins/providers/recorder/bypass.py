"""Reports what bypassed the record of a program: in the ledger, and to people.

    recording.bypassed  {"connections": ["127.0.0.1:11434"], "libraries": [],
                         "programs": [["curl", "https://api.example/"]]}
    recording.unsearched  {"bodies": [["answer", "GET https://…", "it unpacks to …"]]}

Rules:

- Each is one fact beside the program's own, which no replay compares. A replay of a
  record that was bypassed warns; where it compared nothing else, it cannot tell.
- What was recorded but not searched for secrets is reported the same way.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, cast

from muniment.errors import MunimentError
from muniment_plugins.providers.clients.unsearched import UNSEARCHED, line
from muniment_plugins.providers.secrets.command_lines import redacted
from muniment_plugins.providers.secrets.names import NAMES, SecretNames

if TYPE_CHECKING:
    from collections.abc import Mapping

    from muniment.runs.run import Run
    from muniment_plugins.providers.recorder.server import RecorderServer

__all__ = ["require_record", "state"]

_PLUGIN = "providers"
_TYPE = "recording.bypassed"
_NAMED = 5
"""How many of one sort a line names."""
_LONGEST = 60
_PYTHON = re.compile(r"(?:^|[/\\])python(?:([23])(?:\.(\d+))?)?(?:\.exe)?$")
_OLDEST = 9
"""The oldest Python 3 that is recorded."""
_IGNORING = {
    "I": "ignores the environment, by which Pythons are recorded",
    "E": "ignores the environment, by which Pythons are recorded",
    "S": "leaves out `site`, by which Pythons are recorded",
}
"""Options with which a Python cannot be recorded."""


def state(
    run: Run, server: RecorderServer, command: Sequence[str], names: SecretNames = NAMES
) -> list[str]:
    """Record what bypassed the record of *command*; return lines for people."""
    if run.replays:
        return []
    unrecorded = server.unrecorded
    programs = [_readable(redacted(one, names)) for one in unrecorded.programs(command)]
    bypassed: dict[str, Sequence[object]] = {
        "connections": unrecorded.connections,
        "libraries": unrecorded.libraries,
        "programs": programs,
    }
    bodies = list(dict.fromkeys(server.unsearched))
    said: list[str] = []
    if any(bypassed.values()):
        _record(run, _TYPE, bypassed)
        said.append(_line(bypassed))
    if bodies:
        _record(run, UNSEARCHED, {"bodies": [[*one] for one in bodies]})
        said.append(line(_first(map(str, bodies))))
    return said


def _record(run: Run, kind: str, data: Mapping[str, object]) -> None:
    from muniment.runs.lanes.of_plugins import (  # noqa: PLC0415 - there is a run
        lane_of_plugin,
    )

    with suppress(MunimentError):  # the run was stopped, which is said already
        lane_of_plugin(run, _PLUGIN).record(kind, data)


def require_record(run: Run) -> None:
    """Tell a replay of *run* what its record lacks."""
    from muniment.runs.lanes.of_plugins import (  # noqa: PLC0415 - there is a run
        lane_of_plugin,
    )

    what = "connections or programs that went past the recording"
    lane_of_plugin(run, _PLUGIN).lacks(_TYPE, what)


def _line(found: Mapping[str, object]) -> str:
    sorts = [
        ("connections", "connected to {}"),
        ("programs", "started {}"),
        ("libraries", "loaded {}, whose connections cannot be seen"),
    ]
    told: list[str] = []
    for name, text in sorts:
        names = _first(map(_name, cast("list[object]", found.get(name, []))))
        if names:
            told.append(text.format(", ".join(names)))
    return f"not recorded: the program {'; '.join(told)}"


def _first(names: Iterable[str]) -> list[str]:
    known = [*names]
    more = [f"{len(known) - _NAMED} more"] if len(known) > _NAMED else []
    return [*known[:_NAMED], *more]


def _name(one: object) -> str:
    if isinstance(one, str):
        return one
    command = cast("list[str]", one)
    text = shlex.join(command)
    short = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
    why = _why(command)
    return f"`{short}` ({why})" if why else f"`{short}`"


def _why(command: Sequence[str]) -> str:
    """Return why a Python was not recorded, if its command line says so."""
    python = _PYTHON.search(command[0]) if command else None
    if python is None:
        return ""
    major, minor = python.groups()
    if major == "2" or (minor and int(minor) < _OLDEST):
        return "older than Python 3.9"
    for word in command[1:]:
        if not word.startswith("-") or word.startswith(("-c", "-m", "--")):
            break
        if word.startswith(("-W", "-X")):
            if word in ("-W", "-X"):
                break  # what follows is their value
            continue
        for letter, why in _IGNORING.items():
            if letter in word:
                return f"-{letter} {why}"
    return ""


def _readable(command: Sequence[str]) -> list[str]:
    return [one.encode("utf-8", "replace").decode() for one in command]
