"""Bundles that somebody with the ledger's own keys made, each with one lie."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from bundled import evidence_plugins, program
from muniment import verify_bundle
from muniment.formats.checkpoint import (
    Checkpoint,
    Note,
    NoteSignature,
    TlogProof,
    origin,
)
from muniment.formats.checkpoint import sign_checkpoint as signed
from muniment.formats.dsse import Envelope, entry_hash, pae, spki_base64
from muniment.formats.evidence import MANIFEST, NOTHING, consistency_text, proof_line
from muniment.formats.merkle import consistency_proof, inclusion_proof, root
from muniment.formats.sigstore import SigstoreBundle
from muniment.ledger import Ledger
from muniment.verification.report import Report
from muniment_plugins.evidence import write_bundle
from muniment_plugins.evidence.closing import _closing
from muniment_plugins.evidence.files import (
    _envelope_line,
    digest_of,
    own_line,
    tree_files,
)
from muniment_plugins.evidence.selection import Selected, size_of
from spoiled_bundles import Files, read, sealed, write
from standalone_program import exit_code_of


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """Give a ledger with two runs."""
    with Ledger.create(tmp_path / "ledger.db", plugins=evidence_plugins()) as made:
        made.execute(program)
        made.execute(program, params={"name": "b"})
        yield made


def runs_of(ledger: Ledger) -> list[str]:
    """Return the runs."""
    return [str(one.run) for one in ledger.events(type="run.started")]


def raw_files(ledger: Ledger, tmp_path: Path, run: str) -> Files:
    """Return the files of the raw bundle of *run*."""
    return read(write_bundle(ledger, run, tmp_path / "raw", raw=True).path)


def judged(ledger: Ledger, tmp_path: Path, files: Files) -> Report:
    """Verify a bundle of *files* under the root; the standalone verifier agrees."""
    folder = write(tmp_path / "forged", files)
    root = next(one.keyid for one in ledger.keys.entries if "root" in one.roles)
    report = verify_bundle(folder, keys=[root])
    code, said = exit_code_of(folder, root)
    assert code == report.exit_code, (said, report.findings)
    return report


def rules(report: Report) -> set[str]:
    """Return the rules that broke."""
    return {one.rule for one in report.findings}


def with_event(ledger: Ledger, files: Files, run: str, seq: int) -> Files:
    """Return *files* with one more event of the ledger, in its place, and proven."""
    own = Selected.of(ledger, run).events()
    events = [ledger.event(one) for one in sorted({0, seq, *(e.seq for e in own)})]
    note = own_line(ledger.first_checkpoint_over(events[-1].seq), ledger)[0]
    tree = {
        name: b"".join(source())
        for name, source in tree_files(
            ledger, lambda: iter(events), NOTHING, note
        ).items()
    }
    lines = b"".join(map(_envelope_line, events))
    return {**files, **tree, "events.intoto.jsonl": lines}


def test_an_event_of_another_run(ledger: Ledger, tmp_path: Path) -> None:
    """An honest event, well proven, that does not belong to the run is refused."""
    first, second = runs_of(ledger)
    ledger.append("note.added", {"text": "in no run"})
    ledger.checkpoint()
    files = raw_files(ledger, tmp_path, first)
    (stranger,) = ledger.events(run=second, type="run.started")
    for seq in (stranger.seq, ledger.head.size - 1):
        forged = sealed(with_event(ledger, files, first, seq))
        report = judged(ledger, tmp_path / str(seq), forged)

        assert report.exit_code == 1
        assert "bundle/stranger" in rules(report)


def test_a_blob_that_was_erased(ledger: Ledger, tmp_path: Path) -> None:
    """What an event of the bundle erased is not handed on."""
    run = runs_of(ledger)[0]
    before = read(write_bundle(ledger, run, tmp_path / "before", raw=True).path)
    ledger.erase(run, reason="asked to")
    ledger.checkpoint()
    files = raw_files(ledger, tmp_path, run)
    blobs = {one: data for one, data in before.items() if one.startswith("blobs/")}
    report = judged(ledger, tmp_path, sealed({**files, **blobs}))

    assert len(blobs) > 2
    assert rules(report) == {"blob/erased"}


def witnessed(files: Files) -> Files:
    """Add the line of a witness to the checkpoint."""
    note = Note.parse(files["checkpoint"])
    line = NoteSignature("witness.example", b"\1\2\3\4", bytes(64))
    both = Note(note.text, (*note.signatures, line))
    return {**files, "checkpoint": both.to_bytes()}


def longer_proof(files: Files) -> Files:
    """Add a member to the first proof."""
    data = files["proofs.jsonl"].replace(b',"seq":0}', b',"seq":0,"x":1}', 1)
    return {**files, "proofs.jsonl": data}


def other_proof(files: Files) -> Files:
    """Give the first event a proof without hashes."""
    rest = files["proofs.jsonl"].partition(b"\n")[2]
    return {**files, "proofs.jsonl": proof_line(0, []) + rest}


@pytest.mark.parametrize(
    ("lie", "rule"),
    [
        (witnessed, "bundle/checkpoint"),
        (longer_proof, "bundle/proof"),
        (other_proof, "bundle/inclusion"),
    ],
)
def test_proofs_of_another_form(
    ledger: Ledger, tmp_path: Path, lie: Callable[[Files], Files], rule: str
) -> None:
    """Proofs and tree heads have one spelling, and prove their own event."""
    files = raw_files(ledger, tmp_path, runs_of(ledger)[0])

    assert rules(judged(ledger, tmp_path, lie(files))) == {rule}


def closed_anew(
    ledger: Ledger,
    tmp_path: Path,
    data: Mapping[str, object],
    kind: str = "bundle.closed",
) -> Report:
    """Close the bundle of the first run with another event, and verify it."""
    run = runs_of(ledger)[0]
    honest = write_bundle(ledger, run, tmp_path / "honest")
    files = read(honest.path)
    assert honest.closed_by is not None
    first = ledger.event(honest.closed_by)
    subject = first.subject
    told = {**first.raw, **data}
    if kind == "bundle.closed":
        event = ledger.append(kind, told, subject=subject)
    else:
        event = ledger.append(kind, {"text": "closed"}, subject=subject)
    note, log = own_line(ledger.first_checkpoint_over(event.seq), ledger)
    closing = _closing(ledger, event, files["checkpoint"], note, log)
    new = {name: b"".join(source()) for name, source in closing.items()}
    return judged(ledger, tmp_path, {**files, **new})


def test_a_second_closing_event_is_as_good(ledger: Ledger, tmp_path: Path) -> None:
    """The forger's own way to close a bundle, without a lie, gives a sound one."""
    report = closed_anew(ledger, tmp_path, {})

    assert (report.exit_code, report.findings) == (0, ())


