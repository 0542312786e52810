"""A fallback's answer has a form that its asker can take, or is refused by a rule.

Rules: over everything of muniment's own that asks, each kind of effect that it asks for, and
fallbacks of every form, declared or returned by a function. A fallback never makes muniment's
code fail by an error of Python's own: the run degrades, or the refusal names the fallback and
the kind; before the run starts, where the policy tells it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import executor_functions
from agent_tools import ALLOWED, tools
from flow_files import SUM, sum_document, write_flow
from muniment import Run, replay
from muniment.errors import EffectFailed, UsageError
from muniment.ledger import Ledger
from muniment.runs import effect_call
from muniment_plugins.evals import eval_suite_run
from muniment_plugins.governance import GovernancePolicy, load_flow, start_flow
from muniment_plugins.governance.governed import governed, governing
from muniment_plugins.harness import Experiment
from muniment_plugins.providers import acomplete, complete
from muniment_plugins.workflow import (
    StageCall,
    StageInput,
    agent_loop,
    workflow_execute,
)
from muniment_plugins.workflow.sessions import RunSession
from small_experiment import small
from workflow_stages import Document, chain, edge, graph_of

INTERNAL = ("AttributeError", "TypeError", "KeyError", "IndexError", "ValueError")
MODEL = "scripted:answers.json"
NOTHING, ECHO = "skip", "echo"
ODD: list[Any] = [
    *(None, 0, "(to be written)", [[]], {}, {"arrived": True}, {"artifacts": [1]}),
    *({"answer": 5}, {"text": 5}, {"text": "x"}, {"text": "x", "tool_calls": [{}]}),
    *({"text": "x", "usage": 5, "cost": 5, "finish_reason": 5}, {"model": 5}),
]
"""Answers of which few kinds take one."""

Asker = Callable[[Ledger], str | None]
"""Lets something ask in a new run; returns the run."""


def program(main: Callable[..., object]) -> Asker:
    """Return an asker that executes *main*."""

    def ask(ledger: Ledger) -> str:
        if asyncio.iscoroutinefunction(main):
            return asyncio.run(ledger.aexecute(main)).run_id
        return ledger.execute(main).run_id

    return ask


def graph(document: Document) -> Asker:
    """Return an asker that walks a graph."""
    return lambda ledger: workflow_execute(ledger, "t", document).run_id


def experiment(**how: Any) -> Asker:
    """Return an asker that runs a small experiment."""

    def ask(ledger: Ledger) -> str:
        builder = Experiment.builder("small").datasource(executor_functions.rows)
        for step in small(**how).steps:
            builder = builder.add_step(step)
        builder.build().run(replicates=2, ledger=ledger)
        return next(ledger.runs(order="desc")).id

    return ask


def says(given: StageInput) -> str:
    """Say who works."""
    return given.node


def rests(run: Run, stage: StageCall) -> str:
    """Wait for a moment, and look for letters."""
    run.sleep(0)
    return str(stage.mail.receive("go", timeout_s=0.0))


def completes(run: Run) -> str:
    """Ask a model."""
    return complete(run, MODEL, "hm?").text


async def completes_later(run: Run) -> str:
    """Ask a model, awaited."""
    return (await acomplete(run, MODEL, "hm?")).text


def loops(run: Run) -> str:
    """Let a model call a tool, and answer."""
    more: Any = {"tools": tools(), "approval_policy": ALLOWED}
    return str(agent_loop(run, "hm?", model=MODEL, **more))


def sums(run: Run, how: str) -> int:
    """Shorten a session."""
    own: Any = {"compact_strategy": "custom", "custom_compactor": str}
    asked: Any = {"compact_strategy": "llm", "summarize_model": MODEL}
    with RunSession.join(run, "desk") as session:
        for number in range(6):
            session.inject({"role": "user", "content": f"{number} word " * 99})
        return session.compact({"keep_last": 1, **(asked if how == "llm" else own)})


def summing(how: str) -> Asker:
    """Return an asker that shortens a session."""
    return lambda ledger: ledger.execute(sums, params={"how": how}).run_id


def flows(ledger: Ledger) -> str:
    """Run a flow that retrieves, and asks a model."""
    part = {"agent": "llm", "model": MODEL, "prompt": "p"}
    kinds = {"allowed_sources": ["seeded_rng", "data", "external_oracle"]}
    budget = {**kinds, "max_magnitude": "high"}
    intent = {
        "source": "llm",
        "min_entropy_magnitude": "low",
        "max_entropy_magnitude": "high",
        "justification": "a model is asked",
    }
    parts = {**SUM["parts"], "asker": part}
    document = sum_document(
        agents=["writer", "reader", "asker"],
        parts=parts,
        entropy_budget=budget,
        nondeterminism_intent=[*SUM["nondeterminism_intent"], intent],
    )
    manifest, given = write_flow(Path.cwd(), document), governing(ledger)
    assert given is not None
    return start_flow(ledger, load_flow(manifest), given.policy).run_id


def judges(ledger: Ledger) -> str | None:
    """Let a model judge a run."""
    done = workflow_execute(ledger, "t", chain(draft=SAYS))
    rubric = {"id": "p", "kind": "llm-judge", "prompt": "Good?", "stage": "draft"}
    pack = {"version": 1, "id": "judged", "judge": {"model": MODEL}}
    case = {"rubrics": [rubric], "cases": [{"id": "c", "rubrics": ["p"]}]}
    return str(eval_suite_run(ledger, {**pack, **case}, [done.run_id])["eval_run_id"])


SAYS: Document = {"handler": says}
CHECK: Document = {"kind": "verify", "verify": {"command": "true"}}
LLM: Document = {"mode": "llm", "model_policy": {"model": MODEL}, "prompt": "p"}
FORKED = graph_of(
    {
        "f": {"kind": "fork"},
        "a": SAYS,
        "b": SAYS,
        "z": SAYS,
        "j": {"kind": "join", "join_policy": {"strategy": "first"}},
    },
    *(edge(*pair) for pair in ("fa", "fb", "aj", "bj", "jz")),
)
MAPPED = chain(
    act={
        "kind": "map",
        "handler": says,
        "map_policy": {"items": [1, 2]},
        "join_policy": {"strategy": "first"},
    },
    z=SAYS,
)
ASKERS: dict[str, tuple[Asker, tuple[str, ...]]] = {
    "complete": (program(completes), ("llm",)),
    "acomplete": (program(completes_later), ("llm",)),
    "loop": (program(loops), ("llm", "agent.turn", "tool")),
    "node of a model": (graph(chain(act=LLM, z=SAYS)), ("llm",)),
    "node of an agent": (
        graph(chain(act={**LLM, "mode": "agent"}, z=SAYS)),
        ("llm", "agent.turn"),
    ),
    "check": (graph(chain(act=SAYS, v=CHECK)), ("check", "stage")),
    "race": (graph(FORKED), ("race", "stage")),
    "race of items": (graph(MAPPED), ("race", "stage")),
    "subagent": (
        graph(chain(act={"kind": "subagent", "graph": chain(x=SAYS)}, z=SAYS)),
        ("stage",),
    ),
    "mail": (graph(chain(act={"handler": rests}, z=SAYS)), ("mail",)),
    "summary": (
        summing("llm"),
        ("llm", "session_claim"),
    ),
    "own summary": (
        summing("own"),
        ("compaction",),
    ),
    "flow": (flows, ("llm", "retrieval")),
    "judge": (judges, ("llm", "eval")),
    "model of an experiment": (
        experiment(llm=MODEL),
        ("llm", "data"),
    ),
    "callable of an experiment": (
        experiment(llm=executor_functions.model),
        ("llm", "execution"),
    ),
}
CASES = [(name, kind) for name, (_, kinds) in ASKERS.items() for kind in kinds]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in a folder of the test's own, where a model's answers are."""
    monkeypatch.chdir(tmp_path)
    call = {"id": "c", "name": "read", "arguments": {"path": "answers.json"}}
    answers = [{"turn": 1, "text": "", "tool_calls": [call]}, {"text": "done"}]
    (tmp_path / "answers.json").write_text(json.dumps(answers))
    return tmp_path


