"""Opening: where a ledger is, whose it is, and with which keys."""

from __future__ import annotations

import base64
import shutil
from pathlib import Path

import pytest

import muniment
from muniment.errors import CannotTellError, MunimentError, StoreError, WrongError
from muniment.events.kernel_types import KERNEL_TYPES
from muniment.events.types import EventTypes
from muniment.keys.ed25519 import PrivateKey, load_private
from muniment.keys.enrolment import enrolment
from muniment.ledger import Ledger
from muniment.places import discover
from muniment.storage.sealing import Draft
from muniment.trust.home import TrustHome
from muniment.verification.verify import verify


def _note(ledger: Ledger) -> int:
    return ledger.append("note.added", {"text": "a"}).seq


def _away(ledger: Ledger) -> Path:
    """Close *ledger* and take its writer key out of the trust home."""
    ledger.close()
    key = TrustHome().keys_directory(ledger.id) / "writer.pem"
    return key.rename(key.with_name("away.pem"))


def test_a_moved_ledger(ledger: Ledger, tmp_path: Path) -> None:
    """A ledger at a new place is the same ledger, checked by the same memory."""
    _note(ledger)
    ledger.close()
    moved = tmp_path / "moved.db"
    kept = ledger.path.read_bytes()
    shutil.move(ledger.path, moved)
    with Ledger.open(moved, plugins=()) as again:
        assert _note(again) == 2
    assert verify(moved).ok
    with pytest.raises(WrongError, match="its file is gone"):
        Ledger.open(ledger.path, plugins=())
    moved.write_bytes(kept)
    with (
        Ledger.open(moved, plugins=()) as older,
        pytest.raises(MunimentError, match="older copy"),
    ):
        _note(older)


def test_a_copied_ledger(ledger: Ledger, tmp_path: Path) -> None:
    """A copy that grows on its own makes the original an older copy."""
    ledger.close()
    copy = tmp_path / "copy.db"
    shutil.copy(ledger.path, copy)
    with Ledger.open(copy, plugins=()) as one:
        _note(one)
    with (
        Ledger.open(ledger.path, plugins=()) as two,
        pytest.raises(MunimentError, match="older copy"),
    ):
        _note(two)
    assert verify(copy).ok
    assert verify(ledger.path).exit_code == 1


def test_a_link_on_the_way(ledger: Ledger, tmp_path: Path) -> None:
    """Through a linked folder the ledger, its contents and its log are the real ones."""
    event = ledger.append("note.added", {"text": "a", "details": "x" * 1_100_000})
    link = tmp_path / "link"
    link.symlink_to(ledger.path.parent)
    with Ledger.open(link / "ledger.db", plugins=()) as linked:
        assert linked.path == ledger.path
        assert linked.resolve(linked.event(event.seq))["details"] == "x" * 1_100_000
        assert _note(linked) == 2
    ledger.close()
    assert verify(link / "ledger.db").ok


def test_a_link_to_a_ledger(ledger: Ledger, tmp_path: Path) -> None:
    """In the place of the file itself no link is followed: name the file."""
    ledger.close()
    link = tmp_path / "link.db"
    link.symlink_to(ledger.path)
    with pytest.raises(StoreError, match="it is a link, not a file"):
        Ledger.open(link, plugins=())
    report = verify(link)
    assert (report.exit_code, report.ok) == (3, False)
    assert list(tmp_path.glob("link.db*")) == [link]


