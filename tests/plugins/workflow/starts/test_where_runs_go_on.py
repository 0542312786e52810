"""A run goes on where it began, whichever process goes on with it, from whichever folder."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent_tools import Model, calls
from muniment import Run, replay
from muniment.errors import RefusedError
from muniment.ledger import Ledger
from muniment.plugins import Plugins
from muniment.runs.execution import Done
from muniment_plugins.workflow import (
    agent_aloop,
    agent_loop,
    run_record,
    tool_define,
    tool_registry,
    workflow_continue,
    workflow_execute,
    workflow_resume,
)
from muniment_plugins.workflow.api import ready_workflow
from muniment_plugins.workflow.tools.registry import ToolRegistry
from workflow_stages import Document, chain, edge, graph_of

FOLDERS = {"here": "alpha", "elsewhere": "omega"}
"""Name → what the file data.txt says there."""
SCRIPT = {1: calls(("read", {"path": "data.txt"})), 2: "Done."}
READS = {"side_effect_level": "read_only", "path_params": ["path"]}


def gate(stage: Any) -> str:
    """Let nobody through before there is a file beside the folders."""
    if not (Path(str(stage.metadata["desk"])) / "open").exists():
        raise ValueError("not yet")
    return "through"


def read(path: str) -> str:
    """Read a file."""
    return Path(path).read_text()


async def read_later(path: str) -> str:
    """Read a file, awaited."""
    await asyncio.sleep(0)
    return read(path)


def reads(run: Run, stage: Any) -> str:
    """Read a file by a tool that is held to the workspace."""
    del run
    return str(stage.tool("read", {"path": "data.txt"}))


def tools(*, later: bool = False) -> ToolRegistry:
    """Return a tool that reads a file."""
    said = {
        "parameters": {"path": {"type": "string"}},
        "handler": read_later if later else read,
        "policy": READS,
    }
    return tool_define(tool_registry(), "read", "read", said)


ROOTS: Document = {"capability_policy": {"workspace_roots": ["."]}}
PASSES: Document = {"required_paths": ["data.txt"], "required_text": ["alpha"]}
LOOPS: Document = {"mode": "agent", "model_policy": {"model": "test:a"}, **ROOTS}
WORKS: dict[str, Callable[[], Document]] = {
    "command": lambda: {
        "kind": "verify",
        "verify": {"command": "cat data.txt", "assert_text": "alpha"},
    },
    "paths": lambda: {"kind": "verify", "verify": PASSES},
    "tool": lambda: {"handler": reads, "tools": tools(), **ROOTS},
    "loop": lambda: {**LOOPS, "tools": tools()},
    "awaited loop": lambda: {**LOOPS, "tools": tools(later=True)},
}
"""What looks at a folder: each says, or passes by, what the file data.txt there says."""


def in_child(work: Document) -> Document:
    """Return a node that runs *work* in a child run of a child run."""
    inner: Document = {"kind": "subagent", "graph": {"nodes": {"act": work}}}
    return {"kind": "subagent", "graph": {"nodes": {"act": inner}}}


def in_map(work: Document) -> Document:
    """Return a node that does *work* for two items."""
    return {"kind": "map", "map_policy": {"items": ["a", "b"]}, "body": work}


AROUND: dict[str, Callable[[Document], Document]] = {
    "the run": lambda work: work,
    "a child": in_child,
    "a map": in_map,
}


def gated(work: Document, desk: Path) -> Document:
    """Return a graph that does *work* behind a gate, and in a branch beside another one."""
    closed: Document = {"handler": gate, "metadata": {"desk": str(desk)}}
    nodes: Document = {
        "gate": closed,
        "fork": {"kind": "fork"},
        "work": work,
        "other": {**closed},
        "join": {"kind": "join"},
    }
    edges = [("gate", "fork"), ("fork", "work"), ("fork", "other")]
    ends = [("work", "join"), ("other", "join")]
    return graph_of(nodes, *(edge(*one) for one in (*edges, *ends)))


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a place with two folders; a run begins in the first."""
    for one, text in FOLDERS.items():
        (tmp_path / one).mkdir()
        (tmp_path / one / "data.txt").write_text(text)
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path


def opened(desk: Path) -> Ledger:
    """Return a ledger whose model asks to read a file."""
    plugins = Plugins(("workflow",), extra={"model": Model(SCRIPT)})
    return Ledger.create(desk / "l.db", home=desk / "home", plugins=plugins)


def words(ledger: Ledger, run: str) -> list[str]:
    """Return the words of all that a run and its children recorded."""
    runs = [run]
    for one in runs:
        runs += ledger.children(one)
    said = [ledger.resolve(e) for one in runs for e in ledger.events(run=one)]
    return re.findall(r"\w+", str(said))


def resumed_by_its_record(ledger: Ledger, run: str, graph: Document) -> Any:
    """Go on with what the record says."""
    del graph
    return ledger.resume(run)


