"""Lint, fix, test, approve, commit: a repair loop over a small repository.

python lint_fix_test.py                       writes a repository somewhere and mends it
MODEL=openai:gpt-4o python lint_fix_test.py   asks a real model instead, or `anthropic:…`

A linter and a type checker run at once. A model, which answers from a script without MODEL,
mends what they found, and breaks a test; it is told, and mends that. Two people approve what
is committed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import muniment
from muniment import Ledger, current_run, key_management
from muniment.keys.ed25519 import PrivateKey, load_private
from muniment_plugins.workflow import (
    Artifact,
    StageInput,
    artifact,
    workflow_execute,
)

SOURCE = """\
def total(prices, discount = None):
    if discount == None:
        discount = 0
    return sum(prices) - discount
"""
FIRST_ANSWER = """\
def total(prices: list[int], discount: int = 0) -> int:
    return sum(prices)
"""
SECOND_ANSWER = """\
def total(prices: list[int], discount: int = 0) -> int:
    return sum(prices) - discount
"""
# They stand for a linter, a type checker and a test suite.
LINT = """\
import ast, sys
tree = ast.parse(open("prices.py").read())
bad = [n for n in ast.walk(tree) if isinstance(n, ast.Compare)
       and isinstance(n.ops[0], ast.Eq) and ast.unparse(n.comparators[0]) == "None"]
for node in bad:
    print(f"prices.py:{node.lineno}: comparison to None")
sys.exit(bool(bad))
"""
TYPES = """\
import ast, sys
tree = ast.parse(open("prices.py").read())
bad = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)
       and any(a.annotation is None for a in n.args.args)]
for node in bad:
    print(f"prices.py:{node.lineno}: {node.name} has arguments without types")
sys.exit(bool(bad))
"""
TESTS = """\
from prices import total
assert total([3, 4], 2) == 5, f"total([3, 4], 2) is {total([3, 4], 2)}"
print("1 passed")
"""


def apply(stage: StageInput) -> Artifact:
    """Write what the model answered into the repository."""
    answer = [one for one in stage.artifacts if one.stage == "fix"][-1]
    Path(str(stage.metadata["folder"]), "prices.py").write_text(answer.body)
    return artifact({"kind": "resource", "title": "prices.py", "text": answer.body})


def commit(stage: StageInput) -> str:
    """Commit, once: a crash may call this again, with the same key."""
    folder, key = str(stage.metadata["folder"]), current_run().idempotency_key
    if key not in git(folder, "log", "--format=%B"):
        git(folder, "commit", "-qam", f"{stage.task}\n\nKey: {key}")
    return git(folder, "log", "-1", "--format=%s").strip()


def git(folder: str, *words: str) -> str:
    """Run git in *folder*, and return what it prints."""
    who = ["-c", "user.name=workflow", "-c", "user.email=workflow@example.org"]
    done = subprocess.run(  # noqa: S603 - words of this file
        ["git", *who, *words],  # noqa: S607 - found by PATH
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def verifier(script: str, **more: object) -> dict[str, Any]:
    """Return a node that runs a *script* of the repository."""
    command = [sys.executable, "-B", script]
    return {"kind": "verify", "verify": {"command": command, "timeout_s": 60}, **more}


def graph(folder: Path) -> dict[str, Any]:
    """Return the graph, whose stages work in *folder*."""
    where = {"folder": str(folder)}
    return {
        "name": "lint_fix_test",
        "entry": "check",
        "nodes": {
            "check": {"kind": "fork"},
            "lint": verifier("lint.py"),
            "types": verifier("types_there.py"),
            "checked": {"kind": "join", "join_policy": {"strategy": "all"}},
            "fix": {
                "mode": "llm",
                "model_policy": {
                    "model": os.environ.get("MODEL", "scripted:answers.json"),
                    "stream": "STREAM" in os.environ,
                },
                "prompt": "Answer with the whole of prices.py, and nothing else.",
                "context_policy": {
                    "include_kinds": ["resource", "verification_result"],
                    "prefer_recent": True,
                    "max_tokens": 2000,
                },
                "max_visits": 4,
            },
            "apply": {"handler": apply, "metadata": where},
            "test": verifier("tests.py"),
            "approve": {
                "kind": "escalation",
                "escalation_policy": {
                    "queue": "release",
                    "reason": "it changes what customers pay",
                    "quorum": 2,
                },
            },
            "commit": {"handler": commit, "metadata": where},
        },
        "edges": [
            {"from": "check", "to": "lint"},
            {"from": "check", "to": "types"},
            {"from": "lint", "to": "checked"},
            {"from": "types", "to": "checked"},
            {"from": "checked", "to": "test"},
            {"from": "checked", "to": "fix", "branch": "failed"},
            {"from": "fix", "to": "apply"},
            {"from": "apply", "to": "check"},
            {"from": "test", "to": "approve"},
            {"from": "test", "to": "fix", "branch": "failed"},
            {"from": "approve", "to": "commit"},
        ],
    }


def repository(folder: Path) -> None:
    """Write a repository with something to mend."""
    files = {
        "prices.py": SOURCE,
        "lint.py": LINT,
        "types_there.py": TYPES,
        "tests.py": TESTS,
    }
    for name, text in files.items():
        (folder / name).write_text(text)
    git(str(folder), "init", "-q")
    git(str(folder), "add", ".")
    git(str(folder), "commit", "-qm", "begin")


def approver(ledger: Ledger, name: str) -> PrivateKey:
    """Enrol somebody who may approve; people do that with `muniment keys`."""
    key = PrivateKey.generate()
    root = load_private(ledger.home.recovery_directory(ledger.id) / "root.pem")
    asked = key_management.request(key, ledger.id, ["approver"], name)
    key_management.enrol(ledger, asked, root)
    return key


def said(ledger: Ledger, run_id: str) -> None:
    """Print what the record says of a run, and that it replays."""
    for event in ledger.events(run=run_id, type="node.completed"):
        print(f"  {event.data['node']} {event.data['visit']}: {event.data['branch']}")
    for event in ledger.events(run=run_id, type="verification.concluded"):
        if event.data["verdict"] != "verified":
            print(
                f"  {event.data['node']} refused what there was, by event {event.seq}"
            )
    (reached,) = ledger.events(run=run_id, type="decision.reached")
    print(f"  two people: {reached.data['outcome']}")
    print(f"  replayed, with nobody and nothing asked: {replayed(ledger, run_id)}")


def replayed(ledger: Ledger, run_id: str) -> str:
    """Return the verdict of a replay."""
    return str(muniment.replay(ledger, run_id).verdict)


if __name__ == "__main__":
    Path("answers.json").write_text(json.dumps([FIRST_ANSWER, SECOND_ANSWER]))
    with (
        tempfile.TemporaryDirectory() as name,
        muniment.open(create=True) as ledger,
    ):
        folder = Path(name)
        repository(folder)
        ann, bob = approver(ledger, "ann"), approver(ledger, "bob")
        source = artifact({"kind": "resource", "title": "prices.py", "text": SOURCE})
        done = workflow_execute(
            ledger, "Mend prices.py", graph(folder), [source], {"cwd": name}
        )
        print(f"{done.status}: {ledger.pending()[0].prompt}")
        for person in (ann, bob):
            (asked,) = ledger.pending()
            ledger.answer(asked.sign(person, "approved", reason="the tests say so"))
        print(ledger.resume(done.run_id).status)
        said(ledger, done.run_id)
        print(git(name, "log", "--format=%s").split("\n")[0])
