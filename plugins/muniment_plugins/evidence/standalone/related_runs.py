"""The fourth part of the standalone verifier: the runs upon which the run rests."""

from __future__ import annotations

from muniment_plugins.evidence.standalone.bundle_files import Files
from muniment_plugins.evidence.standalone.events import (
    WITHHELD,
    BundleLines,
    EnvelopedEvent,
    RunEvents,
)
from muniment_plugins.evidence.standalone.formats import require, within
from muniment_plugins.evidence.standalone.kin import RELATED

__all__ = ["RunsBelow"]


class RunsBelow:
    """The events of child runs, and of the origins of forks."""

    def __init__(self, files: Files, record: BundleLines) -> None:
        self.record, self.runs = record, dict[str, RunEvents]()
        self.events: list[EnvelopedEvent] = []
        self.own_blobs, last = set(record.blobs), -1
        lines = files.lines(RELATED) if RELATED in files else ()
        for at, line in enumerate(lines, 1):
            with within(f"{RELATED}:{at}"):
                event = EnvelopedEvent(line, record.keys, f"{RELATED}:{at}")
                require(event.seq > last, event.place, "it comes after a later event")
                belongs = self.belongs(event)
                require(belongs, event.place, "it belongs to no related run")
                if event.run is not None:
                    run = self.runs.setdefault(event.run, RunEvents())
                    run.follow(event, record.keys.format)
                record.refer(event)
                event.forget()
                self.events.append(event)
                last = event.seq
        record.compare_blobs(files)
        self.whole, until = record.kin.reached(record.run)
        self.here = {record.run, *self.runs}
        if RELATED not in files:
            return
        require(self.events, RELATED, "an empty file")
        require(WITHHELD not in files, RELATED, "a redacted bundle has none")
        for event in self.events:
            whole = event.run is None or event.run in self.whole
            good = whole or event.seq <= until.get(event.run or "", -1)
            require(good, event.place, "its run is not related, or it follows the fork")
        both = [*record.events, *self.events]
        leaves = {one.seq: (one.run, one.leaf.hex()) for one in both if one.run}
        record.kin.compare(
            {seq: (run or "", leaf) for seq, (run, leaf) in leaves.items()}
        )

    def belongs(self, event: EnvelopedEvent) -> bool:
        """Tell whether an event is of another run, or about one that is here."""
        if event.run is not None:
            return bool(event.run != self.record.run)
        if event.kind == "decision.given":
            asked = {leaf for one in self.runs.values() for leaf in one.asked}
            about = event.statement["subject"]
            return any(one["digest"]["sha256"] in asked for one in about)
        if event.kind == "blob.erased":
            tags = set(event.data["blobs"])
            for tag in tags:
                self.record.erased.setdefault(tag, event.seq)
            return bool(tags & self.record.blobs.keys() and not tags & self.own_blobs)
        return False

    @property
    def said(self) -> list[str]:
        """What was found of other runs, and what of them is not here."""
        kin, left = self.record.kin, [*self.runs.keys() & self.whole]
        told = kin.unchecked(self.here)
        if not self.events:
            told["facts of forks"] = kin.facts[self.record.run]
        found = [f"child runs here: {len(left)}"] if left else []
        lacks = kin.lacks(self.whole, self.here)
        ends = [run for run in sorted(left) if not self.runs[run].complete]
        lacks += [f"an end of child run {run} that covers its events" for run in ends]
        found += [f"INCOMPLETE, it lacks {' and '.join(lacks)}"] if lacks else []
        other = " and ".join(f"{n} {name}" for name, n in told.items() if n)
        return [*found, f"NOT COMPARED with other runs: {other}"] if other else found
