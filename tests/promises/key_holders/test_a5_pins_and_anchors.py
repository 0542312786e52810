"""Whose signatures count: more pins never weaken, and a stranger's note says nothing."""

from __future__ import annotations

import hashlib
import itertools
import json
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from forge import Forge, entry, keyid, make_key
from muniment.trust.home import TrustHome
from muniment.verification.verify import Report, verify
from muniment_cli import main

SIZE = 30
TRUE_ROOT = keyid(make_key("one/root"))


def true_ledger() -> Forge:
    """Return a ledger with a second checkpoint key, that was revoked at event 12."""
    forge = Forge("one").open()
    forge.enrol("gone", ["checkpoint"])
    while len(forge.rows) < SIZE:
        if len(forge.rows) == 12:
            data = {"keyid": keyid(forge.key("gone")), "reason": "stolen"}
            forge.append("key.revoked", data, signer=forge.key("root"))
        forge.append("note.added", {"text": str(len(forge.rows))})
        if len(forge.rows) == 10:
            forge.checkpoint()
    forge.checkpoint()
    return forge


# --- pins -------------------------------------------------------------------------


class Thief(Forge):
    """Somebody with one key of the true ledger makes a ledger of their own."""

    def key(self, role: str) -> Ed25519PrivateKey:
        """Take the stolen key for the root, fresh ones else."""
        return make_key("one/writer" if role == "root" else f"thief/{role}")


@pytest.mark.parametrize("more", range(4))
def test_more_pins_never_weaken(more: int, tmp_path: Path) -> None:
    """A thief's ledger is refused under the true root, whatever is pinned besides."""
    place = Thief("thief").open().write(tmp_path / "thief.db")
    others = [keyid(make_key(f"one/{name}")) for name in ("writer", "checkpoint")]
    others.append(keyid(make_key("thief/writer")))
    for chosen in itertools.combinations(others, more):
        report = verify(place, keys=[TRUE_ROOT, *chosen], home=tmp_path / "home")
        assert report.exit_code == 1, (chosen, str(report))
        assert not report.ok
        assert "key/pin" in {one.rule for one in report.findings}
        home = TrustHome(tmp_path / f"pinned-{len(chosen)}")
        for pin in (TRUE_ROOT, *chosen):
            home.pin(report.ledger or "", pin)
        assert verify(place, home=home).exit_code == 1


def rotated() -> Forge:
    """Return the true ledger after its root was rotated."""
    forge = true_ledger()

    new = forge.key("next")
    following = make_key("one/after")

    digest = hashlib.sha256(following.public_key().public_bytes_raw()).hexdigest()
    forge.append(
        "key.rotated",
        {
            "old": TRUE_ROOT,
            "new": entry(new, ["root"], forge.ledger),
            "next_root": f"sha256:{digest}",
        },
        signer=new,
    )
    forge.checkpoint()
    return forge


@pytest.mark.parametrize("pins", [("root",), ("next",), ("root", "next")])
def test_either_root_pins_a_rotated_ledger(
    pins: tuple[str, ...], tmp_path: Path
) -> None:
    """The first root and the one that replaced it each vouch for the whole."""
    forge = rotated()
    place = forge.write(tmp_path / "l.db")
    report = verify(place, keys=[keyid(forge.key(one)) for one in pins])
    assert (report.authenticity, report.exit_code) == ("pinned", 0)


def test_a_copy_from_before_the_rotation(tmp_path: Path) -> None:
    """A home that pins both roots knows an older copy for what it is."""
    forge, home = rotated(), TrustHome()
    for name in ("root", "next"):
        home.pin(forge.ledger, keyid(forge.key(name)))
    whole = forge.write(tmp_path / "whole.db")
    assert verify(whole, remember=True).ok
    older = true_ledger().write(tmp_path / "older.db")
    report = verify(older)
    assert (report.exit_code, report.authenticity) == (0, "pinned")
    assert any("is pinned, and not yet in this copy" in one for one in report.notes)
    # The history that goes on without the rotation is the thief's of the old root.
    forked = true_ledger()
    for number in range(20):
        forked.append("note.added", {"text": f"other {number}"})
    assert verify(forked.write(tmp_path / "forked.db")).exit_code == 1


# --- notes that do not count ------------------------------------------------------


