"""What a performer does with lanes of its run belongs to its effect."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment.runs.run import Run, current_run
from muniment.verification.verify import verify


def nested(run: Run) -> object:
    """Use the outer handle, an outer lane and the current one inside a perform."""

    def outer(request: Any) -> object:
        inner = run.effect("tool", {"name": "inner"}, lambda r: [r, run.random()])
        run.record("note.added", {"text": "inside"})
        with run.scope("deep") as lane:
            lane.effect("tool", {"name": "deep"}, lambda r: r)
            current_run().record("note.added", {"text": "deeper"})
        return [request, inner, run.now(), run.uuid()]

    with run.scope("map/1") as lane:
        one = lane.effect("tool", {"name": "outer"}, outer)
    two = run.effect("tool", {"name": "outer"}, outer)
    return [one, two, run.random(), run.uuid()]


async def anested(run: Run) -> object:
    """Do the same with awaited effects, two at once."""

    async def outer(request: Any) -> object:
        await asyncio.sleep(0.01 * request["n"])
        return await run.aeffect("tool", {"name": "inner"}, lambda r: r)

    return await asyncio.gather(
        *(run.aeffect("tool", {"name": "outer", "n": n}, outer) for n in (2, 1))
    )


def test_effects_in_effects_replay(ledger: Ledger) -> None:
    """A program whose performer uses the outer run is answered as a whole."""
    done = ledger.execute(nested)
    report = replay(ledger, done.run_id, nested)

    assert done.ok
    assert (report.verdict, report.findings) == ("acceptable", ())
    assert report.result_digest == done.result_digest


def test_awaited_effects_in_effects_replay(ledger: Ledger) -> None:
    """Tasks keep apart what belongs to which effect."""
    done = asyncio.run(ledger.aexecute(anested))
    report = replay(ledger, done.run_id, anested)
    scopes = {event.scope for event in ledger.events(type="tool.requested")}

    assert (report.verdict, report.findings) == ("acceptable", ())
    assert scopes == {"", "@tool.1", "@tool.2"}


def test_a_resumed_effect_finds_its_inner_ones(ledger: Ledger) -> None:
    """An effect in doubt is performed again, what completed inside it is not."""
    performed: list[str] = []
    cuts = [True]

    def program(run: Run) -> object:
        def outer(_: object) -> object:
            run.effect("tool", {"name": "inner"}, lambda _: performed.append("inner"))
            if cuts:
                cuts.clear()
                raise KeyboardInterrupt
            return "done"

        run.effect("tool", {"name": "before"}, lambda _: performed.append("before"))
        return run.effect("llm", {"name": "outer"}, outer)

    with pytest.raises(KeyboardInterrupt):
        ledger.execute(program)
    (started,) = ledger.events(type="run.started")
    done = ledger.resume(started.run or "", program)

    assert done.result == "done"
    assert performed == ["before", "inner"]
    assert replay(ledger, done.run_id, program).ok
    ledger.close()
    assert verify(ledger.path).ok
