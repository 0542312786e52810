"""The short form of a graph with one stage, its check, and its repair.

    {"act": {"mode": "llm"}, "verify": {"command": "make test"}, "repair": {…}}

Rules:

- Without ``nodes``, the members ``act``, ``verify`` and ``repair`` are nodes: act, then
  verify; if that fails, repair, then verify again.
- ``provider``, ``model``, ``temperature``, ``max_tokens`` and ``mode`` at the top are
  those of ``act`` and ``repair`` where they say nothing else.
- The check may stand in ``verify`` itself: ``{"command": "make test"}``.
"""

from __future__ import annotations

from typing import cast

from muniment.encoding.canonical import JsonValue

__all__ = ["written_out"]

Object = dict[str, JsonValue]
_NODES = ("act", "verify", "repair")
_OF_MODELS = ("provider", "model", "temperature", "max_tokens")
_OF_NODES = ("mode", "done_sentinel")
_OF_CHECKS = ("command", "expect_status", "assert_text", "expect_text", "timeout_s")


def written_out(value: Object) -> Object:
    """Return the document that *value* is short for, or *value*."""
    if "nodes" in value or not isinstance(value.get("act"), dict):
        return value
    said = dict(value)
    nodes = {
        name: dict(cast("Object", said.pop(name)))
        for name in _NODES
        if isinstance(said.get(name), dict)
    }
    model = {name: said.pop(name) for name in _OF_MODELS if name in said}
    more = {name: said.pop(name) for name in _OF_NODES if name in said}
    for name in ("act", "repair"):
        if name in nodes:
            nodes[name] = _with_defaults(nodes[name], model, more)
    if "verify" in nodes:
        nodes["verify"] = _as_verify(nodes["verify"])
    said["nodes"] = cast("Object", nodes)
    said.setdefault("entry", "act")
    said.setdefault("edges", cast("list[JsonValue]", _edges(nodes)))
    return said


def _with_defaults(node: Object, model: Object, more: Object) -> Object:
    own = node.get("model_policy")
    policy = {**model, **own} if isinstance(own, dict) else dict(model)
    if policy:
        node["model_policy"] = policy
    return {**{name: one for name, one in more.items() if one is not None}, **node}


def _as_verify(node: Object) -> Object:
    own = node.get("verify")
    check = dict(own) if isinstance(own, dict) else Object()
    check.update({name: node.pop(name) for name in _OF_CHECKS if name in node})
    if check:
        node["verify"] = check
    return {"kind": "verify", **node}


def _edges(nodes: dict[str, Object]) -> list[Object]:
    found: list[Object] = []
    if "verify" in nodes:
        found.append({"from": "act", "to": "verify"})
    if "verify" in nodes and "repair" in nodes:
        found.append({"from": "verify", "to": "repair", "branch": "failed"})
        found.append({"from": "repair", "to": "verify", "branch": "retry"})
    return found
