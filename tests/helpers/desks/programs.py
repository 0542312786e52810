"""The program that the tests of the command line run, as a file of its own."""

from __future__ import annotations

import itertools
from pathlib import Path

__all__ = ["TRIAGE", "write_program"]

TRIAGE = """
import muniment

def ask(request):
    usage = {"prompt_tokens": 12, "completion_tokens": 5}
    return {"text": "yes", "model": "m-1", "usage": usage}

def call(request):
    if request["name"] == "bad":
        raise ValueError("no such tool")
    return [1.0, (2, 3)]

def triage(run, ticket, tool="search"):
    print("thinking")
    run.record("claim.stated", {"id": "c1", "text": "t", "acceptance": {}})
    run.effect("llm", {"model": "m", "prompt": "secret prompt"}, ask)
    for number in range(2):
        with run.scope(f"map/{number}") as lane:
            lane.effect("tool", {"name": tool, "query": number}, call)
    return {"ticket": ticket, "share": 1.0}

def judge(run, passed=True):
    run.record("verdict.reached", {"hypothesis": "h", "verifier": "v", "passed": passed})

async def later(run):
    return await run.aeffect("tool", {"name": "search"}, call)

def stop(run):
    raise KeyboardInterrupt

def refuse(run):
    from muniment.errors import RefusedError
    raise RefusedError("too much", rule="budget/calls")

number = 7
"""

_numbers = itertools.count()


def write_program(directory: Path, text: str = TRIAGE) -> Path:
    """Write *text* to a file whose module no other test imported."""
    path = directory / f"program_{next(_numbers)}.py"
    path.write_text(text)
    return path
