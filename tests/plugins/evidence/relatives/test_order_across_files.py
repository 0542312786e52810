"""A bundle is one log in several files: whoever has the keys cannot exchange events of two.

Rule: each case is a bundle that is signed throughout, with one lie about order. The same
without it holds. The witness, who knows the specification alone, says the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from families import Family
from forge import RUN, Forge, keyid
from forged_bundles import Bundled
from independent_verifier import witness
from muniment import verify_bundle
from series_breaches import stated
from spoiled_bundles import write
from three_verifiers import NEEDS_NODE, verifiers
from worlds import World

pytestmark = NEEDS_NODE
LATER = "2026-11-21T00:00:00.000000Z"
Chain = dict[str, Any]


@dataclass
class LyingForge(Forge):
    """A forge that says something else in the chain's own fields of some events."""

    lies: Callable[[LyingForge, int], Chain] = lambda _, __: {}

    def statement(  # type: ignore[override]  # whatever the parent takes is passed on
        self, kind: str, data: dict[str, Any], **rest: Any
    ) -> dict[str, Any]:
        """Return the next statement, with the lie about it."""
        told = self.lies(self, len(self.rows)) if self.rows else {}
        return super().statement(kind, data, **rest | told)


def family(world: World) -> Bundled:
    """Tell of a run that called another one; bundle it without a closing event."""
    world.forge.enrol("second", ["writer"])
    Family(world.forge).write()
    bundle = Bundled(world, raw=True)
    bundle.related = [
        row for row in world.forge.rows if row.run is not None and row.run != RUN
    ]
    return bundle


def series(world: World) -> Bundled:
    """Tell of three runs of a series, and of keys between them; bundle the second run."""
    last: dict[str, Any] = {}
    for number, run in enumerate(("A", RUN, "B"), 1):
        link = {"count": number} | last
        last = {"prev": world.start(run, series={"s": link}).hash.hex()}
        world.forge.enrol(f"key {number}", ["writer"])
    for run in ("A", RUN, "B"):
        world.forge.end_run(run)
    bundle = Bundled(world)
    bundle.others = [row for row in world.forge.rows if row.run in ("A", "B")]
    bundle.series = [stated("s", 3)]
    return bundle


MADE = {"family": family, "series": series}


def judged(
    folder: Path,
    kind: str,
    lies: Callable[[LyingForge, int], Chain] = lambda _, __: {},
) -> tuple[int, set[str], tuple[int, int, int], str]:
    """Return how many events there are, and what all say of the bundle with *lies*."""
    forge = LyingForge("one").open()
    assert isinstance(forge, LyingForge)
    forge.lies = lies
    files = MADE[kind](World(folder, forge=forge)).files()
    path, root = write(folder / "told", files), keyid(forge.key("root"))
    home = folder / "nobody"
    with verifiers(root, home) as three, witness(root) as asked:
        codes, said = three.codes(path)
        assert asked(path)[0] == codes[0], (asked(path), said)
    report = verify_bundle(path, keys=[root], home=home)
    return len(forge.rows), {one.rule for one in report.findings}, codes, said


@pytest.mark.parametrize("kind", MADE)
def test_each_event_that_is_later_than_the_next(kind: str, tmp_path: Path) -> None:
    """Wherever the next one stands, in another file, of another run, about keys."""
    number, _, codes, said = judged(tmp_path / "honest", kind)
    assert codes == (0, 0, 0), said
    last = number - (kind == "family")  # a closing event comes after the others
    for late in range(1, last):

        def lies(_: Forge, seq: int, late: int = late) -> Chain:
            return {"time": LATER} if seq == late else {}

        _, rules, codes, said = judged(tmp_path / str(late), kind, lies)
        assert codes == (1, 1, 1), (late, said)
        assert rules == {"event/time"}, (late, said)


@pytest.mark.parametrize("kind", MADE)
def test_each_event_that_names_another_as_the_one_before(
    kind: str, tmp_path: Path
) -> None:
    """In every place, whichever file has its neighbour."""
    number, _, _, _ = judged(tmp_path / "honest", kind)
    for odd in range(2, number):

        def lies(_: Forge, seq: int, odd: int = odd) -> Chain:
            return {"prev": "ab" * 32} if seq == odd else {}

        _, rules, codes, said = judged(tmp_path / str(odd), kind, lies)
        assert codes == (1, 1, 1), (odd, said)
        assert rules == {"event/prev"}, (odd, said)


