"""Says what a recorded program did past its record: in the ledger, and to people.

    recording.bypassed  {"connections": ["127.0.0.1:11434"], "libraries": [],
                         "programs": [["curl", "https://api.example/"]]}

Rules: it is one fact beside the program's own, which no replay compares. A replay of a
record that says so warns; where it compared nothing else, it cannot tell.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, cast

from muniment.errors import MunimentError
from muniment_plugins.providers.recorder.describing import redacted
from muniment_plugins.providers.recorder.unrecorded import Unrecorded
from muniment_plugins.providers.secret_names import NAMES, Names

if TYPE_CHECKING:
    from collections.abc import Mapping

    from muniment.lanes import Lane

__all__ = ["require_record", "state"]

_PLUGIN = "providers"
_TYPE = "recording.bypassed"
_NAMED = 5
"""How many of a sort one line names."""
_LONGEST = 60


def state(
    run: Lane, unrecorded: Unrecorded, command: Sequence[str], names: Names = NAMES
) -> list[str]:
    """Record what is *unrecorded* of *command*; return lines for people."""
    if run.mode == "replay":
        return []
    programs = [_readable(redacted(one, names)) for one in unrecorded.programs(command)]
    found: dict[str, Sequence[object]] = {
        "connections": unrecorded.connections,
        "libraries": unrecorded.libraries,
        "programs": programs,
    }
    if not any(found.values()):
        return []
    with suppress(MunimentError):  # the run was stopped, which is said already
        run.beside(_PLUGIN).record(_TYPE, found)
    return [_line(found)]


def require_record(run: Lane) -> None:
    """Let a replay of *run* know what its record lacks."""
    what = "connections or programs that went past the recording"
    run.beside(_PLUGIN).lacks(_TYPE, what)


def _line(found: Mapping[str, object]) -> str:
    sorts = [
        ("connections", "connected to {}"),
        ("programs", "started {}"),
        ("libraries", "loaded {}, whose connections cannot be seen"),
    ]
    told: list[str] = []
    for name, text in sorts:
        names = [_name(one) for one in cast("list[object]", found.get(name, []))]
        more = [f"{len(names) - _NAMED} more"] if len(names) > _NAMED else []
        if names:
            told.append(text.format(", ".join([*names[:_NAMED], *more])))
    return f"not recorded: the program {'; '.join(told)}"


def _name(one: object) -> str:
    if isinstance(one, str):
        return one
    text = shlex.join(cast("list[str]", one))
    return f"`{text}`" if len(text) <= _LONGEST else f"`{text[:_LONGEST]}…`"


def _readable(command: Sequence[str]) -> list[str]:
    return [one.encode("utf-8", "replace").decode() for one in command]
