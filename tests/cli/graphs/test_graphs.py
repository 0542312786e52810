"""Graphs on the command line: validated, planned, run, and shown by their records."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from graph_desk import DOCUMENT, write_graph

Shell = Any
GIVEN = ("graph.json", "--task", "T", "--artifact", "notes.txt")
NODES = ["begin", "fork", "lint", "test", "join", "each", "check"]


@pytest.fixture
def desk(work: Path) -> Iterator[Path]:
    """Stand beside a graph."""
    sys.modules.pop("stages", None)
    write_graph(work)
    yield work
    sys.modules.pop("stages", None)


@pytest.fixture
def ran(desk: Path, shell: Shell) -> str:
    """Give a run of the graph."""
    assert shell("init").code == 0
    done = shell("run", *GIVEN, "--json")
    assert (done.code, done.json["status"]) == (0, "completed")
    assert desk.is_dir()
    return str(done.json["run"])


def changed(desk: Path, *places: str, to: object) -> str:
    """Write the graph with another value at a place; return the file's name."""
    document = json.loads(json.dumps(DOCUMENT))
    at = document
    for one in places[:-1]:
        at = at[one]
    at[places[-1]] = to
    write_graph(desk, document, "changed.json")
    return "changed.json"


def test_validate(desk: Path, shell: Shell) -> None:
    """A valid graph is one line; each fault is one, with code, place and remedy."""
    good = shell("workflow", "validate", "graph.json")
    assert (good.code, "valid, 7 nodes, 7 edges, sha256:" in good.out) == (0, True)
    way = {"from": "act", "to": "act", "branch": "sucess"}
    one = {"nodes": {"act": {"handler": "stages:act"}}, "edges": [way]}
    file = write_graph(desk, one, "changed.json").name
    bad = shell("workflow", "validate", file)
    (first,) = bad.out.splitlines()
    assert bad.code == 1
    assert first.startswith("error: changed.json: edges[0].branch: ")
    assert first.endswith(
        "[LABEL_DEAD]; did you mean success? known: error, failed, retry, success"
    )
    told = shell("workflow", "validate", file, "--json")
    assert (told.code, told.json["errors"][0]["code"]) == (1, "LABEL_DEAD")


def test_inspect_and_plan(desk: Path, shell: Shell) -> None:
    """What a graph would do is known without a ledger, and has the same hash each time."""
    seen = shell("workflow", "inspect", "graph.json", "--json")
    assert (seen.code, seen.json["valid"]) == (0, True)
    assert "retry_policy" in seen.json["document"]["nodes"]["test"]
    assert "stages:flaky" in shell("workflow", "inspect", "graph.json").out
    first, again = (shell("plan", *GIVEN, "--json").json for _ in range(2))
    assert first == again
    assert first["graph"] == seen.json["digest"]
    assert [one["node"] for one in first["steps"]] == NODES
    assert first["steps"][3]["does"] == "stages:flaky (up to 2 attempts)"
    assert not (desk / ".muniment").exists()
    other = shell("plan", *GIVEN, "-p", "max_steps=3", "--json").json
    assert first["plan"] != other["plan"]
    dry = shell("run", *GIVEN, "--dry", "--ledger", "none.db", "--json")
    assert (dry.code, (desk / "acted").exists()) == (3, False)


def test_a_dry_run(desk: Path, shell: Shell) -> None:
    """It says what would be done, and neither does nor records any of it."""
    assert shell("init").code == 0
    size = shell("status", "--json").json["size"]
    dry = shell("run", *GIVEN, "--dry")
    assert (dry.code, "would do  begin (stage), fork (fork), lint" in dry.out) == (
        0,
        True,
    )
    assert not (desk / "acted").exists()
    assert shell("status", "--json").json["size"] == size


def test_run_and_show(ran: str, shell: Shell, desk: Path) -> None:
    """The record has stages with attempts and artifacts; the tree has the branches."""
    shown = shell("runs", "show", ran, "--limit", "0")
    rows = [" ".join(one.split()) for one in shown.out.splitlines()]
    assert "test 1 fork.1/test success 2 1" in rows
    assert "each 1 mapped: 3 done 1 3" in rows
    record = shell("runs", "show", ran, "--json").json["record"]
    assert record["task"] == "T"
    assert record["artifacts"][0]["metadata"] == {"path": "notes.txt"}
    tree = shell("runs", "tree", ran)
    assert "join  join" in tree.out
    assert shell("runs", "tree", ran, "--json").json["tree"]["run"] == record
    assert (desk / "acted").read_text().split("\n")[0] == "begin"
    inside = shell("inspect", "run", ran)
    assert inside.code == 0