@pytest.mark.parametrize(
    ("data", "kind", "expected"),
    [
        ({"run": "01M83000000000000000000000"}, "bundle.closed", "bundle/closing"),
        ({"manifest": "sha256:" + "0" * 64}, "bundle.closed", "bundle/manifest"),
        ({}, "note.added", "bundle/closing"),
    ],
)
def test_a_closing_event_that_lies(
    ledger: Ledger, tmp_path: Path, data: dict[str, str], kind: str, expected: str
) -> None:
    """It states this run and this MANIFEST, and it is a closing event."""
    assert expected in rules(closed_anew(ledger, tmp_path, data, kind))


@pytest.mark.parametrize(
    ("was", "is_now", "expected"),
    [
        (b"", b"", None),
        (rb'"prev":"[0-9a-f]{64}"', b'"prev":"' + b"0" * 64 + b'"', "event/prev"),
        (rb'"prev":"[0-9a-f]{64}"', b'"prev":5', "event/shape"),
        (b'"data":{', b'"data":{"a":{"$blob":5},', "bundle/closing"),
    ],
)
def test_a_closing_event_of_another_form(
    ledger: Ledger,
    tmp_path: Path,
    was: bytes,
    is_now: bytes,
    expected: str | None,
) -> None:
    """It follows the event before it, and has nothing to say but its two digests."""
    honest = write_bundle(ledger, runs_of(ledger)[-1], tmp_path / "honest")
    files = read(honest.path)
    assert honest.closed_by is not None
    event, log = ledger.event(honest.closed_by), ledger.store._checkpointer
    writer = ledger.store._writer
    assert log is not None
    assert writer is not None
    payload = re.sub(was, is_now, event.payload, count=1)
    signature = writer.sign(pae(payload))
    leaves = [bytes.fromhex(one.hash) for one in ledger.events()][: event.seq]
    leaves.append(entry_hash(payload, signature, spki_base64(writer.public)))

    def node(level: int, index: int) -> bytes:
        return root(leaves[index << level : (index + 1) << level])

    size, old = len(leaves), size_of(files["checkpoint"])
    note = signed(Checkpoint(origin(ledger.id), size, root(leaves)), log)
    envelope = Envelope(payload, writer.public.keyid, signature)
    path = tuple(inclusion_proof(event.seq, size, node))
    proof = TlogProof(event.seq, path, note)
    closing = SigstoreBundle(envelope, proof).to_json(writer.public, log.public)
    new = {
        "evidence.sigstore.json": closing,
        "closing.checkpoint": note,
        "consistency": consistency_text(old, consistency_proof(old, size, node), note),
    }
    found = rules(judged(ledger, tmp_path, {**files, **new}))
    ours = {"head/forked"}  # whoever has the ledger remembers another head
    assert found - ours == ({expected} if expected else set())


