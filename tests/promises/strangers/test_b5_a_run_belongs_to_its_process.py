"""A run belongs to its process: a child is refused in one line, and nothing is lost."""

from __future__ import annotations

import asyncio
import gc
import inspect
import multiprocessing
import os
import pickle
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import pytest

from children import Report, start
from forked import asked, decorated, refused, work
from muniment.errors import MunimentError, RefusedError
from muniment.events.effect_kinds import EffectKind
from muniment.ledger import Ledger
from muniment.runs.effect_call import Call, begin
from muniment.runs.recording import Recording
from muniment.runs.run import Run, current_run
from muniment.runs.streams import OpenEffect
from muniment.trust.home import TrustHome
from muniment.verification.verify import verify

NOTE = {"text": "x"}


async def _aeffect(run: Run) -> object:
    return await run.aeffect("asked", {"a": 1}, lambda _: 2)


async def _acall(run: Run) -> object:
    return await run.acall(_program)


async def _aopen(run: Run) -> object:
    return await run.aopen("asked", {"a": 1})


async def _adecide(run: Run) -> object:
    return await run.adecide("x")


async def _asleep(run: Run) -> None:
    await run.asleep(0)


def _program(run: Run) -> str:
    run.record("note.added", NOTE)
    return str(run.effect("asked", {"a": 1}, lambda _: 2))


def _own_run(ledger: Ledger) -> None:
    with ledger.run("own") as run:
        run.record("note.added", NOTE)
        run.effect("asked", {"a": 1}, lambda _: 2)


ON_A_RUN: dict[str, Callable[[Run], object]] = {
    "acall": lambda run: asyncio.run(_acall(run)),
    "adecide": lambda run: asyncio.run(_adecide(run)),
    "aeffect": lambda run: asyncio.run(_aeffect(run)),
    "aopen": lambda run: asyncio.run(_aopen(run)),
    "asleep": lambda run: asyncio.run(_asleep(run)),
    "ask": lambda run: run.ask("x"),
    "at_once": lambda run: run.at_once(["x"]).__enter__(),
    "call": lambda run: run.call(_program),
    "decide": lambda run: run.decide("x"),
    "effect": lambda run: run.effect("asked", {"a": 1}, lambda _: 2),
    "flush": lambda run: run.flush(),
    "hook": lambda run: run.hook("complete", prompt="x"),
    "keep_order": lambda run: run.keep_order(),
    "lacks": lambda run: run.lacks("note.added", "all"),
    "now": lambda run: run.now(),
    "open": lambda run: run.open("asked", {"a": 1}),
    "mark": lambda run: run.mark("odd", "x"),
    "pause": lambda run: run.pause("x"),
    "random": lambda run: run.random(),
    "reader": lambda run: run.reader,
    "record": lambda run: run.record("note.added", NOTE),
    "keep_private": lambda run: run.keep_private(),
    "require_param": lambda run: run.require_param("a", 1, 2),
    "sleep": lambda run: run.sleep(0),
    "unguarded": lambda run: run.unguarded("files"),
    "uuid": lambda run: run.uuid(),
}
"""Every operation of a run but those that only name something."""

HARMLESS = {
    "holds",
    "has_record",
    "id",
    "idempotency_key",
    "is_kept_private",
    "memory",
    "mode",
    "name",
    "performs",
    "replays",
    "scope",
    "scope_path",
    "tells_private",
    "values",
}

ON_A_LEDGER: dict[str, Callable[[Ledger], object]] = {
    "append": lambda ledger: ledger.append("note.added", NOTE),
    "append_statement": lambda ledger: ledger.append_statement(
        "attestation.issued",
        "https://slsa.dev/provenance/v1",
        {},
        [("a", "sha256:" + "0" * 64)],
    ),
    "append_many": lambda ledger: ledger.append_many([("note.added", NOTE)] * 3),
    "aexecute": lambda ledger: asyncio.run(ledger.aexecute(_program)),
    "checkpoint": lambda ledger: ledger.checkpoint(),
    "close": lambda ledger: ledger.close(),
    "execute": lambda ledger: ledger.execute(_program),
    "run": _own_run,
}
"""Every operation of a ledger that writes, outside of an inherited run."""

