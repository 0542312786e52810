"""The examples that ship work as their commands are printed, by whoever has only those.

Check 1 of governed execution: from an empty directory, one line after the other.
"""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest

from first_hour import Newcomer, Said
from model_server import ModelServer

CODES = {
    "python stand_in.py muniment run postmortem.json --policy postmortem-policy.json": 5
}
"""What is printed, and ends otherwise than with 0: it waits for a person."""
REPLAY = ("replay", "last", "--trust-program")
POSTMORTEM = ("postmortem.json", "--policy", "postmortem-policy.json")


def typed(newcomer: Newcomer, line: str) -> Said:
    """Type *line* as it is printed; it ends as it should."""
    said = newcomer.start(["/bin/sh", "-c", line])
    assert said.code == CODES.get(line, 0), (line, said)
    assert "Traceback" not in said.out + said.err
    return said


def begun(newcomer: Newcomer, example: str) -> list[str]:
    """Begin with *example*, and return the commands that are printed."""
    said = newcomer.muniment("init", "--example", example)
    assert said.code == 0, said
    return [one.strip() for one in said.out.partition("Type next:")[2].splitlines()[1:]]


def told(newcomer: Newcomer, *words: str) -> Any:
    """Return the document that a command prints."""
    return json.loads(newcomer.muniment(*words, "--json").out)


@pytest.mark.parametrize("example", ["flow", "model"])
def test_check_1_what_is_printed_works(newcomer: Newcomer, example: str) -> None:
    """Three commands are printed, and each of them works as it is printed, in order."""
    lines = begun(newcomer, example)
    assert len(lines) == 3
    for line in lines:
        typed(newcomer, line)
    verified = told(newcomer, "verify", "--require", "complete")
    assert verified["ok"]


def test_check_1_run_replay_inspect_diff_explain(newcomer: Newcomer) -> None:
    """The flow passes its verification honestly, and every command has words for it."""
    begun(newcomer, "flow")
    flow = ("run", "flow.json", "--policy", "policy.json")
    assert told(newcomer, *flow)["result"]["verdicts"] == {
        "step/0-measure": "abstain",  # it claims nothing
        "step/1-report": "pass",
        "flow": "pass",
    }
    record = told(newcomer, "inspect", "run", "last")
    asked = {one["engine_id"] for one in record["verification_results"]}
    assert asked == {"content", "contradiction"}
    assert len(record["evidence"]) == 3
    assert not any(one["violations"] for one in record["verification_results"])
    assert told(newcomer, *REPLAY)["verdict"] == ("acceptable")
    assert told(newcomer, *flow)["ok"]
    said = newcomer.muniment(
        "runs", "diff", "last~1", "last", "--accept", "exact_match"
    )
    assert said.code == 0, said
    assert told(newcomer, "runs", "explain", "last")["status"] == "completed"


def enrolled(newcomer: Newcomer) -> None:
    """Make an approver's key, and have the root enrol it."""
    (root,) = newcomer.home.rglob("recovery/root.pem")
    request = ("keys", "request", "--role", "approver", "--name", "ann", "-o", "a.json")
    assert newcomer.muniment(*request).code == 0
    assert newcomer.muniment("keys", "enrol", "a.json", "--root", root).code == 0


def waiting(newcomer: Newcomer, server: ModelServer) -> Newcomer:
    """Run the postmortem until it waits; return who may ask the *server*."""
    begun(newcomer, "model")
    also = {"OPENAI_BASE_URL": f"{server.url}/v1"}
    asking = Newcomer(newcomer.folder, newcomer.home, also)
    said = asking.muniment("run", *POSTMORTEM)
    assert said.code == 5, said
    return asking


@pytest.mark.slow
def test_the_model_is_asked_twice(newcomer: Newcomer) -> None:
    """Budget, fallback, escalation, approval, the rest, a verification, a replay.

    The server counts two questions from the beginning to the end.
    """
    with ModelServer() as server:
        asking = waiting(newcomer, server)
        assert len(server.calls) == 2
        record = told(newcomer, "inspect", "run", "last")
        assert record["status"] == "paused"
        assert [one["action"] for one in record["exhausted_budgets"]] == ["degrade"]
        assert [one["scope"] for one in record["degradations"]] == ["step/2-actions"]
        assert record["arbitration_decisions"][-1]["decision"] == "escalate"
        enrolled(newcomer)
        said = asking.muniment("approve", "last", "--reason", "mine", "--resume")
        assert said.code == 0, said
        assert len(server.calls) == 2
    record = told(newcomer, "inspect", "run", "last")
    assert (record["status"], record["non_certifiable"]) == ("completed", False)
    people = [
        one
        for one in record["arbitration_decisions"]
        if one["target"] == "step/2-actions"
    ]
    assert [(one["decision"], one["decided_by"]) for one in people] == [
        ("escalate", "engines"),
        ("pass", "people"),
    ]
    assert told(newcomer, "verify", "--require", "complete")["ok"]
    assert told(newcomer, *REPLAY)["verdict"] == ("acceptable")


@pytest.mark.slow
def test_the_person_may_deny(newcomer: Newcomer) -> None:
    """A denial fails the run, exit code 1, and it replays to the same failure."""
    with ModelServer() as server:
        waiting(newcomer, server)
    enrolled(newcomer)
    said = newcomer.muniment("deny", "last", "--reason", "write it first", "--resume")
    assert said.code == 1, said
    explained = told(newcomer, "runs", "explain", "last")
    assert (explained["status"], explained["class"]) == ("failed", "authority")
    assert told(newcomer, *REPLAY)["verdict"] == ("acceptable")


def test_the_stand_in_keeps_keys_to_itself(newcomer: Newcomer) -> None:
    """The command beside it gets its address and no key, and its exit code is kept."""
    begun(newcomer, "model")
    keyed = Newcomer(newcomer.folder, newcomer.home, {"OPENAI_API_KEY": "sk-of-ann"})
    told_by = "import os, sys; print(*sorted(os.environ)); sys.exit(7)"
    said = keyed.start(
        ["python", "stand_in.py", *shlex.split(f"python -c {shlex.quote(told_by)}")]
    )
    assert said.code == 7
    assert "OPENAI_BASE_URL" in said.out.split()
    assert "OPENAI_API_KEY" not in said.out
