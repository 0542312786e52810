"""What of a message is private: told by what is known to be visible, never by a list of thoughts.

    split_parts([{"type": "Thinking", "thinking": "hm"}, {"type": "text", "text": "Yes."}])
        →  [{"type": "text", "text": "Yes."}],  [{"type": "Thinking", "thinking": "hm"}]

Rules:

- A part of a content is visible if it is a text or an object, its ``type`` is one of
  `VISIBLE_TYPES` (an object without a type has a text), and no member of it says that it
  is a thought, or has a ``visibility`` but *public*. Every other part is private, whatever
  providers call it.
- A member says so by its name: ``thought``, ``thinking``, ``reasoning_summary`` and the
  like, if there is something in it. A signature of a thought is taken off, and the part stays.
- How a name is spelled does not matter: large or small, with ``-`` or ``_`` or neither.
- Parts within visible parts are told apart in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import cast

__all__ = ["VISIBLE_TYPES", "says_thought", "split_parts"]

Members = Mapping[str, object]

VISIBLE_TYPES = frozenset(
    {"text", "inputtext", "outputtext", "refusal", "json"}
    | {"image", "imageurl", "inputimage", "outputimage"}
    | {"audio", "inputaudio", "outputaudio", "audiourl"}
    | {"video", "videourl", "inputvideo"}
    | {"file", "inputfile", "document", "resource", "resourcelink", "citation"}
    | {"tooluse", "toolcall", "toolresult", "functioncall", "functioncalloutput"}
    | {"servertooluse", "websearchtoolresult", "searchresult"}
)
"""The types of parts that are visible, without case and marks."""
_THOUGHT = re.compile("thought|think|reason|analysis|scratch|chainof|monolog|redacted")
_NO_THOUGHT = re.compile("finishreason|stopreason|incompletereason")
_DEEPEST = 8
"""How deep parts are looked for within parts; what is deeper is private."""


def split_parts(
    parts: Sequence[object], depth: int = 0
) -> tuple[list[object], list[object]]:
    """Return the visible *parts*, and what is private of all of them."""
    shown: list[object] = []
    private: list[object] = []
    for one in parts:
        seen, hidden = _split(one, depth)
        shown += seen
        private += hidden
    return shown, private


def says_thought(name: str) -> bool:
    """Tell whether a member of that *name* holds what a model thinks, and does not say."""
    plain = _plain(name)
    return bool(_THOUGHT.search(plain)) and not _NO_THOUGHT.fullmatch(plain)


def _split(part: object, depth: int) -> tuple[list[object], list[object]]:
    """Return the visible part of *part*, and what is private of it, as lists."""
    if isinstance(part, str):
        return [part], []
    if not isinstance(part, Mapping) or depth > _DEEPEST:
        return [], [part]
    members = dict(cast("Members", part))
    signatures = {
        name: members.pop(name)
        for name in list(members)
        if _plain(name).endswith("signature")
    }
    said = {name for name, value in members.items() if value and says_thought(name)}
    if said or members.get("visibility", "public") != "public":
        return [], [part]
    if not _is_visible(members):
        return [], [part]
    private: list[object] = [signatures] if signatures else []
    inner = members.get("content")
    if isinstance(inner, list | tuple):
        members["content"], hidden = split_parts(
            cast("Sequence[object]", inner), depth + 1
        )
        private += hidden
    return [members], private


def _is_visible(members: Members) -> bool:
    kind = members.get("type")
    if kind is None:
        return isinstance(members.get("text"), str)
    return isinstance(kind, str) and _plain(kind) in VISIBLE_TYPES


def _plain(name: str) -> str:
    """Return *name* without case and marks."""
    return "".join(one for one in name.casefold() if one.isalnum())
