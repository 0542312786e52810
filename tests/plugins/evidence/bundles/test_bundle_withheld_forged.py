"""What a key holder can say of withheld events and blobs, and cannot."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bundled import evidence_plugins, program
from muniment import verify_bundle
from muniment.formats.evidence import Withheld, WithheldEvent
from muniment.ledger import Ledger
from muniment_plugins.evidence import bundle as bundle_module
from muniment_plugins.evidence import write_bundle
from muniment_plugins.evidence.disclosure import Disclosure
from muniment_plugins.evidence.selection import Selected
from standalone_program import exit_code_of

Lie = Callable[[Selected], Selected]


def told(change: Callable[[list[WithheldEvent]], list[WithheldEvent]]) -> Lie:
    """Return a lie about the events that are withheld."""

    def lie(honest: Selected) -> Selected:
        events = sorted(change(list(honest.withheld.events)), key=lambda one: one.seq)
        return replace(honest, withheld=Withheld(tuple(events), honest.withheld.blobs))

    return lie


def moved(at: int, **changes: object) -> Lie:
    """Return what says something else of one event."""
    return told(
        lambda events: [
            replace(one, **changes) if number == at else one  # type: ignore[arg-type]
            for number, one in enumerate(events)
        ]
    )


def exchanged(events: list[WithheldEvent]) -> list[WithheldEvent]:
    """Give two events each other's hash."""
    first, second, *rest = events
    swapped = [replace(first, leaf=second.leaf), replace(second, leaf=first.leaf)]
    return [*swapped, *rest]


def also_shown(honest: Selected) -> Selected:
    """Withhold an event that is shown, too."""
    one = next(event for event in honest.events() if event.type == "claim.stated")
    place = one.scope or "", one.ordinal or 0
    extra = WithheldEvent(one.seq, *place, bytes.fromhex(one.hash))
    events = sorted([*honest.withheld.events, extra], key=lambda event: event.seq)
    return replace(honest, withheld=replace(honest.withheld, events=tuple(events)))


def of_another_run(honest: Selected) -> Selected:
    """Withhold an event of the next run."""
    one = next(event for event in honest.ledger.events() if event.seq == honest.end)
    extra = WithheldEvent(one.seq, "", 99, bytes.fromhex(one.hash))
    events = (*honest.withheld.events, extra)
    return replace(honest, withheld=replace(honest.withheld, events=events))


def blobs(change: Callable[[Selected], frozenset[str]]) -> Lie:
    """Return a lie about the blobs that are withheld."""
    return lambda honest: replace(
        honest, withheld=replace(honest.withheld, blobs=change(honest))
    )


def erased_one(honest: Selected) -> frozenset[str]:
    """Withhold a blob that an event erased."""
    (event,) = honest.ledger.events(type="blob.erased")
    listed = event.raw["blobs"]
    assert isinstance(listed, list)
    return honest.withheld.blobs | {str(listed[0])}


LIES: dict[str, Lie] = {
    "one left out": told(lambda events: events[1:]),
    "all left out": told(lambda _: []),
    "two exchanged": told(exchanged),
    "another scope": moved(0, scope="lane/9"),
    "another hash": moved(1, leaf=bytes(32)),
    "shown, too": also_shown,
    "of another run": of_another_run,
    "before the run": moved(0, seq=1),
    "a blob that nothing refers to": blobs(
        lambda honest: honest.withheld.blobs | {f"sha256:{'0' * 64}"}
    ),
    "a blob that is here": blobs(
        lambda honest: honest.withheld.blobs | set(honest.blobs)
    ),
    "a blob that was erased": blobs(erased_one),
    "a blob that is not named": blobs(
        lambda honest: frozenset(sorted(honest.withheld.blobs)[1:])
    ),
}


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ledger]:
    """Give two runs, after an event that is in none; a shown blob of the first is erased."""
    base = tmp_path_factory.mktemp("withheld")
    with Ledger.create(
        base / "ledger.db", home=base / "home", plugins=evidence_plugins()
    ) as one:
        one.append("note.added", {"text": "first"})
        one.execute(program)
        one.execute(program, params={"name": "b"})
        run = next(event.run for event in one.events() if event.run)
        (asked,) = one.events(run=run, type="llm.requested")
        blob = asked.raw["request"]
        assert isinstance(blob, dict)
        one.erase(str(blob["$blob"]), reason="asked to")
        one.checkpoint()
        yield one


def written(ledger: Ledger, path: Path, lie: Lie | None) -> str:
    """Write the bundle of the first run, with the ledger's keys; return the root."""
    run = next(event.run for event in ledger.events() if event.run)
    assert run is not None
    honest = Selected.of

    def of(ledger: Ledger, run: str, disclosure: Disclosure | None = None) -> Selected:
        found = honest(ledger, run, disclosure)
        return found if lie is None else lie(found)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Selected, "of", of)
        patch.setattr(bundle_module, "check_written", lambda *_: None)
        shown = ["llm.*", "llm.completed/*"]
        return write_bundle(ledger, run, path, disclose=shown).root


def test_the_truth(ledger: Ledger, tmp_path: Path) -> None:
    """What is not changed is intact, so that each refusal below is of the change."""
    root = written(ledger, tmp_path / "honest", None)
    assert verify_bundle(tmp_path / "honest", keys=[root]).exit_code == 0
    assert exit_code_of(tmp_path / "honest", root)[0] == 0


@pytest.mark.parametrize("what", LIES)
def test_each_lie(what: str, ledger: Ledger, tmp_path: Path) -> None:
    """It is signed by the writer, and refused by both verifiers."""
    root = written(ledger, tmp_path / "lie", LIES[what])
    report = verify_bundle(tmp_path / "lie", keys=[root])
    code, said = exit_code_of(tmp_path / "lie", root)
    assert (report.exit_code, code) == (1, 1), (said, report.findings)


def places_exchanged(events: list[WithheldEvent]) -> list[WithheldEvent]:
    """Give two events each other's place."""
    first = events[0]
    at, other = next(
        (number, one) for number, one in enumerate(events) if one.scope != first.scope
    )
    events[0] = replace(first, scope=other.scope, ordinal=other.ordinal)
    events[at] = replace(other, scope=first.scope, ordinal=first.ordinal)
    return events


WORDS: dict[str, Lie] = {
    "places exchanged": told(places_exchanged),
    "another ordinal": told(
        lambda events: [*events[:-1], replace(events[-1], ordinal=77)]
    ),
}


@pytest.mark.parametrize("what", WORDS)
def test_places_are_the_word_of_the_writer(
    what: str, ledger: Ledger, tmp_path: Path
) -> None:
    """Root and counts are the same; so no verifier says that places were checked."""
    root = written(ledger, tmp_path / "lie", WORDS[what])
    report = verify_bundle(tmp_path / "lie", keys=[root])
    code, said = exit_code_of(tmp_path / "lie", root)
    assert (report.exit_code, code) == (0, 0), (said, report.findings)
    assert "number and leaf hash are proven" in str(report.notes)
    assert "signature, type, place and data unchecked" in str(report.notes)
    assert "not checked: " in said
