"""Planned actions, and the graph of them: values, in their normal form.

    {"_type": "action_graph", "task": "Fix the parser", "summary": "",
     "actions": [{"_type": "action_item", "id": "action-1", "title": "Inspect",
                  "instruction": "Inspect", "phase": "research", "depends_on": [],
                  "tools": ["read"], "tool_class": "read",
                  "metadata": {"source_id": "inspect"}}, …],
     "metadata": {"source": "steps", "raw_digest": "sha256:…", "repairs": [{…}],
                  "dropped_refs": [{…}], "ambiguous_refs": [], "cycles": []}}

Rules:

- Whatever was added, dropped or chosen on the way to the normal form is listed in its
  metadata. ``given`` is what the plan says beside its actions, and ``groups`` what groups
  of actions say of themselves; both are left out where there is none. Cycles are listed, and stay: a graph with one has no batches.
- A document that says it is an action graph is one, or is refused with its place: nothing
  in it is guessed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import cast

from muniment.documents.places import At
from muniment.documents.shapes import (
    Anything,
    Choice,
    Entries,
    Items,
    ObjectShape,
    Text,
)
from muniment.encoding.canonical import JsonValue, canonical, sha256_tag
from muniment.errors import UsageError
from muniment_plugins.workflow.actions.cycles import cycles_in
from muniment_plugins.workflow.actions.words import CLASSES, PHASES

__all__ = ["ACTION_GRAPH", "LONGEST_TEXT", "ActionGraph", "PlannedAction", "read_graph"]

Object = Mapping[str, JsonValue]
LONGEST_TEXT = 100_000
"""The most characters of an instruction."""
_TEXTS = Items(Text(), unique=True)
_ACTION = ObjectShape(
    {
        "_type": Choice(("action_item",)),
        "id": Text(r"action-[1-9][0-9]*", "action-1"),
        "title": Text(longest=LONGEST_TEXT),
        "instruction": Text(longest=LONGEST_TEXT),
        "phase": Choice(PHASES),
        "depends_on": _TEXTS,
        "tools": _TEXTS,
        "tool_class": Choice(CLASSES),
        "metadata": Entries(Anything()),
    }
)
_GROUP = ObjectShape({"place": Text(), "actions": _TEXTS, "given": Entries(Anything())})
_METADATA = ObjectShape(
    {
        "source": Text(),
        "raw_digest": Text(r"sha256:[0-9a-f]{64}", "sha256:…"),
        "repairs": Items(Entries(Anything())),
        "dropped_refs": Items(Entries(Anything())),
        "ambiguous_refs": Items(Entries(Anything())),
        "cycles": Items(_TEXTS),
    },
    {"groups": Items(_GROUP), "given": Entries(Anything())},
)
ACTION_GRAPH = ObjectShape(
    {
        "_type": Choice(("action_graph",)),
        "task": Anything(),
        "summary": Anything(),
        "actions": Items(_ACTION, least=1),
        "metadata": _METADATA,
    }
)
"""The shape of the normal form."""


@dataclass(frozen=True, slots=True)
class PlannedAction:
    """One action of a plan."""

    id: str
    title: str
    instruction: str
    phase: str
    tool_class: str
    depends_on: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    metadata: Object = field(default_factory=dict[str, JsonValue])

    @property
    def target_paths(self) -> tuple[str, ...]:
        """The paths that it may write to; empty if the plan names none."""
        return tuple(cast("list[str]", self.metadata.get("target_paths", [])))

    def document(self) -> dict[str, JsonValue]:
        """Return the action as a JSON object."""
        return {
            "_type": "action_item",
            "id": self.id,
            "title": self.title,
            "instruction": self.instruction,
            "phase": self.phase,
            "depends_on": [*self.depends_on],
            "tools": [*self.tools],
            "tool_class": self.tool_class,
            "metadata": dict(self.metadata),
        }


@dataclass(frozen=True)
class ActionGraph:
    """A plan in its normal form."""

    task: str
    summary: str
    actions: tuple[PlannedAction, ...]
    metadata: Object
    """Where it came from, and what was added, dropped or chosen."""

    @property
    def repairs(self) -> tuple[Object, ...]:
        """Dependencies that were added: action, those that it depends on, and why."""
        return self._rows("repairs")

    @property
    def dropped_refs(self) -> tuple[Object, ...]:
        """References that name nothing: action, reference, place and reason."""
        return self._rows("dropped_refs")

    @property
    def ambiguous_refs(self) -> tuple[Object, ...]:
        """References that name several actions, and which of them was taken."""
        return self._rows("ambiguous_refs")

    @property
    def groups(self) -> tuple[Object, ...]:
        """Groups of actions: the place, the actions, and what the group says itself."""
        return self._rows("groups")

    @property
    def given(self) -> Object:
        """What the plan says beside its actions, as the planner gave it."""
        return cast("Object", self.metadata.get("given", {}))

    @property
    def cycles(self) -> tuple[tuple[str, ...], ...]:
        """Actions that wait for each other, so that none of them can begin."""
        rows = cast("list[list[str]]", self.metadata["cycles"])
        return tuple(map(tuple, rows))

    @cached_property
    def by_id(self) -> Mapping[str, PlannedAction]:
        """Id → action."""
        return {one.id: one for one in self.actions}

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the canonical normal form."""
        return sha256_tag(canonical(self.document()))

    def document(self) -> dict[str, JsonValue]:
        """Return the graph as a JSON object."""
        return {
            "_type": "action_graph",
            "task": self.task,
            "summary": self.summary,
            "actions": [one.document() for one in self.actions],
            "metadata": dict(self.metadata),
        }

    def _rows(self, name: str) -> tuple[Object, ...]:
        return tuple(cast("list[Object]", self.metadata.get(name, [])))


