"""Which events of other runs belong into a bundle: those that its run rests upon.

    01JD3…  the run           calls 01JE7…, is a fork of 01JC1… up to event 40
    01JE7…  a child, whole    calls 01JF2…
    01JF2…  a child, whole
    01JC1…  an origin, up to event 40

Rules:

- Of each run here, the runs that it called, completed or not: whole.
- Of each fork here, its origin up to the event at which it was forked: that is the record
  which answers the fork. Of an origin's calls, those that were completed up to there.
- So on, until nothing is named that is not here. The caller of a run is not among them.
- Answers, erasures and blobs are those of all these runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, cast

from muniment.errors import UsageError
from muniment.formats.lifecycle import STARTED
from muniment_plugins.evidence.selection import RelatedRuns, Selected

if TYPE_CHECKING:
    from muniment.ledger import Ledger

__all__ = ["related_runs", "with_related"]

_CALLED = "child.completed"
_ELSEWHERE = ("record", "change", "plugin")
"""Who answers a call that its own run did not perform."""


def related_runs(selected: Selected) -> RelatedRuns:
    """Return the runs upon which the run that was *selected* rests; there may be none.

    Raises:
        CannotTellError: a blob of one is gone, and no event erased it.

    """
    return RelatedRuns.of(selected, _reached(selected.ledger, selected))


def with_related(selected: Selected) -> Selected:
    """Return the record with the runs upon which it rests, if there are any."""
    related = related_runs(selected)
    return replace(selected, related=related) if related.parts else selected


def _reached(ledger: Ledger, selected: Selected) -> Mapping[str, int | None]:
    """Return run → before which event it ends here; None if it is here whole."""
    found: dict[str, int | None] = {}
    left: list[tuple[str, int | None]] = [(selected.run, selected.end)]
    whole = True
    while left:
        run, before = left.pop()
        for named, until in _named(ledger, run, before, whole=whole or before is None):
            known = found.get(named, -1)
            further = known is not None and (until is None or until > known)
            if named != selected.run and further and _is_run(ledger, named):
                found[named] = until
                left.append((named, until))
        whole = False
    return found


def _is_run(ledger: Ledger, name: str) -> bool:
    """Tell whether the ledger has a run of just that name; an event may say anything."""
    try:
        return ledger.run_id(name) == name
    except UsageError:
        return False


def _named(
    ledger: Ledger, run: str, before: int | None, *, whole: bool
) -> Iterator[tuple[str, int | None]]:
    """Yield the runs that *run* names before an event, and up to where."""
    for one in ledger.events(run=run, type=STARTED, to_seq=before):
        told = one.raw.get("fork")
        if isinstance(told, dict):
            fork = cast("dict[str, object]", told)
            yield str(fork["run"]), cast("int", fork["at"]) + 1
    if whole:
        digest = f"sha256:{sha256(run.encode()).hexdigest()}"
        for one in ledger.events(subject=digest):
            told = one.raw.get("parent") if one.type == STARTED else None
            if isinstance(told, dict) and told.get("run") == run and one.run:
                yield one.run, None
    for one in ledger.events(run=run, type=_CALLED, to_seq=before):
        about = one.raw.get("about")
        by = one.raw.get("answered_by")
        performed = not isinstance(by, dict) or by.get("who") not in _ELSEWHERE
        if isinstance(about, dict) and performed:
            yield str(about.get("run")), None
