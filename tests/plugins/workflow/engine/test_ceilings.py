"""Ceilings hold in a run: in subagents, in maps, for tools, for kinds of plugins."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ceiling_tools import PERFORMED, TRIED, Acme
from muniment import replay
from muniment.errors import CannotTellError, RefusedError
from muniment.ledger import Ledger
from muniment.plugins import Plugins
from muniment_plugins.workflow import (
    WorkflowDone,
    workflow_execute,
    workflow_validate,
)
from workflow_stages import Document, edge, graph_of, stage

READ: Document = {"side_effect_level": "read_only"}
ALL: Document = {"auto_approve": ["*"]}


@pytest.fixture
def desk(tmp_path: Path, place: Path) -> Iterator[Ledger]:
    """Give a ledger with a stranger's plugin, too."""
    del place
    plugins = Plugins(("workflow",), extra={"acme": Acme()})
    with Ledger.create(
        tmp_path / "l.db", home=tmp_path / "home", plugins=plugins
    ) as made:
        PERFORMED.clear()
        TRIED.clear()
        yield made


def trying(label: Document | None = None, **more: object) -> Document:
    """Return a node that calls the tool ``run``, which says *label* of itself."""
    tool = {"name": "run", "handler": "ceiling_tools:run_it", "policy": label or {}}
    return {
        "kind": "stage",
        "handler": "ceiling_tools:tries",
        "tools": {"_type": "tool_registry", "tools": [tool]},
        "metadata": {"who": "act", "calls": [["run", {}]]},
        **more,
    }


def nested(inner: Document, **more: object) -> Document:
    """Return a subagent that runs *inner* alone."""
    return {"kind": "subagent", "graph": graph_of({"act": inner}), **more}


def run(desk: Ledger, node: Document, **options: object) -> WorkflowDone:
    """Run a graph of one node."""
    return workflow_execute(desk, "t", graph_of({"one": node}), [], options)


def denials(desk: Ledger) -> list[object]:
    """Return the codes of all calls that were denied."""
    return [one.data["code"] for one in desk.events(type="tool.denied")]


def test_a_denied_call_is_a_fact(desk: Ledger) -> None:
    """A call that the policies deny is stated with its code, and performs nothing."""
    assert run(desk, trying()).status == "completed"

    assert (denials(desk), PERFORMED) == (["by_default"], [])


LINKS = ["file", "folder/hostname", "deep/file", "folder", "chain", "src/../file"]


@pytest.mark.parametrize("nests", [False, True], ids=["here", "in a child"])
def test_links_lead_no_call_out_of_its_roots(
    desk: Ledger, place: Path, nests: bool
) -> None:
    """Whatever a path leads over: where it leads is held to the roots, and refused.

    A link that stays within the roots is followed, and roots may be links themselves. The
    tool is called with where it leads.
    """
    outside = place.parent / "outside"
    (outside / "deep").mkdir(parents=True)
    (outside / "hostname").write_text("secret")
    (place / "real").mkdir()
    (place / "ws").symlink_to(place / "real")
    for name, target in {
        "file": outside / "hostname",
        "folder": outside,
        "chain": place / "real" / "file",
        "inner": place / "real" / "src",
    }.items():
        (place / "real" / name).symlink_to(target)
    for one in ("src", "deep"):
        (place / "real" / one).mkdir()
    (place / "real" / "deep" / "file").symlink_to(Path("..", "folder", "hostname"))
    (place / "real" / "src" / "a").write_text("fine")
    paths = [f"ws/{one}" for one in LINKS]
    calls = [["run", {"path": one}] for one in (*paths, "ws/inner/a", "ws/src/a")]
    held = {"workspace_roots": ["ws"], "side_effect_level": "read_only"}
    label = {"kind": "read", "path_params": ["path"]}
    node = trying(
        label, capability_policy=held, metadata={"who": "act", "calls": calls}
    )
    done = run(desk, nested(node) if nests else node, ceiling=held)

    assert done.status == "completed", done.error
    led = str(place.resolve() / "real" / "src" / "a")
    assert [one["path"] for _, one in PERFORMED] == [led, led]
    assert denials(desk) == ["path_outside_roots"] * len(LINKS)
    (place / "real" / "src" / "a").unlink()
    (place / "real" / "src" / "a").symlink_to(outside / "hostname")
    for summary in desk.runs():
        assert replay(desk, summary.id).verdict == "acceptable"


def test_given_approvals_decide(desk: Ledger) -> None:
    """What a graph's own approvals allow goes on, where nobody above gave any."""
    assert run(desk, trying(approval_policy=ALL)).status == "completed"
    assert run(desk, nested(trying()), approval_policy=ALL).status == "completed"

    assert len(PERFORMED) == 2


def test_an_empty_approval_policy_of_a_parent_holds(desk: Ledger) -> None:
    """A policy that says nothing is one: its defaults bind the nested run, too."""
    run(desk, nested(trying(approval_policy=ALL), approval_policy={}))

    assert (denials(desk), PERFORMED) == (["by_default"], [])