def read_graph(said: JsonValue, at: At) -> ActionGraph:
    """Return the graph in *said*, which says that it is in normal form.

    Raises:
        UsageError: it is not; one line, with the key path.

    """
    ACTION_GRAPH.check(said, at)
    document = cast("dict[str, JsonValue]", said)
    for name in ("task", "summary"):
        if not isinstance(document[name], str):
            raise at.key(name).wrong("it is not a text", "type", "write a text")
    rows = cast("list[dict[str, JsonValue]]", document["actions"])
    there = at.key("actions")
    actions = tuple(_read(row) for row in rows)
    _check_ids(actions, there)
    known = {one.id for one in actions}
    metadata = cast("Object", document["metadata"])
    for number, row in enumerate(cast("list[Object]", metadata.get("groups", []))):
        here = at.key("metadata").key("groups").item(number).key("actions")
        for position, name in enumerate(cast("list[str]", row["actions"])):
            if name not in known:
                raise _no_action(name, here.item(position))
    graph = ActionGraph(
        cast("str", document["task"]),
        cast("str", document["summary"]),
        actions,
        cast("Object", document["metadata"]),
    )
    found = cycles_in({one.id: one.depends_on for one in actions})
    if [list(one) for one in found] != [list(one) for one in graph.cycles]:
        raise (
            at.key("metadata")
            .key("cycles")
            .wrong(
                "the cycles that it lists are not those that it has",
                "cycle",
                "normalise the plan again, from what the planner wrote",
            )
        )
    return graph


def _read(row: dict[str, JsonValue]) -> PlannedAction:
    return PlannedAction(
        id=cast("str", row["id"]),
        title=cast("str", row["title"]),
        instruction=cast("str", row["instruction"]),
        phase=cast("str", row["phase"]),
        tool_class=cast("str", row["tool_class"]),
        depends_on=tuple(cast("list[str]", row["depends_on"])),
        tools=tuple(cast("list[str]", row["tools"])),
        metadata=cast("Object", row["metadata"]),
    )


def _check_ids(actions: tuple[PlannedAction, ...], at: At) -> None:
    known = {f"action-{number}" for number in range(1, len(actions) + 1)}
    for number, one in enumerate(actions):
        here = at.item(number)
        if one.id != f"action-{number + 1}":
            raise here.key("id").wrong(
                f"it is {one.id}, at the place of action-{number + 1}",
                "id",
                "number the actions in their order",
            )
        for position, name in enumerate(one.depends_on):
            if name not in known or name == one.id:
                raise _no_action(name, here.key("depends_on").item(position))
        paths = one.metadata.get("target_paths", [])
        _TEXTS.check(paths, here.key("metadata").key("target_paths"))


def _no_action(name: str, at: At) -> UsageError:
    return at.wrong(
        f"there is no other action {name!r:.60}",
        "reference",
        "name one of the ids of the plan",
    )
