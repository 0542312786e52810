"""Starting a workflow once: a key, whose first run is the only one that walks.

    workflow_execute(ledger, "nightly", graph, key="nightly/2026-11-26")

Rules:

- The start of a run joins the series of its key, whose numbers the ledger gives: of two
  processes that start at once, one is the first. The other's run fails before its first
  node, and says which run is the first.
- Who starts it later gets the run that is there, whatever its status; nothing is written.
- What is started with one key is one thing: another task, graph, artifacts, options or
  tenant is refused. Ids and times that were drawn are no difference. Once the params of the
  first run were erased, nothing can be compared, and it is the answer.
- Only a run of the engine has a key: another program in the series answers nothing. Forks
  are other ways on, and belong to no key.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

from muniment.encoding.canonical import JsonValue, canonical
from muniment.errors import ErasedError, RefusedError, UsageError
from muniment.formats.lifecycle import STARTED
from muniment.formats.statement import BlobRef
from muniment_plugins.workflow.declared_names import is_engine

if TYPE_CHECKING:
    from muniment import Event, RunFacts
    from muniment.hookspecs import ReadableLedger
    from muniment.ledger import Ledger

__all__ = [
    "KEY",
    "key_of",
    "known_start",
    "refuse_another",
    "require_first",
    "require_series",
    "series_of",
]

Object = Mapping[str, JsonValue]
KEY = "workflow_key"
"""The label that holds the key of a run."""
_SERIES = 3
"""The version of events from which on they can be counted in series."""
_DRAWN = re.compile("artifact_[0-9a-f]{32}")
"""An id that `artifact` draws."""


def series_of(key: str) -> str:
    """Return the series that the runs of *key* join."""
    return f"workflow/{key}"


def key_of(options: Mapping[str, object] | None, key: str | None) -> str | None:
    """Return the key that is given, as an argument or as the option of that name.

    Raises:
        UsageError: two keys are given.

    """
    option = (options or {}).get("key")
    if None not in (key, option) and key != option:
        raise UsageError(
            f"it is started with two keys, {key!r:.80} and {option!r:.80}",
            rule="workflow/key",
            place="options.key",
            remedy="give one of them: argument and option are the same",
        )
    return key if option is None else cast("str", option)


def require_series(ledger: Ledger, key: str) -> None:
    """Refuse a *key* in a ledger that cannot tell which start was the first.

    Raises:
        RefusedError: its events are older than series.

    """
    if ledger.keys.event_format < _SERIES:
        raise RefusedError(
            "the events of this ledger cannot be counted, so it could be started twice",
            rule="workflow/no-series",
            place=f"key {key}",
            remedy="go on in a successor: `muniment init DIR --continues LEDGER --reason R`",
        )


def known_start(ledger: ReadableLedger, key: str) -> Event | None:
    """Return the start of the run that has *key*; None if none was started."""
    for event in ledger.events(series=series_of(key), type=STARTED):
        other = event.raw.get("fork") or event.raw.get("parent")
        if is_engine(event.raw.get("program")) and not other:
            return event
    return None


def require_first(facts: RunFacts, ledger: ReadableLedger) -> None:
    """Refuse to walk in a run whose key another run has.

    Raises:
        RefusedError: another run was the first.

    """
    options = facts.params.get("options")
    key = cast("Object", options).get("key") if isinstance(options, Mapping) else None
    if not isinstance(key, str) or facts.origin is not None or facts.parent is not None:
        return
    own = next(iter(ledger.events(run=facts.id, limit=1)), None)
    if own is None or not is_engine(own.raw.get("program")):
        return
    first = known_start(ledger, key)
    if first is not None and first.run != facts.id:
        raise RefusedError(
            f"the workflow was started before: run {first.run}",
            rule="workflow/started",
            place=f"key {key}",
            remedy=f"resume that run, or look at it: `muniment runs show {first.run}`",
        )


def refuse_another(
    ledger: Ledger, first: Event, wanted: Mapping[str, object], tenant: str
) -> None:
    """Refuse to take the run that began with *first* for what is *wanted*.

    Args:
        ledger: where both are.
        first: the start of the run that has the key.
        wanted: task, graph, artifacts and options, as params of a run have them.
        tenant: whose run is wanted.

    Raises:
        RefusedError: something differs; the message names it.

    """
    other = [] if first.tenant == tenant else ["tenant"]
    ref = first.data.get("params")
    try:
        known: Any = ledger.value(ref) if isinstance(ref, BlobRef) else {}
    except ErasedError:
        known = wanted
    other += [name for name in wanted if _plain(known, name) != _plain(wanted, name)]
    if other:
        raise RefusedError(
            f"run {first.run} was started with this key, and differs in: "
            + ", ".join(other),
            rule="workflow/other-start",
            place=f"key {cast('Any', wanted['options'])['key']}",
            remedy="give what is another start a key of its own; "
            f"`muniment runs show {first.run}` shows what was started",
        )


def _plain(params: Mapping[str, Any], name: str) -> bytes:
    """Return one of *params* as it is compared: without what was drawn."""
    if name == "artifacts":
        return canonical(cast("JsonValue", [*_undrawn(params.get(name, []))]))
    return canonical(cast("JsonValue", params.get(name)))


def _undrawn(rows: list[Any]) -> Iterator[dict[str, Any]]:
    """Yield artifacts without times, those whose ids were drawn by their numbers."""
    names: dict[str, str] = {}
    for number, one in enumerate(rows):
        if _DRAWN.fullmatch(one["id"]):
            names[one["id"]] = f"#{number}"
        kept = {key: value for key, value in one.items() if key != "created_at"}
        lineage = [names.get(parent, parent) for parent in one.get("lineage", [])]
        yield {**kept, "id": names.get(one["id"], one["id"]), "lineage": lineage}