OTHERS = {
    *("aresume", "cache", "cancel", "check_proof", "checkpointed", "create", "digest"),
    *("children", "effect_kinds", "erase", "event", "event_types", "events", "export"),
    *("afork", "answer", "cose_receipt", "fork", "pending"),
    *("checkpoint_signer", "committed", "first_checkpoint_over", "prove_growth"),
    *("get_blob", "head", "holds", "home", "id", "keys", "last_checkpoint", "open"),
    *(
        "path",
        "plugins",
        "port",
        "project",
        "prove",
        "prove_each",
        "register",
        "resolve",
        "resume",
    ),
    *("root", "run_id", "runs", "session", "signer", "store", "value"),
    *("value_types", "writable"),
}
"""What reads, what makes another ledger object, and what needs a run that ended."""


@pytest.fixture
def ledger(ledger: Ledger) -> Ledger:
    """Give a ledger that knows an effect."""
    ledger.register(EffectKind("asked"))
    return ledger


def test_every_operation_is_here() -> None:
    """The two lists name every public operation."""
    public = {name for name in dir(Run) if not name.startswith("_")}
    assert public == {*ON_A_RUN, *HARMLESS}
    public = {name for name in dir(Ledger) if not name.startswith("_")}
    assert public == {*ON_A_LEDGER, *OTHERS}


@pytest.mark.parametrize("name", ON_A_RUN)
@pytest.mark.parametrize("where", ["root", "scope", "perform", "held"])
def test_a_forked_child(name: str, where: str, ledger: Ledger) -> None:
    """Every operation on the inherited run refuses; the parent's record is whole."""
    act = ON_A_RUN[name]

    def body(report: Report) -> None:
        report(refused(lambda: act(current_run())))
        ledger.close()

    def forked() -> list[str]:
        code, said = start(body).end()
        assert code == 0
        return said

    with ledger.run("parent") as run:
        run.record("note.added", {"text": "waits"})
        if where == "root":
            said = forked()
        elif where == "scope":
            with run.scope("map/3"):
                said = forked()
        elif where == "held":  # a fork beside a thread that is in the run
            recording = run._recording
            with recording.lock:
                said = forked()
        else:
            said = run.effect("asked", {"b": 1}, lambda _: forked())  # type: ignore[assignment] # as performed
        run.record("note.added", {"text": "after"})
    (line,) = said
    assert line.startswith("run/process ")
    assert "hand work back to the process that began the run" in line
    ledger.close()
    report = verify(ledger.path)
    assert report.ok, report
    with Ledger.open(ledger.path, readonly=True) as opened:
        notes = [event.raw["text"] for event in opened.events(type="note.added")]
        assert notes == ["waits", "after"]
        (end,) = opened.events(type="run.completed")
        wanted = sum(1 for _ in opened.events(run=run.id)) - 1
        assert sum(end.raw["counts"].values()) == wanted  # type: ignore[union-attr,arg-type] # counts


@pytest.mark.parametrize("name", ON_A_LEDGER)
@pytest.mark.parametrize("inside", [True, False], ids=["in a run", "outside"])
def test_a_ledger_in_a_forked_child(name: str, *, inside: bool, ledger: Ledger) -> None:
    """A ledger that was opened before the fork is written to from both sides."""

    def body(report: Report) -> None:
        ON_A_LEDGER[name](ledger)
        report("done")

    if inside:
        with ledger.run("parent") as run:
            run.record("note.added", {"text": "waits"})
            children = [start(body) for _ in range(2)]
            ledger.append("note.added", NOTE)
            ends = [child.end() for child in children]
    else:
        children = [start(body) for _ in range(2)]
        ledger.append("note.added", NOTE)
        ends = [child.end() for child in children]
    assert ends == [(0, ["done"])] * 2
    before = ledger.head.size
    ledger.append("note.added", NOTE)
    assert ledger.head.size == before + 1
    ledger.close()
    report = verify(ledger.path)
    assert report.ok, report


