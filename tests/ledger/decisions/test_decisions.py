"""A run asks people to decide, waits with no process, and goes on by their answers."""

from __future__ import annotations

import asyncio
import threading
from itertools import product
from pathlib import Path
from typing import Literal

import pytest
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
)

from calling_programs import below, calling
from deciding import answer, approver, asks, revoke, signed
from forge import Forge
from muniment.errors import CannotTellError, RefusedError, RunPaused, UsageError
from muniment.formats.decisions import DecisionAnswer, outcome_of
from muniment.formats.statement import BlobRef
from muniment.ledger import Ledger
from muniment.replays.replay import replay
from muniment.runs.run import Run, current_run
from muniment.verification.verify import verify
from steps import echo, facts_of, forbidden, last_run, types_of


def judged_well(ledger: Ledger) -> None:
    """Check that the ledger verifies, its decisions among what was compared."""
    for fast in (False, True):
        report = verify(ledger.path, home=ledger.home, fast=fast)
        assert report.ok, str(report)


@pytest.mark.parametrize("name", ["ann", "ann@p256"])
def test_a_run_waits_for_an_approval(ledger: Ledger, name: str) -> None:
    """It pauses, goes on with the answer after a resume, and replays by its record."""
    mine = approver(ledger, name)
    done = ledger.execute(asks)
    assert done.status == "paused"
    (pending,) = ledger.pending()
    assert (pending.run, pending.subject) == (done.run_id, {"release": "1.2"})
    assert (pending.prompt, pending.quorum, pending.of) == ("ship it?", 1, ())
    paused = list(ledger.events(run=done.run_id))[-1]
    assert paused.raw["waits_for"] == [pending.asked]
    given = ledger.answer(signed(pending, mine, reason="the numbers are right"))
    assert (given.type, given.run) == ("decision.given", None)
    assert ledger.pending() == ()
    resumed = ledger.resume(done.run_id, asks)
    assert resumed.result == [1, "approved", [("approved", "the numbers are right")], 2]
    report = replay(ledger, done.run_id, asks)
    assert (report.verdict, report.result_digest) == (
        "acceptable",
        resumed.result_digest,
    )
    judged_well(ledger)
    assert "decisions 2 of 2" in str(verify(ledger.path, home=ledger.home))


def test_a_denial_is_an_answer(ledger: Ledger) -> None:
    """The program is told of it like of an approval; nothing is raised."""
    mine = approver(ledger, "ann")
    run = ledger.execute(asks).run_id
    answer(ledger, mine, "denied", "not on a Friday")
    assert ledger.resume(run, asks).result == [
        1,
        "denied",
        [("denied", "not on a Friday")],
        2,
    ]
    assert replay(ledger, run, asks).verdict == "acceptable"
    judged_well(ledger)


def test_a_resume_waits_again(ledger: Ledger) -> None:
    """Without an answer a resume writes nothing, and says what it waits for."""
    mine = approver(ledger, "ann")
    run = ledger.execute(asks).run_id
    before = ledger.head.size
    for _ in range(2):
        done = ledger.resume(run, forbidden)
        assert (done.status, done.pause and done.pause.waits_for) == (
            "paused",
            (ledger.pending()[0].asked,),
        )
    assert ledger.head.size == before
    assert len(ledger.pending()) == 1
    answer(ledger, mine)
    assert ledger.resume(run, asks).ok
    judged_well(ledger)


def test_a_quorum_takes_distinct_keys(ledger: Ledger) -> None:
    """Two have to approve: one of them twice is not enough, and is refused."""
    ann, bob = approver(ledger, "ann"), approver(ledger, "bob")

    def program(run: Run) -> object:
        return asks(run, 2)

    run = ledger.execute(program).run_id
    answer(ledger, ann)
    assert [one.key for one in ledger.pending()[0].answers] == [ann.public.keyid]
    assert ledger.resume(run, program).status == "paused"
    with pytest.raises(RefusedError) as caught:
        answer(ledger, ann)
    assert caught.value.rule == "decision/repeated"
    answer(ledger, bob)
    assert ledger.resume(run, program).ok
    judged_well(ledger)


def test_named_keys_alone_may_answer(ledger: Ledger) -> None:
    """Of three, two have to approve: one denial does not end it, the second does."""
    three = [approver(ledger, name) for name in ("ann", "bob", "cyd")]
    dan = approver(ledger, "dan")

    def program(run: Run) -> object:
        return asks(run, 2, [one.public.keyid for one in three])

    run = ledger.execute(program).run_id
    with pytest.raises(RefusedError) as caught:
        answer(ledger, dan)
    assert caught.value.rule == "decision/key"
    answer(ledger, three[0], "denied")
    answer(ledger, three[1])
    assert len(ledger.pending()) == 1
    answer(ledger, three[2], "denied")
    done = ledger.resume(run, program)
    assert isinstance(done.result, list)
    assert done.result[1] == "denied"
    judged_well(ledger)


