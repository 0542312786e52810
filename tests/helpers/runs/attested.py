"""Runs that state verdicts, and what was signed about them."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Callable, Sequence
from typing import Any

from muniment import Run
from muniment.ledger import Ledger

__all__ = ["CODE", "lines", "predicates", "verdicts"]

CODE = "def f(x):\n    return 'é' * x\n"


def verdicts(
    *said: bool | None,
    ends: bool = True,
    codes: Sequence[str] = (CODE,),
    origin: str = "llm",
    integrity: str | None = None,
) -> Callable[[Run], str]:
    """Return a program that accepts *codes* and reaches a verdict for each of *said*."""

    def program(run: Run) -> str:
        asked = {"model": "tiny", "messages": []}
        run.effect("llm", asked, lambda _: {"content": "…"})
        for code in codes:
            run.record(
                "synthesis.attempted",
                {"code": code, "accepted": True, "origin": origin},
            )
        run.record("synthesis.attempted", {"code": "import os", "accepted": False})
        for number, one in enumerate(said):
            told: dict[str, object] = {"hypothesis": f"h{number}", "verifier": "v"}
            source = "sha256:" + "7" * 64
            told |= {"passed": one, "source": source, "integrity": integrity}
            run.record("verdict.reached", told)
        if not ends:
            raise ValueError("the end of it")
        return "done"

    return program


def lines(ledger: Ledger, run: str) -> list[dict[str, Any]]:
    """Return the envelopes that are exported of a run."""
    told = ledger.export(run, "in-toto").decode().splitlines()
    return [json.loads(one) for one in told]


def predicates(ledger: Ledger, run: str) -> dict[str, dict[str, Any]]:
    """Return the statements that are exported of a run, by the end of their type."""
    found = [json.loads(b64decode(one["payload"])) for one in lines(ledger, run)]
    return {one["predicateType"].split("/")[-2]: one for one in found}
