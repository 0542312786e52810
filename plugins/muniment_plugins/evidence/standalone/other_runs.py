"""The fifth part of the standalone verifier: the runs that share a series with the run."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any, cast

from muniment_plugins.evidence.standalone.bundle_files import Files
from muniment_plugins.evidence.standalone.events import (
    BundleLines,
    EnvelopedEvent,
)
from muniment_plugins.evidence.standalone.formats import KEY_TYPES, require, within
from muniment_plugins.evidence.standalone.kin import LIFE, RUN_ENDS

__all__ = ["SERIES", "OtherRuns"]

SERIES = "series.intoto.jsonl"


class OtherRuns:
    """The events of other runs, and what the closing event says of their series."""

    def __init__(
        self, files: Files, record: BundleLines, below: list[EnvelopedEvent]
    ) -> None:
        self.record, self.said, self.shown = record, list[str](), set[str]()
        self.events: list[EnvelopedEvent] = []
        self.below = below
        lines = files.lines(SERIES) if SERIES in files else ()
        for at, line in enumerate(lines, 1):
            with within(f"{SERIES}:{at}"):
                event = EnvelopedEvent(line, record.keys, f"{SERIES}:{at}")
                record.marks.take(event.run, event.kind, event.seq, event.data)
                event.forget()
                self.events.append(event)
        require(self.events or SERIES not in files, SERIES, "an empty file")
        for before, event in pairwise(self.events):
            require(event.seq > before.seq, event.place, "it comes after a later event")
        for event in self.events:
            other = event.run != record.run and event.kind not in KEY_TYPES
            require(other, event.place, "it belongs to the events of the run")
        all_of_them = [*record.events, *below, *self.events]
        self.all = sorted(all_of_them, key=lambda event: event.seq)
        for before, event in pairwise(self.all):
            later = (
                event.seq > before.seq and event.chain["time"] >= before.chain["time"]
            )
            require(later, event.place, "it does not come after the event before")
            chained = event.seq > before.seq + 1
            chained = chained or event.chain["prev"] == before.leaf.hex()
            require(chained, event.place, "another prev")
        self.follow_parts()

    def follow_parts(self) -> None:
        """Require rising numbers in each series, and that neighbours in it follow."""
        last: dict[str, tuple[int, str]] = {}
        for event in self.all:
            for key, link in series_of(event).items():
                (count, leaf), number = last.get(key, (0, "")), link["count"]
                rises = type(number) is int and number > count
                require(rises, event.place, f"{key}: its number does not rise")
                told = link.get("prev", "")
                good = told == leaf or number > count + 1
                require(
                    good and (told or number == 1), event.place, f"{key}: another prev"
                )
                last[key] = number, event.leaf.hex()

    def compare(self, closing: EnvelopedEvent, name: str) -> None:
        """Require every series of the run to be counted, and shown if that is said."""
        told = self.stated(closing, name)
        own = [one for one in self.record.events if one.run == self.record.run]
        counted = [one for one in own if one.kind in ("run.started", "claim.stated")]
        wanted = {key for one in counted for key in series_of(one)}
        require(wanted == told.keys(), name, "it counts other series than the run's")
        members: set[int] = set()
        runs: set[str] = set()
        for key, (count, shown) in told.items():
            here = [one for one in self.all if key in series_of(one)]
            numbers = [series_of(one)[key]["count"] for one in here]
            if not shown:
                require(max(numbers) <= count, name, f"{key}: more than it counts")
                mine = [series_of(one)[key]["count"] for one in own if one in here]
                self.said.append(f"number {max(mine)} of {count} in {key}, not shown")
                continue
            self.shown.add(key)
            self.follow(key, here)
            which = f"{key}: {count} are counted, and {numbers[-1]} are here"
            require(numbers[-1] == count, name, which)
            of_series = {one.run for one in here if one.run is not None}
            runs |= of_series
            members |= {one.seq for one in here}
            became = self.became(of_series)
            self.said.append(f"1 of {len(of_series)} runs in {key} ({became})")
        for event in self.events:
            kinds = *LIFE, "run.marked", "verdict.reached"
            tells = event.kind in kinds and event.run in runs
            good = tells or event.seq in members
            require(good, event.place, "it tells of no run in a series")
        started = {one.run for one in self.all if one.kind == "run.started"}
        for run in sorted(runs - started):
            require(run in started, SERIES, f"the start of run {run} is missing")

    def stated(self, closing: EnvelopedEvent, name: str) -> dict[str, tuple[int, bool]]:
        """Return key → how many events the closing event counts, and whether all are shown."""
        listed: list[dict[str, Any]] = closing.data.get("series", [])
        good = type(listed) is list and (listed or "series" not in closing.data)
        require(good, name, "no list of series")
        told: dict[str, tuple[int, bool]] = {}
        for one in listed:
            good = one.keys() == {"count", "key", "shown"} and type(one["key"]) is str
            good = good and type(one["count"]) is int and 0 < one["count"] < 2**53
            good = good and type(one["shown"]) is bool and len(one["key"].encode()) > 0
            good = good and len(one["key"].encode()) <= 256
            good = good and all(one["key"] > key for key in told)
            require(good, name, "series of another form")
            told[one["key"]] = one["count"], one["shown"]
        return told

    def follow(self, key: str, here: list[EnvelopedEvent]) -> None:
        """Require the first of the series, and each that follows another."""
        before = ""
        for number, event in enumerate(here, 1):
            link = series_of(event)[key]
            good = link["count"] == number and type(link["count"]) is int
            require(good, event.place, f"not number {number} of {key}")
            told = {"count": number, "prev": before} if before else {"count": number}
            require(link == told, event.place, f"{key}: another prev")
            before = event.leaf.hex()

    def became(self, runs: set[str]) -> str:
        """Return how many of *runs* ended how."""
        last = dict.fromkeys(runs, "open")
        for one in self.all:
            if one.run in last and one.kind in LIFE:
                end = one.kind.removeprefix("run.")
                said = one.data.get("status")
                told = said if said in ("failed", "refused", "diverged") else end
                last[one.run] = told if end in RUN_ENDS else "open"
        tally = Counter(last.values())
        return ", ".join(f"{number} {one}" for one, number in sorted(tally.items()))


def series_of(event: EnvelopedEvent) -> dict[str, dict[str, Any]]:
    """Return key → place, of each series that the event is in."""
    return cast("dict[str, dict[str, Any]]", event.chain.get("series", {}))