def strangers() -> dict[str, bytes]:
    """Return notes that no enrolled key signed in its interval."""
    made = true_ledger()
    longer = true_ledger()
    while len(longer.rows) < SIZE + 20:
        longer.append("note.added", {"text": "invented"})
    right = made.note(20)
    return {
        "stranger, within": made.note(20, make_key("stranger")),
        "stranger, beyond": longer.note(signer=make_key("stranger")),
        "revoked, within": made.note(20, made.key("gone")),
        "revoked, beyond": longer.note(signer=made.key("gone")),
        "writer, beyond": longer.note(signer=made.key("writer")),
        "root, beyond": longer.note(signer=made.key("root")),
        "a mark without its signature": right.replace(
            right.split(b"\n")[2], b"A" * 43 + b"="
        ),
        "another ledger": Forge("two").open().note(),
    }


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Give the true ledger, pinned, with head and anchors in the trust home."""
    forge, home = true_ledger(), TrustHome()
    home.pin(forge.ledger, TRUE_ROOT)
    for _, note in forge.notes:
        home.anchor(forge.ledger, note)
    with home.head_memory(forge.ledger) as memory:
        memory.advance(SIZE, forge.rows[-1].hash)
    made = forge.write(tmp_path / "l.db")
    home.remember(str(made), forge.ledger)
    return made


@pytest.mark.parametrize("name", strangers())
def test_a_strangers_note_in_the_home(name: str, place: Path) -> None:
    """It makes nothing wrong, and nothing an older copy; it is named."""
    TrustHome().anchor(true_ledger().ledger, strangers()[name])
    report = verify(place)
    verdict = (report.integrity, report.completeness, report.exit_code)
    assert verdict == ("intact", "checked", 0), str(report)
    assert any("does not count" in one for one in report.notes)


@pytest.mark.parametrize(
    "name", [one for one in strangers() if one != "another ledger"]
)
@pytest.mark.parametrize("among", [False, True])
def test_a_strangers_note_as_anchor(
    name: str, among: bool, place: Path, tmp_path: Path
) -> None:
    """Given alone, nothing can be told by it; beside a good one it is named."""
    anchor = tmp_path / "given.note"
    good = true_ledger().note() if among else b""
    anchor.write_bytes(good + strangers()[name])
    report = verify(place, anchor=anchor)
    if among:
        assert (report.integrity, report.exit_code) == ("intact", 0), str(report)
        assert any("does not count" in one for one in report.notes)
        # A key that the ledger enrolled later may have signed beyond its end.
        later = name in ("stranger, beyond", "writer, beyond", "root, beyond")
        assert report.completeness == ("unchecked" if later else "checked")
    else:
        assert report.exit_code == 3, str(report)
        assert [one.rule for one in report.findings] == ["anchor/unsigned"]


def judged(forge: Forge, size: int, place: Path) -> Report:
    """Verify the first *size* events in their place."""
    place.unlink()
    cut = forge.with_rows(forge.rows[:size])
    return verify(cut.write(place))


@pytest.mark.parametrize("size", [SIZE - 1, 15, 11])
def test_a_note_that_counts_beyond_the_end(size: int, place: Path) -> None:
    """A log cut below an anchor by a key that it knows is wrong, head memory or not."""
    home, forge = TrustHome(), true_ledger()
    assert judged(forge, size, place).exit_code == 1
    (home.path / "ledgers" / forge.ledger[7:] / "head").unlink()
    assert judged(forge, size, place).exit_code == 1


def test_a_log_cut_below_its_checkpoint_key(place: Path) -> None:
    """Where only unknown keys speak of more, completeness is unchecked, and said."""
    home, forge = TrustHome(), true_ledger()
    forge.enrol("late", ["checkpoint"])
    forge.append("note.added", {"text": "under the late key"})
    note = forge.note(signer=forge.key("late"))
    directory = home.path / "ledgers" / forge.ledger[7:]
    (directory / "head").unlink()
    (directory / "anchors.jsonl").unlink()
    home.anchor(forge.ledger, note)
    report = judged(forge, SIZE, place)
    assert (report.completeness, report.exit_code) == ("unchecked", 0)
    assert verify(place, require_complete=True).exit_code == 3
    assert judged(forge, SIZE + 2, place).completeness == "checked"


SAYING_NOTHING = {
    "empty": b"",
    "a blank line": b"\n",
    "blank lines": b"\n\n  \n\t\n",
    "blank lines of another system": b"\r\n\r\n",
}


@pytest.mark.parametrize("name", SAYING_NOTHING)
def test_an_anchor_that_says_nothing(
    name: str, place: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """An anchor that was given and is empty matches nothing: exit 3, however it is asked."""
    anchor, good = tmp_path / "last.note", tmp_path / "good.note"
    anchor.write_bytes(SAYING_NOTHING[name])
    good.write_bytes(true_ledger().note())
    for more in ((), ("--fast",), ("--trust-on-first-use",), ("--require", "complete")):
        line = ["--ledger", str(place), "verify", *more, "--key", TRUE_ROOT]
        assert main([*line, "--anchor", str(good)]) == 0, more
        capfd.readouterr()
        assert main([*line, "--anchor", str(anchor)]) == 3, more
        out, err = capfd.readouterr()
        assert "the anchor is empty" in out + err
        assert "muniment checkpoint -o FILE" in out + err
        assert main([*line, "--anchor", str(anchor), "--json"]) == 3, more
        told = json.loads(capfd.readouterr().out)
        assert (told["ok"], told["completeness"]) == (False, "cannot tell")