LEAVING: dict[str, Callable[[], object]] = {
    "returns": lambda: None,
    "sys.exit": lambda: sys.exit(3),
    "an exception": lambda: 1 / 0,
    "an interrupt": lambda: (_ for _ in ()).throw(KeyboardInterrupt),
}


@pytest.mark.parametrize("way", LEAVING)
@pytest.mark.parametrize("door", ["run", "execute"])
def test_a_child_that_leaves_the_run(way: str, door: str, ledger: Ledger) -> None:
    """A child that comes out of its parent's run ends nothing and writes nothing."""
    reading, writing = os.pipe()

    def program(run: Run) -> str:
        run.record("note.added", {"text": "waits"})
        if os.fork() == 0:
            LEAVING[way]()
            return "the child's"
        os.wait()
        return "the parent's"

    parent, result = os.getpid(), None
    try:
        if door == "execute":
            result = ledger.execute(program).result
        else:
            with ledger.run("parent") as run:
                result = program(run)
    except BaseException as error:
        if os.getpid() == parent:
            raise
        os.write(writing, f"{type(error).__name__}: {error}".encode())
    finally:
        if os.getpid() != parent:
            ledger.close()
            gc.collect()
            os._exit(0)
    os.close(writing)
    with open(reading, "rb") as stream:  # noqa: PTH123 - a descriptor
        said = stream.read().decode()
    expected = {
        "returns": "RefusedError",
        "sys.exit": "SystemExit: 3",
        "an exception": "ZeroDivisionError",
        "an interrupt": "KeyboardInterrupt",
    }
    assert said.startswith(expected[way])
    assert result == "the parent's"
    ledger.close()
    assert verify(ledger.path).ok
    with Ledger.open(ledger.path, readonly=True) as opened:
        types = [event.type for event in opened.events()]
    assert types == ["ledger.opened", "run.started", "note.added", "run.completed"]


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_multiprocessing(method: str, ledger: Ledger) -> None:
    """Workers compute and hand back; what they try in the run is refused."""
    context = multiprocessing.get_context(method)
    with ledger.run("parent") as run:
        run.record("note.added", {"text": "waits"})
        with ProcessPoolExecutor(2, mp_context=context) as pool:
            said = list(pool.map(work, range(4)))
        for one in said:
            run.effect("asked", {"said": one}, lambda asked: asked)
    rule = "run/process" if method == "fork" else "run/none"
    assert all(rule in one for one in said)
    ledger.close()
    assert verify(ledger.path).ok


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_two_children_at_once(ledger: Ledger) -> None:
    """What two children of a pool try, decorated effects too, harms no run."""
    context = multiprocessing.get_context("fork")
    with ledger.run("parent") as run, context.Pool(2) as pool:
        run.record("note.added", {"text": "waits"})
        said = pool.map(decorated, range(8))
        assert asked(9) == 9
    assert all(one.startswith("run/process") for one in said)
    ledger.close()
    report = verify(ledger.path)
    assert report.ok, report


def test_handles_do_not_travel(ledger: Ledger) -> None:
    """A run, a lane, a fact and a ledger refuse to be pickled, with a remedy."""
    with ledger.run("parent") as run:
        fact = run.record("note.added", NOTE)
        for handle in (run, run.scope("a"), fact, run._recording):
            with pytest.raises(RefusedError, match="hand work back"):
                pickle.dumps(handle)
        context = multiprocessing.get_context("spawn")
        with pytest.raises(RefusedError, match="belongs to its process"):
            context.Process(target=print, args=(run,)).start()
    with pytest.raises(MunimentError, match="open it there"):
        pickle.dumps(ledger)
    assert TrustHome().ledger_at(str(ledger.path)) == ledger.id


def test_every_door_asks() -> None:
    """What writes into a run, or counts in it, asks first whose run it is."""
    doors: list[Callable[..., Any]] = [
        *(Recording.record, Recording.write, Recording.flush, Recording.drain),
        *(Recording.write_prepared, Recording._draw, Call.write),
        *(begin, OpenEffect.require_going, Run.lacks, Run.require_param),
    ]
    for door in doors:
        body = inspect.getsource(door)
        assert "owner.require()" in body, door
        if ".lock:" in body:
            assert body.index("owner.require()") < body.index(".lock:")
