"""What stages asked of the world beside tools: effects of handlers, and people's decisions.

    effects.of("act.1")     [{"kind": "data", "status": "done", "request": {"q": 1}}, …]

Rules:

- An effect is known by its kind, by how it ended and by its request, in the order of the
  scopes, and in a scope of the ordinals. What a resumption performed again is one.
- What the engine itself asks for is compared by what came of it: a handler by its artifact,
  a verifier by what it found. Tools and called runs are compared by themselves.
- The request of a model by the engine, or by a loop, is made of what is compared already and
  of what models said: it is counted, and not compared. So are letters and sessions.
- How long a timer waits is a time, and times are not looked at.
- A decision is an effect whose request is the question.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from muniment.events.visibility import is_private
from muniment.formats.statement import Event
from muniment_plugins.evals.views.rows import Row, part
from muniment_plugins.evals.views.sealed import Private
from muniment_plugins.workflow.records.contents import Contents

__all__ = ["Effects", "Place", "in_order", "owns_model"]

Place = tuple[str, int | None]
_ELSEWHERE = frozenset(
    ("tool", "child", "stage", "race", "agent.turn", "update", "links")
)
"""Kinds that are compared by what came of them, or by themselves."""
_UNCOMPARED = frozenset(("mail", "session_claim", "session_loan", "compaction"))
"""Kinds whose requests say where others are, which no two runs have in common."""
_VERBS = {"requested": "open", "completed": "done", "failed": "failed"}
_TURN = re.compile(r"(?:.*/)?turn\.\d+")
_NUMBER = re.compile(r"(\d+)")


def in_order(place: Place) -> tuple[list[object], int]:
    """Return by what effects are ordered: ``turn.10`` is after ``turn.2``."""
    pieces = _NUMBER.split(place[0])
    scope: list[object] = [
        int(one) if number % 2 else one for number, one in enumerate(pieces)
    ]
    return scope, place[1] or 0


def owns_model(stages: Iterable[Row]) -> set[str]:
    """Return the *stages* whose node names the model: the engine asks it, or a loop."""
    rows = list(stages)
    named = {
        one["node_id"]
        for one in rows
        if "model_policy" in part(one, "metadata") and "item_of" not in one
    }
    return {one["id"] for one in rows if one.get("item_of", one["node_id"]) in named}


class Effects:
    """The effects of one run, by the stages in which they were asked for."""

    def __init__(self, contents: Contents, asks_models: Iterable[str]) -> None:
        self._contents = contents
        self._asks_models = frozenset(asks_models)
        self._rows: dict[str, dict[Place, Row]] = {}
        self.uncompared: dict[str, int] = {}
        """How many there were of a kind whose requests are not compared."""

    def take(self, event: Event, kind: str, verb: str, stage: Row) -> None:
        """Take in what *event* states of an effect in *stage*."""
        if verb not in _VERBS or kind in _ELSEWHERE:
            return
        if kind == "check" and stage.get("kind") == "verify":
            return
        scope = event.scope or ""
        if kind in _UNCOMPARED or (
            kind == "llm"
            and (stage["id"] in self._asks_models or _TURN.fullmatch(scope))
        ):
            if verb == "requested":
                self.uncompared[kind] = self.uncompared.get(kind, 0) + 1
            return
        rows = self._rows.setdefault(stage["id"], {})
        place = (scope, event.ordinal)
        if verb == "requested":
            rows[place] = {"kind": kind, "status": "open", "asked": event}
        elif place in rows:
            rows[place]["status"] = _VERBS[verb]

    def asked(self, event: Event, stage: Row) -> None:
        """Take in that people are asked in *stage*."""
        row = {"kind": "decision", "status": "open", "asked": event}
        rows = self._rows.setdefault(stage["id"], {})
        rows[event.scope or "", event.ordinal] = row

    def decided(self, event: Event, stage: Row) -> None:
        """Take in what they decided."""
        for row in self._rows.get(stage["id"], {}).values():
            if row["asked"].hash == event.raw.get("asked"):
                row["status"] = str(event.raw.get("outcome"))

    def rows(self) -> Mapping[str, list[Row]]:
        """Return the effects of each stage that asked for any, with what they asked."""
        return {
            stage: [self._row(rows[place]) for place in sorted(rows, key=in_order)]
            for stage, rows in self._rows.items()
        }

    def _row(self, row: Row) -> Row:
        event: Event = row["asked"]
        found: Row = {"kind": row["kind"], "status": row["status"]}
        if row["kind"] == "timer":
            return found
        name = "prompt" if row["kind"] == "decision" else "request"
        said: Any = self._contents.of(event.raw.get(name))
        return {**found, "request": Private(said) if is_private(event) else said}
