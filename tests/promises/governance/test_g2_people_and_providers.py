"""What a flow's verdict escalates is decided by people; what a replay touches is told."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from approvers import enrolled
from first_hour import Newcomer
from flow_files import AGENTS, sum_document

CALLING = """

def call_home(run, task):
    import socket
    with socket.create_connection(("127.0.0.1", PORT), timeout=5) as line:
        line.sendall(b"hello")
    return {"said": "hello"}
"""


def said(newcomer: Newcomer, *words: object, code: int = 0) -> Any:
    """Return the document that a command prints."""
    done = newcomer.muniment(*words, "--json")
    assert done.code == code, done
    return json.loads(done.out)


def waiting(newcomer: Newcomer, **policy: object) -> str:
    """Run a flow whose reasoning fails and is escalated; return the run that waits."""
    (newcomer.folder / "agents.py").write_text(AGENTS)
    parts = {
        "reader": "agents:read",
        "writer": {"agent": "agents:write", "reasoner": "agents:guess"},
    }
    flow = sum_document(tenant_id="default", parts=parts)
    (newcomer.folder / "flow.json").write_text(json.dumps(flow))
    document = {
        "spec_version": "v1",
        "policy_id": "asking",
        "verification_level": "baseline",
        "failure_mode": "escalate",
        **policy,
    }
    (newcomer.folder / "policy.json").write_text(json.dumps(document))
    told = ("run", "flow.json", "--policy", "policy.json")
    return str(said(newcomer, *told, code=5)["run"])


@pytest.mark.slow
def test_two_reviewers_let_a_flow_go_on(newcomer: Newcomer, tmp_path: Path) -> None:
    """Each signs from a home of their own; once is not twice, and both are needed.

    What they signed has the digests of what is approved; the flow completes by their
    verdict, beside that of the engines, and replays.
    """
    ann, bob = enrolled(newcomer, tmp_path, "ann", "bob")
    run = waiting(newcomer, approvers={"quorum": 2})
    (pending,) = said(newcomer, "inbox")
    produced = said(newcomer, "events", "--run", run, "--type", "artifact.produced")
    digests = {one["data"]["digest"] for one in produced}
    assert set(pending["subject"]["artifacts"]) <= digests
    for person, name in ((ann, "one.json"), (ann, "again.json"), (bob, "two.json")):
        answer = ("approve", run, "--reason", "read", "--meaning", "I have read it")
        assert person.muniment(*answer, "-o", name).code == 0
    add = ("inbox", "add")
    assert newcomer.muniment(*add, ann.folder / "one.json").code == 0
    twice = newcomer.muniment(*add, ann.folder / "again.json")
    assert (twice.code, "decision/repeated" in twice.err) == (4, True)
    assert newcomer.muniment("resume", run).code == 5
    assert newcomer.muniment(*add, bob.folder / "two.json").code == 0
    # the step is decided; the verdict on the flow asks in its turn
    while newcomer.muniment("resume", run).code == 5:
        for person, name in ((ann, "a.json"), (bob, "b.json")):
            (person.folder / name).unlink(missing_ok=True)
            assert person.muniment("approve", run, "-o", name).code == 0
            assert newcomer.muniment(*add, person.folder / name).code == 0
    verdicts = [
        (one["data"]["target"], one["data"]["decided_by"], one["data"]["status"])
        for one in said(
            newcomer,
            *("events", "--run", run, "--type", "verification.arbitrated"),
            *("--order", "asc"),
        )
    ]
    assert ("step/1-writer", "engines", "fail") in verdicts
    assert ("step/1-writer", "people", "pass") in verdicts
    assert newcomer.muniment("replay", run).code == 0
    assert newcomer.muniment("verify").code == 0


@pytest.mark.slow
def test_a_stranger_decides_nothing(newcomer: Newcomer, tmp_path: Path) -> None:
    """A key that the policy does not name is refused, and the refusal is recorded."""
    ann, bob = enrolled(newcomer, tmp_path, "ann", "bob")
    keys = said(newcomer, "keys", "list")
    (mine,) = [one["keyid"] for one in keys if one.get("name") == "ann"]
    run = waiting(newcomer, approvers={"quorum": 1, "keys": [mine]})
    assert bob.muniment("approve", run, "-o", "no.json").code == 0
    refused = newcomer.muniment("inbox", "add", bob.folder / "no.json")
    assert refused.code == 4, refused
    assert newcomer.events()[-1] == "decision.refused"
    assert newcomer.muniment("resume", run).code == 5
    assert ann.muniment("deny", run, "--reason", "no", "-o", "deny.json").code == 0
    assert newcomer.muniment("inbox", "add", ann.folder / "deny.json").code == 0
    assert newcomer.muniment("resume", run).code == 1
    explained = said(newcomer, "runs", "explain", run)
    assert explained["reason_code"] == "decision_denied"


def test_an_agent_that_calls_out_diverges_in_its_replay(newcomer: Newcomer) -> None:
    """What is no effect is no answer: the attempt is a finding, and nobody is reached."""
    newcomer.muniment("init")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        (newcomer.folder / "agents.py").write_text(
            f"{AGENTS}\nPORT = {port}\n{CALLING}"
        )
        parts = {"reader": "agents:call_home", "writer": "echo"}
        flow = sum_document(tenant_id="default", parts=parts)
        (newcomer.folder / "flow.json").write_text(json.dumps(flow))
        run = said(newcomer, "run", "flow.json")["run"]
        server.accept()[0].close()
        server.settimeout(0.2)
        report = said(newcomer, "replay", run, code=1)
        with pytest.raises(TimeoutError):
            server.accept()
    assert report["verdict"] == "unacceptable"
    assert any(one["what"] == "guard" for one in report["findings"]), report
    assert report["isolation"]["level"]