FIRST = {"count": 1}
PLACES: dict[str, tuple[Chain, Chain, str]] = {
    "one number twice": (FIRST, FIRST, "series/count"),
    "numbers that fall": ({"count": 3, "prev": "cd" * 32}, FIRST, "series/count"),
    "another one before": (FIRST, {"count": 2, "prev": "cd" * 32}, "series/prev"),
    "some between": (FIRST, {"count": 3, "prev": "cd" * 32}, ""),
    "the second alone": ({}, {"count": 2, "prev": "cd" * 32}, ""),
    "the next": (FIRST, {"count": 2, "prev": ""}, ""),
}


@pytest.mark.slow
@pytest.mark.parametrize("places", PLACES)
@pytest.mark.parametrize("kind", MADE)
def test_series_that_nobody_counts(kind: str, places: str, tmp_path: Path) -> None:
    """Of two events that are here, the later has a higher number, and names its neighbour."""
    first, second, rule = PLACES[places]
    number = judged(tmp_path / "honest", kind)[0]
    first_free = 6 if kind == "series" else 2  # those before are in a series already
    for one in range(first_free, number - 1):

        def lies(forge: Forge, seq: int, one: int = one) -> Chain:
            link = {one: first, one + 1: second}.get(seq)
            if link and link.get("prev") == "":
                link = link | {"prev": forge.rows[one].hash.hex()}
            known = dict[str, Any]()
            return {"series": known | {"other": link}} if link else {}

        forged = judged(tmp_path / f"{one}", kind, lies)
        assert forged[1] == ({rule} if rule else set()), (one, forged)
        assert forged[2] == ((1, 1, 1) if rule else (0, 0, 0)), (one, forged)


@pytest.mark.parametrize("name", ["checkpoint", "event", "layout"])
@pytest.mark.parametrize(("version", "code"), [(9, 3), (0, 1), (-1, 1)])
def test_versions_that_nobody_knows(
    name: str, version: int, code: int, tmp_path: Path
) -> None:
    """A later version is for a later verifier to judge; none is below 1."""
    versions = {"checkpoint": 1, "event": 4, "layout": 1} | {name: version}
    forge = Forge("one").open(formats=versions)
    files = family(World(tmp_path, forge=forge)).files()
    path, root = write(tmp_path / "told", files), keyid(forge.key("root"))
    with verifiers(root, tmp_path / "nobody") as three, witness(root) as asked:
        codes, said = three.codes(path)
        assert asked(path)[0] == code
    assert codes == (code, code, code), said


LEAF = {"run": RUN, "seq": 2, "leaf": "ab" * 32}
ANSWERS: list[Any] = [
    *(None, "record", [], 7, {}, {"who": "performer"}, {"who": "someone"}),
    *({"who": "plugin", "more": 1}, {"who": "record"}, {"who": "change"} | LEAF),
    *({"who": "record"} | LEAF, {"who": None} | LEAF),
]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["tool.completed", "clock.read", "acme.stated"])
@pytest.mark.parametrize("forked", [False, True])
def test_who_answered_in_a_run_alone(kind: str, forked: bool, tmp_path: Path) -> None:
    """A bundle without other runs says the same of its form as the ledger does."""
    for number, by in enumerate(ANSWERS):
        world = World(tmp_path / f"{number}")
        started: dict[str, Any] = {"name": "x", "seed": "0"}
        fork = {"run": "A", "at": 1, "leaf": "ab" * 32, "changes": list[Any]()}
        started |= {"fork": fork} if forked else {}
        world.forge.append("run.started", started, run=RUN)
        world.forge.append("tool.requested", {}, run=RUN)
        place: dict[str, Any] = {"ordinal": 1} if kind == "tool.completed" else {}
        said = {"time": "x", "answered_by": by}
        world.forge.append(kind, said, run=RUN, **place)
        bundle = Bundled(world, raw=True)
        with witness(keyid(world.forge.key("root"))) as asked:
            code, _ = asked(write(world.folder / "told", bundle.files()))
        found = {
            (one.rule, one.seq) for one in bundle.verified(bundle.files()).findings
        }
        ledger = {(one.rule, one.seq) for one in world.verified().findings}
        answered = {one for one in ledger if one[1] == 3}
        if forked and isinstance(by, dict) and by.get("who") in ("record", "change"):
            well_formed = by == {**LEAF, "who": by["who"]} and kind != "acme.stated"
            answered -= {("fork/answer", 3)} if well_formed else set()  # not compared
        assert found == answered, by
        assert code == bool(found), by
