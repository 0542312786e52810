"""Lines of strangers on a stored checkpoint, and their loss, are said and change nothing."""

from __future__ import annotations

import base64
from pathlib import Path

from forge import Forge, keyid
from muniment.verification.verify import Report, verify

LINE = b"\xe2\x80\x94 witness.example " + base64.b64encode(bytes(68)) + b"\n"


def judged(place: Path, forge: Forge, anchor: bytes | None = None) -> Report:
    """Verify *forge*, against an anchor."""
    given = place / "anchor"
    if anchor is not None:
        given.write_bytes(anchor)
    (place / "l.db").unlink(missing_ok=True)
    return verify(
        forge.write(place / "l.db"),
        keys=[keyid(forge.key("root"))],
        anchor=given if anchor is not None else None,
    )


def ledger() -> Forge:
    """Return a ledger with a checkpoint."""
    forge = Forge("one").open()
    forge.append("x.noted", {"text": "t"})
    forge.checkpoint()
    return forge


def test_a_line_of_a_stranger_is_noted(tmp_path: Path) -> None:
    """A further line is said; the verdict stays."""
    forge = ledger()
    assert not judged(tmp_path, forge).notes
    forge.notes = [(size, note + LINE) for size, note in forge.notes]
    report = judged(tmp_path, forge)
    assert report.exit_code == 0, str(report)
    assert any("lines of other signers" in note for note in report.notes)


def test_a_line_that_was_deleted_is_noted(tmp_path: Path) -> None:
    """An anchor with a line that the stored checkpoint lacks is said."""
    forge = ledger()
    report = judged(tmp_path, forge, forge.notes[0][1] + LINE)
    assert report.exit_code == 0, str(report)
    assert any("other lines than their anchors" in note for note in report.notes)
