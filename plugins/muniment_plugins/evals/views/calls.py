"""What stages asked of tools and of the world, and what verifiers are, by a run's events.

    beside_of(ledger, events, stages).calls["act.1"]
    [{"tool": "read", "status": "done", "arguments": {"path": "a.py"}}, …]

Rules:

- A call is an effect of the kind ``tool`` in a stage, or one that was denied there: in the
  order of the scopes, and in a scope of the ordinals, whatever ran at once. What a
  resumption performed again is one call, as it ended last.
- A call about which people are asked is one that waits. The question is no call of its own
  once they have decided.
- The arguments are those that the tool was given; of a call that was denied, those that the
  answer of the model states.
- What a run of a program asked for, which has no stages, is of the whole of it.
- Those of a private event are private. So is, in a stage with one, what a model made up:
  the name of a tool that there is not, and the place in its arguments.
- A verifier is the source of its handler, as the request for it has that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from muniment.events.visibility import hides, is_private
from muniment.formats.statement import Event
from muniment_plugins.evals.views.effects import Effects, Place, in_order, owns_model
from muniment_plugins.evals.views.rows import Row, as_row
from muniment_plugins.evals.views.sealed import Private
from muniment_plugins.workflow.records.contents import Contents, is_erased

if TYPE_CHECKING:
    from muniment.ledger import Ledger

__all__ = ["ToldByEvents"]

_CALL = re.compile(r"(.*)/call\.(\d+)")
_UNKNOWN_TOOL = "unknown_tool"
_PLUGINS = "plugin"
"""The scope of what plugins do beside the program."""


class ToldByEvents:
    """What the *events* of a run say of its *stages*, beside the record.

    Of a run that walks no graph *whole* is what all of it is called.
    """

    def __init__(
        self,
        ledger: Ledger,
        events: Iterable[Event],
        stages: Iterable[Row],
        whole: str | None = None,
    ) -> None:
        self._contents = Contents(ledger)
        rows = list(stages)
        self._stages: dict[str, Row] = {one["id"]: one for one in rows}
        self._whole = whole
        self.effects = Effects(self._contents, owns_model(rows))
        self._answers: dict[str, Event] = {}
        self._calls: dict[Place, Row] = {}
        self._requests: dict[str, Event] = {}
        self._private: set[str] = set()
        self._failed: dict[str, Event] = {}
        self.asked: set[str] = set()
        """The questions that are private, by their hashes."""
        for one in events:
            self._take(one)

    def _take(self, event: Event) -> None:
        """Take in what *event* states."""
        scope = event.scope or ""
        kind, _, verb = event.type.rpartition(".")
        if is_private(event):
            stage = self._stage_of(scope)
            self._private.add(stage)
            if event.type == "decision.asked":
                self.asked.add(event.hash)
            if verb == "failed":
                self._failed[stage] = event
        if event.type == "llm.completed":
            self._answers[scope] = event
        if kind == "tool":
            self._called(event, verb)
        elif kind == "decision":
            self._decided(event, verb)
        elif event.type == "stage.requested" and self._is_verifier(scope):
            self._requests[scope] = event
        elif verb in ("requested", "completed", "failed"):
            stage = self._stage_of(scope)
            if stage:
                self.effects.take(event, kind, verb, self._row_of(stage))

    def _is_verifier(self, scope: str) -> bool:
        return self._stages.get(scope, {}).get("kind") == "verify"

    def _row_of(self, stage: str) -> Row:
        return self._stages.get(stage) or {"id": stage}

    def _stage_of(self, scope: str) -> str:
        """Return the stage that *scope* is in; empty if it is in none."""
        if self._whole is not None:
            return "" if scope.partition("/")[0] == _PLUGINS else self._whole
        while scope and scope not in self._stages:
            scope = scope.rpartition("/")[0]
        return scope

    def _decided(self, event: Event, verb: str) -> None:
        """Take in a question about a call, or any other, and what people decided."""
        scope = event.scope or ""
        stage = self._stage_of(scope)
        if verb == "asked" and self._is_about_call(event):
            self._calls[scope, -1] = {"waits": event, "status": "waiting"}
        elif verb == "asked" and stage:
            self.effects.asked(event, self._row_of(stage))
        elif verb == "reached" and (scope, -1) in self._calls:
            self._calls[scope, -1]["status"] = "open"
        elif verb == "reached" and stage:
            self.effects.decided(event, self._row_of(stage))

    def _is_about_call(self, event: Event) -> bool:
        """Tell whether people are asked about a call of a loop, as the engine asks."""
        if not _CALL.fullmatch(event.scope or ""):
            return False
        said = self._contents.of(event.raw.get("subject"))
        return is_erased(said) or as_row(said).get("scope") == event.scope

    def _called(self, event: Event, verb: str) -> None:
        place = (event.scope or "", event.ordinal)
        if verb in ("requested", "denied"):
            self._calls.pop((place[0], -1), None)
        if verb == "requested":
            self._calls[place] = {"asked": event, "status": "open"}
        elif verb == "denied":
            self._calls[place] = {"denied": event, "status": "denied"}
        elif place in self._calls and verb in ("completed", "failed"):
            is_error = as_row(event.raw.get("about")).get("is_error")
            done = verb == "completed" and not is_error
            self._calls[place]["status"] = "done" if done else "failed"

    def calls(self) -> Mapping[str, list[Row]]:
        """Return the calls of each stage that made any."""
        found: dict[str, list[Row]] = {}
        for place in sorted(self._calls, key=in_order):
            stage = self._stage_of(place[0])
            if stage:
                row = self._call(stage, place, self._calls[place])
                found.setdefault(stage, []).append(row)
        return found

    def _call(self, stage: str, place: Place, row: Row) -> Row:
        if "denied" in row:
            return self._denied(stage, place, row["denied"])
        if "waits" in row:
            return self._waiting(row["waits"], row["status"])
        event: Event = row["asked"]
        request: object = self._contents.of(event.raw.get("request"))
        said = as_row(request)
        named = as_row(event.raw.get("about")) or said
        name = f"{named.get('prefix') or ''}{named.get('name') or ''}"
        given = said.get("arguments", request)
        hidden = is_private(event)
        return {
            "tool": name,
            "status": row["status"],
            "arguments": Private(given) if hidden else given,
        }

    def _waiting(self, event: Event, status: str) -> Row:
        asked: object = self._contents.of(event.raw.get("subject"))
        said = as_row(asked)
        given = said.get("arguments", asked)
        if not is_private(event):
            return {"tool": said.get("tool"), "status": status, "arguments": given}
        tool, given = Private(said.get("tool")), Private(given)
        return {"tool": tool, "status": status, "arguments": given}

    def _denied(self, stage: str, place: Place, event: Event) -> Row:
        names = ("tool", "code", "place")
        told = {name: self._contents.of(event.raw.get(name)) for name in names}
        said = {name: one for name, one in told.items() if one}
        found: Row = {"status": "denied", **said}
        asked = self._asked(place[0])
        if stage in self._private:
            found["place"] = Private(said.get("place"))
            if said.get("code") == _UNKNOWN_TOOL:
                found["tool"] = Private(said.get("tool"))
        found |= {
            name: Private(one) for name, one in said.items() if hides(event, name)
        }
        return found if asked is None else {**found, "arguments": asked[0]}

    def _asked(self, scope: str) -> tuple[Any] | None:
        """Return the arguments of the call in *scope*, as a model's answer states them."""
        found = _CALL.fullmatch(scope)
        answer = None if found is None else self._answers.get(found[1])
        if found is None or answer is None:
            return None
        value: object = self._contents.of(answer.raw.get("value"))
        if is_erased(value):
            return (value,)
        rows: object = as_row(value).get("tool_calls")
        listed = cast("list[object]", rows) if isinstance(rows, list) else []
        at = int(found[2])
        if at >= len(listed):
            return None
        given = as_row(listed[at]).get("arguments")
        return (Private(given) if is_private(answer) else given,)

    def functions(self) -> Mapping[str, str]:
        """Return the digest of the source of each verifier that is a function."""
        found: dict[str, str] = {}
        for stage, event in self._requests.items():
            request = as_row(self._contents.of(event.raw.get("request")))
            source = as_row(request.get("handler")).get("source")
            if isinstance(source, str):
                found[stage] = source
        return found

    def failures(self) -> Mapping[str, Any]:
        """Return what the last private failure in each stage says."""
        return {
            stage: self._contents.of(event.raw.get("message"))
            for stage, event in self._failed.items()
            if stage
        }

    @property
    def has_private(self) -> bool:
        """Whether anything of the run is private."""
        return bool(self._private)
