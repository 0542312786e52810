"""Paths lead where the branches of their nodes say, and runs end as their paths did."""

from __future__ import annotations

from pathlib import Path

import pytest

import workflow_stages
from muniment import replay
from muniment.ledger import Ledger
from muniment_plugins.workflow import WorkflowDone, WorkflowFailed, workflow_execute
from workflow_stages import chain, edge, graph_of, stage

REPAIR_EDGES = (
    edge("act", "verify"),
    edge("verify", "repair", "failed"),
    edge("repair", "verify", "retry"),
)


def run(book: Ledger, graph: object, **options: object) -> WorkflowDone:
    """Run *graph*, and replay it: every run of these tests has to replay."""
    done = workflow_execute(book, "a task", graph, [], options)  # type: ignore[arg-type]
    if done.status in ("completed", "failed"):
        report = replay(book, done.run_id)
        assert report.verdict == "acceptable", report
    return done


def visits(book: Ledger, run_id: str) -> list[tuple[str, str]]:
    """Return the nodes that were visited, in order, each with its branch."""
    events = book.events(run=run_id, type="node.completed")
    return [(str(one.data["node"]), str(one.data["branch"])) for one in events]


def checked_once(flag: str) -> dict[str, object]:
    """Return a verifier that fails at first, and then no more."""
    command = f"test -f {flag} || {{ touch {flag}; false; }}"
    return {"kind": "verify", "verify": {"command": command}}


def test_b1_repaired(book: Ledger) -> None:
    """B1: a verification that fails once is repaired, and the run is complete."""
    nodes = {"act": stage(), "verify": checked_once("flag"), "repair": stage()}
    done = run(book, graph_of(nodes, *REPAIR_EDGES))

    assert done.status == "completed"
    assert visits(book, done.run_id) == [
        ("act", "success"),
        ("verify", "failed"),
        ("repair", "success"),
        ("verify", "passed"),
    ]


def test_b2_never_repaired(book: Ledger) -> None:
    """B2: a verification that fails for ever fails the run once repairs are used up."""
    check = {"kind": "verify", "verify": {"command": "false"}}
    nodes = {"act": stage(), "verify": check, "repair": stage(max_visits=2)}
    done = run(book, graph_of(nodes, *REPAIR_EDGES))

    assert done.status == "failed"
    assert isinstance(done.error, WorkflowFailed)
    assert [name for name, _ in visits(book, done.run_id)].count("repair") == 3
    assert visits(book, done.run_id)[-1] == ("repair", "error")


@pytest.mark.parametrize(
    ("verify", "branch"),
    [
        ({"command": "false"}, "failed"),
        ({"command": "true"}, "passed"),
        ({"command": "exit 3", "expect_status": 3}, "passed"),
        ({"command": "true", "expect_status": 3}, "failed"),
        ({"command": ["sh", "-c", "echo fine"], "assert_text": "fine"}, "passed"),
        ({"command": "echo fine >&2", "assert_text": "fine"}, "failed"),
        ({"command": "echo fine >&2", "expect_text": "fine"}, "passed"),
        ({"command": "true", "expect_text": "fine"}, "failed"),
        ({"required_text": ["act: 0"]}, "passed"),
        ({"required_text": ["nowhere"]}, "failed"),
        ({"required_identifiers": ["act"]}, "passed"),
        ({"required_identifiers": ["ac"]}, "failed"),
        ({"required_paths": ["there.txt"]}, "passed"),
        ({"required_paths": ["gone.txt"]}, "failed"),
        ({"required_paths": ["../ledger.db"]}, "failed"),
        ({"required_paths": ["there.txt"], "required_text": ["call me"]}, "passed"),
        ({"checks": [{"kind": "text", "value": "nowhere"}]}, "failed"),
        ({"handler": "workflow_stages:is_sound"}, "passed"),
        ({"handler": "workflow_stages:says"}, "failed"),
        ({"command": "sleep 60", "timeout_s": 0.2}, "failed"),
    ],
)
def test_b3_b4_checks(
    book: Ledger, place: Path, verify: dict[str, object], branch: str
) -> None:
    """B3, B4: all that a verifier declares is checked, and fails the stage if it fails."""
    (place / "there.txt").write_text("call me\n")
    done = run(book, chain(act=stage(), verify={"kind": "verify", "verify": verify}))

    assert visits(book, done.run_id)[-1] == ("verify", branch)
    assert done.status == ("completed" if branch == "passed" else "failed")
    (said,) = book.events(run=done.run_id, type="verification.concluded")
    verdict = "verified" if branch == "passed" else "verification_failed"
    assert said.data["verdict"] == verdict


@pytest.mark.parametrize(
    ("handler", "branch"), [("raises", "error"), ("fails", "failed")]
)
def test_b5_no_edge_takes_a_failure_by_itself(
    book: Ledger, handler: str, branch: str
) -> None:
    """B5: an edge without a label does not take a failure; the run fails."""
    done = run(book, chain(act=stage(handler), then=stage()))

    assert done.status == "failed"
    assert visits(book, done.run_id) == [("act", branch)]


@pytest.mark.parametrize("label", ["error", "*"])
def test_an_edge_can_take_an_error(book: Ledger, label: str) -> None:
    """An error that an edge takes is dealt with: the run is complete."""
    graph = graph_of(
        {"act": stage("raises"), "mend": stage()}, edge("act", "mend", label)
    )
    done = run(book, graph)

    assert done.status == "completed"
    assert visits(book, done.run_id) == [("act", "error"), ("mend", "success")]