@pytest.mark.parametrize("quorum", range(1, 5))
@pytest.mark.parametrize("named", [0, 4])
def test_every_order_of_answers_decides_once(quorum: int, named: int) -> None:
    """Approved at the quorum, denied once it is out of reach, whatever the order."""
    of = [f"k{number}" for number in range(named)]
    both: tuple[Literal["approved", "denied"], ...] = "approved", "denied"
    for outcomes in product(both, repeat=4):
        answers = [
            DecisionAnswer(f"k{n}", o, "", "", "") for n, o in enumerate(outcomes)
        ]
        decided = [outcome_of(quorum, of, answers[:end]) for end in range(5)]
        first = next((one for one in decided if one), None)
        enough = outcomes.count("approved") >= quorum
        denied = outcomes.count("denied")
        if named:
            assert first == ("approved" if enough else "denied")
        else:
            before = outcomes.index("denied") if denied else 4
            expected = "approved" if before >= quorum else "denied" if denied else None
            assert first == expected


@pytest.mark.parametrize("sort", ["", "@p256"])
def test_a_revoked_key_answers_no_more(ledger: Ledger, sort: str) -> None:
    """What it approved before counts; what it approves later does not."""
    ann, bob = approver(ledger, f"ann{sort}"), approver(ledger, f"bob{sort}")

    def program(run: Run) -> object:
        return asks(run, 2)

    run = ledger.execute(program).run_id
    (pending,) = ledger.pending()
    late = signed(pending, bob)
    answer(ledger, ann)
    revoke(ledger, ann)
    revoke(ledger, bob)
    with pytest.raises(RefusedError, match="is not the key of an approver here"):
        ledger.answer(late)
    answer(ledger, approver(ledger, "cyd"))
    assert ledger.resume(run, program).ok
    judged_well(ledger)


def test_a_child_asks_for_its_parent(ledger: Ledger) -> None:
    """Both pause, the answer goes to the child, and a resume of the parent finds it."""
    mine, program = approver(ledger, "ann"), calling(asks)
    done = ledger.execute(program)
    assert done.pause is not None
    (child,) = below(ledger, done.run_id)
    (pending,) = ledger.pending()
    assert pending.run == child
    assert done.pause.waits_for == (pending.asked,)
    answer(ledger, mine)
    assert ledger.resume(done.run_id, program).ok
    assert replay(ledger, done.run_id, program).verdict == "acceptable"
    judged_well(ledger)


def test_each_question_is_its_own(ledger: Ledger) -> None:
    """One that is asked twice in one scope takes two answers."""
    mine = approver(ledger, "ann")

    def program(run: Run) -> object:
        return [run.decide("x").outcome for _ in range(2)]

    run = ledger.execute(program).run_id
    answer(ledger, mine)
    assert ledger.resume(run, program).status == "paused"
    answer(ledger, mine, "denied")
    assert ledger.resume(run, program).result == ["approved", "denied"]
    assert replay(ledger, run, program).verdict == "acceptable"
    judged_well(ledger)


def test_lanes_ask_one_after_the_other(ledger: Ledger) -> None:
    """Tasks that ask at once are all heard, a resume for each at the most."""
    mine = approver(ledger, "ann")

    async def program(run: Run) -> list[str]:
        async def one(number: int) -> str:
            with run.scope(f"lane/{number}") as lane:
                await lane.aeffect("data", number, echo)
                return lane.decide(number).outcome

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(number)) for number in range(3)]
        return [task.result() for task in tasks]

    done = asyncio.run(ledger.aexecute(program))
    for _ in range(3):
        assert done.status == "paused"
        for pending in ledger.pending():
            ledger.answer(signed(pending, mine))
        done = asyncio.run(ledger.aresume(done.run_id, program))
    assert done.result == ["approved"] * 3
    judged_well(ledger)


def test_an_answer_while_the_run_runs(ledger: Ledger) -> None:
    """It needs no pause: who resumed goes on with other things, and finds it there."""
    mine = approver(ledger, "ann")

    def program(run: Run) -> object:
        if run.has_record:
            thread = threading.Thread(target=answer, args=(ledger, mine))
            thread.start()
            thread.join()
        try:
            return run.decide("x").outcome
        except RunPaused as pause:
            raise KeyboardInterrupt from pause  # it is cut off, and does not wait

    with pytest.raises(KeyboardInterrupt):
        ledger.execute(program)
    assert ledger.resume(last_run(ledger), program).result == "approved"
    judged_well(ledger)