def test_a_closing_event_that_closes_nothing(ledger: Ledger, tmp_path: Path) -> None:
    """A writer's event about other files does not keep a run from being bundled."""
    run = runs_of(ledger)[0]
    first = write_bundle(ledger, run, tmp_path / "first")
    ledger.append("bundle.closed", {"run": run, "manifest": first.manifest})
    again = write_bundle(ledger, run, tmp_path / "again")

    assert again.closed_by == first.closed_by
    assert verify_bundle(again.path, keys=[again.root]).exit_code == 0


def test_a_closing_event_before_the_last(ledger: Ledger, tmp_path: Path) -> None:
    """It closes what came before it, and nothing that came later."""
    run = runs_of(ledger)[0]
    early = write_bundle(ledger, run, tmp_path / "early")
    ledger.erase(run, reason="asked to")
    late = write_bundle(ledger, run, tmp_path / "late")
    old = read(early.path)
    names = ("evidence.sigstore.json", "closing.checkpoint", "consistency")
    files = {**read(late.path), **{name: old[name] for name in names}}
    report = judged(ledger, tmp_path, files)

    assert {"bundle/closing", "bundle/manifest"} <= rules(report)


def test_an_anchor(ledger: Ledger, tmp_path: Path) -> None:
    """A note that somebody kept is compared, if it is of the size of a tree head."""
    run = runs_of(ledger)[0]
    folder = write_bundle(ledger, run, tmp_path / "bundle").path
    kept = (folder / "checkpoint").read_bytes()
    size, anchor = size_of(kept), tmp_path / "anchor"
    checkpointer = ledger.store._checkpointer
    assert checkpointer is not None
    name = origin(ledger.id)
    other = signed(Checkpoint(name, size, bytes(32)), checkpointer)
    shorter = signed(Checkpoint(name, size - 1, ledger.root(size - 1)), checkpointer)
    found = {}
    for what, note in {"kept": kept, "other": other, "shorter": shorter}.items():
        anchor.write_bytes(note)
        found[what] = verify_bundle(folder, anchor=anchor)

    assert found["kept"].exit_code == 0
    assert (found["other"].exit_code, found["other"].completeness) == (1, "wrong")
    assert (found["shorter"].exit_code, rules(found["shorter"])) == (
        3,
        {"anchor/uncompared"},
    )


def test_the_digest_of_a_bundle_does_not_grow(ledger: Ledger, tmp_path: Path) -> None:
    """MANIFEST says nothing of proofs and tree heads."""
    run = runs_of(ledger)[0]
    files = read(write_bundle(ledger, run, tmp_path / "bundle").path)
    listed = {line.split()[1].decode() for line in files[MANIFEST].splitlines()}

    assert files.keys() - listed == {
        "MANIFEST",
        "proofs.jsonl",
        "checkpoint",
        "closing.checkpoint",
        "consistency",
        "evidence.sigstore.json",
    }
    assert digest_of(lambda: (files[MANIFEST],)).hex() in str(
        ledger.event(ledger.head.size - 1).raw["manifest"]
    )