def test_equal_runs_have_equal_digests(ran: str, shell: Shell) -> None:
    """What is given by a file gets the same id each time, so nothing else differs."""
    first = shell("runs", "show", ran, "--json").json
    again = shell("run", *GIVEN, "--json").json
    assert again["run"] != ran
    assert again["result"] == first["timeline"][-1]["data"]["result"]


def test_progress(desk: Path, installed: Shell) -> None:
    """On a pipe each node leaves a line, on stderr; with --json there is none."""
    assert installed("init").code == 0
    told = installed("run", *GIVEN)
    lines = told.err.splitlines()
    assert lines[:2] == ["begin.1: success", "fork.1: fork"]
    assert "fork.1/test/test.1: success, after 2 attempts" in lines
    assert "each.1: mapped, 3 of 3 items" in lines
    assert not any("body" in one for one in lines)
    quiet = installed("run", *GIVEN, "--json")
    assert (quiet.code, quiet.err) == (0, "")
    assert desk.is_dir()


FORKS = """
import os


def parent(given):
    return "seen"


def child(given):
    pid = os.fork()
    if pid:
        os.waitpid(pid, 0)
    return "made by both"
"""


def test_a_forked_child_shows_no_progress(desk: Path, installed: Shell) -> None:
    """What a handler's forked child does on its way out leaves no line a second time."""
    assert installed("init").code == 0
    (desk / "forking.py").write_text(FORKS)
    stages = {name: {"handler": f"forking:{name}"} for name in ("parent", "child")}
    document = {"nodes": stages, "edges": [{"from": "parent", "to": "child"}]}
    file = write_graph(desk, document, "forking.json").name
    told = installed("run", file)
    assert told.code == 0
    lines = told.err.splitlines()
    for done in ("parent.1: success", "child.1: success"):
        assert lines.count(done) == 1


def test_a_failed_run(desk: Path, shell: Shell) -> None:
    """It says which node broke, by which rule, and where a resume goes on."""
    assert shell("init").code == 0
    file = changed(desk, "nodes", "test", to={"handler": "stages:flaky"})
    failed = shell("run", file)
    assert failed.code == 1
    assert "not yet" in failed.out
    shown = shell("runs", "show", "last", "--limit", "0").out
    assert "effect/failed: not yet" in shown
    assert "goes on at test" in shown
    assert "performs what failed again" in shell("runs", "explain", "last").out
    again = shell("resume", "last", "--json")
    assert (again.code, again.json["status"]) == (0, "completed"), again.err
    assert (desk / "acted").read_text().count("begin") == 1
    assert (
        shell("replay", "last", "--no-record", "--json").json["verdict"] == "acceptable"
    )


def test_policies(desk: Path, shell: Shell) -> None:
    """Governance counts the effects of a graph, and halts it."""
    assert shell("init").code == 0
    budget = {
        "allowed_sources": ["external_oracle", "data"],
        "max_magnitude": "high",
        "max_count": 2,
    }
    policy = {"spec_version": "v1", "policy_id": "tight", "entropy_budget": budget}
    (desk / "policy.json").write_text(json.dumps(policy))
    halted = shell("run", "graph.json", "--policy", "policy.json")
    assert (halted.code, "2 of 2 effects are spent" in halted.out) == (1, True)
    told = shell("runs", "explain", "last", "--json").json
    assert told["reason_code"] == "budget_exhausted"
    planned = shell("plan", "graph.json", "--policy", "policy.json", "--json").json
    assert planned["policy"]["name"] == "tight"


def test_a_fork(ran: str, shell: Shell, desk: Path) -> None:
    """A fork goes on from a changed outcome, and has a record that says where from."""
    columns = "SELECT outcome FROM effects WHERE kind = 'stage' ORDER BY seq LIMIT 1"
    seq = shell("query", columns, "--json").json[0]["outcome"]
    (desk / "changed.json").write_text('"changed"')
    forked = shell("fork", ran, "--at", seq, "--set", f"{seq}=changed.json", "--json")
    assert forked.code == 0, forked.err
    record = shell("runs", "show", forked.json["run"], "--json").json["record"]
    assert record["metadata"]["forked_from"] == ran
    assert record["artifacts"][1]["text"] == "changed"
    assert shell("runs", "diff", ran, forked.json["run"]).code == 1