def resumed_with_a_graph(ledger: Ledger, run: str, graph: Document) -> Any:
    """Go on with the graph, given once more."""
    return ledger.resume(run, ready_workflow(ledger, "t", graph))


def resumed_as_a_workflow(ledger: Ledger, run: str, graph: Document) -> Any:
    """Go on, and with what follows."""
    del graph
    return workflow_resume(ledger, run)


WAYS = (resumed_by_its_record, resumed_with_a_graph, resumed_as_a_workflow)


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("work", WORKS)
def test_wherever_the_process_is(
    desk: Path, monkeypatch: pytest.MonkeyPatch, work: str, around: str
) -> None:
    """What a resumed run does, it does in the folder that its record states."""
    graph = gated(AROUND[around](WORKS[work]()), desk)
    way = WAYS[(len(work) + len(around)) % len(WAYS)]
    is_awaited = work == "awaited loop"
    with opened(desk) as ledger:
        first = workflow_execute(ledger, "t", graph)
        assert first.status == "failed"
        (desk / "open").touch()
        monkeypatch.chdir(desk / "elsewhere")
        if is_awaited:
            done: Any = asyncio.run(ledger.aresume(first.run_id))
        else:
            done = way(ledger, first.run_id, graph)
        assert done.status == "completed", done.error
        record = run_record(ledger, first.run_id)
        assert record["execution"]["folder"] == str(desk / "here")
        assert not {"elsewhere", "omega"} & {*words(ledger, first.run_id)}
        report = replay(ledger, first.run_id, children=True)
        assert (report.verdict, report.findings) == ("acceptable", ())


