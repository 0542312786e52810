"""Tools of agents in tests, which count their calls, and a model that follows a script.

    calls("read", path="a.txt")                 an answer that calls a tool
    Model({1: calls(…), 2: "Done."})            answers turn by turn, whoever resumes

Rule: what a model answers depends on the conversation alone, and so on nothing that a
killed process had.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from muniment import hookimpl
from muniment.ledger import Ledger
from muniment_plugins.workflow import agent_records, tool_define, tool_registry
from muniment_plugins.workflow.tools.registry import ToolRegistry

__all__ = [
    "ALLOWED",
    "Model",
    "calls",
    "check_numbers",
    "count",
    "performed",
    "tools",
]

ALLOWED = {"auto_approve": ["edit", "burst"]}
_LOG = "performed.txt"
_SUMS = ("calls", "denied", "failed", "corrected")


def count(what: str) -> None:
    """Note that something was performed, also for whoever lives longer."""
    with Path(_LOG).open("a") as log:
        log.write(f"{what}\n")


def performed() -> list[str]:
    """Return what was performed, in any process."""
    log = Path(_LOG)
    return log.read_text().splitlines() if log.exists() else []


def read(path: str) -> str:
    """Read a file."""
    count(f"read {path}")
    return Path(path).read_text() if Path(path).exists() else f"text of {path}"


def edit(path: str, text: str) -> dict[str, object]:
    """Write a file."""
    count(f"edit {path}")
    Path(path).write_text(text)
    return {"path": path, "size": len(text)}


def burst(why: str) -> None:
    """Raise."""
    count(f"burst {why}")
    raise ValueError(why)


async def read_later(path: str) -> str:
    """Read a file after others had a turn."""
    await asyncio.sleep(0)
    return read(path)


def tools(*, later: bool = False) -> ToolRegistry:
    """Return a tool that reads, one that writes, and one that raises."""
    path: dict[str, object] = {"path": {"type": "string"}}
    made = tool_registry()
    for name, handler, parameters, level in (
        ("read", read_later if later else read, path, "read_only"),
        ("edit", edit, {**path, "text": {"type": "string"}}, "workspace_write"),
        ("burst", burst, {"why": {"type": "string"}}, "workspace_write"),
    ):
        said = {
            "parameters": parameters,
            "handler": handler,
            "policy": {
                "side_effect_level": level,
                **({"path_params": ["path"]} if "path" in parameters else {}),
            },
        }
        made = tool_define(made, name, f"{name} something", said)
    return made


def calls(*named: tuple[str, Mapping[str, Any]], text: str = "") -> dict[str, Any]:
    """Return an answer that calls tools."""
    rows = [
        {"id": f"c{number}", "name": name, "arguments": dict(arguments)}
        for number, (name, arguments) in enumerate(named)
    ]
    return {"text": text, "tool_calls": rows, "finish_reason": "tool_calls"}


def check_numbers(ledger: Ledger) -> None:
    """Check that what ends of loops count is what the record shows of each of them."""
    for run in ledger.runs():
        facts = {
            one.scope: one.data for one in ledger.events(run=run.id, type="agent.ended")
        }
        for loop in agent_records(ledger, run.id):
            said = facts.get(loop["scope"])
            if said is None:
                going_on = run.status in ("open", "paused", "interrupted")
                assert loop["reason"] == ("open" if going_on else "cancelled"), loop
                continue
            calls = [one for turn in loop["turns"] for one in turn["calls"]]
            shown = {
                "reason": loop["reason"],
                "turns": len(loop["turns"]),
                "calls": len(calls),
                "denied": sum(one["status"] == "denied" for one in calls),
                "failed": sum(one["status"] == "failed" for one in calls),
                "corrected": sum("corrected" in one for one in loop["turns"]),
                "tokens": loop.get("tokens"),
                "cost_usd": loop.get("cost_usd"),
            }
            assert {name: said.get(name) for name in shown} == shown, loop
            assert all(loop[name] == shown[name] for name in _SUMS), loop
            assert "open" not in [one["status"] for one in calls], loop


class Model:
    """A provider that answers by the turn; after the last one as after it."""

    def __init__(self, script: Mapping[int, Any], usage: Any = None) -> None:
        self._script, self._usage = script, usage
        self.asked: list[Any] = []

    @hookimpl
    def complete_prompt(self, request: Any) -> object:
        """Answer."""
        self.asked.append(request)
        messages = request.get("messages", [])
        turn = 1 + sum(one["role"] == "assistant" for one in messages)
        count(f"asked {request['model']} {turn}")
        told = self._script.get(turn, self._script[max(self._script)])
        if isinstance(told, list):  # it fails so often, before it answers
            told = told.pop(0) if len(told) > 1 else told[0]
        if isinstance(told, Exception):
            raise told
        answer = {"text": told} if isinstance(told, str) else dict(told)
        return {"model": request["model"], **(self._usage or {}), **answer}