@pytest.mark.parametrize(
    ("file", "text", "code", "line"),
    [
        (
            "x.json",
            '{"x": 1}',
            2,
            "x.json: it is neither a flow nor a graph [run/document]",
        ),
        ("x.json", '{"nodes": {}, "flow_id": "f"}', 2, "both a flow and a graph"),
        ("x.json", '{"nodes": ', 2, "x.json: it is not JSON: expecting value, line"),
        (
            "x.json",
            '{"nodes": {"a": {"handler": "stages:act", "promt": "x"}}}',
            2,
            "x.json: nodes.a.promt: nothing reads this key [workflow/unknown-key]; did you mean",
        ),
        (
            "x.json",
            '{"nodes": {"a": {"handler": "stages:nobody"}}}',
            2,
            "x.json: nodes.a.handler: there is no nobody in stages",
        ),
        (
            "x.toml",
            '[nodes.a]\nhandler = "stages:act"\nretry_policy = {max_attempts = "2"}\n',
            2,
            "x.toml: nodes.a.retry_policy.max_attempts: ",
        ),
        (
            "x.json",
            '{"nodes": {"a": {"kind": "verify"}}}',
            4,
            "x.json: nodes.a.verify: VERIFY_NO_CHECKS: ",
        ),
    ],
    ids=["neither", "both", "json", "key", "function", "toml", "invalid"],
)
def test_mistakes(
    desk: Path, shell: Shell, file: str, text: str, code: int, line: str
) -> None:
    """A mistake in a document is one line with its place, before anything is run."""
    assert shell("init").code == 0
    (desk / file).write_text(text)
    for command in (("run",), ("plan",)):
        told = shell(*command, file)
        assert (told.code, told.out) == (code, "")
        assert len(told.err.splitlines()) == 1
        assert line in told.err
    assert not (desk / "acted").exists()


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (("run", "graph.json", "-p", "max_stepz=1"), "did you mean max_steps?"),
        (("run", "graph.json", "-p", "max_steps=x"), "options: max_steps: "),
        (("run", "graph.json", "--artifact", "none.txt"), "--artifact none.txt: "),
        (("run", "graph.json", "-p", "resume_run=x"), "`muniment resume RUN`"),
        (("run", "graph.json", "-p", "executor=none"), "no executor is called 'none'"),
        (("run", "stages.py:act", "--task", "T"), "a program takes no --task"),
        (("run", "missing.json"), "missing.json: it cannot be read"),
        (("workflow", "validate", "missing.json"), "missing.json: it cannot be read"),
    ],
    ids=lambda one: " ".join(one) if isinstance(one, tuple) else "",
)
def test_wrong_options(
    desk: Path, shell: Shell, line: tuple[str, ...], says: str
) -> None:
    """Options that nothing reads are refused in one line, and nothing is run."""
    assert shell("init").code == 0
    told = shell(*line)
    assert (told.code, told.out, len(told.err.splitlines())) == (2, "", 1)
    assert says in told.err
    assert not (desk / "acted").exists()


def test_a_run_warns_as_validate_does(desk: Path, shell: Shell) -> None:
    """What is odd about a graph is said on stderr before it runs, also beside JSON."""
    assert shell("init").code == 0
    nodes = {name: {"handler": "stages:act"} for name in ("act", "lost")}
    file = write_graph(desk, {"nodes": nodes}, "odd.json").name
    told = shell("workflow", "validate", file).out.splitlines()[0]
    assert told.startswith("warning: odd.json: nodes.lost: ")
    done = shell("run", file, "--json")
    assert (done.code, done.json["status"]) == (0, "completed")
    assert done.err.replace("\n", " ").strip() == told


def test_a_run_of_a_graph_is_of_no_function(desk: Path, shell: Shell) -> None:
    """A function that is named for it is refused, and the run stays as it was."""
    assert shell("init").code == 0
    document = {"nodes": {"act": {"handler": "stages:broken"}}}
    file = write_graph(desk, document, "bad.json").name
    run = shell("run", file, "--json").json["run"]
    before = len(shell("runs", "show", run, "--json").json["timeline"])
    for command in ("resume", "replay"):
        told = shell(command, run, "--program", "stages.py:act")
        assert told.code == 2
        assert "the run is one of muniment:workflow/1" in told.err.replace("\n", " ")
    assert len(shell("runs", "show", run, "--json").json["timeline"]) == before
