"""The words after a run's id that make a command work when it is pasted.

    again_of(ledger, run).suffix      " -- python agent.py", " --program jobs/triage.py:main"

Rules:

- A program that its record alone finds is not named again.
- Words that only a person knows (a command line that was erased, a file that is not
  here) are not part of a command: a sentence says what to type, and where.
- A resume goes live and writes: it is offered only to users who can.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from muniment.errors import MunimentError
from muniment_cli.terminal.advice import quoted
from muniment_cli.terminal.output import count

if TYPE_CHECKING:
    from muniment.encoding.canonical import JsonValue
    from muniment.ledger import Ledger

__all__ = ["Again", "again_of", "hindrance"]


@dataclass(frozen=True, slots=True)
class Again:
    """How to name a run to ``replay`` and ``resume``."""

    suffix: str = ""
    """The words after its id."""
    typed: str = ""
    """The words to type there, if nothing here knows them."""


def again_of(ledger: Ledger, run: str) -> Again:
    """Return how to name *run*, with its program if that is needed."""
    from muniment_plugins.providers.recorder.rebuild import rebuild

    try:
        recorded = rebuild(ledger, run)
    except MunimentError:
        return Again(" -- COMMAND", "the command line that was recorded; it is erased")
    described = next(ledger.events(run=run)).raw.get("program")
    if recorded is not None:
        known = isinstance(described, dict) and ledger.plugins.names.of(described)
        lacks = "" if known else "the plugin active that recorded it"
        return Again(f" -- {quoted(*recorded.recorded)}", lacks)
    return _naming(ledger, described) if isinstance(described, dict) else _unknown("")


def _naming(ledger: Ledger, described: dict[str, JsonValue]) -> Again:
    """Return the option that names a program that its record alone does not find."""
    from muniment.programs.files import locate, stands_in

    if ledger.plugins.names.of(described) is not None:
        return Again()  # a plugin makes it again, or finds it by its stable name
    if "name" in described and "import" not in described:
        return Again("", f"the plugin active that declares {described['name']}")
    path = str(described.get("import") or described.get("name"))
    name = path.partition(":")[2]
    reachable = all(part.isidentifier() for part in name.split("."))  # not <locals>
    if reachable and any(one.matches(described) for one in locate(described)):
        return Again()
    here = stands_in(described, Path.cwd())
    beside = stands_in(described, ledger.path.parent.parent)
    file = described["file"] if here else beside
    if file is None or not name.isidentifier():
        return _unknown(str(described.get("file") or path))
    return Again(f" --program {quoted(f'{file}:{name}')}")


def _unknown(was: str) -> Again:
    stood = f"; it was {was}" if was else ""
    return Again(" --program FILE:NAME", f"file and name of its program{stood}")


def hindrance(ledger: Ledger, *, merely_found: bool) -> str:
    """Return why this user cannot append; nothing if they can."""
    if no_key := _no_key(ledger):
        return no_key
    if merely_found and not ledger.home.pins(ledger.id):
        return "here, but the ledger was merely found, and no key of it is pinned"
    places = (ledger.path, ledger.path.parent)
    forbidden = [str(one) for one in places if not os.access(one, os.W_OK)]
    if forbidden:
        return f"here, but {' and '.join(forbidden)} cannot be written to"
    return _not_as_remembered(ledger)


def _no_key(ledger: Ledger) -> str:
    """Return why no key here signs events; nothing if one does."""
    from muniment.trust.signing_key import signer_for

    try:
        signer = signer_for(ledger.home, ledger.id)
    except MunimentError as error:
        return f"here, but it cannot be used: {error.message}"
    if signer is None:
        return "none: this user can only read"
    if not ledger.keys.may_sign(signer.public.raw, "note.added"):
        return f"here, but {signer.public.keyid} may not sign: see `muniment keys`"
    return ""


def _not_as_remembered(ledger: Ledger) -> str:
    """Return how the ledger contradicts the trust home; nothing if it does not."""
    remembered, size = ledger.home.head(ledger.id), ledger.head.size
    if remembered is None or not remembered.size:
        return ""
    if remembered.size > size:
        missing = count(remembered.size - size, "event")
        return f"here, but this is an older copy, {missing} behind: see `verify`"
    if ledger.event(remembered.size - 1).hash != remembered.hash.hex():
        return "here, but the history is not the one that is remembered: see `verify`"
    return ""