RELABELS: Document = {"tool_annotations": {"run": {"kind": "read", **READ}}, **READ}


@pytest.mark.parametrize(
    "node",
    [
        trying(capability_policy=RELABELS, approval_policy=ALL),
        nested(
            trying(capability_policy=READ, approval_policy=ALL),
            capability_policy=RELABELS,
        ),
        nested(
            nested(
                trying(capability_policy=READ, approval_policy=ALL),
                capability_policy=RELABELS,
            ),
        ),
    ],
)
def test_nobody_relabels_a_tool(desk: Ledger, node: Document) -> None:
    """Neither a node nor a parent makes a tool that says nothing one that only reads."""
    with pytest.raises(RefusedError) as refused:
        run(desk, node, ceiling=READ)

    assert "host ceiling" in refused.value.message
    assert (refused.value.rule, PERFORMED) == ("workflow/invalid", [])


def test_the_host_labels_tools(desk: Ledger) -> None:
    """What the host states about a tool counts, three runs down as well."""
    node = trying(capability_policy=READ)
    run(desk, nested(nested(nested(node))), ceiling=RELABELS)

    assert len(PERFORMED) == 1


def test_the_host_labels_tools_in_a_resumed_child(desk: Ledger) -> None:
    """A child that is rebuilt from its own record is held to the same labels."""
    ask = {"kind": "escalation", "escalation_policy": {"reason": "may it?"}}
    graph = graph_of(
        {"ask": ask, "act": trying(capability_policy=READ)},
        edge("ask", "act", "*"),
    )
    done = run(desk, {"kind": "subagent", "graph": graph}, ceiling=RELABELS)
    (child,) = [one.id for one in desk.runs() if one.id != done.run_id]
    assert desk.resume(child).status == "paused"
    assert desk.resume(done.run_id).status == "paused"
    assert TRIED == []


@pytest.mark.parametrize(
    "limit",
    [{"tools": []}, READ, {"capabilities": {}, "tools": ["other"]}],
)
def test_a_map_holds_its_body(desk: Ledger, limit: Document) -> None:
    """The body of a map may do no more than the map."""
    label = {"kind": "execute"}
    own = {"side_effect_level": "process_exec"}
    body = trying(label, approval_policy=ALL, capability_policy=own)
    many = {"kind": "map", "map_policy": {"items": [1]}, "body": body}
    run(desk, many)
    assert len(PERFORMED) == 1

    with pytest.raises(RefusedError):
        run(desk, {**many, "capability_policy": limit})
    assert len(PERFORMED) == 1


@pytest.mark.parametrize(
    "body",
    [
        {"kind": "verify", "verify": {"command": "touch beyond"}},
        {"kind": "stage", "handler": "workflow_stages:says"},
        {"kind": "subagent", "handler": "workflow_stages:says"},
        trying({"kind": "execute"}, capability_policy=READ),
    ],
)
def test_bodies_are_validated_under_a_ceiling(
    desk: Ledger, place: Path, body: Document
) -> None:
    """A command, a handler or a tool in the body of a map is held to the ceiling."""
    many = {"kind": "map", "map_policy": {"items": [1]}, "body": body}
    with pytest.raises(RefusedError):
        run(desk, many, ceiling=READ)

    assert not (place / "beyond").exists()


def test_a_verifier_as_a_body(desk: Ledger, place: Path) -> None:
    """A map may verify each item, by a contract in a file, too."""
    (place / "c.json").write_text('{"command": "true"}')
    check = {"kind": "verify", "verify": {"contract_path": "c.json"}}
    done = run(desk, {"kind": "map", "map_policy": {"items": [1, 2]}, "body": check})

    assert done.status == "completed"
    assert replay(desk, done.run_id).verdict == "acceptable"


def test_conditions_and_reducers_declare(desk: Ledger) -> None:
    """Under a ceiling their handlers can say what they do, and then run."""
    check = {"handler": "workflow_stages:is_small", "capability_policy": READ}
    graph = graph_of(
        {
            "if": {"kind": "condition", **check},
            "yes": {
                "kind": "reduce",
                "handler": "workflow_stages:says",
                "capability_policy": READ,
            },
            "no": {"kind": "escalation"},
        },
        edge("if", "yes", "true"),
        edge("if", "no", "false"),
    )

    assert (
        workflow_execute(desk, "t", graph, [], {"ceiling": READ}).status == "completed"
    )
    del graph["nodes"]["if"]["capability_policy"]
    codes = [one.code for one in workflow_validate(graph, READ).errors]
    assert codes == ["CEILING_UNDECLARED"]


def survey(**more: object) -> Document:
    """Return a node of the stranger's kind."""
    found = trying({"kind": "execute"}, **more)
    del found["handler"]
    return {**found, "kind": "acme.survey"}


