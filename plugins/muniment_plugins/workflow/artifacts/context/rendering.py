"""Artifacts as a prompt shows them: XML-like elements, or JSON.

    <artifact>
    <id>artifact_1</id>
    <title>Selected code</title>
    <kind>resource</kind>
    <source>workspace</source>
    <freshness>fresh</freshness>
    <priority>70</priority>
    <body>if a &lt; b &amp;&amp; c { … }</body>
    </artifact>

Rules:

- Everything between the tags is escaped, the body, too: no artifact can end its element,
  or begin another one.
- Each artifact is well-formed XML, whose parsing gives the texts back. A character that
  XML cannot hold stands there by its number, ``<char code="0"/>``; a carriage return is
  ``&#13;``, which parsers keep. So nothing is lost, and no text can look like it.
- Parts that an artifact does not have are left out; an empty line is between elements.
- JSON is one list of objects with the same names, in the order of RFC 8785. ``<``, ``>`` and
  ``&`` in it are escaped (RFC 8259, section 7), so that it ends no element of the prompt.
- The id is there, so that a record of what was shown can be held against the prompt.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from muniment.encoding.canonical import JsonValue
from muniment_plugins.workflow.artifacts.artifact import Artifact
from muniment_plugins.workflow.artifacts.context.chunks import ContextChunk
from muniment_plugins.workflow.artifacts.context.context_policy import RenderForm
from muniment_plugins.workflow.artifacts.context.selection import (
    ContextSelection,
    GivenArtifacts,
    GivenPolicy,
    artifact_select,
)
from muniment_plugins.workflow.artifacts.plain_json import json_text

__all__ = ["ArtifactContext", "artifact_context", "render_artifacts", "render_chunks"]

_MARKED = re.compile(r"[&<>\r]|[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML would read as markup, would change, or cannot hold."""
_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#13;"}
_IN_JSON = str.maketrans({char: f"\\u{ord(char):04x}" for char in "&<>"})
"""They stand in texts only."""


@dataclass(frozen=True, slots=True)
class ArtifactContext:
    """A rendered context, and the selection that it shows."""

    text: str
    selection: ContextSelection

    def __str__(self) -> str:
        return self.text


def artifact_context(
    artifacts: GivenArtifacts, policy: GivenPolicy = None
) -> ArtifactContext:
    """Return the text that shows what *policy* selects of *artifacts*, with the reasons.

    Raises:
        UsageError: one of them is no artifact, or the policy is none.

    """
    chosen = artifact_select(artifacts, policy)
    text = render_artifacts(chosen.selected, chosen.policy.render)
    return ArtifactContext(text, chosen)


def render_artifacts(artifacts: Iterable[Artifact], form: RenderForm = "xml") -> str:
    """Return *artifacts* as text; nothing is left out."""
    parts = [
        {
            "id": one.id,
            "title": one.title,
            "kind": one.kind,
            "source": one.source,
            "freshness": one.freshness,
            "priority": one.priority,
            "body": one.body,
        }
        for one in artifacts
    ]
    return _rendered("artifact", parts, form)


def render_chunks(chunks: Iterable[ContextChunk], form: RenderForm = "xml") -> str:
    """Return *chunks* as text, each with its id and that of its artifact."""
    parts = [
        {
            "id": one.id,
            "artifact": one.artifact_id,
            "title": one.title,
            "body": one.text,
        }
        for one in chunks
    ]
    return _rendered("chunk", parts, form)


def _rendered(
    name: str, all_parts: Iterable[Mapping[str, JsonValue]], form: RenderForm
) -> str:
    said: list[dict[str, JsonValue]] = [
        {key: value for key, value in parts.items() if value is not None}
        for parts in all_parts
    ]
    if form == "json":
        return json_text([*said]).translate(_IN_JSON)
    return "\n\n".join(_element(name, parts) for parts in said)


def _element(name: str, parts: Mapping[str, JsonValue]) -> str:
    lines = [
        f"<{key}>{_MARKED.sub(_escaped, str(value))}</{key}>"
        for key, value in parts.items()
    ]
    return "\n".join([f"<{name}>", *lines, f"</{name}>"])


def _escaped(found: re.Match[str]) -> str:
    char = found[0]
    return _ESCAPES.get(char) or f'<char code="{ord(char)}"/>'