def policy(place: Path, kind: str, fallback: object) -> GovernancePolicy:
    """Return a policy that lets no effect of *kind* happen, and answers by *fallback*."""
    budget = {"effect_limits": {kind: 0}, "exhaustion_action": "degrade"}
    document: Any = {
        "spec_version": "v1",
        "policy_id": "p",
        "nondeterminism": {"allowed_intent_sources": ["llm", "retrieval"]},
        "execution_budget": {**budget, "fallback": fallback},
    }
    return GovernancePolicy.from_document(document, str(place / "policy.json"))


def function(place: Path, value: object) -> str:
    """Return the fallback that is a function which returns *value*."""
    name = f"says_{abs(hash(repr(value)))}"
    (place / f"{name}.py").write_text(f"def say(request):\n    return {value!r}\n")
    return f"{name}:say"


def require_plain(
    ledger: Ledger, place: Path, ask: Asker, kind: str, fallback: object
) -> None:
    """Require that nothing fails by an error of Python's own, and that it replays.

    Raises:
        UsageError: it was refused before it began.

    """
    before, run = ledger.head.size, None
    with governed(ledger, policy(place, kind, fallback)):
        try:
            run = ask(ledger)
        except EffectFailed as failed:
            if "stands for no" not in failed.message:
                raise
    for event in ledger.events(from_seq=before):
        if event.type.endswith(("failed", ".started", ".completed")):
            told = str(ledger.resolve(event))
            assert not any(word in told for word in INTERNAL), (fallback, told)
    if run is not None:
        assert replay(ledger, run).verdict == "acceptable", fallback


