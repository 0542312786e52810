"""One action as a planner wrote it: title, instruction, phase, tools and class.

Rules:

- What stands under a key that means something, and cannot be read, is refused with its
  place. Whatever else it says is kept, in ``metadata.given``: also a second instruction, a
  kind that names no phase, and what stands beside the name of a tool.
- An explicit ``tool_class`` wins over that of the tools.
- An action that says nothing of tools has those of the innermost group that does, and
  their class; the same holds for target paths.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from muniment.documents.places import At, near
from muniment.documents.shapes import Text
from muniment.encoding.canonical import JsonValue
from muniment_plugins.workflow.actions.collecting import (
    FoundAction,
    FoundGroup,
    first_key,
    first_text,
)
from muniment_plugins.workflow.actions.planned import LONGEST_TEXT
from muniment_plugins.workflow.actions.words import (
    CLASSES,
    DEPENDENCIES,
    INSTRUCTIONS,
    NAMES,
    PHASE_KEYS,
    SOURCE_IDS,
    TITLES,
    TOOLS,
    class_of_tools,
    phase_named,
)

__all__ = ["ActionDraft", "beside_references", "drafted"]

Object = Mapping[str, JsonValue]
_NAMES = ("name", "tool", "id")
_NOTHING: Object = {}
_OWN = ("source_id", "source_phase", "target_paths", "given")
"""The members of metadata that the normal form writes."""


@dataclass(frozen=True, slots=True)
class ActionDraft:
    """An action whose dependencies are not resolved yet."""

    found: FoundAction
    id: str
    title: str
    instruction: str
    phase: str
    tool_class: str
    tools: tuple[str, ...]
    metadata: Object


def drafted(found: FoundAction, number: int) -> ActionDraft:
    """Return the action that was *found* as the plan's *number*.

    Raises:
        UsageError: it says nothing, or something that cannot be read.

    """
    said, at = found.said, found.at
    title = first_text(said, TITLES)
    instruction = first_text(said, INSTRUCTIONS)
    if title is None and instruction is None and first_key(said, SOURCE_IDS) is None:
        raise at.wrong(
            "the action says nothing", "plan-empty", "write a title or an instruction"
        )
    for key in {first_key(said, TITLES), first_key(said, INSTRUCTIONS)} - {None}:
        Text(longest=LONGEST_TEXT).check(str(said[str(key)]), at.key(str(key)))
    tools = _Tools.of(found)
    shown = title or f"Action {number}"
    told = instruction or shown
    key = _phase_key(said)
    word = None if key is None else cast("str", said[key])
    phase = phase_named(word) or found.phase or phase_named(told)
    phase = phase or _by_tools(tools.names)
    return ActionDraft(
        found=found,
        id=f"action-{number}",
        title=shown,
        instruction=told,
        phase=phase,
        tool_class=tools.stated or class_of_tools(tools.names, phase),
        tools=tools.names,
        metadata=_metadata(found, None if word == phase else word, tools, key),
    )


def _phase_key(said: Object) -> str | None:
    """Return the first key of *said* under which a word means a phase."""
    words = (key for key in PHASE_KEYS if phase_named(said.get(key)) is not None)
    return next(words, None)


def _by_tools(tools: tuple[str, ...]) -> str:
    reads = bool(tools) and class_of_tools(tools, "execute") == "read"
    return "research" if reads else "execute"


@dataclass(frozen=True, slots=True)
class _Tools:
    """The tools that something names, and the class that it states for them."""

    key: str | None
    names: tuple[str, ...]
    beside: Object
    """Tool → what else is said of it."""
    stated: str | None

    @classmethod
    def of(cls, found: FoundAction) -> _Tools:
        """Return the tools of an action: its own, or those of a group around it."""
        own = cls.said_by(found.said, found.at)
        if own.key is not None or own.stated is not None:
            return own
        for one in reversed(found.groups):
            around = cls.said_by(one.said, one.at)
            if around.key is not None or around.stated is not None:
                return cls(None, around.names, {}, around.stated)
        return own

    @classmethod
    def said_by(cls, said: Object, at: At) -> _Tools:
        """Return the tools that an action, or a group, names itself."""
        key = next((one for one in TOOLS if said.get(one) is not None), None)
        stated = said.get("tool_class")
        if stated is not None and stated not in CLASSES:
            raise at.key("tool_class").wrong(
                "there is no such class of tools",
                "plan",
                near(str(stated)[:60], CLASSES),
            )
        names: dict[str, None] = {}
        beside: dict[str, JsonValue] = {}
        for name, rest, here in () if key is None else _tools(said[key], at.key(key)):
            if rest and name in beside:
                raise here.wrong(
                    f"the tool {name!r:.60} is there twice", "plan", "write it once"
                )
            names[name] = None
            if rest:
                beside[name] = dict(rest)
        return cls(key, tuple(names), beside, stated)


def _tools(value: JsonValue, at: At) -> Iterator[tuple[str, Object, At]]:
    """Yield the tools in *value*, what else is said of each, and its place."""
    rows = value if isinstance(value, list) else [value]
    for number, row in enumerate(rows):
        here = at.item(number) if isinstance(value, list) else at
        key = first_key(row, _NAMES) if isinstance(row, dict) else None
        rest: Object = _NOTHING
        name: JsonValue = None if isinstance(row, dict) else row
        if isinstance(row, dict) and key is not None:
            name, rest = row[key], _without(row, key)
        if not isinstance(name, str) or not name.strip():
            raise here.wrong(
                "it names no tool", "plan", 'write a name, or {"name": "read"}'
            )
        if isinstance(row, dict):
            yield name.strip(), rest, here
        else:  # planners write lists as texts, too
            yield from (
                (one.strip(), {}, here) for one in name.split(",") if one.strip()
            )


def _without(said: Object, key: str) -> Object:
    return {one: v for one, v in said.items() if one != key and v is not None}


def _metadata(
    found: FoundAction, word: str | None, tools: _Tools, phase_key: str | None
) -> dict[str, JsonValue]:
    said, at = found.said, found.at
    own = said.get("metadata")
    if own is not None and not isinstance(own, dict):
        raise at.key("metadata").wrong("it is no object", "plan", "write an object")
    made: dict[str, JsonValue] = dict(cast("Object", own or {}))
    paths, place = _paths_of(found)
    if place == "metadata":
        made.pop("target_paths")
    given = _given(said, tools, phase_key, reads_paths=place == "said")
    taken = {key: made.pop(key) for key in _OWN if made.get(key) is not None}
    if taken:
        given["metadata"] = taken
    members: dict[str, JsonValue] = {
        "source_id": first_text(said, SOURCE_IDS),
        "source_phase": word,
        "target_paths": [*dict.fromkeys(paths)] or None,
        "given": given or None,
    }
    for key in _OWN:
        made.pop(key, None)
    return {**made, **{key: one for key, one in members.items() if one is not None}}


def _given(
    said: Object, tools: _Tools, phase_key: str | None, *, reads_paths: bool
) -> dict[str, JsonValue]:
    """Return what *said* has that is no member of the normal form."""
    read = {
        *(first_key(said, keys) for keys in (TITLES, INSTRUCTIONS, SOURCE_IDS)),
        *DEPENDENCIES,
        *("tool_class", "metadata", tools.key, phase_key),
    }
    if reads_paths:
        read.add("target_paths")
    given = {
        key: value
        for key, value in said.items()
        if key not in read and value is not None
    }
    if tools.beside and tools.key is not None:
        given[tools.key] = dict(tools.beside)
    return given | beside_references(said)


def beside_references(said: Object) -> dict[str, JsonValue]:
    """Return what *said* says of its dependencies beside their names."""
    found: dict[str, JsonValue] = {}
    for key in DEPENDENCIES:
        value = said.get(key)
        for one in value if isinstance(value, list) else [value]:
            name = first_key(one, NAMES) if isinstance(one, dict) else None
            rest = _NOTHING
            if name is not None:
                rest = _without(cast("Object", one), name)
            if rest:
                cast("list[JsonValue]", found.setdefault(key, [])).append(dict(rest))
    return found


def _paths_of(found: FoundAction) -> tuple[list[str], str | None]:
    """Return the target paths of an action, and who states them: *said*, …."""
    own = found.said.get("metadata")
    there = found.at.key("target_paths")
    if found.said.get("target_paths") is not None:
        return [*_paths(found.said["target_paths"], there)], "said"
    if isinstance(own, dict) and own.get("target_paths") is not None:
        return [*_paths(own["target_paths"], there)], "metadata"
    for one in reversed(found.groups):
        if one.said.get("target_paths") is not None:
            return [*_paths(one.said["target_paths"], _place(one))], "group"
    return [], None


def _place(group: FoundGroup) -> At:
    return group.at.key("target_paths")


def _paths(value: JsonValue, there: At) -> Iterator[str]:
    for number, one in enumerate(value if isinstance(value, list) else [value]):
        if not isinstance(one, str) or not one.strip():
            raise there.item(number).wrong(
                "it is no path", "plan", "write texts, such as src/**"
            )
        yield one
