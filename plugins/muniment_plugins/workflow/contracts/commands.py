"""Running the command of a verifier, and looking at the files that it asks for.

    check.requested  {"command": "make test", "paths": ["src/a.py"], "texts": ["a("]}
    check.completed  {"exit_status": 0, "stdout": "…", "stderr": "", "files": {…}}

Rules:

- A command has no input, a session of its own, the folder of the run, and of the
  environment only what `ENVIRONMENT` names. How it is ended, and what is kept of what it
  prints, says `contracts.processes`.
- Folder and environment are those that the run found when it began: what a handler does to
  its process later moves no check.
- At its own ``timeout_s`` the command has failed; at that of its node the attempt has.
- Files are read below the folder of the run only; nothing is followed out of it.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from muniment.encoding.canonical import JsonValue
from muniment_plugins.workflow.ceilings.policy import CapabilityPolicy
from muniment_plugins.workflow.contracts.processes import (
    ENVIRONMENT,
    MOST,
    Workplace,
    ran,
)
from muniment_plugins.workflow.contracts.reading import readable

__all__ = [
    "ENVIRONMENT",
    "Workplace",
    "awaited_check",
    "check_fault",
    "checked",
    "has_word",
]


def checked(
    request: Mapping[str, JsonValue],
    place: Workplace,
    most: float | None = None,
    stop: threading.Event | None = None,
    policy: CapabilityPolicy | None = None,
) -> dict[str, JsonValue]:
    """Return what came of the command of *request*, and of its files, at *place*.

    Args:
        request: what is asked.
        place: where the command runs, and where paths begin.
        most: the seconds that the node gives to an attempt.
        stop: when it is set, the command and all that it started are killed.
        policy: what the files are held to, before the command runs and after it.

    Raises:
        PathRefused: a file is none that may be looked at.
        TimeoutError: the time of the node was up.
        OSError: the command cannot be started.

    """
    found: dict[str, JsonValue] = {}
    may = CapabilityPolicy() if policy is None else policy
    paths = cast("Sequence[str]", request.get("paths", ()))
    for name in paths:
        readable(may, name, place.folder)
    if request.get("command") is not None:
        found |= _run(request, place, most, stop)
    texts = cast("Sequence[str]", request.get("texts", ()))
    words = cast("Sequence[str]", request.get("words", ()))
    files: dict[str, JsonValue] = {}
    for name in paths:
        content = _content(place.folder, readable(may, name, place.folder))
        files[name] = {
            "exists": content is not None,
            "has": [one for one in texts if one in (content or "")],
            "words": [one for one in words if has_word(content or "", one)],
        }
    return {**found, "files": files}


async def awaited_check(
    request: Mapping[str, JsonValue],
    place: Workplace,
    most: float | None = None,
    policy: CapabilityPolicy | None = None,
) -> dict[str, JsonValue]:
    """Do as `checked` does in a thread; what cancels the task kills the command."""
    import asyncio  # noqa: PLC0415 - sync code needs none

    stop = threading.Event()
    call = asyncio.to_thread(checked, request, place, most, stop, policy)
    job = asyncio.ensure_future(call)
    try:
        return await asyncio.shield(job)
    except asyncio.CancelledError:
        stop.set()
        await asyncio.wait([job])
        raise


def check_fault(request: object, value: object) -> str | None:
    """Say what is wrong with *value* as what came of a check."""
    said = cast(
        "Mapping[str, object]", value if isinstance(value, Mapping) else {"": 0}
    )
    texts = all(isinstance(said.get(one, ""), str) for one in ("stdout", "stderr"))
    status, late = said.get("exit_status"), said.get("timed_out", False)
    if (
        not {*said} <= {"exit_status", "timed_out", "stdout", "stderr", "files"}
        or not texts
        or not isinstance(late, bool)
        or not (status is None or type(status) is int)
    ):
        return "it has exit_status, timed_out, stdout, stderr, files, and nothing else"
    paths = cast("Mapping[str, Sequence[str]]", request).get("paths", ())
    files = said.get("files", {})
    if not isinstance(files, Mapping) or {*files} != {*paths}:
        return f"its files are those that are checked: {', '.join(paths) or 'none'}"
    if not all(map(_is_found, cast("Mapping[str, object]", files).values())):
        return "each of its files says exists, and lists what it has, and which words"
    return None


def _is_found(file: object) -> bool:
    said = cast("Mapping[str, object]", file if isinstance(file, Mapping) else {})
    lists = [said.get("has"), said.get("words")]
    return (
        {*said} == {"exists", "has", "words"}
        and isinstance(said["exists"], bool)
        and all(
            isinstance(one, list)
            and all(isinstance(word, str) for word in cast("list[object]", one))
            for one in lists
        )
    )


def has_word(text: str, word: str) -> bool:
    """Tell whether *text* has *word*, and not only as a part of a longer one."""
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None


def _run(
    request: Mapping[str, JsonValue],
    place: Workplace,
    most: float | None,
    stop: threading.Event | None,
) -> dict[str, JsonValue]:
    command, own = request["command"], cast("float", request["timeout_s"])
    words = ["/bin/sh", "-c", command] if isinstance(command, str) else command
    seconds = own if most is None else min(own, most)
    ended = ran(cast("list[str]", words), place, seconds, stop)
    if ended.is_late and most is not None and most <= own:
        raise TimeoutError(f"it took longer than {most:g} s")
    return {
        "exit_status": ended.status,
        "timed_out": ended.is_late,
        "stdout": ended.out,
        "stderr": ended.error,
    }


def _content(base: Path, path: Path) -> str | None:
    """Return the text of a file below *base*, links followed; None if it is not there."""
    if not path.is_relative_to(base) or not path.is_file():
        return None
    with path.open("rb") as file:
        return file.read(MOST).decode(errors="replace")