def test_discovery(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ledger of the directory, or of one above it, or the one that is named."""
    deep = ledger.path.parent.parent / "a" / "b"
    deep.mkdir(parents=True)
    monkeypatch.chdir(deep)
    assert discover() == ledger.path
    monkeypatch.chdir("/")
    assert discover() is None
    with pytest.raises(CannotTellError, match="there is no ledger here"):
        muniment.open(plugins=())
    monkeypatch.setenv("MUNIMENT_LEDGER", str(ledger.path))
    assert discover() == ledger.path


def test_a_found_ledger_that_nobody_vouched_for(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ledger that was merely found is read only, whatever keys are at hand."""
    key = _away(ledger)
    monkeypatch.setenv("MUNIMENT_HOME", str(tmp_path / "stranger"))
    monkeypatch.setenv("MUNIMENT_KEY", str(key))
    monkeypatch.chdir(ledger.path.parent)
    with muniment.open(plugins=()) as found:
        assert not found.writable
        with pytest.raises(MunimentError, match="read-only"):
            _note(found)
    TrustHome().pin(ledger.id, _root(ledger))
    with muniment.open(plugins=()) as found:
        assert _note(found) == 1


def _root(ledger: Ledger) -> str:
    (entry,) = [one for one in ledger.event(0).raw["keys"] if one["roles"] == ["root"]]  # type: ignore[index,union-attr,call-overload] # a genesis
    return str(entry["keyid"])  # type: ignore[index,call-overload] # an entry


@pytest.mark.parametrize("form", ["pem", "seed", "path", "uri"])
def test_a_key_from_the_environment(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """``MUNIMENT_KEY`` is PEM, a seed in base64, a path, or a file: URI."""
    key = _away(ledger)
    pem = key.read_text()
    der = base64.b64decode("".join(pem.strip().splitlines()[1:-1]))
    values = {
        "pem": pem,
        "seed": base64.b64encode(der[-32:]).decode(),
        "path": str(key),
        "uri": f"file:{key}",
    }
    monkeypatch.setenv("MUNIMENT_KEY", values[form])
    with Ledger.open(ledger.path, plugins=()) as opened:
        assert _note(opened) == 1
    assert verify(ledger.path).ok


@pytest.mark.parametrize("value", ["no/such/file", "====", "x" * 5000, "file:/none"])
def test_a_key_that_is_none(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    """A ``MUNIMENT_KEY`` that holds no key is said, and not passed over."""
    ledger.close()
    monkeypatch.setenv("MUNIMENT_KEY", value)
    with pytest.raises(MunimentError, match=r"\[(key|signing)/") as caught:
        Ledger.open(ledger.path, plugins=())
    assert caught.value.exit_code in (3, 4)
    assert value not in str(caught.value) or value == "file:/none"
    assert value == "file:/none" or caught.value.place == "MUNIMENT_KEY"


@pytest.mark.parametrize("uri", ["file:{}", "{}", "env:SOME_KEY"])
def test_a_signer_by_its_uri(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, uri: str
) -> None:
    """A signer may be named by a path or a URI."""
    key = _away(ledger)
    monkeypatch.setenv("SOME_KEY", key.read_text())
    with Ledger.open(ledger.path, signer=uri.format(key), plugins=()) as opened:
        assert _note(opened) == 1
    assert verify(ledger.path).ok


def test_an_enrolled_key_writes(ledger: Ledger) -> None:
    """A second machine's key writes once the root enrolled it, and not before."""
    fresh = PrivateKey.generate()
    root = load_private(TrustHome().recovery_directory(ledger.id) / "root.pem")
    second = Ledger.open(ledger.path, signer=fresh, plugins=())
    with pytest.raises(MunimentError, match="may not sign"):
        _note(second)
    data = enrolment(fresh, ["writer"], ledger.id, "ci")
    prepared = EventTypes(KERNEL_TYPES).get("key.enrolled").prepare(data)
    ledger.store.append([Draft(prepared)], signer=root)
    assert _note(second) == 2
    assert _note(ledger) == 3
    revoked = {"keyid": fresh.public.keyid, "reason": "left"}
    prepared = EventTypes(KERNEL_TYPES).get("key.revoked").prepare(revoked)
    ledger.store.append([Draft(prepared)], signer=root)
    with pytest.raises(MunimentError, match="may not sign"):
        _note(second)
    second.close()
    assert _note(ledger) == 5
    assert verify(ledger.path).ok


def test_an_anchor_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each checkpoint is added to the anchor, wherever the program goes meanwhile."""
    monkeypatch.chdir(tmp_path)
    place = tmp_path / "l.db"
    with Ledger.create(place, anchor="anchor.txt", plugins=()) as ledger:
        monkeypatch.chdir("/")
        notes = []
        for _ in range(3):
            _note(ledger)
            notes.append(ledger.checkpoint())
    kept = (tmp_path / "anchor.txt").read_bytes()
    assert all(note is not None and note in kept for note in notes)
    report = verify(place, anchor=tmp_path / "anchor.txt")
    assert (report.ok, report.completeness) == (True, "checked"), report
    place.write_bytes(place.read_bytes())
    stranger = TrustHome(tmp_path / "stranger")
    again = verify(place, anchor=tmp_path / "anchor.txt", home=stranger)
    assert again.integrity == "intact"


def test_reading_needs_no_key(ledger: Ledger, tmp_path: Path) -> None:
    """A stranger without a key reads everything, and makes nothing at home."""
    event = ledger.append("note.added", {"text": "a", "details": {"b": 1}})
    ledger.checkpoint()
    home = tmp_path / "stranger"
    with Ledger.open(ledger.path, home=home, plugins=()) as reader:
        assert not reader.writable
        assert reader.resolve(reader.event(event.seq))["details"] == {"b": 1}
        assert reader.prove(event.seq).index == event.seq
    assert not home.exists()
