"""What the engine can have stated, by the form of a fact and by where it is.

    node.activated {"node": "act", "kind": "stage", "visit": 1}  in "act.1"     the engine's
    the same in "act.1/@stage.2", where a handler is at work                    nobody's

Rules:

- A fact of the engine has the members that its type declares, whoever signed it.
- A visit is in the scope that is made of its node and its number, on a path: that of the
  run, of a branch of a fork, or of an item of a map. A join that closes a fork is on the path.
- What is said of a visit is said while it lasts: after its end only a resumption says more.
- A way on begins at a node that ended. An artifact has the id of the visit that made it.
- Whether a graph has such a node is looked at where the graph is known: `pinned`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import cast

from muniment.encoding.canonical import JsonValue
from muniment.formats.statement import Event
from muniment_plugins.workflow.records.rows import Row, is_reference, joined_path

__all__ = [
    "can_be_stated",
    "closed_fork",
    "is_well_formed",
    "loop_about",
    "path_owner",
    "stage_about",
]

Form = Callable[[JsonValue], bool]


def _text(value: JsonValue) -> bool:
    return type(value) is str


def _whole(value: JsonValue) -> bool:
    return type(value) is int and value >= 0


def _ordinal(value: JsonValue) -> bool:
    return type(value) is int and value >= 1


def _number(value: JsonValue) -> bool:
    tagged = isinstance(value, dict) and isinstance(value.get("$float"), str)
    return type(value) in (int, float) or tagged


def _object(value: JsonValue) -> bool:
    return isinstance(value, dict)


def _apart(inner: Form) -> Form:
    """Return the form of what may be kept apart, too."""
    return lambda value: is_reference(value) or inner(value)


def _list_of(inner: Form) -> Form:
    def check(value: JsonValue) -> bool:
        return isinstance(value, list) and all(map(inner, value))

    return _apart(check)


def _counts(value: JsonValue) -> bool:
    return isinstance(value, dict) and all(map(_whole, value.values()))


def _one_of(*words: str) -> Form:
    return lambda value: value in words


_TEXTS, _ROWS = _list_of(_text), _list_of(_object)
_NODE = {"node": _text}
_NEEDED: Mapping[str, Mapping[str, Form]] = {
    "workflow.started": {
        "workflow": _text,
        "graph": _text,
        "version": _whole,
        "nodes": _whole,
        "max_steps": _whole,
    },
    "policy.intersected": {**_NODE, "result": _object},
    "query.published": {"query": _text},
    "node.activated": {**_NODE, "kind": _text, "visit": _ordinal},
    "context.selected": {**_NODE, "selected": _TEXTS, "tokens": _whole},
    "node.attempted": {**_NODE, "attempt": _ordinal, "status": _text, "error": _text},
    "verification.concluded": {
        **_NODE,
        "verdict": _one_of("verified", "verification_failed"),
        "checks": _ROWS,
    },
    "artifact.recorded": {"id": _text, "kind": _text, "stage": _text},
    "node.completed": {
        **_NODE,
        "visit": _ordinal,
        "status": _one_of("completed", "failed"),
        "outcome": _text,
        "branch": _text,
    },
    "transition.taken": dict.fromkeys(("source", "target", "branch", "matched"), _text),
    "branches.joined": {**_NODE, "strategy": _text, "arrived": _TEXTS},
    "tool.denied": {
        **_NODE,
        **dict.fromkeys(("tool", "outcome", "code"), _text),
        "place": _apart(_text),
    },
    "agent.corrected": {
        **dict.fromkeys(("agent", "code"), _text),
        "place": _apart(_text),
        "turn": _ordinal,
    },
    "agent.ended": {
        **dict.fromkeys(("agent", "reason"), _text),
        **dict.fromkeys(("turns", "calls", "denied", "failed", "corrected"), _whole),
    },
}
"""Type → the members that its facts have."""
_WHERE_SAID: Mapping[str, Form] = {
    "policy": _apart(_object),
    "cause": _text,
    "budget": _whole,
    "wait_s": _number,
    "attempts": _ordinal,
    "rule": _text,
    "error": _apart(_text),
    "left_out": lambda value: _counts(value) or _whole(value),
    "message": _apart(_text),
    **dict.fromkeys(("produced", "dead", "failed", "cancelled", "lineage"), _TEXTS),
    **dict.fromkeys(("lost", "pins", "cuts", "narrowed", "refused"), _ROWS),
    **dict.fromkeys(("title", "source"), _apart(_text)),
    "freshness": _text,
    "priority": lambda value: type(value) is int,
    "estimated_tokens": _whole,
    "tokens": _whole,
    "cost_usd": _text,
    "relevance": _number,
    **dict.fromkeys(("assembled", "metadata"), _apart(_object)),
    **dict.fromkeys(("text", "data", "folder", "value"), is_reference),
}
"""Member → its form, where a fact has it."""
_BY_KIND = {"verification.concluded": ("verify",), "branches.joined": ("join", "map")}
"""Facts that only some kinds of nodes state, beside those that plugins add."""
_ID = re.compile(r"(.*)#\d+")


def can_be_stated(record: Row, event: Event) -> bool:
    """Tell whether the engine can have stated *event*, after what *record* has."""
    return is_well_formed(event) and _PLACES.get(event.type, _in_a_visit)(record, event)


def is_well_formed(event: Event) -> bool:
    """Tell whether *event* has the members that its type, one of the engine's, declares."""
    needed, said = _NEEDED[event.type], event.raw
    return all(name in said and form(said[name]) for name, form in needed.items()) and (
        all(
            value is None or name in needed or _fits(name, value)
            for name, value in said.items()
        )
    )


