"""What other processes call in the tests of executors: functions of a plain module."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from muniment_plugins.harness import Claim, Spec, pipeline_step

__all__ = [
    "CODE",
    "amodel",
    "broken",
    "counted",
    "half",
    "here",
    "model",
    "other_claim",
    "proposed",
    "rows",
    "stepped",
]

CODE = "def fit_and_eval(data): return {'total': sum(data), 'n': len(data)}"

CALLS = "MUNIMENT_TEST_CALLS"
"""Names a file; every call of the model adds a line to it."""


def rows(ctx: Mapping[str, Any]) -> list[int]:
    """Return rows that depend on the replicate."""
    return [1, 2, 3, 4, ctx["replicate"]]


class Counted:
    """Rows up to a number; the first asking may fail."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.fails = False

    def __call__(self, ctx: Mapping[str, Any]) -> list[int]:
        """Return the rows, or fail once."""
        del ctx
        if self.fails:
            self.fails = False
            raise LookupError("not yet")
        return list(range(self.number))


counted = Counted(3)


def model(claim: Claim, spec: Spec, ctx: Mapping[str, Any]) -> object:
    """Write the code, and say for whom."""
    del spec
    place = f"{ctx['condition']} {ctx['replicate']} {ctx['attempt']}"
    if CALLS in os.environ:
        with Path(os.environ[CALLS]).open("a") as file:
            file.write(place + "\n")
    code = f"# {claim.id}: {place}\n{CODE}"
    return code, {"llm_call": {"model": "m", "place": place, "usage": {"tokens": 7}}}


async def amodel(claim: Claim, spec: Spec, ctx: Mapping[str, Any]) -> object:
    """Do as `model` does, to be awaited."""
    return model(claim, spec, ctx)


def proposed(claim: Claim, data: object, ctx: Mapping[str, Any]) -> object:
    """Propose a spec, and say by which model."""
    del claim, data, ctx
    return Spec(allowed_imports=["math"]), {"llm_call": {"model": "m"}}


def other_claim(ctx: Mapping[str, Any]) -> dict[str, object]:
    """Return a treatment that states another claim, under another spec."""
    return {"claim": Claim(f"d{ctx['replicate']}", "Another"), "spec": Spec()}


@pipeline_step
def stepped(data: list[int], ctx: Mapping[str, Any], share: float = 1.0) -> object:
    """Keep a share of the rows."""
    kept = data[: round(len(data) * share)]
    return kept, {"kept": len(kept), "odd": ctx["replicate"] % 2 == 1}


def half(ctx: Mapping[str, Any]) -> dict[str, object]:
    """Return a treatment that depends on the replicate."""
    return {"share": 0.4 if ctx["replicate"] else 0.6}


def broken(ctx: Mapping[str, Any]) -> object:
    """Raise in the second replicate."""
    if ctx["replicate"] == 1:
        raise LookupError("no such rows")
    return rows(ctx)


def here(ctx: Mapping[str, Any]) -> list[int]:
    """Return the process that this runs in."""
    del ctx
    return [os.getpid()]
