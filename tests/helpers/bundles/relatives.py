"""Runs that name other runs, and their bundles: children, forks, and both.

    with Relatives.made(folder) as made:
        made.runs["deep"]       calls a run that calls a run that calls a run

Rule: each kind is one run of one ledger; an origin of the last kind is erased.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from bundled import evidence_plugins
from muniment.errors import EffectFailed
from muniment.ledger import Ledger
from muniment.runs.run import Run

__all__ = ["KINDS", "Relatives"]


def called(run: Run, depth: int = 0) -> object:
    """Ask, and call on, so deep."""
    told = run.effect("data", depth, lambda request: [request, "of the child"])
    run.record("note.added", {"text": "in a child"})
    return [told, run.call(called, {"depth": depth - 1})] if depth else told


def deep(run: Run) -> object:
    """Call a run that calls a run that calls a run."""
    return run.call(called, {"depth": 2})


def twice(run: Run) -> object:
    """Call the same run twice, with the same parameters."""
    return [run.call(called), run.call(called)]


def failing(run: Run) -> None:
    """Fail."""
    run.record("note.added", {"text": "before it fails"})
    raise ValueError("no")


def failed(run: Run) -> object:
    """Call a run that fails, and go on."""
    with suppress(EffectFailed):
        run.call(failing)
    return run.call(called)


def timed(run: Run) -> object:
    """Read the clock, ask, state, and call."""
    run.record("claim.stated", {"id": "c1", "text": "it holds"})
    said = str(run.now()), run.effect("tool", 1, str), run.effect("tool", 2, str)
    run.record("note.added", {"text": "a"})
    return [*said, run.call(called, {"depth": 1})]


def plain(run: Run) -> object:
    """Ask, and name nobody."""
    return [str(run.now()), run.effect("tool", 1, str), run.effect("tool", 1, str)]


KINDS = (
    *("deep", "twice", "failed", "origin", "whole", "place", "changed", "of fork"),
    *("child", "plain", "erased"),
)


@dataclass(frozen=True)
class Relatives:
    """A ledger, a run of each kind in it, and its root."""

    ledger: Ledger
    runs: dict[str, str]
    """Kind → run."""
    home: Path
    root: str

    @classmethod
    @contextmanager
    def made(cls, base: Path) -> Generator[Relatives]:
        """Lend the ledger in the folder *base*."""
        with Ledger.create(
            base / "ledger.db", home=base / "home", plugins=evidence_plugins()
        ) as ledger:
            runs = {
                one.__name__: ledger.execute(one).run_id
                for one in (deep, twice, failed, plain)
            }
            runs["origin"] = origin = ledger.execute(timed).run_id
            events = list(ledger.events(run=origin))
            end = events[-1].seq
            told = next(one.seq for one in events if one.type == "tool.completed")
            runs["whole"] = ledger.fork(origin, at=end, program=timed).run_id
            runs["place"] = ledger.fork(origin, at=told, program=timed).run_id
            changes = {told: "other"}
            runs["changed"] = ledger.fork(
                origin, at=end, changes=changes, program=timed
            ).run_id
            last = list(ledger.events(run=runs["place"]))[-1].seq
            runs["of fork"] = ledger.fork(runs["place"], at=last, program=timed).run_id
            runs["child"] = next(
                str(one.run)
                for one in ledger.events(type="run.started")
                if "parent" in one.raw
            )
            gone = ledger.execute(plain).run_id
            last = list(ledger.events(run=gone))[-1].seq
            runs["erased"] = ledger.fork(gone, at=last, program=plain).run_id
            ledger.erase(gone, reason="asked to")
            ledger.checkpoint()
            root = next(one.keyid for one in ledger.keys.entries if "root" in one.roles)
            yield cls(ledger, runs, base / "nobody", root)