def _fits(name: str, value: JsonValue) -> bool:
    form = _WHERE_SAID.get(name)
    return form is None or form(value)


# -- where ---------------------------------------------------------------------------------


def path_owner(record: Row, path: str) -> Row | None:
    """Return the visit of a fork or a map below which *path* is, if it is a path."""
    scope, _, name = path.rpartition("/")
    owner, _, last = scope.rpartition("/")
    if last.startswith("@race."):
        scope = owner
    found: Row | None = record["stages"].get(scope)
    if found is None or found["kind"] not in ("fork", "map"):
        return None
    return found if found["kind"] == "fork" or name.isdecimal() else None


def _is_path(record: Row, path: str) -> bool:
    return not path or path_owner(record, path) is not None


def closed_fork(record: Row, event: Event) -> str | None:
    """Return the fork whose branches meet in the join that begins with *event*.

    It is None of any other visit, also of a join that a single path passes. A join states
    the fork as its cause, on whose path it is.
    """
    if event.raw.get("kind") != "join":
        return None
    on_path = record["latest"].get(event.scope or "", {})
    scope: str | None = on_path.get(event.raw.get("cause"))
    fork: Row | None = record["stages"].get(scope)
    return scope if fork is not None and fork["kind"] == "fork" else None


def stage_about(record: Row, event: Event) -> Row | None:
    """Return the stage that *event* is about: that of its scope, or a join on its path."""
    scope, node = event.scope or "", event.raw.get("node")
    here: Row | None = record["stages"].get(scope)
    if here is not None and (node is None or node == here["node"]):
        return here
    latest: Row | None = record["stages"].get(record["latest"].get(scope, {}).get(node))
    return latest if latest is not None and latest["kind"] == "join" else None


def loop_about(record: Row, event: Event) -> Row | None:
    """Return the stage whose loop called what *event* is about, ``<stage>/turn.1/call.0``."""
    turn, _, _ = (event.scope or "").rpartition("/")
    scope, _, _ = turn.rpartition("/")
    loop: Row | None = record["agents"].get(scope)
    stage: Row | None = record["stages"].get(scope)
    return stage if loop is not None and turn in loop["turns"] else None


def _lasts(record: Row, stage: Row) -> bool:
    return stage["end"] is None or stage["end"]["seq"] < record["resumed_at"]


def _in_the_run(_: Row, event: Event) -> bool:
    return not event.scope


def _first(record: Row, event: Event) -> bool:
    return not event.scope and record["workflow"] is None


def _at_its_place(record: Row, event: Event) -> bool:
    scope, said = event.scope or "", event.raw
    if closed_fork(record, event) is not None:
        return _is_path(record, scope)
    path = scope.rpartition("/")[0]
    named = f"{said['node']}.{said['visit']}"
    return scope == joined_path(path, named) and _is_path(record, path)


def _in_a_visit(record: Row, event: Event) -> bool:
    stage = stage_about(record, event)
    if stage is None or not _lasts(record, stage):
        return False
    if event.type == "node.completed" and event.raw["visit"] != stage["visit"]:
        return False
    kinds = _BY_KIND.get(event.type)
    return kinds is None or stage["kind"] in kinds or "." in stage["kind"]


def _in_a_visit_or_loop(record: Row, event: Event) -> bool:
    stage = stage_about(record, event) or loop_about(record, event)
    return stage is not None and _lasts(record, stage)


def _from_its_end(record: Row, event: Event) -> bool:
    scope, source = event.scope or "", event.raw["source"]
    here: Row | None = record["stages"].get(scope)
    if here is None or here["kind"] != "fork" or here["node"] != source:
        here = record["stages"].get(record["latest"].get(scope, {}).get(source))
    return here is not None and here["end"] is not None


def _by_its_visit(record: Row, event: Event) -> bool:
    """Tell whether an artifact is one of the visit, or of the item, where it is stated."""
    scope, said = event.scope or "", event.raw
    stage: Row | None = record["stages"].get(scope) or path_owner(record, scope)
    if stage is None or not _lasts(record, stage):
        return False
    if "." in stage["kind"]:
        return True
    found = _ID.fullmatch(cast("str", said["id"]))
    if found is None:
        return False
    if stage["kind"] == "subagent":
        return f"{scope}/" in found[1]
    made = found[1].removesuffix("/mail")  # a letter that was taken there
    # The lane of an item is made before the race begins that it is in.
    place = scope if scope in record["stages"] else _outside_of_race(scope)
    return said["stage"] == stage["node"] and made.endswith((scope, place))


def _outside_of_race(path: str) -> str:
    """Return *path* without the race that it is a path of."""
    around, _, name = path.rpartition("/")
    owner, _, last = around.rpartition("/")
    return joined_path(owner, name) if last.startswith("@race.") else path


_PLACES: Mapping[str, Callable[[Row, Event], bool]] = {
    "workflow.started": _first,
    "policy.intersected": _in_the_run,
    "node.activated": _at_its_place,
    "query.published": lambda _, __: True,
    "transition.taken": _from_its_end,
    "artifact.recorded": _by_its_visit,
    "tool.denied": _in_a_visit_or_loop,
}
