"""The trust home: it knows what it was told, through any damage, for this user alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.errors import CannotTellError, RefusedError, UsageError
from muniment.trust.head_memory import Head
from muniment.trust.home import TrustHome, Verified
from muniment.trust.json_files import refuse_shared

LEDGER = "sha256:" + "ab" * 32
OTHER = "sha256:" + "cd" * 32
KEYID = "SHA256:bbXpuKG6zhzdmnxq256TlqzFBzRl2f6OOg722cYNbU8"


@pytest.fixture
def home(tmp_path: Path) -> TrustHome:
    """Return a trust home that does not exist yet."""
    return TrustHome(tmp_path / "home")


def inside(home: TrustHome, name: str) -> Path:
    """Return the path of a file about `LEDGER`."""
    return home.path / "ledgers" / ("ab" * 32) / name


def tell(home: TrustHome) -> None:
    """Tell *home* one thing of every kind."""
    home.remember("/some/ledger.db", LEDGER)
    home.pin(LEDGER, KEYID)
    home.anchor(LEDGER, b"note\n")
    home.record_erasure(LEDGER, [OTHER], "asked for")
    home.note_verified(LEDGER, 3, ok=True)
    with home.head_memory(LEDGER) as memory:
        memory.advance(3, bytes(32))


def test_a_home_that_is_not_there_knows_nothing(home: TrustHome) -> None:
    """Every question has an answer before the first write, and makes nothing."""
    assert home.ledger_at("/some/ledger.db") is None
    assert home.forget("/some/ledger.db") is None
    assert home.locations(LEDGER) == []
    assert home.pins(LEDGER) == home.erasures(LEDGER) == frozenset()
    assert home.anchors(LEDGER) == []
    assert home.head(LEDGER) is None
    assert home.verified(LEDGER) is None
    assert home.keys_directory(LEDGER) == inside(home, "keys")
    assert home.recovery_directory(LEDGER) == inside(home, "recovery")
    assert not home.path.exists()


def test_what_was_told_is_known_to_another_handle(home: TrustHome) -> None:
    """Another handle on the same directory knows what this one was told."""
    tell(home)
    twin = TrustHome(home.path)
    assert twin.ledger_at("/some/ledger.db") == LEDGER
    assert twin.locations(LEDGER) == [os.path.realpath("/some/ledger.db")]
    assert twin.pins(LEDGER) == {KEYID}
    assert twin.anchors(LEDGER) == [b"note\n"]
    assert twin.erasures(LEDGER) == {OTHER}
    assert twin.head(LEDGER) == Head(3, bytes(32))
    seen = twin.verified(LEDGER)
    assert isinstance(seen, Verified)
    assert (seen.size, seen.ok) == (3, True)
    assert twin.pins(OTHER) == frozenset()


def test_everything_is_for_this_user_alone(home: TrustHome) -> None:
    """Whatever the umask, directories have mode 0700 and files 0600."""
    before = os.umask(0)
    try:
        tell(home)
        home.keys_directory(LEDGER, create=True)
        home.recovery_directory(LEDGER, create=True)
    finally:
        os.umask(before)
    found = [home.path, *home.path.rglob("*")]
    assert len(found) == 12
    for path in found:
        expected = 0o700 if path.is_dir() else 0o600
        assert path.stat().st_mode & 0o777 == expected, path


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777])
def test_a_home_that_others_can_write_to(home: TrustHome, mode: int) -> None:
    """A home in which others could plant a pin is refused, for reading too."""
    tell(home)
    home.path.chmod(mode)
    questions = (
        lambda: home.pins(LEDGER),
        lambda: home.ledger_at("/some/ledger.db"),
        lambda: home.head(LEDGER),
        lambda: home.pin(LEDGER, KEYID),
    )
    for question in questions:
        with pytest.raises(RefusedError, match=f"chmod 700 {home.path}"):
            question()
    home.path.chmod(0o755)
    assert home.pins(LEDGER) == {KEYID}


def test_where_the_home_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A path counts before MUNIMENT_HOME, and that before the platform's place."""
    monkeypatch.setenv("MUNIMENT_HOME", str(tmp_path / "named"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert TrustHome(tmp_path).path == tmp_path
    assert TrustHome().path == tmp_path / "named"
    monkeypatch.setenv("MUNIMENT_HOME", "")
    assert TrustHome().path.name == "muniment"


def test_a_location_has_one_ledger_until_it_is_forgotten(home: TrustHome) -> None:
    """A known location is refused to another ledger, and free after `forget`."""
    home.remember("/some/ledger.db", LEDGER)
    home.remember("/some/ledger.db", LEDGER)
    home.remember("/moved/ledger.db", LEDGER)
    with pytest.raises(RefusedError, match="muniment forget"):
        home.remember("/some/ledger.db", OTHER)
    assert home.ledger_at("/some/ledger.db") == LEDGER
    home.pin(LEDGER, KEYID)
    assert home.forget("/some/ledger.db") == LEDGER
    assert home.forget("/some/ledger.db") is None
    assert home.ledger_at("/moved/ledger.db") == LEDGER
    assert home.pins(LEDGER) == {KEYID}
    home.remember("/some/ledger.db", OTHER)
    assert home.ledger_at("/some/ledger.db") == OTHER


def test_spellings_of_one_file(
    home: TrustHome, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Relative, linked, dotted and URL spellings are one location."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lab").mkdir()
    (tmp_path / "link").symlink_to("lab")
    file = Path(os.path.realpath(tmp_path)) / "lab" / "ledger.db"
    spellings: list[str | Path] = [
        "lab/ledger.db",
        "link/ledger.db",
        "./lab/../lab/ledger.db",
        file,
        "sqlite:///lab/ledger.db",
        f"sqlite:///{file}",
        f"sqlite+pysqlite:///{file}?timeout=3",
    ]
    assert {home.location(spelling) for spelling in spellings} == {str(file)}
    for nowhere in ("sqlite://", "sqlite:///:memory:"):
        with pytest.raises(UsageError, match="in memory"):
            home.location(nowhere)


@pytest.mark.parametrize(
    ("url", "location"),
    [
        ("postgresql://me:hush@host:5432/db", "postgresql://me@host:5432/db"),
        ("postgresql+psycopg://me:hush@host/db", "postgresql://me@host/db"),
        ("PostgreSQL://host/db", "postgresql://host/db"),
        ("postgresql://me@host/db", "postgresql://me@host/db"),
        ("postgresql://:hush@host/db", "postgresql://host/db"),
        ("postgresql://me:hu@sh@host/db", "postgresql://me@host/db"),
        ("postgresql://me:hu/sh@host/db", "postgresql://me@host/db"),
        ("postgresql://host/db?password=hush", "postgresql://host/db"),
        ("postgresql:///db?host=/run&password=hush", "postgresql:///db?host=/run"),
        ("postgresql://host/db?sslpassword=hush", "postgresql://host/db"),
        ("postgresql://host/db?a=b&SSLPassword=hush", "postgresql://host/db?a=b"),
        ("postgresql://host/a@b", "postgresql://host/a@b"),
    ],
)
def test_no_password_in_a_location(home: TrustHome, url: str, location: str) -> None:
    """A URL loses driver and password, and nothing that says where it is."""
    assert home.location(url) == location
    assert home.location(location) == location


@given(st.text("hus:/?@&=#", min_size=1).map(lambda text: "SECRET" + text + "SECRET"))
def test_no_password_whatever_it_looks_like(password: str) -> None:
    """No spelling of a password before the host reaches a location."""
    location = TrustHome(Path("/nowhere")).location(f"pg://me:{password}@host/db")
    assert location == "pg://me@host/db"


def test_names_that_are_none(home: TrustHome) -> None:
    """What is not a ledger id, key id or digest makes no file and no directory."""
    for ledger_id in ("", "ab" * 32, "sha256:../../etc", LEDGER.upper(), LEDGER + "\n"):
        with pytest.raises(UsageError, match="not a ledger id"):
            home.pins(ledger_id)
        with pytest.raises(UsageError, match="not a ledger id"):
            home.remember("/some/ledger.db", ledger_id)
    for keyid in ("", "SHA256:short", "MD5:" + "a" * 43):
        with pytest.raises(UsageError, match="not a key id"):
            home.pin(LEDGER, keyid)
    with pytest.raises(UsageError, match="digest"):
        home.record_erasure(LEDGER, ["ab"], "")
    assert not home.path.exists()


JSON_FILES = ["../../locations.json", "pins.json", "verified.json"]
LINE_FILES = ["anchors.jsonl", "erased.jsonl"]


def ask_everything(home: TrustHome) -> None:
    """Read every file of the home."""
    home.ledger_at("/some/ledger.db")
    home.pins(LEDGER)
    home.verified(LEDGER)
    home.anchors(LEDGER)
    home.erasures(LEDGER)


@pytest.mark.parametrize("name", [*JSON_FILES, *LINE_FILES])
@pytest.mark.parametrize("content", ["{", "null", "7", '["x"]', '{"a":1}', "\xff"])
def test_damage_is_named(home: TrustHome, name: str, content: str) -> None:
    """A file with anything else in it cannot tell, and names itself."""
    tell(home)
    path = inside(home, name)
    path.write_bytes(content.encode("latin-1") + b"\n")
    with pytest.raises(CannotTellError, match=path.name) as caught:
        ask_everything(home)
    assert caught.value.rule == "trust/damaged"


@pytest.mark.parametrize("name", [*JSON_FILES, *LINE_FILES])
def test_what_cannot_be_read_is_not_called_damaged(home: TrustHome, name: str) -> None:
    """A file that the system does not give says so, and asks for no repair."""
    tell(home)
    path = inside(home, name)
    path.unlink()
    path.mkdir()
    with pytest.raises(CannotTellError, match=path.name) as caught:
        ask_everything(home)
    assert caught.value.rule == "trust/unreadable"
    assert "let this user read it" in caught.value.remedy


@pytest.mark.parametrize("digest", ["", "sha256:ab", "zz", "sha256:" + "A" * 64])
def test_what_is_no_digest_was_not_erased(home: TrustHome, digest: str) -> None:
    """The list of erasures holds whole digests, or it is damaged."""
    tell(home)
    line = json.dumps({"digests": [digest], "reason": "r", "time": "t"})
    inside(home, "erased.jsonl").write_text(f"{line}\n")
    with pytest.raises(CannotTellError, match=r"erased\.jsonl: line 1 lists no"):
        home.erasures(LEDGER)


@pytest.mark.parametrize("name", JSON_FILES)
def test_an_emptied_file_is_damage(home: TrustHome, name: str) -> None:
    """A file that was emptied is not one that never was."""
    tell(home)
    inside(home, name).write_bytes(b"")
    with pytest.raises(CannotTellError, match="is not JSON"):
        ask_everything(home)


@pytest.mark.parametrize("name", LINE_FILES)
def test_a_bad_line_is_named(home: TrustHome, name: str) -> None:
    """A malformed line raises with its number, though all others are good."""
    tell(home)
    path = inside(home, name)
    good = path.read_bytes()
    path.write_bytes(good + b"nonsense\n" + good)
    with pytest.raises(CannotTellError, match=f"{name}: line 2 "):
        ask_everything(home)


def test_every_cut_of_an_appended_line(home: TrustHome) -> None:
    """A line cut off anywhere is named when read, and replaced by the next append."""
    home.anchor(LEDGER, b"first")
    path = inside(home, "anchors.jsonl")
    first = path.read_bytes()
    home.anchor(LEDGER, b"second")
    both = path.read_bytes()
    for cut in range(len(first) + 1, len(both)):
        path.write_bytes(both[:cut])
        with pytest.raises(CannotTellError, match="line 2 was cut off"):
            home.anchors(LEDGER)
        home.anchor(LEDGER, b"3")
        whole = [b"second"] if cut == len(both) - 1 else []
        assert home.anchors(LEDGER) == [b"first", *whole, b"3"]


def test_unreadable_and_unwritable_places(home: TrustHome, tmp_path: Path) -> None:
    """A home that is a file, and a file that is a directory, are told in one line."""
    home.path.write_text("")
    with pytest.raises(CannotTellError, match="cannot be written"):
        home.pin(LEDGER, KEYID)
    other = TrustHome(tmp_path / "other")
    tell(other)
    inside(other, "pins.json").unlink()
    inside(other, "pins.json").mkdir()
    with pytest.raises(CannotTellError, match=r"pins\.json.*cannot be read"):
        other.pins(LEDGER)


def test_the_files_are_those_of_the_specification(home: TrustHome) -> None:
    """Each file holds the canonical JSON that the specification shows."""
    tell(home)
    place = os.path.realpath("/some/ledger.db")
    locations = json.dumps({place: LEDGER}, separators=(",", ":")) + "\n"
    assert (home.path / "locations.json").read_text() == locations
    assert inside(home, "pins.json").read_text() == f'["{KEYID}"]\n'
    anchor = json.loads(inside(home, "anchors.jsonl").read_text())
    assert anchor == {"note": "note\n", "time": anchor["time"]}
    assert anchor["time"].endswith("Z")
    erased = json.loads(inside(home, "erased.jsonl").read_text())
    assert erased == {
        "digests": [OTHER],
        "reason": "asked for",
        "time": erased["time"],
    }


CROWD = """
import sys
from pathlib import Path
from muniment.trust.home import TrustHome
home, number = TrustHome(Path(sys.argv[1])), int(sys.argv[2])
for step in range(20):
    name = f"{number:02d}{step:02d}"
    home.remember(f"/ledgers/{name}.db", "sha256:" + "ab" * 32)
    home.pin("sha256:" + "ab" * 32, "SHA256:" + name.ljust(43, "A"))
    home.anchor("sha256:" + "ab" * 32, name.encode())
"""


def test_many_processes_lose_no_word(home: TrustHome) -> None:
    """Four processes at once: every location, pin and anchor is there afterwards."""
    crowd = [
        subprocess.Popen([sys.executable, "-c", CROWD, str(home.path), str(number)])
        for number in range(4)
    ]
    assert [process.wait(timeout=300) for process in crowd] == [0, 0, 0, 0]
    names = {f"{number:02d}{step:02d}" for number in range(4) for step in range(20)}
    assert len(home.locations(LEDGER)) == 80
    assert home.pins(LEDGER) == {"SHA256:" + name.ljust(43, "A") for name in names}
    assert {note.decode() for note in home.anchors(LEDGER)} == names
    assert len(home.anchors(LEDGER)) == 80


@pytest.mark.parametrize("place", ["/dev/null", "a file"])
def test_a_home_that_is_no_folder(place: str, tmp_path: Path) -> None:
    """No advice to change its permissions: it is said what it is not."""
    home = Path(place) if place.startswith("/") else tmp_path / "file"
    if not home.exists():
        home.write_bytes(b"")
        home.chmod(0o666)
    with pytest.raises(
        CannotTellError, match=r"not a folder.*\[trust/unreadable\]"
    ) as caught:
        refuse_shared(home)
    assert "chmod" not in str(caught.value)
