"""The second part of the standalone verifier: what runs say of each other.

Rule: an event is anything with seq, kind, run, leaf, place, chain, data and statement; it
forgets its data afterwards, and what is compared of it is kept here as digests.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple, cast

from muniment_plugins.evidence.standalone.bundle_files import Files
from muniment_plugins.evidence.standalone.formats import (
    canonical,
    parse,
    require,
    sha256,
)

__all__ = ["LIFE", "RELATED", "RUN_ENDS", "Kin"]

RELATED = "related.intoto.jsonl"
RUN_ENDS = ("completed", "failed", "interrupted", "paused", "canceled")
LIFE = {f"run.{verb}" for verb in ("started", "resumed", *RUN_ENDS)}
OUTCOMES = ("completed", "failed")
GIVEN_BY = ("record", "change")
OWN = ("answered_by", "duration_us")
ATTEMPT = ("attempt", "doubt")
BESIDE = "the tenant, subjects or series"
ALIKE = ("labels", "name", "params", "seed")
"""What a fork has as its origin has it."""
SALT = 32

Field = tuple[object, object, "bytes | None"]
"""Size and media of a content, and its digest, which is None if it is gone."""


class KinEvent(NamedTuple):
    """What is kept of an event that names another one, or is named."""

    seq: int
    run: str
    kind: str
    leaf: str
    place: str
    at: tuple[str, int]
    by: Any
    """What it names: parent, fork, child or answer."""
    fields: dict[str, Field]
    about: dict[str, str]


class Kin:
    """Who called whom, who was forked from whom, and what they say of each other."""

    def __init__(self, files: Files) -> None:
        self.files = files
        self.starts: dict[str, KinEvent] = {}
        self.ends: dict[str, KinEvent] = {}
        self.calls: list[KinEvent] = []
        self.answers: list[KinEvent] = []
        self.known: dict[int, KinEvent] = {}
        """The outcomes and readings that may have answered a fork, by number."""
        self.asked: dict[tuple[str, str, int], KinEvent] = {}
        """The first request of each effect, by its run and place."""
        self.going: dict[tuple[str, str, int], None] = {}
        self.requested: set[tuple[str, str, int]] = set()
        self.facts: Counter[str] = Counter()
        self.forked: set[str] = set()

    def take(self, event: Any) -> None:
        """Keep what is compared of an event of any run."""
        if event.run is None:
            return
        by = event.data.get("answered_by")
        who = cast("dict[str, Any]", by).get("who") if isinstance(by, dict) else None
        self.keep(event, who)
        self.count(event, performed=who not in (*GIVEN_BY, "plugin"))

    def keep(self, event: Any, who: object) -> None:
        """Keep an event that names another one, or that another one may name."""
        data, kind, verb = event.data, event.kind, event.kind.rpartition(".")[2]
        if kind == "run.started":
            names = ("changed", "fork", "parent")
            told = {one: data[one] for one in names if one in data}
            self.starts[event.run] = self.told(event, told, ALIKE)
        elif kind == "run.completed":
            self.ends[event.run] = self.told(event, None, ("result",))
        if who in GIVEN_BY:
            self.answers.append(self.told(event, data["answered_by"]))
        if RELATED in self.files and (verb in OUTCOMES or kind == "clock.read"):
            self.known[event.seq] = self.told(event, None)
        if RELATED in self.files and verb == "requested":
            place = event.run, event.chain["scope"], event.chain["ordinal"]
            self.asked.setdefault(place, self.told(event, None))

    def count(self, event: Any, *, performed: bool) -> None:
        """Count calls, and facts of forks."""
        data, kind = event.data, event.kind
        place = event.run, event.chain["scope"], event.chain["ordinal"]
        if kind == "child.completed" and performed:
            self.calls.append(self.told(event, data.get("about"), ("value",)))
        if kind == "child.requested":
            self.going[place] = None
        elif kind == "child.completed" or (kind == "child.failed" and not performed):
            self.going.pop(place, None)
        if kind == "run.started" and "fork" in data:
            self.forked.add(event.run)
        if kind.endswith(".requested"):
            self.requested.add(place)
        fact = kind not in {*LIFE, "clock.read"} and place not in self.requested
        self.facts[event.run] += event.run in self.forked and fact

    def told(
        self, event: Any, by: Any, names: tuple[str, ...] | None = None
    ) -> KinEvent:
        """Return what is kept of an event: its members of these *names*, or all."""
        at, chain = (event.chain["scope"], event.chain["ordinal"]), event.chain
        starts, fields = event.kind == "run.started", dict[str, Field]()
        listed = [
            (one["name"], one["digest"]["sha256"]) for one in event.statement["subject"]
        ]
        if RELATED in self.files:
            names = tuple(event.data) if names is None else names
            said = {name: event.data.get(name) for name in names if name not in OWN}
            fields = {name: self.field(value) for name, value in said.items()}
            refs = [member(one, "$blob") for one in event.data.values()]
            more = [
                list(one)
                for one in listed
                if one[0] != "data.json" and f"sha256:{one[1]}" not in refs
            ]
            beside = (
                []
                if starts
                else [chain["version"], more, sorted(chain.get("series", {}))]
            )
            fields[BESIDE] = self.field([chain["tenant"], *beside])
        leaf, about = event.leaf.hex(), dict(listed) if starts else {}
        return KinEvent(
            event.seq, event.run, event.kind, leaf, event.place, at, by, fields, about
        )

    def field(self, value: Any) -> Field:
        """Return what is compared of one member: of a reference, its content."""
        if not isinstance(value, dict) or "$blob" not in value:
            return None, None, sha256(canonical(value))
        told = cast("dict[str, Any]", value)
        name = f"blobs/{told['$blob'].replace(':', '-')}"
        digest = self.files.digest(name, SALT) if name in self.files else None
        return told.get("size"), told.get("media"), digest

    def reached(self, run: str) -> tuple[set[str], dict[str, int]]:
        """Return the runs that are here whole with *run*, and those up to an event."""
        called: dict[str, set[str]] = {}
        for one in self.starts.values():
            if isinstance(parent := member(one.by, "parent", "run"), str):
                called.setdefault(parent, set()).add(one.run)
        for one in self.calls:
            called.setdefault(one.run, set()).add(str(member(one.by, "run")))
        whole, until, left = {run}, dict[str, int](), [run]
        while left:
            name = left.pop()
            for child in called.get(name, set()) - whole:
                whole.add(child)
                left.append(child)
            fork = self.starts[name].by.get("fork") if name in self.starts else None
            origin, at = member(fork, "run"), member(fork, "at")
            if type(at) is int and origin not in whole and until.get(origin, -1) < at:
                until[origin] = at
                left.append(origin)
        return whole, {one: at for one, at in until.items() if one not in whole}

    def compare(self, leaves: dict[int, tuple[str, str]]) -> None:
        """Compare the runs that are here; *leaves* are number → run and leaf hash."""
        for start in self.starts.values():
            if "parent" in start.by:
                self.compare_child(start, start.by["parent"])
            if "fork" in start.by:
                self.compare_fork(start, start.by["fork"], leaves)
        taken: dict[tuple[str, str], tuple[str, int]] = {}
        for one in self.calls:
            child, leaf = one.by["run"], one.by["leaf"]
            if child not in self.starts:
                continue
            parent, end = (
                member(self.starts[child].by, "parent", "run"),
                self.ends.get(child),
            )
            good = (
                parent == one.run
                and taken.setdefault((one.run, child), one.at) == one.at
            )
            require(good, one.place, f"{child} is no child of this call")
            good = end and end.leaf == leaf and end.seq < one.seq
            require(good, one.place, f"it does not name the end of its child {child}")
            same = end and equal(one.fields["value"], end.fields["result"])
            require(same, one.place, f"it has another value than its child {child}")
        used: set[tuple[str, int]] = set()
        for one in self.answers:
            self.compare_answer(one, used)

    def compare_child(self, start: KinEvent, told: Any) -> None:
        """Compare the start of a child with that of its parent."""
        good = told.keys() == {"key", "root", "run"}
        good = good and all(type(one) is str for one in told.values())
        require(good, start.place, "it does not name its parent, and nothing else")
        above = self.starts.get(told["run"])
        if above is None:
            return
        root = member(above.by, "parent", "root") or above.run
        good = above.seq < start.seq and told["root"] == root
        require(good, start.place, "its parent is another one, or has another root")
        named = start.about.get("call"), start.about.get("parent")
        good = named == (told["key"], sha256(above.run.encode()).hex())
        require(good, start.place, "it is not about its call and its parent")

    def compare_fork(
        self, start: KinEvent, told: Any, leaves: dict[int, tuple[str, str]]
    ) -> None:
        """Compare the start of a fork with its origin."""
        good = (
            told.keys() == {"at", "changes", "leaf", "run"} and type(told["at"]) is int
        )
        require(good, start.place, "it does not name its origin as it has to")
        origin = self.starts.get(told["run"])
        if origin is None:
            return
        here = leaves.get(told["at"]) == (told["run"], told["leaf"])
        require(
            here and told["at"] < start.seq, start.place, "its origin is another one"
        )
        require(
            start.about.get("fork") == told["leaf"], start.place, "about another event"
        )
        for name in (*ALIKE, BESIDE):
            same = equal(start.fields[name], origin.fields[name])
            require(same, start.place, f"it has another {name} than its origin")
        for one in told["changes"]:
            there = self.known.get(one["seq"])
            good = there and (there.run, there.leaf) == (told["run"], one["leaf"])
            require(good and one["seq"] <= told["at"], start.place, "an odd change")

    def compare_answer(self, one: KinEvent, used: set[tuple[str, int]]) -> None:
        """Compare an answer of a fork with the event that it names."""
        by, start = one.by, self.starts.get(one.run)
        fork: Any = start.by.get("fork") if start else None
        require(fork, one.place, "it is answered from a record, and its run is no fork")
        if member(fork, "run") not in self.starts:
            return
        good = by.keys() == {"leaf", "run", "seq", "who"} and type(by["seq"]) is int
        there = self.known.get(by["seq"]) if good else None
        good = there and (there.run, there.leaf) == (by["run"], by["leaf"])
        good = good and by["run"] == fork["run"] and by["seq"] <= fork["at"]
        good = good and there and there.at[0] == one.at[0]
        require(good, one.place, "it names no answer of its origin")
        again = (one.run, by["seq"]) in used and one.kind != "clock.read"
        used.add((one.run, by["seq"]))
        changed = any(change["seq"] == by["seq"] for change in fork["changes"])
        good = not again and (by["who"] == "change") == changed
        require(
            good, one.place, "it answers twice, or is changed where that is not said"
        )
        if there is None:
            return
        if one.kind != "clock.read":
            mine, theirs = (self.asked.get((e.run, *e.at)) for e in (one, there))
            same = mine and theirs and mine.kind == theirs.kind
            same = same and alike(mine, theirs, ATTEMPT)
            require(same, one.place, "it is the answer to another request")
        if changed:
            self.compare_change(one, there, start)
            return
        same = one.kind == there.kind and alike(one, there, ())
        require(same, one.place, "it says something else than the event that it names")

    def compare_change(
        self, one: KinEvent, there: KinEvent, start: KinEvent | None
    ) -> None:
        """Compare a changed answer with the value that its fork declares for it."""
        good = one.kind == f"{there.kind.rpartition('.')[0]}.completed"
        good = good and one.fields.keys() <= {"about", "value", BESIDE}
        good = good and equal(one.fields[BESIDE], there.fields[BESIDE])
        require(good, one.place, "it is no changed value")
        by: Any = start.by if start else {}
        changes = [change["seq"] for change in by["fork"]["changes"]]
        name = f"blobs/{by['changed']['$blob'].replace(':', '-')}"
        told = one.fields.get("value", self.field(None))[2]
        if name not in self.files or told is None:
            return
        values = parse(b"".join(self.files.pieces(name))[SALT:], name)
        good = len(values) == len(changes)
        good = good and sha256(canonical(values[changes.index(there.seq)])) == told
        require(good, one.place, "it has another value than its fork declares")

    def lacks(self, whole: set[str], here: set[str]) -> list[str]:
        """Return what the bundle should hold of other runs, and does not."""
        forks = [one.by["fork"] for one in self.starts.values() if "fork" in one.by]
        named = {f"origin {member(one, 'run')}": member(one, "run") for one in forks}
        children = [member(one.by, "run") for one in self.calls]
        named |= {f"child run {child}": child for child in children}
        began = Counter(
            member(one.by, "parent", "run")
            for one in self.starts.values()
            if "parent" in one.by and one.run not in children
        )
        left = Counter(run for run, _, _ in self.going if run in whole) - began
        told = [
            f"what {n} {'call' if n == 1 else 'calls'} of run {run} without a result "
            "began, if anything"
            for run, n in left.items()
        ]
        return [*(what for what, run in named.items() if run not in here), *told]

    def unchecked(self, here: set[str]) -> dict[str, int]:
        """Return how much of what runs say of each other is not compared."""
        forks = {
            run: one.by["fork"] for run, one in self.starts.items() if "fork" in one.by
        }
        left = {run for run, told in forks.items() if member(told, "run") not in here}
        answers = [
            one for one in self.answers if one.run in left or one.run not in forks
        ]
        parents = [
            member(one.by, "parent", "run")
            for one in self.starts.values()
            if "parent" in one.by
        ]
        calls = [member(one.by, "run") for one in self.calls] + parents
        return {
            "answers of forks": len(answers) + len(left),
            "facts of forks": self.facts.total(),
            "calls and children": sum(one not in here for one in calls),
        }


def alike(one: KinEvent | None, other: KinEvent | None, but: tuple[str, ...]) -> bool:
    """Tell whether two events have the same members, of those that are not *but*."""
    first, second = (
        {name: field for name, field in told.fields.items() if name not in but}
        for told in (one, other)
        if told is not None
    )
    same = first.keys() == second.keys()
    return same and all(equal(first[name], second[name]) for name in first)


def equal(one: Field, other: Field) -> bool:
    """Tell whether two members are equal, as far as their contents are here."""
    gone = one[2] is None or other[2] is None
    return one[:2] == other[:2] and (gone or one[2] == other[2])


def member(value: Any, *path: str) -> Any:
    """Return the member at a *path*; None if there is none."""
    for name in path:
        value = (
            cast("dict[str, Any]", value).get(name) if isinstance(value, dict) else None
        )
    return value