@pytest.mark.parametrize(("name", "kind"), CASES, ids=map("/".join, CASES))
def test_no_fallback_breaks_an_asker(name: str, kind: str, place: Path) -> None:
    """Of every form: it degrades, or a rule names the fallback and the kind."""
    ask, _ = ASKERS[name]
    declared: list[object] = [NOTHING, ECHO, *({"answer": one} for one in ODD)]
    with Ledger.create(place / "ledger.db", home=place / "home") as ledger:
        for fallback in declared:
            if (value := unfit(ledger, place, ask, kind, fallback)) is not None:
                require_plain(ledger, place, ask, kind, function(place, *value))
        assert [*ledger.events(type="effect.degraded", limit=1)], "nothing degraded"


def unfit(
    ledger: Ledger, place: Path, ask: Asker, kind: str, fallback: Any
) -> list[object] | None:
    """Require what is promised of *fallback*; return its value if no run starts with it."""
    try:
        require_plain(ledger, place, ask, kind, fallback)
    except UsageError as error:
        told = error
    else:
        return None
    assert told.rule == "policy/fallback", (fallback, told)
    assert f"no {kind} effect" in told.message
    return [None if fallback == NOTHING else fallback["answer"]]


@pytest.mark.parametrize("name", ["complete", "acomplete", "node of a model"])
@pytest.mark.parametrize(
    ("fallback", "text"), [(NOTHING, ""), ({"answer": "(to be written)"}, None)]
)
def test_a_text_stands_for_a_completion(
    name: str, fallback: object, text: str | None, place: Path
) -> None:
    """The record has the completion that the asker took; nothing is an empty one."""
    said = "(to be written)" if text is None else text
    with Ledger.create(place / "ledger.db", home=place / "home") as ledger:
        with governed(ledger, policy(place, "llm", fallback)):
            run = ASKERS[name][0](ledger)
        (outcome,) = ledger.events(run=run, type="llm.completed")
        kept: Any = ledger.resolve(outcome)
        assert kept["value"] == {
            "text": said,
            "tool_calls": [],
            "finish_reason": "stop",
        }
        assert kept["answered_by"]["name"] == "governance"


def test_a_program_gets_what_the_fallback_says(place: Path) -> None:
    """Whoever asks by an effect of its own reads the value itself, as it is."""

    def main(run: Run) -> list[object]:
        return [run.effect(kind, "x", str) for kind in ("llm", "data")]

    with Ledger.create(place / "ledger.db", home=place / "home") as ledger:
        for value in ODD:
            with governed(ledger, policy(place, "llm", {"answer": value})):
                told: Any = ledger.execute(main).value
            assert told == [value, "x"]


def test_an_old_record_is_taken_as_it_is(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What an earlier version recorded of a fallback is replayed to the same end."""
    monkeypatch.setattr(effect_call, "standing_in", lambda *given: given[-1])
    with Ledger.create(place / "ledger.db", home=place / "home") as ledger:
        with governed(ledger, policy(place, "llm", NOTHING)):
            run = ASKERS["complete"][0](ledger)
        (outcome,) = ledger.events(run=run, type="llm.completed")
        assert ledger.resolve(outcome).get("value") is None
        (failed,) = ledger.events(run=run, type="run.failed")
        assert failed.raw["error_type"] == "AttributeError"
        assert run is not None
        monkeypatch.undo()
        monkeypatch.chdir(place)
        assert replay(ledger, run).verdict == "acceptable"
