"""What breaks the sentences of ``evidence.md`` on the other runs in a run's series.

seq  1  run A starts, number 1 of "s"     5  it ends
2  RUN starts, number 2              6  it ends
3  run B starts, number 3            7  it ends
4  run C starts, in no series        8  it ends
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bundle_cases import Files, added, early, found
from forge import RUN, Row
from forged_bundles import Bundled
from worlds import World, breaks

__all__ = ["runs_of_a_series"]

Change = Callable[[Bundled], object]


def runs_of_a_series(world: World) -> Bundled:
    """Tell of three runs of a series and of another; bundle the second of the three."""
    last: dict[str, Any] = {}
    for number, run in enumerate(("A", RUN, "B"), 1):
        link = {"count": number} | last
        row = world.start(run, series={"s": link, "t": link})
        last = {"prev": row.hash.hex()}
    world.start("C")
    for run in ("A", RUN, "B", "C"):
        world.forge.end_run(run)
    bundle = Bundled(world)
    bundle.others = [row for row in world.forge.rows if row.run in ("A", "B")]
    bundle.series = [stated("s", 3), stated("t", 3, shown=False)]
    return bundle


def stated(key: str, count: int, *, shown: bool = True) -> dict[str, Any]:
    """Return what a closing event says of a series."""
    return {"count": count, "key": key, "shown": shown}


def series(
    what: str,
    rule: str | set[str],
    change: Change,
    *sentences: str,
    spoil: Callable[[Files], object] = lambda _: None,
) -> None:
    """Enter a case in which the series of a bundle are told in another way."""

    def case(world: World, wrong: bool) -> set[str]:
        bundle = runs_of_a_series(world)

        def changed(files: Files) -> Files:
            spoil(files)
            return files

        if wrong:
            change(bundle)
            bundle.spoil = changed
        return found(bundle, bundle.files())

    case.__name__ = what
    breaks("evidence", *sentences, rule=rule)(case)


def counts(*said: dict[str, Any]) -> Change:
    """Return what lets the closing event say something else."""
    return lambda bundle: bundle.series.__setitem__(slice(None), said)


def without(which: Callable[[Row], bool]) -> Change:
    """Return what leaves out events of other runs."""

    def change(bundle: Bundled) -> None:
        bundle.others = [row for row in bundle.others if not which(row)]

    return change


_S, _T = stated("s", 3), stated("t", 3, shown=False)
_EACH = "The closing event MUST count each series of the run, and no other"
series("a series that is not counted", "bundle/series", counts(_S), _EACH)
series(
    "a series of other runs that is counted",
    "bundle/series",
    counts(_S, _T, stated("u", 1, shown=False)),
    _EACH,
)
series("series in another order", "bundle/series", counts(_T, _S), _EACH)
_EVERY = "the bundle MUST have every event"
_FROM_ONE = "their counts MUST go from 1 to the number that the closing event states"
series(
    "the first run of a series left out",
    {"series/count", "series/prev"},
    without(lambda row: row.run == "A"),
    _EVERY,
    _FROM_ONE,
)
series(
    "the last run of a series left out",
    "series/stated",
    without(lambda row: row.run == "B"),
    _EVERY,
    _FROM_ONE,
)
series("one run fewer counted", "series/stated", counts(stated("s", 2), _T), _FROM_ONE)
series("one run more counted", "series/stated", counts(stated("s", 4), _T), _FROM_ONE)
series(
    "fewer counted than the number of the run",
    "series/stated",
    counts(_S, stated("t", 1, shown=False)),
    "the stated number MUST NOT be below that of any event here",
)


@breaks("evidence", "and each MUST name the one before", rule="series/prev")
def another_run_before(world: World, wrong: bool) -> set[str]:
    """Follow a run of no series."""
    first = world.start("A", series={"s": {"count": 1}})
    other = world.start("C")
    before = (other if wrong else first).hash.hex()
    world.start(series={"s": {"count": 2, "prev": before}})
    world.forge.end_run(RUN)
    bundle = Bundled(world)
    bundle.others, bundle.series = [first], [stated("s", 2)]
    return found(bundle, bundle.files())


def _more(which: Callable[[Row], bool]) -> Change:
    def change(bundle: Bundled) -> None:
        rows = bundle.world.forge.rows
        bundle.others = [one for one in rows if one in bundle.others or which(one)]

    return change


def _turned(bundle: Bundled) -> None:
    bundle.others = bundle.others[::-1]


_FILE = "`series.intoto.jsonl` MUST have, in the order of the log"
series("other runs in another order", {"event/seq"}, _turned, _FILE)
series(
    "an event of a run in no series",
    "bundle/stranger",
    _more(lambda row: row.run == "C"),
    _FILE,
)

early(
    "a file of other runs without any",
    "bundle/series",
    added("series.intoto.jsonl", b""),
    _FILE,
)


@breaks("evidence", "MUST refuse a bundle without the start", rule="bundle/series")
def a_start_that_is_missing(world: World, wrong: bool) -> set[str]:
    """Leave out when a run began that states the claim later."""
    claim = {"id": "c", "text": "x"}
    started = world.start("A")
    said: dict[str, Any] = {"series": {"s": {"count": 1}}}
    first = world.forge.append("claim.stated", claim, run="A", **said)
    world.start()
    link = {"s": {"count": 2, "prev": first.hash.hex()}}
    world.forge.append("claim.stated", claim, run=RUN, series=link)
    world.forge.end_run(RUN)
    bundle = Bundled(world)
    bundle.others = [first] if wrong else [started, first]
    bundle.series = [stated("s", 2)]
    return found(bundle, bundle.files())


@breaks(
    "evidence", "It MUST judge each event as a row of the ledger", rule="event/data"
)
def another_run_of_another_form(world: World, wrong: bool) -> set[str]:
    """Have a start in the series whose data no writer would have accepted."""
    name: Any = 7 if wrong else "x"
    link = {"s": {"count": 1}}
    data = {"name": name, "seed": "0"}
    first = world.forge.append("run.started", data, run="A", series=link)
    world.start(series={"s": {"count": 2, "prev": first.hash.hex()}})
    world.forge.end_run(RUN)
    bundle = Bundled(world)
    bundle.others, bundle.series = [first], [stated("s", 2)]
    return found(bundle, bundle.files())


@breaks("evidence", "and MUST compare neighbours", rule="event/prev")
def other_runs_that_do_not_follow(world: World, wrong: bool) -> set[str]:
    """Name another event before, in the end of another run."""
    first = world.start("A", series={"s": {"count": 1}})
    more: dict[str, Any] = {"prev": "ab" * 32} if wrong else {}
    end = world.forge.append("run.paused", {"reason": "x"}, run="A", **more)
    world.start(series={"s": {"count": 2, "prev": first.hash.hex()}})
    world.forge.end_run(RUN)
    bundle = Bundled(world)
    bundle.others, bundle.series = [first, end], [stated("s", 2)]
    return found(bundle, bundle.files())


@breaks("evidence", "their blobs MUST NOT be there", rule="blob/unreferenced")
def a_blob_of_another_run(world: World, wrong: bool) -> set[str]:
    """Hand over what another run was given."""
    reference = world.forge.blob(b'"content"')
    kept = world.forge.blobs[-1]
    data = {"name": "x", "seed": "0", "params": reference}
    first = world.forge.append("run.started", data, run="A", series={"s": {"count": 1}})
    world.start(series={"s": {"count": 2, "prev": first.hash.hex()}})
    world.forge.end_run(RUN)
    world.forge.blobs[-1] = kept if wrong else (*kept[:2], None)
    bundle = Bundled(world)
    bundle.others, bundle.series = [first], [stated("s", 2)]
    return found(bundle, bundle.files())


@breaks(
    "evidence",
    "A verifier of a ledger MUST compare each `count`",
    rule="series/stated",
)
def a_closing_event_that_miscounts(world: World, wrong: bool) -> None:
    """Close a bundle of a series of two, and count one."""
    first = world.start("A", series={"s": {"count": 1}})
    world.start(series={"s": {"count": 2, "prev": first.hash.hex()}})
    said = {"manifest": "sha256:" + "0" * 64, "run": RUN}
    world.forge.append(
        "bundle.closed", said | {"series": [stated("s", 1 if wrong else 2)]}
    )
