"""Whatever a function of a flow raises fails the flow, in a line that names it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from flow_files import sum_document, write_flow, write_policy
from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment_cli import main
from muniment_plugins.governance import load_flow, load_policy, start_flow

RAISED = {
    "own": "Own('boo')",
    "exit": "SystemExit(0)",
    "exit with a text": "SystemExit('bye')",
    "group": "BaseExceptionGroup('all', [Own('boo'), SystemExit(1)])",
    "closed": "GeneratorExit()",
    "cancelled": "asyncio.CancelledError()",
    "without a text": "Odd()",
    "error": "ValueError('boo')",
}
MODULE = """
import asyncio


class Own(BaseException):
    pass


class Odd(BaseException):
    def __str__(self):
        raise SystemExit(3)


def throw(*given):
    raise {raised}


async def throw_later(*given):
    await asyncio.sleep(0)
    raise {raised}


def perform(run, task):
    return run.effect("tool", 1, throw)


def make(run, task):
    return 1


async def make_later(run, task):
    return 1


def search(request):
    return []
"""
FUNCTIONS = {
    "agent": {"agent": "raising:throw"},
    "performer": {"agent": "raising:perform"},
    "reasoner": {"agent": "raising:make", "reasoner": "raising:throw"},
    "retriever": {"agent": "raising:make", "retriever": "raising:throw"},
    "check": {"agent": "raising:make"},
    "agent that is awaited": {"agent": "raising:throw_later"},
    "reasoner that is awaited": {
        "agent": "raising:make",
        "reasoner": "raising:throw_later",
    },
    "retriever that is awaited": {
        "agent": "raising:make_later",
        "retriever": "raising:throw_later",
    },
}


@pytest.fixture(autouse=True)
def _its_module() -> Iterator[None]:
    """Leave no module of that name: other tests have one, too."""
    yield
    sys.modules.pop("raising", None)


NAMED = {"performer": "its agent", "check": "the engine content raised"}


@pytest.mark.parametrize("raised", RAISED)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_function_is_blamed(
    book: Ledger, place: Path, function: str, raised: str
) -> None:
    """The run fails, by that function, and replays to the same failure."""
    later = function.endswith("awaited")
    if later and raised == "closed":
        pytest.skip("a coroutine that is closed cannot say who closed it")
    source = MODULE.format(raised=RAISED[raised])
    (place / "raising.py").write_text(source)
    sys.modules.pop("raising", None)
    flow = sum_document(
        agents=["a"],
        dependencies=[],
        parts={"a": FUNCTIONS[function]},
        nondeterminism_intent=[
            {
                "source": source_name,
                "min_entropy_magnitude": "low",
                "max_entropy_magnitude": "high",
                "justification": "j",
            }
            for source_name in ("retrieval", "external")
        ],
        entropy_budget={
            "allowed_sources": ["data", "external_oracle"],
            "max_magnitude": "high",
        },
    )
    manifest = write_flow(place, flow)
    rule = {"rule_id": "k", "check": "raising:throw", "target": "artifact"}
    rules = [rule] if function == "check" else []
    policy = load_policy(write_policy(place, rules=rules))
    done = start_flow(book, load_flow(manifest), policy)
    assert done.status == "failed"
    text = str(done.error)
    assert "\n" not in text
    role = function.removesuffix(" that is awaited")
    if role not in ("retriever", "performer") or raised != "error":
        assert NAMED.get(role, f"its {role}") in text
    assert len([*book.events(run=done.run_id, type="run.failed")]) == 1
    if role != "performer":
        assert replay(book, done.run_id).verdict == "acceptable"


@pytest.mark.parametrize("raised", ["own", "exit", "error", "closed"])
@pytest.mark.parametrize("function", ["agent", "reasoner", "check"])
def test_on_the_command_line(
    place: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    raised: str,
    function: str,
) -> None:
    """Exit code 1, no traceback; `explain` blames the function, and not the program."""
    monkeypatch.setenv("MUNIMENT_HOME", str(place / "home"))
    (place / "raising.py").write_text(MODULE.format(raised=RAISED[raised]))
    sys.modules.pop("raising", None)
    write_flow(
        place,
        sum_document(agents=["a"], dependencies=[], parts={"a": FUNCTIONS[function]}),
    )
    rule = {"rule_id": "k", "check": "raising:throw", "target": "artifact"}
    write_policy(place, rules=[rule] if function == "check" else [])
    assert main(["init"]) == 0
    assert main(["run", "flow.json", "--policy", "policy.json"]) == 1
    out, err = capfd.readouterr()
    assert "Traceback" not in out + err
    assert "FlowFailed" in out
    main(["runs", "explain", "last"])
    out, err = capfd.readouterr()
    assert "the program itself" not in out
    blamed = {"check": "the check of a rule"}.get(
        function, f"the {function} of the step"
    )
    assert blamed in out


def test_a_verdict_is_no_function(
    place: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failed verification is explained as a verdict."""
    monkeypatch.setenv("MUNIMENT_HOME", str(place / "home"))
    document = sum_document()
    document["parts"]["writer"]["reasoner"] = "agents:guess"
    write_flow(place, document)
    assert main(["init"]) == 0
    assert main(["run", "flow.json"]) == 1
    main(["runs", "explain", "last"])
    out, _ = capfd.readouterr()
    assert "a verdict: no function raised it" in out
    assert "the program itself" not in out


def test_the_user_interrupts(book: Ledger, place: Path) -> None:
    """Ctrl-C is nobody's failure: it ends the run as it always does."""
    (place / "raising.py").write_text(MODULE.format(raised="KeyboardInterrupt()"))
    sys.modules.pop("raising", None)
    flow = sum_document(agents=["a"], dependencies=[], parts={"a": FUNCTIONS["agent"]})
    with pytest.raises(KeyboardInterrupt):
        start_flow(book, load_flow(write_flow(place, flow)))
