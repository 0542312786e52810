"""Flows on the command line: planned, run, resumed and replayed, each by its exit code."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flow_files import sum_document, write_flow, write_policy

Shell = Any


@pytest.fixture
def flow(work: Path, shell: Shell) -> Iterator[Path]:
    """Stand beside a flow, and a ledger."""
    assert shell("init").code == 0
    sys.modules.pop("agents", None)
    yield write_flow(work)
    sys.modules.pop("agents", None)


def with_data(work: Path) -> Path:
    """Write the flow with data that it is about."""
    folder = work / "data"
    folder.mkdir(exist_ok=True)
    (folder / "corpus.txt").write_text("hello\n")
    return write_flow(
        work,
        sum_document(
            dataset={
                "dataset_id": "corpus",
                "tenant_id": "tenant-a",
                "dataset_version": "1",
                "dataset_hash": "b1946ac92492d2347c6235b4d2611184",
                "dataset_state": "frozen",
                "storage_uri": "file://data/corpus.txt",
            }
        ),
    )


def test_a_plan_needs_no_ledger(work: Path, shell: Shell) -> None:
    """It says the steps and their hash, equal each time, and writes nothing."""
    write_flow(work)
    before = sorted(work.iterdir())
    first = shell("plan", "flow.json", "--json")
    again = shell("plan", "flow.json", "--json")
    assert (first.code, first.json) == (0, again.json)
    assert first.json["plan"].startswith("sha256:")
    assert [one["agent"] for one in first.json["steps"]] == ["reader", "writer"]
    told = shell("plan", "flow.json", "--policy", write_policy(work))
    assert (told.code, first.json["plan"] in told.out) == (0, True)
    assert "agents:write, retriever agents:search, reasoner agents:reason" in told.out
    new = [one.name for one in sorted(work.iterdir()) if one not in before]
    assert new in (["policy.json"], ["__pycache__", "policy.json"])


def test_run_and_replay_in_another_process(installed: Shell, flow: Path) -> None:
    """A flow is replayed behind isolation layers, from its record and its own files."""
    with_data(flow.parent)
    done = installed("run", "flow.json", "--json")
    assert (done.code, done.json["status"]) == (0, "completed")
    assert "held to muniment:default/1" in done.err
    calls = (flow.parent / "calls").read_text()
    replayed = installed("replay", done.json["run"], "--json")
    assert replayed.code == 0, replayed.err
    assert replayed.json["verdict"] == "acceptable"
    assert (flow.parent / "calls").read_text() == calls
    (flow.parent / "data" / "corpus.txt").write_text("hallo\n")
    changed = installed("replay", done.json["run"], "--json")
    assert (changed.code, changed.json["verdict"]) == (1, "unacceptable")
    again = installed("run", "flow.json")
    assert (again.code, "dataset/changed" in again.err) == (4, True)


def test_a_flow_in_another_folder(installed: Shell, work: Path) -> None:
    """Functions and data of a flow are found from its folder, also by a replay."""
    folder = work / "flows"
    folder.mkdir()
    with_data(folder)
    assert installed("init").code == 0
    done = installed("run", "flows/flow.json", "--json")
    assert done.code == 0, done.err
    replayed = installed("replay", done.json["run"], "--json")
    assert (replayed.code, replayed.json["verdict"]) == (0, "acceptable"), replayed.err


def test_a_flow_that_changed_since(installed: Shell, flow: Path) -> None:
    """Named as it is now, a flow is compared with what was recorded."""
    done = installed("run", "flow.json", "--json")
    file = flow.parent / "agents.py"
    file.write_text(file.read_text().replace("as e1 says", "by e1"))
    gone = installed("replay", done.json["run"])
    assert gone.code == 4
    assert (
        "is not the function that ran: its file changed [program/changed]" in gone.err
    )
    named = installed("replay", done.json["run"], "--program", "flow.json", "--json")
    assert (named.code, named.json["verdict"]) == (1, "unacceptable")
    write_flow(flow.parent, sum_document(flow_id="other"))
    other = installed("replay", done.json["run"], "--program", "flow.json", "--json")
    assert other.json["findings"][0]["field"].startswith("flow")


@pytest.mark.parametrize(
    ("document", "policy", "code", "says"),
    [
        ({"agents": ["x"], "dependencies": [], "parts": {}}, {}, 2, "agents[0]"),
        ({"determinism_level": None}, {}, 2, "flow.json: determinism_level"),
        ({"flow_state": "draft"}, {}, 4, "the flow is draft"),
        ({}, {"fail_on": ["nope"]}, 2, "policy.json: fail_on[0]"),
        ({}, {"nondeterminism": {"allowed_sources": []}}, 4, "allowed_sources[0]"),
    ],
)
def test_what_is_refused_before_a_run(
    shell: Shell,
    flow: Path,
    document: dict[str, Any],
    policy: dict[str, Any],
    code: int,
    says: str,
) -> None:
    """Each mistake is one line and its own exit code, and nothing is recorded."""
    write_flow(flow.parent, sum_document(**document))
    terms = write_policy(flow.parent, **policy)
    done = shell("run", "flow.json", "--policy", terms)
    assert (done.code, done.out) == (code, "")
    assert says in done.err
    assert len(done.err.splitlines()) == 1
    assert shell("runs", "--json").json == []


def test_what_fails_exits_1(shell: Shell, flow: Path) -> None:
    """A step that fails, and one that is judged to fail, give status failed and exit 1."""
    document = sum_document()
    document["parts"]["writer"] = "agents:fail"
    write_flow(flow.parent, document)
    failed = shell("run", "flow.json", "--json")
    assert (failed.code, failed.json["status"]) == (1, "failed")
    document["parts"]["writer"] = {"agent": "agents:write", "reasoner": "agents:guess"}
    write_flow(flow.parent, document)
    judged = shell("run", "flow.json", "--json")
    assert (judged.code, judged.json["status"]) == (1, "failed")
    assert "claim_requires_evidence" in judged.json["error"]


def test_a_dry_run_states_the_steps(shell: Shell, flow: Path) -> None:
    """It calls no function and records nothing."""
    done = shell("run", "flow.json", "--dry", "--json")
    assert (done.code, done.json["status"]) == (0, "dry")
    assert [one["agent"] for one in done.json["result"]["steps"]] == [
        "reader",
        "writer",
    ]
    assert shell("runs", "--json").json == []
    assert not (flow.parent / "calls").exists()


def test_options_that_a_flow_does_not_take(shell: Shell, flow: Path) -> None:
    """A flow has its inputs and its tenant in its manifest."""
    assert flow.is_file()
    assert "its `inputs`" in shell("run", "flow.json", "-p", "a=1").err
    assert "of the tenant tenant-a" in shell("run", "flow.json", "--tenant", "b").err
    labelled = shell("run", "flow.json", "--label", "team=x", "--name", "n", "--json")
    assert labelled.json["name"] == "n"


def test_waiting_for_people(shell: Shell, flow: Path) -> None:
    """A verdict that people decide pauses the run, exit 5, and is in the inbox."""
    document = sum_document()
    document["parts"]["writer"]["reasoner"] = "agents:guess"
    write_flow(flow.parent, document)
    terms = write_policy(flow.parent, failure_mode="escalate")
    done = shell("run", "flow.json", "--policy", terms, "--json")
    assert (done.code, done.json["status"]) == (5, "paused")
    inbox = shell("inbox")
    assert "step/1-writer" in inbox.out + json.dumps(done.json)


def test_other_formats(shell: Shell, flow: Path) -> None:
    """A flow in YAML or TOML has the plan of the one in JSON."""
    document = json.loads(flow.read_text())
    yaml = pytest.importorskip("yaml")
    (flow.parent / "flow.yaml").write_text(yaml.safe_dump(document))
    plans = {
        shell("plan", name, "--json").json["plan"]
        for name in ("flow.json", "flow.yaml")
    }
    assert len(plans) == 1