def test_loops_in_programs(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop in a program goes on where it began; a base that is said holds as it is said."""
    asked: dict[str, Any] = {"model": "test:a", **ROOTS}

    def stops(_: object) -> None:
        if not (desk / "open").exists():
            raise ValueError("not yet")

    def program(run: Run) -> str:
        first = agent_loop(run, "x", tools=tools(), **asked)
        run.effect("tool", {"name": "stop"}, stops)
        base = str(desk / "elsewhere" / "..") + "/here"
        again = agent_loop(run, "x", tools=tools(), base=base, **asked)
        return f"{first.messages} {again.messages}"

    with opened(desk) as ledger:
        first = ledger.execute(program)
        assert first.status == "failed"
        (desk / "open").touch()
        monkeypatch.chdir(desk / "elsewhere")
        done = ledger.resume(first.run_id, program)
        assert done.ok, done.error
        assert str(done.value).count("alpha") == 2, done.value
        report = replay(ledger, first.run_id, program)
        assert (report.verdict, report.findings) == ("acceptable", ())


@pytest.mark.parametrize("later", [False, True])
def test_a_loop_that_was_cut_off(
    desk: Path, monkeypatch: pytest.MonkeyPatch, later: bool
) -> None:
    """A loop goes on in its folder, or is not gone on with where that folder is not."""

    def cut(path: str) -> str:
        if not (desk / "open").exists():
            raise KeyboardInterrupt
        return read(path)

    said = {"parameters": {"path": {"type": "string"}}, "handler": cut, "policy": READS}
    reader = tool_define(tool_registry(), "read", "read", said)

    def program(run: Run) -> str:
        done = agent_loop(run, "x", model="test:a", tools=reader, **ROOTS)
        return str(done.messages)

    async def awaited(run: Run) -> str:
        done = await agent_aloop(run, "x", model="test:a", tools=reader, **ROOTS)
        return str(done.messages)

    def begun(ledger: Ledger) -> Done:
        if later:
            return asyncio.run(ledger.aexecute(awaited))
        return ledger.execute(program)

    def gone_on(ledger: Ledger, run: str) -> Done:
        if later:
            return asyncio.run(ledger.aresume(run, awaited, repeat=["tool"]))
        return ledger.resume(run, program, repeat=["tool"])

    with opened(desk) as ledger:
        with pytest.raises(KeyboardInterrupt):
            begun(ledger)
        (run,) = (one.id for one in ledger.runs())
        (desk / "open").touch()
        monkeypatch.chdir(desk / "elsewhere")
        (desk / "here").rename(desk / "away")
        size = ledger.head.size
        with pytest.raises(RefusedError) as caught:
            gone_on(ledger, run)
        assert (caught.value.rule, ledger.head.size) == ("workflow/folder", size)
        (desk / "away").rename(desk / "here")
        done = gone_on(ledger, run)
        assert done.ok, done.error
        assert "alpha" in str(done.value)
        assert (
            replay(ledger, run, awaited if later else program).verdict == "acceptable"
        )


@pytest.mark.parametrize("gone", ["no folder", "a file"])
@pytest.mark.parametrize("around", AROUND)
def test_a_folder_that_is_gone(
    desk: Path, monkeypatch: pytest.MonkeyPatch, around: str, gone: str
) -> None:
    """Where the folder is not, a resume is refused and writes nothing; a fork works here."""
    graph = gated(AROUND[around](WORKS["paths"]()), desk)
    with opened(desk) as ledger:
        first = workflow_execute(ledger, "t", graph)
        (desk / "open").touch()
        monkeypatch.chdir(desk / "elsewhere")
        shutil.move(desk / "here", desk / "kept")
        if gone == "a file":
            (desk / "here").touch()
        size = ledger.head.size
        for way in WAYS:
            with pytest.raises(RefusedError) as caught:
                way(ledger, first.run_id, graph)
            assert caught.value.rule == "workflow/folder"
            assert str(desk / "here") in caught.value.message
            assert "muniment fork" in caught.value.remedy
        assert ledger.head.size == size
        assert replay(ledger, first.run_id).verdict == "acceptable"
        fork = ledger.fork(first.run_id, at=next(ledger.events(run=first.run_id)).seq)
        record = run_record(ledger, fork.run_id)
        assert record["execution"]["folder"] == str(desk / "elsewhere")
        assert fork.status == "failed"  # the file says where it is
        assert "elsewhere" in words(ledger, fork.run_id)


def test_a_fork_is_gone_on_with_where_it_began(
    desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fork states the folder in which it is begun, and a resume of it holds to that."""
    work = {"kind": "verify", "verify": {"command": "pwd"}}
    with opened(desk) as ledger:
        first = workflow_execute(ledger, "t", gated(work, desk))
        monkeypatch.chdir(desk / "elsewhere")
        last = [*ledger.events(run=first.run_id)][-1].seq
        fork = ledger.fork(first.run_id, at=last)
        assert fork.status == "failed"
        (desk / "open").touch()
        monkeypatch.chdir(desk)
        assert ledger.resume(fork.run_id).status == "completed"
        record = run_record(ledger, fork.run_id)
        assert record["execution"]["folder"] == str(desk / "elsewhere")
        assert f"{desk}/elsewhere\n" in [one["text"] for one in record["artifacts"]]


def test_a_fork_needs_the_folder_that_it_would_work_in(
    desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relative ``cwd`` that is not where a fork is begun is refused, as at a start."""
    with opened(desk) as ledger:
        (desk / "here" / "sub").mkdir()
        graph = chain(act=WORKS["command"]())
        first = workflow_execute(ledger, "t", graph, [], {"cwd": "sub"})
        monkeypatch.chdir(desk / "elsewhere")
        size = ledger.head.size
        with pytest.raises(RefusedError) as caught:
            ledger.fork(first.run_id, at=next(ledger.events(run=first.run_id)).seq)
        assert (caught.value.rule, ledger.head.size) == ("workflow/folder", size)


def goes_on(run: Run, stage: Any) -> str:
    """Go on as new once."""
    del run
    if stage.task == "t":
        stage.mail.continue_as_new("again")
    return "done"


@pytest.mark.parametrize("is_there", [True, False])
def test_going_on_as_new(
    desk: Path, monkeypatch: pytest.MonkeyPatch, is_there: bool
) -> None:
    """A workflow goes on as new in the folder of the run before, or not at all."""
    look = {"kind": "verify", "verify": {"command": "pwd"}}
    graph = chain(look=look, again={"handler": goes_on})
    with opened(desk) as ledger:
        program = ready_workflow(ledger, "t", graph)
        first = ledger.execute(program, params=program.params())
        monkeypatch.chdir(desk / "elsewhere")
        if not is_there:
            shutil.move(desk / "here", desk / "kept")
            with pytest.raises(RefusedError) as caught:
                workflow_continue(ledger, first.run_id)
            assert caught.value.rule == "workflow/folder"
            assert len([*ledger.runs()]) == 1
            return
        again = workflow_continue(ledger, first.run_id)
        assert (again.status, again.run_id != first.run_id) == ("completed", True)
        record = run_record(ledger, again.run_id)
        assert record["execution"] == {"cwd": ".", "folder": str(desk / "here")}
        assert "elsewhere" not in words(ledger, again.run_id)
        assert replay(ledger, again.run_id).verdict == "acceptable"


def reads_far(run: Run, stage: Any) -> str:
    """Read a file by its absolute path, by a tool that is held to the workspace."""
    del run
    path = f"{stage.metadata['desk']}/here/data.txt"
    return str(stage.tool("read", {"path": path}))


def test_a_replay_from_elsewhere(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A replay judges paths by the folder of the run, wherever it is, and needs no such one."""
    work: Document = {"handler": reads_far, "tools": tools(), **ROOTS}
    graph = chain(act={**work, "metadata": {"desk": str(desk)}})
    with opened(desk) as ledger:
        done = workflow_execute(ledger, "t", graph)
        assert done.status == "completed", done.error
        monkeypatch.chdir(desk / "elsewhere")
        assert replay(ledger, done.run_id).verdict == "acceptable"
        shutil.move(desk / "here", desk / "kept")
        assert replay(ledger, done.run_id).verdict == "acceptable"
