"""Gates: plugins that are asked before a run, and before an effect."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path

import pytest

from muniment import (
    EffectFailed,
    EffectKind,
    Event,
    GateAnswer,
    Run,
    RunFacts,
    hookimpl,
)
from muniment.errors import RefusedError
from muniment.ledger import Ledger
from muniment.plugins import Plugins
from muniment.replays.replay import replay
from muniment.verification.verify import verify


class Budget:
    """Says no to runs by their labels, tenants and params, and counts what it is asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[RunFacts, tuple[Event, ...]]] = []

    @hookimpl
    def before_run(self, run: RunFacts, events: Sequence[Event]) -> str | None:
        """Refuse what is labelled so, and what went on too often."""
        self.asked.append((run, tuple(events)))
        if run.labels.get("budget") == "none":
            return f"{run.tenant} has no budget for {run.params['ticket']}"
        if run.labels.get("budget") == "broken":
            raise OSError("no budget file")
        resumed = sum(one.type == "run.resumed" for one in events)
        return "resumed too often" if resumed > 0 else None


class Degrading:
    """Answers what is asked by another provider, which has to be awaited."""

    def __init__(self, waits: Callable[[], Awaitable[object]] | None = None) -> None:
        """Wait for *waits* before each answer, or for a moment."""
        self.seen: list[tuple[str, str, str]] = []
        self.waits = waits or partial(asyncio.sleep, 0.01)

    @hookimpl
    async def before_effect(
        self, run: Run, kind: EffectKind, request: object, facts: RunFacts
    ) -> GateAnswer | str | None:
        """Do as the request says."""
        self.seen.append((kind.name, kind.magnitude, facts.labels.get("team", "")))
        if request == "pass":
            return None
        await self.waits()
        if request == "refuse":
            return "over budget"
        if request == "break":
            raise OSError("no network")
        if request == "fail":
            error = EffectFailed("llm", "TimeoutError", "too slow", {"after": 3})
            return GateAnswer(error=error, by={"provider": "cheap:1"})
        run.record("note.added", {"text": f"degraded {request}"})
        by = {"provider": "cheap:1", "who": "performer", "name": "nobody"}
        return GateAnswer(f"cheap {request}", by)


def opened(tmp_path: Path, **plugins: object) -> Ledger:
    """Make a ledger with these plugins and no others."""
    return Ledger.create(tmp_path / "ledger.db", plugins=Plugins((), extra=plugins))


def never(_: object) -> object:
    """Fail the test: this effect is not performed."""
    raise AssertionError("performed")


def seven(_: Run) -> int:
    """Return the same always."""
    return 7


# --- before a run --------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["live", "dry"])
def test_a_run_may_be_refused_before_it_begins(mode: str, tmp_path: Path) -> None:
    """The refusal names plugin and reason; nothing is written, nothing is called."""
    with opened(tmp_path, budget=Budget()) as ledger:
        size = ledger.head.size
        for label, said in (
            ("none", "acme has no budget for T-7"),
            ("broken", "OSError"),
        ):
            with pytest.raises(RefusedError, match=said) as refused:
                ledger.execute(
                    never,
                    params={"ticket": "T-7"},
                    labels={"budget": label},
                    tenant="acme",
                    mode=mode,  # type: ignore[arg-type]
                )
            assert refused.value.rule == "run/plugin"
            assert refused.value.place == "plugin budget"
        assert ledger.head.size == size


def test_a_with_block_may_be_refused(tmp_path: Path) -> None:
    """Every way of beginning a run asks."""
    with (
        opened(tmp_path, budget=Budget()) as ledger,
        pytest.raises(RefusedError, match="OSError: no budget file"),
    ):
        ledger.run("by hand", labels={"budget": "broken"})


def test_a_resume_may_be_refused_by_what_was_recorded(tmp_path: Path) -> None:
    """The gate gets the run's facts and its record; a refused resume leaves no trace."""
    budget = Budget()

    def program(run: Run, ticket: str) -> None:
        run.record("note.added", {"text": ticket})
        raise KeyboardInterrupt

    with opened(tmp_path, budget=budget) as ledger:
        with pytest.raises(KeyboardInterrupt):
            ledger.execute(
                program, params={"ticket": "T"}, labels={"a": "b"}, tenant="t"
            )
        run = next(ledger.events(type="run.started")).run or ""
        with pytest.raises(KeyboardInterrupt):
            ledger.resume(run, program)
        size = ledger.head.size
        with pytest.raises(RefusedError, match="resumed too often"):
            ledger.resume(run, program)
        assert ledger.head.size == size
        (begun, before), (first, events), _ = budget.asked
        assert (begun.id, begun.tenant, begun.labels) == (run, "t", {"a": "b"})
        assert (begun.params, begun.resumed, before) == ({"ticket": "T"}, False, ())
        assert first == RunFacts(run, "program", "t", {"a": "b"}, {"ticket": "T"}, True)
        kinds = ["run.started", "note.added", "run.interrupted"]
        assert [one.type for one in events] == kinds


