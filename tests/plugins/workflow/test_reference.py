"""What the reference says of other runtimes' words is so: refused by name, or held."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from muniment.errors import RefusedError, UsageError
from muniment.ledger import Ledger
from muniment_plugins.workflow import workflow_execute, workflow_graph
from muniment_plugins.workflow.agents.loop.endings import ENDINGS
from muniment_plugins.workflow.engine.options import ELSEWHERE
from workflow_stages import Document, chain, stage

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "reference" / "workflow.md").read_text()


@pytest.fixture(scope="module")
def page() -> ModuleType:
    """Give the script that writes the page."""
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        import workflow_page  # noqa: PLC0415 - of the tools
    finally:
        sys.path.pop(0)
    return workflow_page


@pytest.mark.parametrize("name", sorted(ELSEWHERE))
def test_options_that_are_done_elsewhere(book: Ledger, name: str) -> None:
    """Each is refused by name, with what does it here, and is in the table."""
    with pytest.raises(UsageError) as refused:
        workflow_execute(book, "a task", chain(act=stage()), [], {name: "x"})

    assert refused.value.remedy == ELSEWHERE[name]
    assert f"`{name}`" in PAGE
    assert [*book.runs()] == []


@pytest.mark.parametrize("name", ["mutation_session", "metadata", "max_step"])
def test_options_that_nothing_reads(book: Ledger, name: str) -> None:
    """Any other option is refused, too."""
    with pytest.raises(UsageError, match="nothing reads this key"):
        workflow_execute(book, "a task", chain(act=stage()), [], {name: 1})


def test_a_policy_of_transcripts_is_refused() -> None:
    """The key of other runtimes is refused by its place, with what does it here."""
    with pytest.raises(UsageError, match="session_id") as refused:
        workflow_graph(chain(act=stage(transcript_policy={"mode": "reset"})))
    assert "agent_session_reset" in refused.value.remedy


@pytest.mark.parametrize(
    "more",
    [
        {"model_policy": {"turn_policy": {}}},
        {"model_policy": {"tool_format": "text"}},
        {"exit_when_verified": True},
    ],
)
def test_keys_that_nothing_reads(more: Document) -> None:
    """A key that other runtimes read is refused by its place."""
    with pytest.raises(UsageError, match="nothing reads this key"):
        workflow_graph(chain(act=stage(**more)))


def test_loops_need_a_model(book: Ledger) -> None:
    """The mode agent is valid without a model, and is not run without one."""
    with pytest.raises(RefusedError, match="MODEL_MISSING"):
        workflow_execute(book, "a task", chain(act={"mode": "agent"}))


def test_every_end_of_a_loop_is_listed() -> None:
    """The reasons for which loops end are in the reference, each with its branch."""
    for reason, one in ENDINGS.items():
        branch = "success" if one.good else "failed"
        assert f"| `{reason}` | `{branch}` | {one.says} |" in PAGE


def test_a_mutation_session_by_its_parts(book: Ledger) -> None:
    """Run, parent, root and ceiling are in the record: a child says whose it is."""
    reads = {"side_effect_level": "read_only"}
    inner = chain(low=stage(capability_policy=reads))
    graph = chain(sub={"kind": "subagent", "graph": inner})
    done = workflow_execute(book, "a task", graph, [], {"ceiling": reads})

    started = [*book.events(type="run.started")]
    assert started[1].data["parent"]["run"] == done.run_id  # type: ignore[index]
    (first, _) = book.events(type="workflow.started")
    assert book.resolve(first)["policy"] == reads
    (made,) = done.artifacts
    assert (made.metadata["delegated"], made.metadata["worker_name"]) == (True, "sub")


def test_contracts_are_pinned(book: Ledger, place: Path) -> None:
    """A resume holds the work to the contract that the run began with."""
    contract = place / "c.json"
    contract.write_text('{"command": "true"}')
    act = stage("counted", metadata={"file": str(place / "calls"), "fails": 1})
    check = {"kind": "verify", "verify": {"contract_path": "c.json"}}
    done = workflow_execute(book, "a task", chain(act=act, check=check))
    assert done.status == "failed"
    contract.write_text('{"command": "false"}')

    assert book.resume(done.run_id).status == "completed"


def test_every_key_and_code_has_a_line(page: ModuleType) -> None:
    """A key of a shape, or a code of the source, without a line is a mistake."""
    shown = page.workflow(lambda _level, one: f"\n### {one.name}\n")

    for title, shape, lines in page.SECTIONS:
        assert {**shape.required, **shape.optional}.keys() == lines.keys(), title
    for code in page.MEANINGS:
        assert f"| `{code}` |" in shown
    for one in page.TYPES:
        assert f"\n### {one.name}\n" in shown


def test_a_key_without_a_line_is_seen(
    page: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page is not written while a key lacks its line."""
    title, shape, lines = page.SECTIONS[0]
    fewer = {key: line for key, line in lines.items() if key != "entry"}
    monkeypatch.setattr(page, "SECTIONS", [(title, shape, fewer)])

    with pytest.raises(AssertionError, match="entry"):
        page.workflow(lambda _level, one: one.name)
