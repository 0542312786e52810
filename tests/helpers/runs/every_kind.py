"""A real ledger that holds an event of every type the kernel writes."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pluggy

from muniment.errors import AppendRefused, EffectFailed, RefusedError
from muniment.events.effect_kinds import KERNEL_KINDS
from muniment.keys.ed25519 import PrivateKey, load_private
from muniment.keys.enrolment import enrolment
from muniment.ledger import Ledger
from muniment.plugins import Plugins
from muniment.replays.replay import replay
from muniment.runs.run import Run
from muniment.storage.sealing import Draft

__all__ = ["make"]

hookimpl = pluggy.HookimplMarker("muniment")


class Grumbler:
    """A plugin that refuses one event, and whose observer fails at one kind."""

    @hookimpl
    def before_append(self, event_type: str, data: Mapping[str, object]) -> str | None:
        """Refuse one note."""
        refused = event_type == "note.added" and data["text"] == "unwanted"
        return "no such notes, please" if refused else None

    @hookimpl
    def after_append(self, event: object) -> None:
        """Fail once a verdict is reached."""
        if getattr(event, "type", "") == "verdict.reached":
            raise RuntimeError("no verdicts, please")


def program(run: Run, fail: bool = False) -> object:
    """State every fact and perform every kind of effect, well and badly."""
    run.record(
        "claim.stated", {"id": "c1", "text": "it holds", "acceptance": {"p": 1.0}}
    )
    run.record("spec.issued", {"allowed_imports": ["math"], "resources": {"time_s": 5}})
    run.record("synthesis.attempted", {"code": "def f(): ...", "accepted": True})
    with suppress(AppendRefused):
        run.record("note.added", {"text": "unwanted"})
    with run.scope("map/1") as lane:
        lane.record("property.tested", {"name": "p", "transform": "t", "passed": True})
    run.now()
    run.call(called)
    with suppress(EffectFailed):
        run.call(called, {"fail": True})
    run.sleep(0)
    for kind in (one for one in KERNEL_KINDS if not one.own):
        run.effect(kind.name, {"model": "m", "ask": kind.name}, lambda r: {"got": r})
        try:
            run.effect(kind.name, {"ask": "badly"}, _fail)
        except EffectFailed:
            run.record("note.added", {"text": "dealt with"})
    run.record("verdict.reached", {"hypothesis": "h", "verifier": "v", "passed": True})
    if fail:
        raise ValueError("the end of it")
    return {"large": "x" * 1_100_000}


def called(_: Run, fail: bool = False) -> int:
    """Be called, and fail if asked to."""
    if fail:
        raise ValueError("no")
    return 7


def _fail(_: object) -> object:
    raise OSError("no such thing")


def pausing(run: Run) -> None:
    """Wait for somebody who gives it up, with a mark."""
    run.mark("non_certifiable", "nobody comes")
    run.pause("until somebody comes")


def asking(run: Run) -> str:
    """Ask somebody."""
    return run.decide({"release": "1.2"}, "ship it?").outcome


def _decide(ledger: Ledger, root: PrivateKey) -> None:
    """Ask, answer, answer once more, and go on."""
    approver = PrivateKey.generate()
    entry: dict[str, object] = dict(enrolment(approver, ["approver"], ledger.id))
    _sign(ledger, "key.enrolled", entry, root)
    run = ledger.execute(asking).run_id
    signed = ledger.pending()[0].sign(approver, "approved", reason="tested")
    ledger.answer(signed)
    with suppress(RefusedError):
        ledger.answer(signed)
    ledger.resume(run, asking)


def make(path: Path, notes: int = 300) -> Ledger:
    """Make the ledger at *path*, filled up with *notes*; the caller closes it."""
    plugins = Plugins([], {"grumbler": Grumbler()})
    ledger = Ledger.create(path, plugins=plugins)
    ledger.append("note.added", {"text": "Zoë", "details": {"who": "A. Person"}})
    done = ledger.execute(program)
    failed = ledger.execute(program, params={"fail": True})
    with suppress(KeyboardInterrupt), ledger.run("stopped"):
        raise KeyboardInterrupt
    ledger.resume(failed.run_id, program)
    ledger.cancel(ledger.execute(pausing).run_id, reason="nobody came")
    replay(ledger, done.run_id, program, record=True)
    root = load_private(ledger.home.recovery_directory(ledger.id) / "root.pem")
    other = PrivateKey.generate()
    entry: dict[str, object] = dict(enrolment(other, ["writer"], ledger.id, "ci"))
    _sign(ledger, "key.enrolled", entry, root)
    _decide(ledger, root)
    gone: dict[str, object] = {"keyid": other.public.keyid, "reason": "left the house"}
    _sign(ledger, "key.revoked", gone, root)
    blobs = [e for e in ledger.events(type="note.added") if "details" in e.raw]
    ledger.erase(str(blobs[0].raw["details"]["$blob"]), reason="asked to")  # type: ignore[index, call-overload]
    ledger.append_many([("note.added", {"text": str(i)}) for i in range(notes)])
    ledger.checkpoint()
    ledger.append("note.added", {"text": "after the last checkpoint"})
    return ledger


def _sign(ledger: Ledger, kind: str, data: dict[str, object], root: PrivateKey) -> None:
    prepared = ledger.port.types.get(kind).prepare(data)
    ledger.store.append([Draft(prepared)], signer=root)
