"""A capsule that is none: tests of experiments run code that they wrote themselves."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from muniment.hookspecs import hookimpl
from muniment.ledger import Ledger
from muniment.plugins import Plugins

__all__ = ["InProcess", "harness_ledger"]


class InProcess:
    """Answers *check this code* and *execute this code* in the test's own process."""

    def __init__(self) -> None:
        self.executed = 0
        self.remedy = ""
        self.fails: set[int] = set()
        """The numbers of the executions that are stopped, counted from 1."""

    @hookimpl
    def check_code(self, request: Mapping[str, Any]) -> dict[str, object]:
        """Refuse what imports os, and what has no entrypoint."""
        code, entrypoint = request["code"], request["entrypoint"]
        if "import os" in code:
            return {"error": self._error("capsule/import", "Import not allowed: os")}
        if f"def {entrypoint}(" not in code:
            return {"error": self._error("capsule/entrypoint", "Entrypoint missing")}
        return {"accepted": True}

    @hookimpl
    def execute_code(self, request: Mapping[str, Any]) -> dict[str, object]:
        """Run it, and say what a capsule would say."""
        self.executed += 1
        told: dict[str, object] = {
            "status": "ok",
            "error": None,
            "metrics": None,
            "environment": {},
            "layers": {},
            "level": "none",
            "stdout": "",
            "stdout_truncated": False,
            "usage": {},
        }
        if self.executed in self.fails:
            error = self._error("capsule/cpu", "CPU time is over")
            return {**told, "status": "timeout", "error": error}
        names: dict[str, Any] = {"seed": request["seed"]}
        try:
            exec(request["code"], names)  # noqa: S102 - the test wrote it
            told["metrics"] = names[request["entrypoint"]](request["data"])
        except Exception as failure:  # noqa: BLE001 - as in a capsule
            error = self._error("capsule/exception", str(failure))
            error["type"] = type(failure).__name__
            return {**told, "status": "error", "error": error}
        return told

    def _error(self, rule: str, message: str) -> dict[str, object]:
        told = {"rule": rule, "message": message, "remedy": self.remedy}
        return {**told, "line": 1, "column": 1}


def harness_ledger(place: Path, capsule: InProcess | None = None) -> Ledger:
    """Open the ledger at *place*, made if it is not there, with the harness alone."""
    extra = {"in-process": capsule or InProcess()}
    plugins = Plugins(["executors", "harness"], extra)
    if place.exists():
        return Ledger.open(place, plugins=plugins)
    return Ledger.create(place, plugins=plugins)