def test_a_replay_asks_no_gate(tmp_path: Path) -> None:
    """What is only compared is not paid for; a replay that is recorded asks nobody."""
    budget = Budget()
    with opened(tmp_path, budget=budget) as ledger:
        done = ledger.execute(seven)
        for record in (False, True):
            report = replay(ledger, done.run_id, seven, record=record)
            assert report.verdict == "acceptable"
        assert len(budget.asked) == 1


# --- before an effect ----------------------------------------------------------------


def test_gates_are_awaited_side_by_side(tmp_path: Path) -> None:
    """A gate is asked about three effects before it has answered for any of them."""
    gate = Degrading(asyncio.Barrier(3).wait)

    async def program(run: Run) -> list[object]:
        asked = [run.aeffect("llm", f"{n}", never) for n in range(3)]
        async with asyncio.timeout(300):
            return list(await asyncio.gather(*asked))

    with opened(tmp_path, degrading=gate) as ledger:
        done = asyncio.run(ledger.aexecute(program, labels={"team": "red"}))
        assert done.ok, done.error
        assert done.result == ["cheap 0", "cheap 1", "cheap 2"]
        assert set(gate.seen) == {("llm", "high", "red")}
        for outcome in ledger.events(type="llm.completed"):
            assert outcome.data["answered_by"] == {
                "who": "plugin",
                "name": "degrading",
                "version": "unversioned",
                "provider": "cheap:1",
            }
    assert verify(tmp_path / "ledger.db").ok
    with Ledger.open(tmp_path / "ledger.db", plugins=()) as ledger:
        again = replay(ledger, done.run_id, program)
        assert again.verdict == "acceptable", again
        assert again.result_digest == done.result_digest


def test_a_gate_answers_with_a_failure(tmp_path: Path) -> None:
    """It is the effect's failure: type, message and data, live and in a replay."""
    seen: list[tuple[str, str, object]] = []

    async def program(run: Run) -> None:
        try:
            await run.aeffect("llm", "fail", never)
        except EffectFailed as error:
            seen.append((error.error_type, error.message, error.data))

    with opened(tmp_path, degrading=Degrading()) as ledger:
        done = asyncio.run(ledger.aexecute(program))
        assert done.ok, done.error
        (failed,) = ledger.events(type="llm.failed")
        assert "reason" not in failed.data
        assert failed.raw["answered_by"]["provider"] == "cheap:1"  # type: ignore[call-overload, index]
    with Ledger.open(tmp_path / "ledger.db", plugins=()) as ledger:
        assert replay(ledger, done.run_id, program).verdict == "acceptable"
    assert seen == [("TimeoutError", "too slow", {"after": 3})] * 2


@pytest.mark.parametrize(
    ("request_", "said"), [("refuse", "over budget"), ("break", "OSError: no network")]
)
def test_an_awaited_gate_refuses(request_: str, said: str, tmp_path: Path) -> None:
    """A gate that says no, or cannot say, after a while: nothing is performed."""

    async def program(run: Run) -> None:
        with pytest.raises(EffectFailed, match=said):
            await run.aeffect("llm", request_, never)

    with opened(tmp_path, degrading=Degrading()) as ledger:
        done = asyncio.run(ledger.aexecute(program))
        assert done.ok, done.error
    with Ledger.open(tmp_path / "ledger.db", plugins=()) as ledger:
        assert replay(ledger, done.run_id, program).verdict == "acceptable"


def test_a_gate_that_must_be_awaited_refuses_what_is_not(tmp_path: Path) -> None:
    """Where nobody can wait for its answer, it has not said yes."""

    def program(run: Run) -> None:
        with pytest.raises(EffectFailed, match="has to be awaited"):
            run.effect("llm", "pass", never)

    with opened(tmp_path, degrading=Degrading()) as ledger:
        assert ledger.execute(program).ok


def test_what_is_let_pass_is_performed(tmp_path: Path) -> None:
    """A gate without an answer leaves the effect to its performer."""

    async def program(run: Run) -> object:
        return await run.aeffect("llm", "pass", lambda asked: f"performed {asked}")

    with opened(tmp_path, degrading=Degrading()) as ledger:
        assert asyncio.run(ledger.aexecute(program)).result == "performed pass"


def test_a_program_may_stop_waiting_for_a_gate(tmp_path: Path) -> None:
    """A timeout while a gate thinks is a cancelled effect, in a replay as well."""

    async def program(run: Run) -> str:
        try:
            async with asyncio.timeout(0.05):
                await run.aeffect("llm", "slow", never)
        except TimeoutError:
            return "too slow"
        return "in time"

    with opened(tmp_path, degrading=Degrading(partial(asyncio.sleep, 600))) as ledger:
        done = asyncio.run(ledger.aexecute(program))
        assert done.result == "too slow"
        (failed,) = ledger.events(type="llm.failed")
        assert failed.data["reason"] == "cancelled"
        assert verify(ledger.path).exit_code == 0
        again = replay(ledger, done.run_id, program)
        assert again.verdict == "acceptable"
        assert again.result_digest == done.result_digest
