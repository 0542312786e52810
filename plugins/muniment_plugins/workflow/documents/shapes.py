"""The shapes of a graph document: every key that it can have, and nothing else.

Rules:

- What nothing reads is no key: an unknown one is refused, and so is one that the kind of
  its node does not read (`validation`).
- Policies of capabilities, approvals and context, and tools, have shapes of their own in
  the rooms that read them.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

from muniment.documents.places import At
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
from muniment.encoding.canonical import JsonValue
from muniment_plugins.workflow.artifacts.artifact_shape import FreeText
from muniment_plugins.workflow.documents.compaction_shape import AUTO_COMPACT
from muniment_plugins.workflow.documents.words import (
    JOIN_STRATEGIES,
    MODES,
    VISIBILITIES,
)

__all__ = [
    "AGENT",
    "CONTRACT",
    "EDGE",
    "GRAPH",
    "LETTER",
    "LONGEST_NAME",
    "LOOP",
    "MOST_MARKS",
    "NAME",
    "NODE",
    "PATH",
    "CommandShape",
    "NodeName",
]


class NodeName:
    """The name of a node, which is part of the scopes of its events, and of ids."""

    def check(self, value: JsonValue, at: At) -> None:
        """Refuse what is no name, and what people could not tell from another name."""
        _NAME.check(value, at)
        name = str(value)
        if not name.isprintable():
            raise at.wrong(
                f"{name!r:.80} has a character that nobody sees",
                "value",
                "write letters, digits and marks",
            )
        if unicodedata.normalize("NFC", name) != name:
            raise at.wrong(
                f"{name!r:.80} looks like {unicodedata.normalize('NFC', name)!r:.80}",
                "value",
                "write it in the normal form NFC",
            )
        if len(name.encode()) > LONGEST_NAME:
            raise at.wrong(
                f"it has more than {LONGEST_NAME} bytes", "value", "write a shorter one"
            )


LONGEST_NAME = 200
"""Bytes of a name: a scope has 256, with the number of the visit."""
_NAME = Text(r"[^\s/@$*][^\s/]*", "act, without spaces and `/`")
NAME = NodeName()
PATH = Text(
    r"[A-Za-z_][\w.]*:[A-Za-z_<][\w.<>]*",
    "module:function",
)
"""An import path."""
_LABEL = Text(r"[^\s/]+", "failed")
_KIND = Text(r"[a-z][a-z0-9_]*", "test_result")
_SECONDS = Numeric(0.001, 31_536_000)

_SCHEMA = Entries(Anything())
_INPUTS = ObjectShape(
    optional={
        "input_kinds": Items(_KIND, unique=True),
        "min_inputs": Whole(0),
        "max_inputs": Whole(0),
        "require_transcript": Flag(),
        "schema": _SCHEMA,
    }
)
_OUTPUTS = ObjectShape(
    optional={"output_kinds": Items(_KIND, unique=True), "schema": _SCHEMA}
)
_RETRY = ObjectShape(
    optional={
        "max_attempts": Whole(1),
        "backoff_ms": Numeric(0, 86_400_000),
        "backoff_multiplier": Numeric(1, 100),
    }
)
_ASKED: dict[str, Shaped] = {
    "temperature": Numeric(0, 2),
    "max_tokens": Whole(1),
    "stream": Flag(),
}
_NAMES = Items(Text(), unique=True)
LOOP: dict[str, Shaped] = {
    "max_iterations": Whole(1),
    "max_tool_calls": Whole(0),
    "max_total_tokens": Whole(1),
    "max_cost_usd": Numeric(0.000001, 1_000_000),
    "max_repeats": Whole(1),
    "max_concurrent_tools": Whole(1),
    "max_nudges": Whole(0),
    "nudge": Text(),
    "max_repairs": Whole(0),
    "stop_after_successful_tools": _NAMES,
    "require_successful_tools": _NAMES,
}
"""What only a loop of calls of a model reads."""
_SESSION: dict[str, Shaped] = {
    "session_id": Text(r"[^\s@]{1,160}", "desk, without spaces and `@`"),
    "session_held": Choice(("refuse", "fork")),
}
_MODEL = ObjectShape(
    optional={"provider": Text(), "model": Text(), **_ASKED, **LOOP, **_SESSION}
)
AGENT = ObjectShape(optional={**_ASKED, **LOOP, "done_sentinel": Text()})
"""The options of a loop."""
_JOIN = ObjectShape(
    optional={
        "strategy": Choice(JOIN_STRATEGIES),
        "require_all_inputs": Flag(),
        "min_completed": Whole(1),
    }
)
_MAP = ObjectShape(
    optional={
        "items": Items(Anything()),
        "item_artifact_kind": _KIND,
        "output_kind": _KIND,
        "max_items": Whole(1),
        "max_concurrent": Whole(1),
    }
)
_REDUCE = ObjectShape(
    optional={
        "strategy": Choice(("concat", "function")),
        "separator": FreeText(),
        "output_kind": _KIND,
    }
)
_ESCALATION = ObjectShape(
    optional={
        "level": Text(),
        "queue": Text(),
        "reason": Text(),
        "quorum": Whole(1),
        "of": Items(Text(), least=1, unique=True),
    }
)
_TEXTS = Items(Text(), unique=True)
_CHECK = ObjectShape(
    {"kind": Text(), "value": Anything()},
    {"note": Text()},
)


class CommandShape:
    """A line for the shell, or a list: a program and its arguments."""

    def check(self, value: JsonValue, at: At) -> None:
        """Refuse everything else."""
        if isinstance(value, list):
            Items(Text(), least=1).check(value, at)
        else:
            Text().check(value, at)


class RefusedShape:
    """A key that other runtimes have, and this one refuses with its reason."""

    def __init__(self, message: str, remedy: str) -> None:
        self.message, self.remedy = message, remedy

    def check(self, value: JsonValue, at: At) -> None:
        """Refuse it."""
        del value
        raise at.wrong(self.message, "key", self.remedy)


CONTRACT = ObjectShape(
    optional={
        "summary": Text(),
        "command": CommandShape(),
        "timeout_s": _SECONDS,
        "expect_status": Whole(0),
        "assert_text": Text(),
        "expect_text": Text(),
        "required_identifiers": _TEXTS,
        "required_paths": _TEXTS,
        "required_text": _TEXTS,
        "notes": _TEXTS,
        "checks": Items(_CHECK),
    }
)
"""What a verifier checks, in a node or in a file of its own."""
_VERIFY = ObjectShape(
    optional={
        **CONTRACT.optional,
        "contract_path": Text(),
        "handler": PATH,
        "rubric": Text(),
    }
)
_SEMANTICS = Entries(_LABEL)

LONGEST_PROMPT = 1_000_000
"""The most characters of a prompt."""
NODE = ObjectShape(
    optional={
        "id": NAME,
        "kind": Text(r"[a-z][a-z0-9_.]*", "stage"),
        "mode": Choice(MODES),
        "handler": PATH,
        "prompt": Text(longest=LONGEST_PROMPT),
        "system": Text(longest=LONGEST_PROMPT),
        "task_label": Text(),
        "tools": Anything(),
        "model_policy": _MODEL,
        "auto_compact": AUTO_COMPACT,
        "output_visibility": Choice(VISIBILITIES),
        "transcript_policy": RefusedShape(
            "a node names its session by model_policy.session_id, and nothing is reset, "
            "forked or continued as a side effect of running",
            "call agent_session_reset, _fork, _trim or _compact before the run",
        ),
        "done_sentinel": Text(),
        "tool_servers": Items(PATH, least=1, unique=True),
        "context_policy": Anything(),
        "context_assembler": Anything(),
        "retry_policy": _RETRY,
        "timeout_s": _SECONDS,
        "max_visits": Whole(1),
        "capability_policy": Anything(),
        "approval_policy": Anything(),
        "input_contract": _INPUTS,
        "output_contract": _OUTPUTS,
        "branch_semantics": _SEMANTICS,
        "map_policy": _MAP,
        "join_policy": _JOIN,
        "reduce_policy": _REDUCE,
        "escalation_policy": _ESCALATION,
        "verify": _VERIFY,
        "body": Entries(Anything()),
        "graph": Entries(Anything()),
        "metadata": Entries(Anything()),
    }
)
"""A node; what its kind does not read is an error of validation."""


@dataclass(frozen=True, slots=True)
class _Printable(Text):
    """A text that looks like what it is: without controls, and other unseen characters."""

    def check(self, value: JsonValue, at: At) -> None:
        """Refuse everything else."""
        Text.check(self, value, at)
        if not str(value).isprintable():
            raise at.wrong(
                f"{value!a:.80} cannot be printed",
                "value",
                f"write it like {self.example}",
            )


LETTER = _Printable(r"[^\s/@$*]{1,200}", "go, one word")
"""The name of a signal or an update."""
_MAILBOX = ObjectShape(
    optional={"signals": Items(LETTER, unique=True), "updates": Entries(PATH)}
)
"""The signals that become artifacts, and the functions that answer updates."""
EDGE = ObjectShape({"from": NAME, "to": NAME}, {"branch": _LABEL, "label": Text()})
MOST_MARKS = 64
"""How many digests of what it was made of an edit keeps."""
GRAPH = ObjectShape(
    {"nodes": Entries(NODE)},
    {
        "_type": Choice(("workflow_graph",)),
        "id": Text(),
        "name": Text(),
        "version": Whole(1),
        "entry": NAME,
        "edges": Items(EDGE),
        "capability_policy": Anything(),
        "approval_policy": Anything(),
        "mailbox": _MAILBOX,
        "made_of": Items(Text(r"sha256:[0-9a-f]{64}", "sha256:…, of 64 digits")),
        "metadata": Entries(Anything()),
    },
)
