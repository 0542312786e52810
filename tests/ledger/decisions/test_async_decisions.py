"""`adecide` is `decide` for programs that await: it asks, waits and goes on alike."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from deciding import answer, approver, asks, signed
from muniment.errors import UsageError
from muniment.formats.decisions import Decision
from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment.runs.execution import Done
from muniment.runs.run import Run, current_run
from muniment.verification.verify import verify
from steps import echo, types_of

Program = Callable[[Run], Awaitable[object]]


def asking(quorum: int = 1, of: list[str] | None = None) -> Program:
    """Return the async twin of the program `asks`."""

    async def program(run: Run) -> object:
        first = await run.aeffect("data", 1, echo)
        decision = await run.adecide(
            {"release": "1.2"}, "ship it?", quorum=quorum, of=of or ()
        )
        told = [(one.outcome, one.reason) for one in decision.answers]
        return [first, decision.outcome, told, await run.aeffect("data", 2, echo)]

    return program


def executed(ledger: Ledger, program: Program) -> Done:
    """Run it to its end, or to where it waits."""
    return asyncio.run(ledger.aexecute(program))


def resumed(ledger: Ledger, run: str, program: Program) -> Done:
    """Continue it."""
    return asyncio.run(ledger.aresume(run, program))


def sound(ledger: Ledger) -> bool:
    """Tell whether the ledger verifies."""
    return verify(ledger.path, home=ledger.home).ok


@pytest.mark.parametrize("outcome", ["approved", "denied"])
def test_it_writes_what_decide_writes(ledger: Ledger, outcome: str) -> None:
    """The same events, the same pause, the same result, and the same replay."""
    mine, program = approver(ledger, "ann"), asking()
    done = executed(ledger, program)
    assert done.status == "paused"
    (pending,) = ledger.pending()
    assert (pending.subject, pending.prompt) == ({"release": "1.2"}, "ship it?")
    assert done.pause is not None
    assert done.pause.waits_for == (pending.asked,)
    before = ledger.head.size
    assert resumed(ledger, done.run_id, program).status == "paused"
    assert ledger.head.size == before  # nothing new: it still waits
    answer(ledger, mine, outcome, "read it")
    done = resumed(ledger, done.run_id, program)
    assert done.result == [1, outcome, [(outcome, "read it")], 2]
    other = ledger.execute(asks)
    answer(ledger, mine, outcome, "read it")
    other = ledger.resume(other.run_id, asks)
    assert other.result == done.result
    assert types_of(ledger, other.run_id) == types_of(ledger, done.run_id)
    report = replay(ledger, done.run_id, program)
    assert (report.verdict, report.result_digest) == ("acceptable", done.result_digest)
    assert sound(ledger)


def test_a_quorum(ledger: Ledger) -> None:
    """Two of those that are named have to approve; the run waits for the second."""
    ann, bob = approver(ledger, "ann"), approver(ledger, "bob")
    program = asking(2, [ann.public.keyid, bob.public.keyid])
    run = executed(ledger, program).run_id
    answer(ledger, ann)
    assert resumed(ledger, run, program).status == "paused"
    answer(ledger, bob)
    assert resumed(ledger, run, program).result == [
        1,
        "approved",
        [("approved", "")] * 2,
        2,
    ]
    assert sound(ledger)


def test_tasks_ask_at_once(ledger: Ledger) -> None:
    """Each is heard, a resume for each at the most; a child asks for its parent."""
    mine = approver(ledger, "ann")

    async def below(run: Run) -> str:
        return (await run.adecide("below")).outcome

    async def program(run: Run) -> list[object]:
        async def one(number: int) -> object:
            with run.scope(f"lane/{number}") as lane:
                await lane.aeffect("data", number, echo)
                if number == 2:
                    return await lane.acall(below)
                return (await lane.adecide(number)).outcome

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(number)) for number in range(3)]
        return [task.result() for task in tasks]

    done = executed(ledger, program)
    for _ in range(3):
        if done.status != "paused":
            break
        for pending in ledger.pending():
            ledger.answer(signed(pending, mine))
        done = resumed(ledger, done.run_id, program)
    assert done.result == ["approved"] * 3
    assert replay(ledger, done.run_id, program).verdict == "acceptable"
    assert sound(ledger)


def test_others_run_first_and_who_is_cancelled_asks_nobody(ledger: Ledger) -> None:
    """The loop is not held; a task that is given up meanwhile leaves no question."""

    async def program(run: Run) -> list[str]:
        seen: list[str] = []

        async def ask() -> Decision:
            seen.append("begins")
            return await run.adecide("x")

        task = asyncio.create_task(ask())
        await asyncio.sleep(0)
        seen.append("other")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return seen

    done = executed(ledger, program)
    assert done.result == ["begins", "other"]
    assert "decision.asked" not in types_of(ledger, done.run_id)
    assert ledger.pending() == ()


def test_a_performer_does_not_decide(ledger: Ledger) -> None:
    """As with `decide`, its effect would have no outcome."""

    async def perform(_: object) -> None:
        with pytest.raises(UsageError, match="a performer cannot decide"):
            await current_run().adecide("x")

    async def program(run: Run) -> object:
        return await run.aeffect("data", 1, perform)

    assert executed(ledger, program).ok


def test_what_nobody_could_decide_is_refused(ledger: Ledger) -> None:
    """A quorum that cannot be reached is the program's mistake."""
    done = executed(ledger, asking(0))
    assert done.status == "failed"
    assert "decision/quorum" in str(done.error)
