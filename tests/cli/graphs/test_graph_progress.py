"""What is shown of a graph while it runs follows from its events alone."""

from __future__ import annotations

from pathlib import Path

from muniment.ledger import Ledger
from muniment_cli.views.graphs.progress import GraphProgress
from muniment_plugins.workflow import StageInput, workflow_execute
from workflow_stages import chain, stage

PLUGINS = ("workflow", "providers")


def opened(work: Path) -> Ledger:
    """Make a ledger that knows graphs and models."""
    return Ledger.create(work / "l.db", home=work / "home", plugins=PLUGINS)


def test_items_children_and_cost(work: Path) -> None:
    """It counts items of artifacts, names the child's run, and adds up what is priced."""
    seen: list[str | None] = []
    (work / "answers.json").write_text('[{"text": "a", "cost": {"usd": "0.25"}}]')
    model = {"model": "scripted:answers.json"}

    def looks(given: StageInput) -> str:
        list(progress.new_lines())
        seen.append(progress.line)
        return str(given.item)

    graph = chain(
        ask={"kind": "stage", "mode": "llm", "model_policy": model},
        child={"kind": "subagent", "graph": {"name": "inner", **chain(deep=stage())}},
        each={
            "kind": "map",
            "handler": looks,
            "map_policy": {"item_artifact_kind": "artifact", "max_concurrent": 1},
            "input_contract": {"input_kinds": ["artifact"]},
        },
    )
    with opened(work) as ledger:
        progress = GraphProgress(ledger, ledger.head.size)
        done = workflow_execute(ledger, "", graph)
        assert done.status == "completed", done.error
        late = list(progress.new_lines())
        again = list(GraphProgress(ledger, 0).new_lines())
    assert seen == ["each 0 of 2 items  $0.25", "each 1 of 2 items  $0.25"]
    assert late == ["each.1: mapped, 2 of 2 items"]
    assert again == [
        "ask.1: success",
        "inner: deep.1: success",
        "child.1: success",
        *late,
    ]


def test_a_resumed_run(work: Path) -> None:
    """What a run did before it is resumed is known, and is no line again."""
    bad = stage("counted", metadata={"file": "calls", "fails": 1})
    with opened(work) as ledger:
        done = workflow_execute(ledger, "", chain(act=stage(), bad=bad))
        progress = GraphProgress(ledger, ledger.head.size)
        progress.follow(done.run_id)
        assert progress.line == ""
        assert ledger.resume(done.run_id).status == "completed"
        assert list(progress.new_lines()) == ["bad.1: success"]