def test_a_dry_run_asks_nobody(ledger: Ledger) -> None:
    """It ends there, and nothing is written."""
    before = ledger.head.size
    done = ledger.execute(asks, mode="dry", params={"before": 1})
    assert done.status == "refused"
    assert ledger.head.size == before

    def only(run: Run) -> object:
        return run.decide("x").outcome

    ended = ledger.execute(only, mode="dry")
    with pytest.raises(RefusedError, match="nobody can be asked to decide"):
        _ = ended.result
    assert ledger.head.size == before


def test_a_performer_does_not_decide(ledger: Ledger) -> None:
    """A question inside of a perform is refused: its effect would have no outcome."""

    def program(run: Run) -> object:
        def perform(_: object) -> None:
            with pytest.raises(UsageError, match="a performer cannot decide"):
                current_run().decide("x")

        return run.effect("data", 1, perform)

    assert ledger.execute(program).ok


def test_a_canceled_run_waits_for_nobody(ledger: Ledger) -> None:
    """What it asked is not listed, and an answer to it is refused."""
    mine = approver(ledger, "ann")
    run = ledger.execute(asks).run_id
    (pending,) = ledger.pending()
    ledger.cancel(run)
    assert ledger.pending() == ()
    with pytest.raises(RefusedError, match="the run is canceled"):
        ledger.answer(signed(pending, mine))
    judged_well(ledger)


def test_what_was_decided_is_not_decided_again(ledger: Ledger) -> None:
    """A second answer is refused before the run goes on, and after."""
    ann, bob = approver(ledger, "ann"), approver(ledger, "bob")
    run = ledger.execute(asks).run_id
    (pending,) = ledger.pending()
    ledger.answer(signed(pending, ann))
    for _ in range(2):
        with pytest.raises(RefusedError) as caught:
            ledger.answer(signed(pending, bob, "denied"))
        assert caught.value.rule == "decision/closed"
        if facts_of(ledger, run).status != "completed":
            ledger.resume(run, asks)
    judged_well(ledger)


def test_what_is_decided_on_may_be_erased(ledger: Ledger) -> None:
    """The question stays answerable, and the decision verifies without its subject."""
    mine = approver(ledger, "ann")

    def program(run: Run) -> object:
        return run.decide("about A. Person", "who?").outcome

    run = ledger.execute(program).run_id
    ledger.erase(run, reason="asked to")
    (pending,) = ledger.pending()
    assert isinstance(pending.subject, BlobRef)
    answer(ledger, mine)
    with pytest.raises(CannotTellError):
        ledger.resume(run, program)
    judged_well(ledger)


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ({"quorum": 0}, "decision/quorum"),
        ({"quorum": 17}, "decision/quorum"),
        ({"quorum": True}, "decision/quorum"),
        ({"quorum": 2, "of": ["SHA256:" + "a" * 43]}, "decision/quorum"),
        ({"of": ["SHA256:" + "a" * 43] * 2}, "decision/key"),
        ({"of": "ann"}, "decision/key"),
        ({"subject": None}, "decision/subject"),
    ],
)
def test_what_nobody_could_decide_is_refused(
    ledger: Ledger, given: dict[str, object], rule: str
) -> None:
    """Before anything is asked."""

    def program(run: Run) -> object:
        return run.decide(**{"subject": "x", **given})  # type: ignore[arg-type]

    done = ledger.execute(program)
    assert getattr(done.error, "rule", "") == rule
    assert "decision.asked" not in types_of(ledger, done.run_id)


def test_older_ledgers_know_no_decisions(tmp_path: Path) -> None:
    """Where no verifier would look at them they are refused, and nothing is asked."""
    home = tmp_path / "home"
    forge = Forge("one").open(event=3)
    (folder := tmp_path / "old").mkdir()
    place = forge.write(folder / "ledger.db")
    writer = folder / "writer.pem"
    form = Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
    writer.write_bytes(forge.key("writer").private_bytes(*form))
    writer.chmod(0o600)
    with Ledger.open(place, signer=f"file:{writer}", home=home, plugins=()) as ledger:
        done = ledger.execute(asks)
        assert getattr(done.error, "rule", "") == "decision/format"
        assert ledger.pending() == ()
        with pytest.raises(RefusedError, match="knows no decisions"):
            ledger.answer(b"{}")
        with pytest.raises(UsageError, match="written by the ledger alone"):
            ledger.append("decision.given", {"envelope": {}})
