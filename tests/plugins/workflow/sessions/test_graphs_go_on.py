"""Sessions of graphs in child runs, races and forks, and of graphs that were killed."""

from __future__ import annotations

import pytest

from children import die, start
from conversing import Counting, answers, shown, talk
from muniment import replay
from muniment.ledger import Ledger
from muniment.plugins import Plugins
from muniment_plugins.workflow import workflow_execute
from muniment_plugins.workflow.sessions import (
    agent_session_ancestry,
)
from workflow_stages import chain, edge, graph_of, stage


@pytest.mark.parametrize("handler", ["says", "says_later"])
def test_subagents_and_tasks(desk: Ledger, handler: str) -> None:
    """A subagent's run joins its own sessions; in tasks it is as in threads."""
    inner = chain(low=talk("inner"), end=stage(handler))
    graph = chain(a=talk(), sub={"kind": "subagent", "graph": inner}, b=talk())
    done = workflow_execute(desk, "t", graph)
    assert done.status == "completed", done.error
    assert answers(desk, "desk") == ["seen 1", "seen 3"]
    assert answers(desk, "inner") == ["seen 1"]
    assert replay(desk, done.run_id).verdict == "acceptable"


@pytest.mark.parametrize(
    ("held", "status"), [("refuse", "failed"), ("fork", "completed")]
)
def test_a_subagent_in_its_parents_session(
    desk: Ledger, held: str, status: str
) -> None:
    """A child run is another writer: it is refused, or forks, as its node says."""
    low = talk()
    low["model_policy"]["session_held"] = held
    graph = chain(a=talk(), sub={"kind": "subagent", "graph": chain(low=low)})
    done = workflow_execute(desk, "t", graph)
    assert done.status == status
    assert answers(desk, "desk") == ["seen 1"]
    told = agent_session_ancestry(desk, "desk")
    assert told is not None
    assert len(told["child_ids"]) == (held == "fork")


def test_races_fork(desk: Ledger) -> None:
    """In a race each path writes its fork; the record answers for it afterwards."""
    graph = graph_of(
        {
            "split": {"kind": "fork"},
            "l": talk(),
            "r": talk(),
            "meet": {"kind": "join", "join_policy": {"strategy": "first"}},
            "z": talk(),
        },
        edge("split", "l"),
        edge("split", "r"),
        edge("l", "meet"),
        edge("r", "meet"),
        edge("meet", "z"),
    )
    done = workflow_execute(desk, "t", graph)
    assert done.status == "completed", done.error
    assert answers(desk, "desk") == ["seen 1"]
    assert replay(desk, done.run_id).verdict == "acceptable"


def test_forked_at_each_event(desk: Ledger, model: Counting) -> None:
    """A fork of the run has forks of its sessions, and asks only what comes after."""
    graph = chain(a=talk(), b=talk(auto_compact={"enabled": True}))
    done = workflow_execute(desk, "t", graph)
    whole = [one["content"] for one in shown(desk, "desk")]
    joined = next(desk.events(run=done.run_id, type="session_claim.completed")).seq
    for event in list(desk.events(run=done.run_id, from_seq=joined)):
        if event.type.startswith("run."):
            continue
        model.asked.clear()
        fork = desk.fork(done.run_id, at=event.seq)
        assert fork.error is None
        said = [one["content"] for one in shown(desk, f"desk@{fork.run_id}")]
        assert said == whole
        answered = desk.events(
            run=done.run_id, type="llm.completed", to_seq=event.seq + 1
        )
        assert len(model.asked) == 2 - len(list(answered))
    assert [one["content"] for one in shown(desk, "desk")] == whole


@pytest.mark.slow
@pytest.mark.parametrize("commit", range(0, 26, 2))
def test_killed(desk: Ledger, commit: int) -> None:
    """A graph that is killed at any commit goes on in its sessions, and says nothing twice."""
    graph = graph_of(
        {
            "a": talk(),
            "split": {"kind": "fork"},
            "l": talk(),
            "r": talk(),
            "meet": {"kind": "join"},
            "z": talk(auto_compact={"enabled": True, "token_threshold": 5}),
        },
        edge("a", "split"),
        edge("split", "l"),
        edge("split", "r"),
        edge("l", "meet"),
        edge("r", "meet"),
        edge("meet", "z"),
    )

    def live(_: object) -> None:
        left = commit

        def reached(name: str) -> None:
            nonlocal left
            left -= name == "committed"
            if left < 0:
                die()

        plugins = Plugins(("workflow",), extra={"model": Counting()})
        with Ledger.open(desk.path, plugins=plugins) as opened:
            opened.store.step = reached
            workflow_execute(opened, "t", graph)

    start(live).end()
    for run in list(desk.runs()):
        if run.status == "open":
            done = desk.resume(run.id, repeat=["llm"])
            assert done.error is None
        assert answers(desk, "desk")[-1].startswith("seen ")
        told = agent_session_ancestry(desk, "desk")
        assert told is not None
        assert [answers(desk, one) for one in told["child_ids"]] == [
            ["seen 1", "seen 3"]
        ] * 2
        assert len(list(desk.events(type="session.claimed"))) == 1
        assert replay(desk, run.id).verdict == "acceptable"
