"""Writes docs/reference/workflow.md: graphs, kinds, keys, codes, events, options.

Rules: the tables come from the shapes, the kinds, the source and the vocabulary, and the
lines beside them from `workflow_keys` and `workflow_codes`; the sentences stand here, and
in `workflow_tables`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator

from workflow_codes import MEANINGS, severities
from workflow_keys import SECTIONS, KeySection
from workflow_tables import AFTER, BEFORE, CHECKS

from muniment.documents.shapes import (
    Anything,
    Choice,
    Entries,
    Flag,
    Items,
    Numeric,
    ObjectShape,
    Shaped,
    Text,
    Whole,
)
from muniment.events.types import EventType
from muniment_plugins.workflow.agents.loop.endings import ENDINGS
from muniment_plugins.workflow.documents.words import SEMANTICS, SYNONYMS
from muniment_plugins.workflow.nodes.box import BOX
from muniment_plugins.workflow.nodes.kind import COMMON_KEYS
from muniment_plugins.workflow.vocabulary import KINDS, TYPES

__all__ = ["key_section", "workflow"]

ShowEvent = Callable[[str, EventType], str]


def workflow(show: ShowEvent) -> str:
    """Return the page; *show* writes the section of an event type."""
    parts = [BEFORE, _kinds(), _common(), _semantics(), "\n## Keys\n", _KEYS]
    parts += [key_section(one) for one in SECTIONS]
    parts += [CHECKS]
    parts += ["\n## How loops end\n", _LOOPS, _endings()]
    parts += [
        "\n## What validation finds\n",
        _CODES,
        _codes(),
        "\n## Events\n",
        _EVENTS,
    ]
    parts += [_effects()]
    parts += [show("###", one) for one in TYPES]
    return "".join([*parts, AFTER])


_KEYS = """
A key that is `null` is a key that is not there; an unknown one is refused with what may have
been meant, and so is a value of another type. A graph that Python gives is held to what a file can
hold: keys are texts, numbers go up to 2^53 - 1, nothing nests deeper than 32; validation and runs
have the same limit. The name of a node has at most 200 bytes, in NFC, and no character that nobody
sees. What is not written has the default; the normal form, whose SHA-256 is the
digest of the graph, writes out `_type`, `version`, `name`, `entry` and the kinds of nodes.
"""
_CODES = """
`workflow_validate(graph, ceiling)` returns a report with all findings. Errors keep a graph
from being run; warnings do not. A mistake of form is found alone, since it hides others: its
code is `FORM_` and the rule, as in `FORM_UNKNOWN_KEY`.

`workflow.refused` records each refusal of a graph that a ledger was to run: these findings, and
what is found later, about modes, contracts, functions, by the last part of its rule, such as
`CONTRACT_CONFLICT`. A file that cannot be read as a graph leaves nothing; nor does a mistake in
options, task or artifacts.

| code | | what it means | what to do |
|---|---|---|---|
"""
_LOOPS = """
A node of the mode `agent`, and `agent_loop` in a program, ask a model and perform what it
calls, until there is an end. Its reason is in `agent.ended`, and the outcome of the node if that
failed. A verifier whose model gave no answer judged nothing: its branch is `error`. A failure that
halts the run, such as that of a budget, is no branch. A loop of a run that may go on is `open` in
`agent_records` and in run records. [Agents](../how-to/agents.md) says how it works.

| reason | branch | what it means | what to do |
|---|---|---|---|
"""
_EVENTS = """
The plugin's facts. Beside them stand the effects, and the kernel's own events:
[event types](events.md).

