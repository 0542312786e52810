"""A desk with something private on it, a model that may say it, and where it comes out.

leaks(shell, ledger, run)      the ways out at which `WORD` came out: []
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from muniment import hookimpl
from muniment.ledger import Ledger
from muniment.plugins import Plugins
from muniment.runs.run import Run
from muniment_plugins.workflow import tool_define, tool_registry
from muniment_plugins.workflow.sessions import (
    agent_session_inject,
    agent_session_open,
)
from muniment_plugins.workflow.tools.registry import ToolRegistry
from ways_out import ways_out

__all__ = ["TOLD", "WORD", "Discreet", "leaks", "look", "opened_desk", "tools"]

Shell = Any
WORD = "zweiundvierzig"
"""A word that is in no file of ours."""
TOLD = {"role": "user", "content": f"It is {WORD}.", "visibility": "private"}


class Discreet:
    """A model that thinks of what it was told; ``test:secret`` says it, too.

    What a node makes is an artifact, which is public: only nodes whose output is private
    are asked by ``test:secret``.
    """

    @hookimpl
    def complete_prompt(self, run: Run, request: Mapping[str, Any]) -> object:
        """Answer."""
        model = str(request["model"])
        if not model.startswith("test:"):
            return None
        run.record("note.added", {"text": "asked"})
        thought = WORD if WORD in str(request) else "nothing"
        secret = WORD if model == "test:secret" else "nothing"
        beside = {"reasoning": f"I think of {thought}", "model": model}
        messages = request.get("messages", [])
        if model == "test:burst":
            raise ValueError(thought)
        if model == "test:odd":
            first = "is no" not in str(messages) and len(messages) < 3
            return {"text": f'{{"{WORD}": "x"}}' if first else '{"a": 1}'}
        if model == "test:mistaken" and not any(
            one["role"] == "tool" for one in messages
        ):
            call = {"id": "c1", "name": "look", "arguments": {WORD: 1}}
            return {"text": "", "tool_calls": [call]}
        if request.get("tools") and not any(one["role"] == "tool" for one in messages):
            call = {"id": "c1", "name": "look", "arguments": {"what": secret}}
            return {"text": f"I look for {secret}", "tool_calls": [call], **beside}
        return {"text": f"It is {secret}", **beside}


def look(what: str) -> str:
    """Look for it."""
    if what == "fail":
        raise ValueError(WORD)
    return f"found {what}"


def tools() -> ToolRegistry:
    """Return a tool that looks."""
    said = {
        "parameters": {"what": {"type": "string"}},
        "handler": look,
        "policy": {"side_effect_level": "read_only"},
    }
    return tool_define(tool_registry(), "look", "looks", said)


def opened_desk(
    work: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Ledger]:
    """Give a ledger beside which one stands, with a session that has a private message."""
    monkeypatch.setenv("MUNIMENT_HOME", str(work / "home"))
    monkeypatch.setenv("MUNIMENT_LEDGER", str(work / "ledger.db"))
    assert shell("init", work / "ledger.db").code == 0
    plugins = Plugins(None, extra={"model": Discreet()})
    with Ledger.open(work / "ledger.db", home=work / "home", plugins=plugins) as made:
        agent_session_open(made, "desk")
        agent_session_inject(made, "desk", TOLD)
        yield made


def leaks(
    shell: Shell, ledger: Ledger, run: str, sessions: tuple[str, ...] = ("desk",)
) -> list[str]:
    """Return the ways out at which the secret came out."""
    every = list(ways_out(shell, ledger, run, sessions))
    assert len(every) > 40
    assert sum(len(text) for _, text in every) > 10_000
    return [name for name, text in every if WORD in text]