def test_a_strangers_kind(desk: Ledger) -> None:
    """It runs, makes artifacts and effects, is replayed, and led on from by its branch."""
    graph = graph_of(
        {"ask": survey(approval_policy=ALL), "then": stage()},
        edge("ask", "then", "surveyed"),
    )
    done = workflow_execute(desk, "t", graph)

    assert [one.text for one in done.artifacts] == ["asked", "then: 1"]
    assert [name for name, _ in PERFORMED] == ["run", "survey"]
    report = replay(desk, done.run_id)
    assert report.verdict == "acceptable"
    assert len(PERFORMED) == 2


def test_a_strangers_kind_resumes(desk: Ledger) -> None:
    """What it performed before a pause is not performed again."""
    graph = graph_of(
        {"ask": survey(approval_policy=ALL), "wait": {"kind": "escalation"}},
        edge("ask", "wait"),
    )
    done = workflow_execute(desk, "t", graph)
    assert done.status == "paused"
    before = len(PERFORMED)

    assert desk.resume(done.run_id).status == "paused"
    assert len(PERFORMED) == before


def test_a_strangers_kind_without_its_plugin(desk: Ledger) -> None:
    """Where the plugin is missing, the graph is invalid, and its run cannot be judged."""
    graph = graph_of({"ask": survey(approval_policy=ALL)})
    done = workflow_execute(desk, "t", graph)
    assert [one.code for one in workflow_validate(graph).errors] == ["KIND_UNKNOWN"]

    with Ledger.open(desk.path, home=desk.home, plugins=("workflow",)) as other:
        with pytest.raises(RefusedError, match="KIND_UNKNOWN"):
            workflow_execute(other, "t", graph)
        with pytest.raises(CannotTellError) as missing:
            replay(other, done.run_id)
    assert missing.value.rule == "workflow/kind-missing"


def test_a_strangers_kind_declares_under_a_ceiling(desk: Ledger) -> None:
    """It is code that nothing confines: under a ceiling it says what it does."""
    with pytest.raises(RefusedError, match=r"acme\.survey has to declare"):
        run(desk, survey(), ceiling=READ)

    assert PERFORMED == []


def test_a_strangers_kind_calls_no_more(desk: Ledger) -> None:
    """Its calls of tools are held to the same policies as those of handlers."""
    done = run(desk, survey(approval_policy={"auto_deny": ["run"]}))

    assert done.status == "completed"
    assert (denials(desk), [name for name, _ in PERFORMED]) == (
        ["auto_denied"],
        ["survey"],
    )


def test_b10_a_nested_run_exceeds_nothing(desk: Ledger) -> None:
    """B10: a nested run has at most what its parent has, and one level less."""
    above = {"tools": ["read*"], "recursion_limit": 2, "workspace_roots": ["src"]}
    deep = nested(stage(), capability_policy={"tools": ["read_all"]})
    run(desk, nested(deep), ceiling=above)

    started = [dict(one.data) for one in desk.events(type="workflow.started")]
    policies = [one["policy"] for one in started]
    assert [one["recursion_limit"] for one in policies] == [2, 1, 0]  # type: ignore[index]
    assert [one["tools"] for one in policies] == [["read*"], ["read*"], ["read_all"]]  # type: ignore[index]
    assert all(one["workspace_roots"] == ["src"] for one in policies)  # type: ignore[index]


def test_recursion_ends(desk: Ledger) -> None:
    """A graph that nests deeper than its ceiling allows is refused."""
    with pytest.raises(RefusedError, match="host ceiling"):
        run(desk, nested(nested(stage())), ceiling={"recursion_limit": 1})


def test_b10_disjoint_roots(desk: Ledger) -> None:
    """B10: roots that share nothing leave nothing: no path is allowed."""
    label = {"kind": "read", "path_params": ["path"]}
    own = {"workspace_roots": ["lib"]}
    node = trying(label, approval_policy=ALL, capability_policy=own)
    node["metadata"]["calls"] = [
        ["run", {"path": f"{one}/x"}] for one in ("src", "lib")
    ]
    program = graph_of({"one": node})
    with pytest.raises(RefusedError, match="outside_roots"):
        workflow_execute(
            desk, "t", program, [], {"ceiling": {"workspace_roots": ["src"]}}
        )

    assert PERFORMED == []


def test_narrowing_is_a_fact(desk: Ledger) -> None:
    """What a ceiling narrows is stated before anything is run, for bodies of maps, too."""
    body = stage(capability_policy={"side_effect_level": "none"})
    many = {"kind": "map", "map_policy": {"items": [1]}, "body": body}
    run(desk, many, ceiling={**READ, "tools": ["read"]})

    rows: dict[str, Any] = {
        str(one.data["node"]): one.data["narrowed"]
        for one in desk.events(type="policy.intersected")
    }
    assert set(rows) == {"one", "one.body"}
    assert {row["member"] for row in rows["one.body"]} == {"side_effect_level", "tools"}