They are the engine's own: a handler, a program that walks no graph, or whoever appends an event
is refused one, by the rule `event/own`, before anything is written. [What stops
whom](../trust.md#what-a-program-says-of-itself) says what that does not stop.

| effect kind | entropy | magnitude | in doubt |
|---|---|---|---|
"""


def _endings() -> str:
    rows: list[str] = []
    for reason, one in ENDINGS.items():
        branch = "success" if one.good else "failed"
        rows.append(f"| `{reason}` | `{branch}` | {one.says} | {one.remedy} |\n")
    return "".join(rows)


def _kinds() -> str:
    rows = [
        "| kind | ends well in | ends badly in | does | reads |\n|---|---|---|---|---|\n"
    ]
    for name, kind in BOX.items():
        module = inspect.getmodule(type(kind))
        keys = ", ".join(f"`{one}`" for one in sorted(kind.keys)) or "nothing else"
        good = ", ".join(f"`{one}`" for one in kind.branches.success)
        bad = ", ".join(f"`{one}`" for one in (*kind.branches.failure, "error"))
        bad = "" if name == "fork" else bad
        rows.append(f"| `{name}` | {good} | {bad} | {_does(name, module)} | {keys} |\n")
    return "".join(rows)


def _does(name: str, module: object) -> str:
    if name in _SAID:
        return _SAID[name]
    first = (inspect.getdoc(module) or "").splitlines()[0]
    return re.sub(r"^``\w+``: ", "", first).rstrip(".").replace("``", "`")


_SAID = {
    "fork": "takes all its edges at once",
    "join": "is where the branches of a fork meet",
}


def _common() -> str:
    keys = ", ".join(f"`{one}`" for one in sorted(COMMON_KEYS))
    return (
        f"\nEvery kind reads {keys}; but forks and joins take and make nothing, and have "
        "no contracts.\n"
    )


def _semantics() -> str:
    rows = [
        "\n| kind | members of `branch_semantics` → branch | labels that mean a branch |"
    ]
    rows.append("\n|---|---|---|\n")
    for name in SEMANTICS:
        members = ", ".join(f"`{a}` → `{b}`" for a, b in SEMANTICS[name].items())
        others = SYNONYMS.get(name, {})
        labels = ", ".join(f"`{a}` → `{b}`" for a, b in others.items())
        rows.append(f"| `{name}` | {members} | {labels} |\n")
    return "".join(rows)


def key_section(section: KeySection) -> str:
    """Return the table of the keys of one object.

    Raises:
        AssertionError: a key has no line, or a line no key.

    """
    title, shape, lines = section
    keys = {**shape.required, **shape.optional}
    if keys.keys() != lines.keys():
        raise AssertionError(f"{title}: {sorted(keys.keys() ^ lines.keys())}")
    rows = [f"\n### {title}\n\n| key | type | default | |\n|---|---|---|---|\n"]
    for key, one in keys.items():
        default, effect = lines[key]
        default = "**required**" if key in shape.required else default
        kind = _type(one).replace("|", r"\|")
        rows.append(f"| `{key}` | {kind} | {default} | {effect} |\n")
    return "".join(rows)


def _type(shape: Shaped) -> str:  # noqa: PLR0911 - one for each shape
    if isinstance(shape, Choice):
        return " ".join(f"`{one}`" for one in shape.words)
    if isinstance(shape, Text):
        return "text"
    if isinstance(shape, Flag):
        return "true or false"
    if isinstance(shape, Whole):
        return f"whole number from {shape.least}"
    if isinstance(shape, Numeric):
        upper = "" if shape.most is None else f" to {shape.most:g}"
        return f"number from {shape.least:g}{upper}"
    if isinstance(shape, Items):
        return f"list: {_type(shape.shape)}"
    if isinstance(shape, ObjectShape | Entries):
        return "object"
    return "any value" if isinstance(shape, Anything) else _OTHER[type(shape).__name__]


_OTHER = {
    "NodeName": "text",
    "FreeText": "text",
    "RefusedShape": "refused",
    "CommandShape": "text, or list: text",
    "OneOrMore": "one, or a list of them",
    "OrNull": "a digest, or null",
    "OrPrivate": "a digest, null, or `private`",
}
"""Shapes of the plugin's own → what they are."""


def _codes() -> str:
    found = severities()
    if found.keys() != MEANINGS.keys():
        raise AssertionError(sorted(found.keys() ^ MEANINGS.keys()))
    return "".join(_code_rows(found))


def _code_rows(found: dict[str, str]) -> Iterator[str]:
    for code in sorted(found):
        meaning, remedy = MEANINGS[code]
        yield f"| `{code}` | {found[code]} | {meaning} | {remedy} |\n"


def _effects() -> str:
    return "".join(
        f"| `{one.name}` | {one.source} | {one.magnitude} | {one.on_doubt} |\n"
        for one in KINDS
    )
