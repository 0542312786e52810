"""Which runs the events of a bundle name, and which of them it may therefore hold.

    the run   calls 01JE7…   whole       01JE7…   calls 01JF2…   whole
    the run   is a fork of 01JC1… at 40  up to event 40

Rule: a bundle holds its run; of each run in it those that it called, whole, and of each
fork in it the origin, up to the event at which it was forked. It holds no other run.
"""

from __future__ import annotations

from typing import Any, cast

from muniment.formats.lifecycle import STARTED
from muniment.verification.runs.descent import CALLED, is_performed

__all__ = ["NamedRuns"]


class NamedRuns:
    """Gathers who names whom."""

    def __init__(self) -> None:
        self._called: dict[str, set[str]] = {}
        """Run → its children, as it or they say."""
        self._origins: dict[str, tuple[str, int]] = {}
        """Fork → origin, and the last event of it that answers."""

    def take(self, run: str | None, kind: str, data: dict[str, Any]) -> None:
        """Take an event of *run*; what is not of the form is named by nobody."""
        if run is None:
            return
        if kind == STARTED:
            fork, parent = _of(data, "fork"), _of(data, "parent").get("run")
            origin, at = fork.get("run"), fork.get("at")
            if isinstance(origin, str) and type(at) is int:
                self._origins[run] = origin, at
            if isinstance(parent, str):
                self._called.setdefault(parent, set()).add(run)
        elif kind == CALLED and is_performed(data):
            child = _of(data, "about").get("run")
            if isinstance(child, str):
                self._called.setdefault(run, set()).add(child)

    def reached(self, run: str) -> tuple[set[str], dict[str, int]]:
        """Return the runs that are here whole with *run*, and those up to an event."""
        whole, until = {run}, dict[str, int]()
        left = [run]
        while left:
            one = left.pop()
            for child in self._called.get(one, set()) - whole:
                whole.add(child)
                left.append(child)
            origin, at = self._origins.get(one, (run, 0))
            if origin not in whole and until.get(origin, -1) < at:
                until[origin] = at
                left.append(origin)
        return whole, {one: at for one, at in until.items() if one not in whole}


def _of(data: dict[str, Any], name: str) -> dict[str, Any]:
    told = data.get(name)
    return cast("dict[str, Any]", told) if isinstance(told, dict) else {}
