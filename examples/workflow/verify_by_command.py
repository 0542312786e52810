"""Verification without a model: a command, its status, and what it has to print.

python verify_by_command.py        a verifier fails, a stage repairs, the verifier passes
"""

from __future__ import annotations

import sys
from pathlib import Path

import muniment
from muniment_plugins.workflow import StageInput, workflow_execute

TESTS = """\
import unittest
from addition import add

class Sums(unittest.TestCase):
    def test_add(self):
        self.assertEqual(add(2, 2), 4)
"""


def write(stage: StageInput) -> str:
    """Write the module: wrongly at first, rightly once a verifier said why it is wrong."""
    told = [one for one in stage.artifacts if one.kind == "verification_result"]
    sign = "+" if told else "-"
    Path("addition.py").write_text(f"def add(a, b):\n    return a {sign} b\n")
    return f"a {sign} b"


GRAPH = {
    "name": "addition",
    "entry": "act",
    "nodes": {
        "act": {"handler": write},
        "verify": {
            "kind": "verify",
            "verify": {
                "command": [sys.executable, "-B", "-m", "unittest", "test_addition"],
                "expect_status": 0,
                "expect_text": "OK",  # in what it prints, standard error included
            },
        },
        "repair": {"handler": write, "max_visits": 3},
    },
    "edges": [
        {"from": "act", "to": "verify"},
        {"from": "verify", "to": "repair", "branch": "failed"},
        {"from": "repair", "to": "verify", "branch": "retry"},
    ],
}

if __name__ == "__main__":
    Path("test_addition.py").write_text(TESTS)
    with muniment.open(create=True) as ledger:
        run = workflow_execute(ledger, "Add numbers.", GRAPH)
        print(run.status)
        for event in ledger.events(run=run.run_id, type="verification.concluded"):
            print(event.data["verdict"])
            for check in ledger.resolve(event)["checks"]:  # type: ignore[attr-defined]
                actual = f", was {check['actual']}" if "actual" in check else ""
                print(f"  {check['kind']} {check['expected']}: {check['ok']}{actual}")
        checked = next(ledger.events(run=run.run_id, type="check.completed"))
        outcome = ledger.value(checked.data["value"])
        print(sorted(outcome))  # type: ignore[call-overload]
