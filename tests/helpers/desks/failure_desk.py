"""A desk with programs that fail in every way, and what is explained of them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import muniment
from muniment_plugins.governance.failures.codes import CODES

__all__ = ["PROGRAM", "FailureDesk", "flat", "policy"]

PROGRAM = """
import asyncio

import muniment
from muniment import EffectFailed


def answers(request):
    return {"text": "yes", "usage": {"input_tokens": 3, "output_tokens": 2}}


def down(request):
    raise ConnectionError("no route to host")


def slow(request):
    raise TimeoutError("no answer in 30 s")


def fine(run):
    return run.effect("llm", 1, answers)


def unreachable(run):
    return run.effect("llm", 1, down)


def late(run):
    return run.effect("llm", 1, slow)


def broken_tool(run):
    return run.effect("tool", 1, down)


async def impatient(run):
    async def wait(request):
        await asyncio.sleep(60)

    async with asyncio.timeout(0.05):
        await run.aeffect("tool", 1, wait)


def mistaken(run):
    run.effect("tool", 1, answers)
    raise LookupError("no such ticket")


def odd(run):
    return run.effect("tool", 1, lambda request: object())


def unasked(run):
    return run.effect("nothing", 1, answers)


def wordy(run):
    return [run.effect("llm", number, answers) for number in range(5)]


def deaf(run):
    for number in range(5):
        try:
            run.effect("llm", number, answers)
        except EffectFailed:
            pass


def calls(run):
    return run.call(unreachable, name="the child")


def releases(run):
    if run.decide({"release": "1.2"}, "ship it?").outcome == "denied":
        raise PermissionError("not this time")


def waits(run):
    run.pause("for the night")


def stopped(run):
    run.effect("tool", 1, answers)
    raise KeyboardInterrupt


def refused(run):
    run.record("note.added", {"text": "the password is …"})
"""


@dataclass
class FailureDesk:
    """A ledger, the program above, and the command line."""

    shell: Any
    file: Path

    def run(self, name: str, *options: object) -> tuple[str, int]:
        """Run the program *name*; return the run's id and the exit code."""
        done = self.shell("run", f"{self.file.name}:{name}", *options)
        return self.newest(), done.code

    def newest(self) -> str:
        """Return the id of the newest run that no other one called."""
        listed = self.shell("runs", "--json").json
        return str(next(one for one in listed if not one["parent"])["id"])

    def explained(self, run: str) -> Any:
        """Return the explanation of *run*, which says the same to people."""
        told = self.shell("runs", "explain", run, "--json").json
        out = self.shell("runs", "explain", run).out
        code = CODES[told["reason_code"]]
        assert f"{code.code}, of the class {code.failure_class}" in flat(out)
        assert f"event {told['event']}" in flat(out)
        assert code.remedy in flat(out)
        assert (told["class"], told["retry"]) == (code.failure_class, code.retry)
        return told

    def reason(self, run: str) -> tuple[str, str, str]:
        """Return class and code of a failure, and the type of its event."""
        told = self.explained(run)
        with muniment.open(readonly=True) as ledger:
            kind = ledger.event(told["event"]).type
        return told["class"], told["reason_code"], kind


def flat(text: str) -> str:
    """Return *text* with one space between words."""
    return " ".join(text.split())


def policy(work: Path, **members: object) -> Path:
    """Write a policy with these members."""
    file = work / "policy.json"
    file.write_text(
        json.dumps({"spec_version": "v1", "policy_id": "tested", **members})
    )
    return file
