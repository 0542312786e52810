"""Sentences of the specification that only a small world of their own can break."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from forge import RUN, Forge, entry, keyid, leaf_hash, pae
from muniment.formats.statement import BlobRef
from muniment.ledger import Ledger
from muniment.trust.home import TrustHome
from muniment.verification.verify import verify
from muniment_cli import main
from normative import judged, rules


def noted() -> Forge:
    """Return a ledger with one sound event."""
    forge = Forge("one").open()
    forge.append("note.added", {"text": "sound"})
    return forge


def test_a_signature_of_a_digest_is_none(tmp_path: Path) -> None:
    """Nothing is concluded from a label that says that a digest was signed."""
    forge = noted()
    row = forge.rows[-1]
    hashed = hashlib.sha512(pae(row.payload)).digest()
    mark = forge.key("writer").sign(hashed)
    leaf = leaf_hash(row.payload, mark, row.key)
    forge.rows[-1] = replace(row, signature=mark, hash=leaf)
    assert rules(forge, tmp_path) == {"event/signature"}


def test_an_entry_from_elsewhere_counts_for_nothing(tmp_path: Path) -> None:
    """The leaf is that of what is stored, not one that is sound on its own."""
    forge = noted()
    row = forge.rows[-1]
    forge.append("note.added", {"text": "another"})
    forge.rows[-2:] = [replace(row, hash=forge.rows[-1].hash)]
    assert "event/leaf-hash" in rules(forge, tmp_path)


def test_an_actor_has_no_rights(tmp_path: Path) -> None:
    """Who an event says it is by decides nothing: a writer stays one."""
    forge = noted()
    forge.append("note.added", {"text": "x"}, actor="root")
    (sound := tmp_path / "sound").mkdir()
    assert judged(forge, sound).ok
    data = entry(forge.key("third"), ["writer"], forge.ledger)
    forge.append("key.enrolled", data, actor=keyid(forge.key("root")))
    assert "key/role" in rules(forge, tmp_path)


def test_unknown_types_are_judged_like_all_others(tmp_path: Path) -> None:
    """An event of a type that nobody knows is kept, and its faults are found."""
    forge = noted()
    forge.append("acme.future", {"from": "2030"})
    (sound := tmp_path / "sound").mkdir()
    assert judged(forge, sound).size == len(forge.rows)
    about = [{"digest": {"sha256": "ab" * 32}, "name": "data.json"}]
    forge.append("acme.future", {"from": "2030"}, subject=about)
    assert rules(forge, tmp_path) == {"event/subject"}


def test_no_blob_is_shared_by_two_runs(ledger: Ledger) -> None:
    """One content in two runs stands behind two commitments."""
    tags: list[str] = []
    for _ in range(2):
        done = ledger.execute(lambda lane: lane.effect("llm", "q", str))
        for event in ledger.events(run=done.run_id):
            held = event.data.values() if event.type == "llm.requested" else ()
            tags += [one.digest for one in held if isinstance(one, BlobRef)]
    assert len(set(tags)) == len(tags) == 2


def test_a_json_file_is_renamed_into_place(tmp_path: Path) -> None:
    """A change makes a new file; who has the old one open reads it whole."""
    home, forge = TrustHome(tmp_path / "home"), Forge("one").open()
    home.pin(forge.ledger, keyid(forge.key("root")))
    file = next((tmp_path / "home").rglob("pins.json"))
    with file.open("rb") as old:
        home.pin(forge.ledger, keyid(forge.key("next")))
        assert len(json.loads(old.read())) == 1
        assert os.fstat(old.fileno()).st_ino != file.stat().st_ino
    assert len(json.loads(file.read_bytes())) == 2


def test_what_was_seen_is_not_replaced_by_less(tmp_path: Path) -> None:
    """Neither a shorter ledger nor another one takes the place of an entry."""
    place, home = tmp_path / "copy.db", tmp_path / "home"
    longer = noted()
    longer.append("note.added", {"text": "more"})
    for forge in (longer, noted(), Forge("two").open()):
        place.unlink(missing_ok=True)
        forge.write(place)
        verify(place, home=home, keys=[keyid(forge.key("root"))], remember=True)
        said = json.loads((home / "seen.json").read_bytes())
        assert [(one["ledger"], one["size"]) for one in said.values()] == [
            (longer.ledger, len(longer.rows))
        ]


def test_a_line_is_synced_when_it_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line of the trust home is on the disk, whole, before success is reported."""
    home, forge = TrustHome(tmp_path / "home"), noted()
    synced: list[bytes] = []
    sync = os.fsync

    def spy(fd: int) -> None:
        sync(fd)
        synced.extend(
            file.read_bytes() for file in (tmp_path / "home").rglob("anchors.jsonl")
        )

    monkeypatch.setattr(os, "fsync", spy)
    home.anchor(forge.ledger, forge.note())
    file = next((tmp_path / "home").rglob("anchors.jsonl"))
    assert file.read_bytes().endswith(b"\n")
    assert file.read_bytes() in synced


@pytest.mark.parametrize("second", ["run.completed", "run.failed", "run.resumed"])
def test_readers_keep_the_first_end(
    second: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """What follows the end of a completed run changes neither its status nor its end."""
    forge = noted()
    forge.append("run.started", {"name": "x", "seed": "0"}, run=RUN)
    forge.end_run(RUN, duration_us=7)
    told: list[list[object]] = []
    for more in (False, True):
        if more and second == "run.resumed":
            forge.append(second, {"generation": 1}, run=RUN)
        elif more:
            said = {"error_type": "E"} if second == "run.failed" else {}
            forge.end_run(RUN, second, duration_us=9, **said)
        place = forge.write(tmp_path / f"{more}.db")
        told.append([])
        for line in (
            ("query", "SELECT status, ended, duration_us FROM runs"),
            ("query", "SELECT error_type FROM runs"),
            ("runs", "list", "--json"),
        ):
            assert main(["--ledger", str(place), *line]) == 0
            told[-1].append(capfd.readouterr().out)
    sql, runs = slice(0, 2), [json.loads(str(one[2])) for one in told]
    assert told[0][sql] == told[1][sql]
    assert "completed" in str(told[1][0])
    assert str(runs[1]).count("'completed'") == str(runs[0]).count("'completed'") > 0