def test_own_names_of_branches(book: Ledger) -> None:
    """A node's own names for its branches are those that its edges have."""
    act = stage("fails", branch_semantics={"success": "good", "failure": "bad"})
    graph = graph_of(
        {"act": act, "well": stage(), "ill": stage()},
        edge("act", "well", "good"),
        edge("act", "ill", "bad"),
    )

    assert visits(book, run(book, graph).run_id)[-1] == ("ill", "success")


@pytest.mark.parametrize("small", [True, False])
def test_conditions(book: Ledger, small: bool) -> None:
    """A condition takes one of two ways, by what its path has."""
    first = stage("says" if small else "two")
    graph = graph_of(
        {
            "act": first,
            "if": {"kind": "condition", "handler": "workflow_stages:is_small"},
            "yes": stage(),
            "no": stage(),
        },
        edge("act", "if"),
        edge("if", "yes", "true"),
        edge("if", "no", "false"),
    )

    assert visits(book, run(book, graph).run_id)[-1][0] == ("yes" if small else "no")


def test_b7_attempts(book: Ledger, place: Path) -> None:
    """B7: work is tried as often as the policy says; each failure and wait is a fact."""
    retry = {"max_attempts": 3, "backoff_ms": 1}
    act = stage(
        "counted",
        retry_policy=retry,
        metadata={"file": str(place / "calls"), "fails": 2},
    )
    done = run(book, chain(act=act))

    assert [one.text for one in done.artifacts] == ["call 3"]
    failed = [one.data for one in book.events(run=done.run_id, type="node.attempted")]
    assert [(one["attempt"], one["wait_s"]) for one in failed] == [
        (1, 0.001),
        (2, 0.002),
    ]
    assert len(list(book.events(run=done.run_id, type="timer.completed"))) == 2


def test_attempts_end(book: Ledger, place: Path) -> None:
    """Work that fails at each attempt fails, and nothing is tried once more."""
    act = stage(
        "counted",
        retry_policy={"max_attempts": 2},
        metadata={"file": str(place / "calls"), "fails": 9},
    )
    done = run(book, chain(act=act))

    assert done.status == "failed"
    assert (place / "calls").read_text() == "xx"


@pytest.mark.parametrize("handler", ["sleeps"])
def test_timeouts(book: Ledger, handler: str) -> None:
    """Work that takes longer than its node allows has failed."""
    act = stage(handler, timeout_s=0.05, metadata={"seconds": 0.4})
    done = run(book, chain(act=act))

    assert done.status == "failed"
    (failed,) = book.events(run=done.run_id, type="stage.failed")
    assert "TimeoutError" in str(failed.data)


def test_work_in_the_lane(book: Ledger) -> None:
    """A handler that takes the lane makes effects of its own, answered in a replay."""
    done = run(book, chain(act=stage("lane")))

    assert [one.text for one in done.artifacts] == ["act!"]
    tools = [
        one for one in book.events(run=done.run_id) if one.type.startswith("tool.")
    ]
    assert [(one.type, one.scope) for one in tools] == [
        ("tool.requested", "act.1"),
        ("tool.completed", "act.1"),
    ]


def test_outputs(book: Ledger) -> None:
    """Texts, artifacts and data become artifacts, with what they were made from."""
    done = run(book, chain(act=stage("two"), then=stage("data")))

    first, note, counts = done.artifacts
    assert (first.text, note.metadata, counts.data) == (
        "a",
        {"given_id": "n"},
        {"count": 2},
    )
    assert note.id == "act.1#1"


@pytest.mark.parametrize(
    ("node", "rule"),
    [
        ({"input_contract": {"min_inputs": 1}}, "workflow/inputs"),
        ({"output_contract": {"output_kinds": ["plan"]}}, None),
        (
            {
                "handler": "workflow_stages:two",
                "output_contract": {"output_kinds": ["plan"]},
            },
            "workflow/outputs",
        ),
        (
            {"output_contract": {"schema": {"type": "object"}}},
            "workflow/output-schema",
        ),
        (
            {
                "handler": "workflow_stages:data",
                "output_contract": {"schema": {"required": ["count"]}},
            },
            None,
        ),
    ],
)
def test_contracts(book: Ledger, node: dict[str, object], rule: str | None) -> None:
    """What a node takes and makes is held against its contracts."""
    done = run(book, chain(act={**stage(), **node}))

    (ended,) = book.events(run=done.run_id, type="node.completed")
    assert ended.data.get("rule") == rule
    assert done.status == ("completed" if rule is None else "failed")


def test_steps_run_out(book: Ledger) -> None:
    """A path that used up its steps asks people, and goes on as they decide."""
    graph = graph_of({"act": stage()}, edge("act", "act"))
    done = run(book, graph, max_steps=3)

    assert done.status == "paused"
    assert len(visits(book, done.run_id)) == 3
    (asked,) = book.pending()
    assert "3 steps" in asked.prompt


def test_handlers_given_as_such(book: Ledger) -> None:
    """A function may be given itself; the record names it by import path and source."""
    done = run(book, {"nodes": {"act": {"handler": workflow_stages.says}}})

    assert done.status == "completed"
    (asked,) = book.events(run=done.run_id, type="stage.requested")
    request = book.resolve(asked)["request"]
    assert request["handler"]["import"] == "workflow_stages:says"  # type: ignore[index]
