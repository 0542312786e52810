"""What a run is, derived from its events, and whether ``run.json`` says so.

    view = RunView()
    view.take(run, "run.started", {"seq": 1, …}, {"name": "triage", …})
    view.wrong(b'{"name": "deploy", …}', 0, 0)      ["name is not what the events give"]

Rules:

- Each member is derived again; one that is missing has to be what an event of no kind
  would have made of it. Of a redacted bundle the events that are shown are what counts.
- A member that is not known here may be one of a later muniment: nobody can tell.
- No name may stand twice in an object: people and programs would read different values.
- An integer is one if it is spelled without fraction and exponent, and is compared exactly;
  what runtimes need not read alike, many digits and deep nesting, is refused.

Specification: ``docs/spec/evidence.md``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

__all__ = ["MOST_VIEW", "RunView"]

MOST_VIEW = 8 << 20
"""A larger view is not read."""
MOST_DIGITS = 4300
"""No integer of a view has more: Python may read no longer one."""
DEEPEST = 64
"""Arrays and objects of a view are nested no deeper, as in canonical JSON."""
AS_STARTED = ("name", "labels", "program", "plugins", "replay_of", "parent", "fork")
"""What the start of a run says of it."""
STATUS_AFTER = {
    "run.started": "open",
    "run.resumed": "open",
    "run.interrupted": "interrupted",
    "run.paused": "paused",
    "run.canceled": "canceled",
    "run.completed": "completed",
    "run.failed": "failed",
}
LAST_STATUSES = ("completed", "canceled")
"""The statuses that nothing changes."""


class RunView:
    """One run, as its events tell it."""

    def __init__(self) -> None:
        self._known: dict[str, Any] = {}

    def take(self, run: str, kind: str, chain: Mapping[str, Any], data: Any) -> None:
        """Take the next event of the run."""
        known = self._known = self._known or begun(run, chain)
        known["types"][kind] = known["types"].get(kind, 0) + 1
        known["events"] += 1
        known["last"] = chain["seq"]
        if known["status"] not in LAST_STATUSES:
            known["ended"] = chain["time"]
            self._live(kind, data)
        mark = data.get("mark") if kind == "run.marked" else None
        if isinstance(mark, str) and mark and mark not in known["marks"]:
            known["marks"].append(mark)
        asked, dot, verb = kind.rpartition(".")
        if dot and verb == "requested":
            known["effects"][asked] = known["effects"].get(asked, 0) + 1
        elif dot and verb == "failed" and asked not in ("plugin", "run"):
            known["failed_effects"] += 1

    def _live(self, kind: str, data: Any) -> None:
        known = self._known
        if kind == "run.started":
            known.update((name, data[name]) for name in AS_STARTED if name in data)
        known["status"] = STATUS_AFTER.get(kind, known["status"])
        if kind in ("run.resumed", "run.canceled"):
            known["generation"] = data.get("generation", known["generation"])
        if kind == "run.failed":
            known["status"] = str(data.get("status", "failed"))
            known["error_type"] = data.get("error_type")

    def wrong(self, text: bytes, events: int, blobs: int) -> list[str]:
        """Return what the view *text* says, and the events do not.

        Args:
            text: the content of the file.
            events: how many events the bundle withholds.
            blobs: how many blobs.

        """
        try:
            told = told_by(text)
        except (ValueError, RecursionError):
            return ["it is no JSON object in which each name stands once"]
        known = self.given()
        hidden = {"blobs": blobs, "events": events}
        if "withheld" in told or events or blobs:
            known["withheld"] = hidden
        empty = {**begun("", {}), "withheld": None}
        return [
            f"{name} is not what the events give"
            for name in known
            if as_text(told.get(name, empty[name])) != as_text(known[name])
            or (name not in told and name in ("id", "status"))
        ]

    def unknown(self, text: bytes) -> list[str]:
        """Return the members that cannot be compared here."""
        try:
            told = told_by(text)
        except (ValueError, RecursionError):
            return []
        return [name for name in told if name not in {*self.given(), "withheld"}]

    def given(self) -> dict[str, Any]:
        """Return what the events give, member by member."""
        known = dict(self._known)
        if known.get("status") == "open":
            known["ended"] = None
        return known


def begun(run: str, chain: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is said of a run whose first event is at this place."""
    return {
        "id": run,
        "name": "",
        "status": "open",
        "started": chain.get("time"),
        "ended": None,
        "first": chain.get("seq"),
        "last": chain.get("seq"),
        "events": 0,
        "generation": 0,
        "tenant": chain.get("tenant"),
        "actor": chain.get("actor"),
        "labels": {},
        "program": None,
        "plugins": {},
        "effects": {},
        "failed_effects": 0,
        "error_type": None,
        "replay_of": None,
        "parent": None,
        "fork": None,
        "types": {},
        "marks": [],
    }


def told_by(text: bytes) -> dict[str, Any]:
    """Return the object in *text*; raise `ValueError` for anything else."""
    told: object = json.loads(
        text.decode(),
        object_pairs_hook=each_once,
        parse_constant=no_number,
        parse_int=whole_number,
    )
    if not isinstance(told, dict):
        raise ValueError("no object")  # noqa: TRY004 - all that is wrong is one error
    level: list[Any] = [told]
    for _ in range(DEEPEST):
        level = [below for one in level for below in containers(one)]
    if level:
        raise ValueError("nested too deep")
    return cast("dict[str, Any]", told)


def containers(value: Any) -> list[Any]:
    """Return the arrays and objects in an array or an object."""
    told = cast("dict[str, Any]", value).values() if isinstance(value, dict) else value
    return [one for one in told if isinstance(one, dict | list)]


def each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the members of an object, if no name stands twice."""
    told = dict(pairs)
    if len(told) != len(pairs):
        raise ValueError("a name stands twice")
    return told


def whole_number(digits: str) -> int:
    """Return the integer, if it has no more digits than every Python reads."""
    if len(digits.lstrip("-")) > MOST_DIGITS:
        raise ValueError("too many digits")
    return int(digits)


def no_number(word: str) -> None:
    """Refuse ``NaN`` and its like, which are no JSON."""
    raise ValueError(word)


def as_text(value: object) -> str:
    """Return *value* as text: equal for equal JSON, whatever the order of members."""
    return json.dumps(value, sort_keys=True)
